//! Which store the runs of a project are in.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::codec::digest;
use crate::host::BareRepository;
#[cfg(feature = "network")]
use crate::host::CloudEnv;
use crate::host::without_dots;
use crate::model::{Explain as _, Kind, Problem, without_login, without_secrets};
use crate::remote::GitCarrier;
#[cfg(feature = "network")]
use crate::remote::{S3Carrier, S3Place};
use crate::runs::{
    ChoosesStore, Context, Error, OpenedProject, Result, Thing, accept_in, git_state, is_accepted_in,
    is_store_accepted_elsewhere, show_events,
};
use crate::sharing::name::StoreName;
use crate::store::shared::{Carrier, Shared, UnacceptedRuns};
use crate::store::{Address, RunStore, StoreError, UnacceptedStore};

/// Takes the store that the project's configuration names, if the user has accepted it.
#[derive(Debug, Clone, Copy)]
pub struct SharedStores;

impl ChoosesStore for SharedStores {
    fn store_of(&self, project: &OpenedProject) -> Result<Option<Arc<dyn RunStore>>> {
        // A configuration that cannot be read is named by the commands that need it.
        let Ok(Some(named)) = project.catalog().store() else { return Ok(None) };
        let name = named.parse().map_err(Error::from);
        let unaccepted = match name.and_then(|name| NamedStore::find(&project.cx, project.root(), name)) {
            Ok(store) if store.is_accepted(project) => return Ok(Some(Arc::new(store.open(project)?))),
            Ok(store) => store.unaccepted(project),
            Err(error) => {
                let called = if named.is_empty() { "a store without a name".to_owned() } else { without_login(&named) };
                let at = Address::new(called);
                UnacceptedStore { at, place: Err(Box::new(error.problem())), has_moved: false }
            }
        };
        Ok(Some(Arc::new(UnacceptedRuns::new((**project).clone(), unaccepted))))
    }
}

/// A store by its name and its exact address.
#[derive(Debug)]
pub(super) struct NamedStore {
    pub(super) name: StoreName,
    place: StorePlace,
}

#[derive(Debug)]
enum StorePlace {
    /// The address of a git repository, which may hold a password, and where its references are.
    Git { url: String, refs: String },
    #[cfg(feature = "network")]
    Bucket(S3Place),
}

impl NamedStore {
    /// The store that `name` names for the project in `root`.
    pub(super) fn find(cx: &Context, root: &Path, name: StoreName) -> Result<Self> {
        let place = match &name {
            StoreName::Git { remote, refs } => StorePlace::Git { url: url_of(cx, root, remote)?, refs: refs.clone() },
            StoreName::Bucket(address) => bucket_at(address)?,
        };
        Ok(Self { name, place })
    }

    /// The address for messages.
    pub(super) fn shown_address(&self) -> String {
        match &self.place {
            StorePlace::Git { url, .. } => without_secrets(url),
            #[cfg(feature = "network")]
            StorePlace::Bucket(place) => match &place.endpoint {
                Some(endpoint) => format!("{} at {}, region {}", self.name, without_secrets(endpoint), place.region),
                None => format!("{} in {}", self.name, place.region),
            },
        }
    }

    /// Who can read what is kept there.
    pub(super) fn readers(&self) -> String {
        let what = if matches!(self.place, StorePlace::Git { .. }) { "git remote" } else { "bucket" };
        format!("everyone who can read the {what} {}", self.shown_address())
    }

    fn whole_address(&self) -> String {
        match &self.place {
            StorePlace::Git { url, .. } => url.clone(),
            #[cfg(feature = "network")]
            StorePlace::Bucket(place) => {
                format!("{} {} {}", self.name, place.region, place.endpoint.as_deref().unwrap_or_default())
            }
        }
    }

    fn thing(&self) -> Thing {
        Thing::store(&self.name.to_string(), &self.whole_address())
    }

    pub(super) fn is_accepted(&self, project: &OpenedProject) -> bool {
        is_accepted_in(&project.cx, &place_of(project), &[self.thing()])
    }

    /// What a user is told who has not accepted it.
    fn unaccepted(&self, project: &OpenedProject) -> UnacceptedStore {
        let name = self.name.to_string();
        let has_moved = is_store_accepted_elsewhere(&project.cx, &place_of(project), &name);
        UnacceptedStore { at: Address::new(name), place: Ok(self.shown_address()), has_moved }
    }

