//! Which store the runs of a project are in.

use std::path::PathBuf;
use std::sync::Arc;

use crate::catalog::named_store;
use crate::codec::digest;
use crate::host::BareRepository;
use crate::model::{Kind, Problem};
use crate::remote::GitCarrier;
use crate::runs::{ChoosesStore, OpenedProject, Result, Thing, git_state, is_accepted_in, show_events};
use crate::sharing::name::StoreName;
use crate::store::shared::{Shared, Unaccepted};
use crate::store::{Address, RunStore};

/// Takes the store that the project's configuration names, if the user has accepted it.
#[derive(Debug, Clone, Copy)]
pub struct SharedStores;

impl ChoosesStore for SharedStores {
    fn store_of(&self, project: &OpenedProject) -> Result<Option<Arc<dyn RunStore>>> {
        // A configuration that cannot be read is named by the commands that need it.
        let Ok(Some(named)) = named_store(&project.cx.disk, project.path()) else { return Ok(None) };
        if let Ok(name) = named.parse::<StoreName>()
            && let Ok(store) = NamedStore::find(project, name)
            && store.is_accepted(project)
        {
            return Ok(Some(Arc::new(store.open(project)?)));
        }
        Ok(Some(Arc::new(Unaccepted::new((**project).clone(), Address::new(named)))))
    }
}

/// A store by its name and its exact address.
#[derive(Debug)]
pub(super) struct NamedStore {
    pub(super) name: StoreName,
    /// May hold a password.
    address: String,
}

impl NamedStore {
    /// The store that `name` names in the repository of `project`.
    pub(super) fn find(project: &OpenedProject, name: StoreName) -> Result<Self> {
        let (cx, root) = (&project.cx, project.root());
        let no_remote = |why: String| {
            Problem::new(Kind::NotFound, "no_remote", format!("{name} cannot be used: {why}"))
                .help("`git remote -v` lists the remotes of this repository")
        };
        let url = match cx.git.push_url(&name.remote, root, git_state(cx, root)) {
            Ok(Some(url)) => url,
            Ok(None) => return Err(no_remote(format!("git has no remote {}", name.remote)).into()),
            Err(why) => return Err(no_remote(why).into()),
        };
        if url.starts_with('-') || url.contains("::") {
            return Err(no_remote("its address names a program".to_owned()).into());
        }
        // git takes a path as relative to the top of the checkout, and flow runs it elsewhere.
        let is_path = !url.contains(':');
        let top = cx.git.top(root).unwrap_or_else(|| root.to_owned());
        let address = if is_path { top.join(&url).to_string_lossy().into_owned() } else { url };
        Ok(Self { name, address })
    }

    /// The address for messages.
    pub(super) fn shown_address(&self) -> String {
        crate::host::without_login(&self.address)
    }

    fn thing(&self) -> Thing {
        Thing::store(&self.name.to_string(), &self.address)
    }

    pub(super) fn is_accepted(&self, project: &OpenedProject) -> bool {
        is_accepted_in(&project.cx, &place_of(project), &[self.thing()])
    }

    /// Notes that the user accepted it, in all worktrees of the repository. Whether that worked.
    pub(super) fn accept(&self, project: &OpenedProject) -> bool {
        crate::runs::accept_in(&project.cx, &place_of(project), &[self.thing()]);
        self.is_accepted(project)
    }

    pub(super) fn carrier(&self, project: &OpenedProject) -> Result<GitCarrier> {
        let bare = project.cache_of_carrier()?.join("remote.git");
        let users = Some(project.root().to_owned());
        let repository = BareRepository::new(project.cx.git.clone(), bare, self.address.clone(), users);
        let carrier = GitCarrier::new(repository, self.name.to_string());
        Ok(if self.name.is_in_branches() { carrier.with_place(self.name.refs.clone()) } else { carrier })
    }

    pub(super) fn open(&self, project: &OpenedProject) -> Result<Shared> {
        let of = digest(format!("{}\n{}", self.name, self.address).as_bytes());
        let carrier = Box::new(self.carrier(project)?);
        Ok(Shared::new((**project).clone(), carrier, show_events, &of, project.cx.now())?)
    }
}

/// What stores are accepted for: the repository with all its worktrees.
fn place_of(project: &OpenedProject) -> PathBuf {
    project.cx.git.common_dir(project.root()).unwrap_or_else(|| project.root().to_owned())
}

/// The store that the project names and the user has accepted.
pub(super) fn store_in_use(project: &OpenedProject) -> Result<NamedStore> {
    let Some(named) = named_store(&project.cx.disk, project.path())? else {
        return Err(Problem::new(Kind::Refused, "no_store", "the runs of this project are in this checkout alone")
            .help("`flow remote use git:origin` shares them with everyone who can read the git remote origin")
            .into());
    };
    let store = NamedStore::find(project, named.parse()?)?;
    if store.is_accepted(project) {
        return Ok(store);
    }
    Err(crate::store::StoreError::NotAccepted { at: Address::new(named) }.into())
}
