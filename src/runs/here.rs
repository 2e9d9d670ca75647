//! Files as a command line names them: from where its caller is, and from the project for those who come later.

use std::path::{Path, PathBuf};

use crate::runs::context::Flow;
use crate::runs::quoted_path;
use crate::runs::workflow::names_a_file;
use crate::store::Project;

impl Flow {
    /// A file of the project as the caller's shell takes it: from the working directory when it is below, otherwise by its
    /// whole path, which means the same everywhere.
    pub(super) fn named_here(&self, project: &Project, file: &Path) -> String {
        let whole: PathBuf = project.root().join(file).components().collect();
        let below = self.env.cwd.as_ref().and_then(|cwd| whole.strip_prefix(cwd).ok());
        quoted_path(below.unwrap_or(&whole))
    }

    /// What a command has to say of its project when it begins to search for one in `start`: nothing, when it finds this
    /// one, otherwise `-C DIR ` with a blank behind.
    pub(super) fn place(&self, project: &Project, start: &Path) -> String {
        let found = Project::find(&*self.disk, start, || self.git.top(start)).ok().flatten();
        match self.env.flow_dir.is_some() || found.as_deref() == Some(project.root()) {
            true => String::new(),
            false => format!("-C {} ", quoted_path(project.root())),
        }
    }

    /// A file that the caller named, as it is called from the project's directory; by its whole path when it is outside.
    /// None when it has a name that is not text.
    pub(crate) fn named_in(&self, project: &Project, file: &str) -> Option<String> {
        let named = self.env.cwd.clone().unwrap_or_default().join(file);
        // The file itself may be a link, whose own name is that of the workflow.
        let whole = std::fs::canonicalize(named.parent()?).ok()?.join(named.file_name()?);
        let root = std::fs::canonicalize(project.root()).ok()?;
        let named = whole.strip_prefix(root).unwrap_or(&whole).to_str()?;
        // It would be taken for the name of a workflow.
        Some(if names_a_file(named) { named.to_owned() } else { format!("./{named}") })
    }
}