    /// Notes that the user accepted it, in all worktrees of the repository.
    ///
    /// # Errors
    /// Why that did not work, as the end of a sentence.
    pub(super) fn accept(&self, project: &OpenedProject) -> std::result::Result<(), String> {
        accept_in(&project.cx, &place_of(project), &[self.thing()])
    }

    pub(super) fn carrier(&self, project: &OpenedProject) -> Result<Box<dyn Carrier>> {
        match &self.place {
            StorePlace::Git { url, refs } => {
                let bare = project.cache_of_carrier()?.join("remote.git");
                let users = Some(project.root().to_owned());
                let repository = BareRepository::new(project.cx.git.clone(), bare, url.clone(), users);
                Ok(Box::new(GitCarrier::new(repository, self.name.to_string()).with_place(refs.clone())))
            }
            #[cfg(feature = "network")]
            StorePlace::Bucket(place) => match S3Carrier::new(place, CloudEnv::read()) {
                Ok(carrier) => Ok(Box::new(carrier)),
                Err(why) => Err(invalid(why)),
            },
        }
    }

    pub(super) fn open(&self, project: &OpenedProject) -> Result<Shared> {
        let of = digest(format!("{}\n{}", self.name, self.whole_address()).as_bytes());
        Ok(Shared::new((**project).clone(), self.carrier(project)?, show_events, &of, project.cx.now())?)
    }
}

/// Where the git remote `name` of the repository of the project in `root` is.
fn url_of(cx: &Context, root: &Path, name: &str) -> Result<String> {
    let no_remote = |why: String| {
        Error::from(
            Problem::new(Kind::NotFound, "no_remote", format!("git:{name} cannot be used: {why}"))
                .help("`git remote -v` lists the remotes of this repository"),
        )
    };
    let url = match cx.git.push_url(name, root, git_state(cx, root)) {
        Ok(Some(url)) => url,
        Ok(None) => return Err(no_remote(format!("git has no remote {name}"))),
        Err(_) if cx.git.top(root).is_none() => {
            let message = format!("git:{name} cannot be used: the project is not in a git repository");
            return Err(Problem::new(Kind::NotFound, "no_remote", message)
                .help("make it a git repository with a remote, or take a bucket such as `s3://bucket/prefix`")
                .into());
        }
        Err(why) => return Err(no_remote(why)),
    };
    if url.starts_with('-') || url.contains("::") {
        return Err(no_remote("its address names a program".to_owned()));
    }
    if url.contains(':') {
        return Ok(url);
    }
    // git takes a path as relative to the top of the checkout, and flow runs it elsewhere.
    let top = cx.git.top(root).unwrap_or_else(|| root.to_owned());
    Ok(without_dots(&top.join(&url)).to_string_lossy().into_owned())
}

#[cfg(feature = "network")]
fn bucket_at(address: &str) -> Result<StorePlace> {
    S3Place::from_environment(address, &CloudEnv::read()).map(StorePlace::Bucket).map_err(invalid)
}

#[cfg(not(feature = "network"))]
fn bucket_at(_: &str) -> Result<StorePlace> {
    let message = "this build of flow has no network, so it cannot use a bucket";
    Err(Problem::new(Kind::Usage, "no_network", message).help("use a build with the feature `network`").into())
}

#[cfg(feature = "network")]
fn invalid(why: String) -> Error {
    Problem::new(Kind::Usage, "invalid_store", why).into()
}

/// What stores are accepted for: the repository with all its worktrees.
fn place_of(project: &OpenedProject) -> PathBuf {
    project.cx.git.common_dir(project.root()).unwrap_or_else(|| project.root().to_owned())
}

/// The store that the project names and the user has accepted.
pub(super) fn store_in_use(project: &OpenedProject) -> Result<NamedStore> {
    let Some(named) = project.catalog().store()? else {
        return Err(Problem::new(Kind::Refused, "no_store", "the runs of this project are in this checkout alone")
            .help("`flow remote use git:origin` shares them with everyone who can read the git remote origin")
            .into());
    };
    let store = NamedStore::find(&project.cx, project.root(), named.parse()?)?;
    if store.is_accepted(project) {
        return Ok(store);
    }
    Err(StoreError::NotAccepted { store: store.unaccepted(project), begins: false }.into())
}
