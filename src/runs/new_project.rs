//! Makes a project where there is none, and says where.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use crate::codec::SCHEMAS;
use crate::disk::{DiskError, Operation};
use crate::model::{Help, Kind, Problem, Suggestion};
use crate::runs::context::{Context, OpenedProject};
use crate::runs::error::Result;
use crate::store::{InitOutcome, Project, StoreError};

/// A `.flow` that a command has made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MadeProject {
    /// The `.flow` directory.
    pub path: PathBuf,
    /// Where the directory is.
    pub place: MadePlace,
}

/// Where a new `.flow` is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MadePlace {
    /// The top of a repository.
    Repository,
    /// A place that git ignores.
    Ignored,
    /// A directory in no repository.
    OutsideGit,
    /// A bare repository, or git's own files of another one.
    BareRepository,
    /// A directory whose `.git` leads to no repository.
    BrokenRepository,
    /// The user's home directory.
    Home,
}

impl Context {
    /// As [`Self::init_project`], for commands other than `init`: they do not create the `.flow` that the environment
    /// names.
    ///
    /// # Errors
    /// [`crate::runs::Error::Usage`] when the environment names a directory that does not exist, and as
    /// [`Self::init_project`].
    pub(crate) fn project_or_init(&self) -> Result<OpenedProject> {
        Ok(self.project_or_made()?.0)
    }

    /// As [`Self::project_or_init`], with what was made.
    ///
    /// # Errors
    /// As [`Self::project_or_init`].
    pub(crate) fn project_or_made(&self) -> Result<(OpenedProject, Option<MadeProject>)> {
        if let Some(named) = self.named()? {
            // Opened only to see that it is there: what follows would create it.
            drop(self.open_named(&named)?);
        }
        let (project, done) = self.init_project(false)?;
        self.refuse_half_a_project(project.root())?;
        let is_made = ["runs/", ".gitattributes"].iter().all(|name| done.created.iter().any(|made| made == name));
        let made =
            if is_made { Some(MadeProject { path: done.path, place: self.place_of(project.root()) }) } else { None };
        Ok((project, made))
    }

    /// Opens the project. If there is none, creates its `.flow` at the top of the repository, or in the working
    /// directory outside of a repository. It gets schemas for editors if they are asked for; those that are there are kept up
    /// to date.
    ///
    /// # Errors
    /// `home_directory` if it would be that of the user, [`crate::runs::Error::Store`] when it cannot be created or used.
    pub fn init_project(&self, with_schemas: bool) -> Result<(OpenedProject, InitOutcome)> {
        let request = self.write_request(self.now(), self.lock_wait()?);
        let flow = match self.named()? {
            Some(named) => named,
            None => self.place_for_flow()?,
        };
        let has_schemas = with_schemas || self.disk.is_dir(&flow.join("schemas"));
        let schemas = if has_schemas { self.schemas_here()? } else { Vec::new() };
        let left_out = self.left_out_rules(flow.parent().unwrap_or(&flow))?;
        let (project, made) = Project::init(&*self.disk, &flow, self.trust()?, &schemas, &left_out, &request)?;
        if made.created.iter().any(|name| name == ".gitattributes") {
            let rules = self.rules_against_lfs(project.root());
            if !rules.is_empty() {
                project.lock_for_repair(&request)?.add_lines(".gitattributes", &rules)?;
            }
        }
        Ok((self.own(project)?, made))
    }

    /// The `.flow` that is found from here, or that is to be created.
    fn place_for_flow(&self) -> Result<PathBuf> {
        let start = self.search_from()?;
        // A second `.flow` in a subdirectory would hide the runs of the first one.
        let top = self.git.find_top(&start).map_err(|source| {
            StoreError::from(DiskError::Io { action: Operation::Inspect, path: start.join(".git"), source })
        })?;
        if let Some(found) = Project::find(&*self.disk, &start, || top.clone())? {
            return Ok(Project::path_in(&found));
        }
        let root = top.unwrap_or_else(|| start.clone());
        for dir in start.ancestors().take_while(|dir| dir.starts_with(&root)) {
            self.refuse_left_out(dir, ".flow")?;
        }
        self.refuse_home(&root)?;
        Ok(Project::path_in(&root))
    }

    /// Refuses to make a `.flow` in the home directory, where every directory below would belong to it that is in no
    /// repository.
    fn refuse_home(&self, root: &Path) -> Result<()> {
        if self.options.is_home_meant || !self.is_home(root) {
            return Ok(());
        }
        let message = format!("{} is your home directory, and not a project", root.display());
        let init = Suggestion::flow("init").flag("here");
        let help = Help::from("go to the directory of your project, or make one here with ") + init;
        Err(Problem::new(Kind::Refused, "home_directory", message).help(help).into())
    }

    fn is_home(&self, root: &Path) -> bool {
        let Some(home) = &self.env.home else { return false };
        let (Ok(home), Ok(root)) = (self.disk.canonical(home), self.disk.canonical(root)) else { return false };
        home == root
    }

    fn place_of(&self, root: &Path) -> MadePlace {
        if self.is_home(root) {
            return MadePlace::Home;
        }
        if self.git.is_broken(root) {
            return MadePlace::BrokenRepository;
        }
        if self.git.top(root).is_some() {
            return match self.git.ignores(root, ".flow/runs/r/run.yaml") {
                Some(true) => MadePlace::Ignored,
                // A bare repository may be beside a `.git` that leads to it.
                None if self.git.is_set_bare(root) => MadePlace::BareRepository,
                _ => MadePlace::Repository,
            };
        }
        if self.git.is_bare(root) { MadePlace::BareRepository } else { MadePlace::OutsideGit }
    }

    /// The schemas for editors, without those that git has and a sparse checkout leaves out.
    fn schemas_here(&self) -> Result<Vec<(&'static str, &'static str)>> {
        let mut schemas = SCHEMAS.to_vec();
        if let Ok(root) = self.root_to_be() {
            let left_out = self.left_out_files(&root, ".flow/schemas/*")?;
            schemas.retain(|(name, _)| !left_out.iter().any(|path| path.ends_with(name)));
        }
        Ok(schemas)
    }
}
