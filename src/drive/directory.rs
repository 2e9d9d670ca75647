//! The directory in which the commands of a driver run.
//!
//! A command like `./check.sh` is another one in another directory. So a run is driven in one directory: the run stores it,
//! and a driver that is called from elsewhere runs the commands there.

use std::path::{Path, PathBuf};

use crate::drive::command::things;
use crate::drive::report::{Choose, DriveRequest};
use crate::runs::{Context, Error, Result, is_accepted};

/// The directory in which commands run.
#[derive(Debug, Clone)]
pub(super) struct CommandDir {
    pub(super) path: PathBuf,
    /// As the run stores it: relative to the project, or absolute if it is outside. None if no command runs.
    pub(super) name: Option<String>,
    /// Whether the caller works elsewhere and did not name it.
    pub(super) is_elsewhere: bool,
}

/// Finds the directory. `stored` is the one in which the run was first driven, as the run stores it.
///
/// # Errors
/// [`Error::Usage`] when it is not there, or when the run names one outside of the project in which this machine never
/// ran the commands: the author of the file could have put any directory there.
pub(super) fn command_dir(cx: &Context, request: &DriveRequest, stored: Option<&str>) -> Result<CommandDir> {
    let cwd = cx.env.cwd.clone().unwrap_or_else(|| PathBuf::from("."));
    if request.on.is_empty() && !matches!(request.choose, Choose::Command(_)) {
        return Ok(CommandDir { path: cwd, name: None, is_elsewhere: false });
    }
    let here = cx.disk.canonical(&cwd).ok();
    let root = cx.root()?;
    let root = cx.disk.canonical(&root).unwrap_or(root);
    let wanted = match (&request.dir, stored) {
        (Some(given), _) => cwd.join(given),
        (None, Some(stored)) => root.join(stored),
        (None, None) => cwd,
    };
    let path = match cx.disk.canonical(&wanted) {
        Ok(path) if cx.disk.is_dir(&path) => path,
        _ => {
            let what = match &request.dir {
                Some(_) => "the directory for the commands",
                None => "the directory in which the run was first driven",
            };
            let message = format!("{what}, {}, is not there; name another one with --dir", wanted.display());
            return Err(Error::Usage(message));
        }
    };
    // Who works there has chosen it, as much as who names it.
    let is_named = request.dir.is_some() || here.as_deref() == Some(&path);
    if !is_named && !path.starts_with(&root) && !was_accepted(cx, request, stored) {
        return Err(Error::Usage(format!(
            "the run was first driven in {}, outside of the project: drive it from there, or name the directory for the \
             commands with --dir",
            path.display()
        )));
    }
    Ok(CommandDir { name: Some(name_of(&root, &path)), path, is_elsewhere: !is_named })
}

/// Whether this machine has run these commands in the stored directory before.
fn was_accepted(cx: &Context, request: &DriveRequest, stored: Option<&str>) -> bool {
    matches!(cx.project(), Ok(project) if is_accepted(&project, &things(request, stored)))
}

fn name_of(root: &Path, path: &Path) -> String {
    match path.strip_prefix(root) {
        Ok(below) if below.as_os_str().is_empty() => ".".to_owned(),
        Ok(below) => below.to_string_lossy().into_owned(),
        Err(_) => path.to_string_lossy().into_owned(),
    }
}
