//! Files as a command line names them: from where its caller is, and from the project for those who come later.

use std::path::{Path, PathBuf};

use crate::runs::context::Context;
use crate::runs::path_argument;
use crate::runs::workflow::names_a_file;
use crate::store::Project;

/// A file of the project as the caller names it: from the working directory when it is below, otherwise by its whole
/// path, which means the same everywhere.
pub(super) fn named_here(cx: &Context, project: &Project, file: &Path) -> String {
    let whole: PathBuf = project.root().join(file).components().collect();
    let below = cx.env.cwd.as_ref().and_then(|cwd| whole.strip_prefix(cwd).ok());
    path_argument(below.unwrap_or(&whole))
}

/// How a command has to name its project when it begins to search for one in `start`; none when it finds this one.
pub(super) fn place_from(cx: &Context, project: &Project, start: &Path) -> Option<String> {
    let found = Project::find(&*cx.disk, start, || cx.git.top(start)).ok().flatten();
    let finds = cx.env.flow_dir.is_some() || found.as_deref() == Some(project.root());
    (!finds).then(|| path_argument(project.root()))
}

/// How the caller has to name the project in a command; none where it is found from the caller's working directory.
pub(crate) fn place_of_caller(cx: &Context, project: &Project) -> Option<String> {
    place_from(cx, project, cx.env.cwd.as_ref()?)
}

/// The same for a caller whose project is not opened yet.
pub(crate) fn place_of_project(cx: &Context) -> Option<String> {
    place_of_caller(cx, &cx.project().ok()?)
}

/// A file that the caller named, as it is called from the project's directory; by its whole path when it is outside.
/// None when it has a name that is not text.
pub(crate) fn named_in(cx: &Context, project: &Project, file: &str) -> Option<String> {
    let named = cx.env.cwd.clone().unwrap_or_default().join(file);
    // The file itself may be a link, whose own name is that of the workflow.
    let whole = cx.disk.canonical(named.parent()?).ok()?.join(named.file_name()?);
    let root = cx.disk.canonical(project.root()).ok()?;
    let named = whole.strip_prefix(root).unwrap_or(&whole).to_str()?;
    // It would be taken for the name of a workflow.
    Some(if names_a_file(named) { named.to_owned() } else { format!("./{named}") })
}
