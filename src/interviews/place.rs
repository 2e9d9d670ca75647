//! Where an interview may begin: in Markdown of the project. Anything else is a file that a program reads, such as
//! source code or settings, and a scratch pad would break it.

use std::path::{Component, Path, PathBuf};

use crate::disk::{DocumentFault, Operation};
use crate::interviews::document_file::DocumentFile;
use crate::interviews::error::Result;
use crate::runs::Context;

/// Why no interview begins in a document, for a caller who does not insist; `None` if one may. Agents' hosts and git keep
/// files of their own in directories that begin with a dot.
pub(super) fn why_not_in(file: &DocumentFile) -> Result<Option<&'static str>> {
    let root = root_of_project(&file.cx)?;
    let root = file.cx.disk.canonical(&root).map_err(|errno| DocumentFault::io(Operation::Inspect, &root, errno))?;
    Ok(match file.path().strip_prefix(root) {
        Ok(path) => why_not(path),
        Err(_) => Some("is outside of the project"),
    })
}

/// The directory of the project, which may not have a `.flow` yet.
fn root_of_project(cx: &Context) -> Result<PathBuf> {
    Ok(cx.root_of(cx.project_if_any()?.as_ref())?)
}

/// The same for a path from the directory of the project.
fn why_not(path: &Path) -> Option<&'static str> {
    for part in path.components() {
        match part {
            Component::Normal(name) if name.as_encoded_bytes().starts_with(b".") => {
                return Some("is in a directory or has a name that begins with a dot");
            }
            Component::Normal(_) => {}
            _ => return Some("is not a path in the project"),
        }
    }
    let extension = path.extension().unwrap_or_default();
    let is_markdown = extension.eq_ignore_ascii_case("md") || extension.eq_ignore_ascii_case("markdown");
    if is_markdown { None } else { Some("is not a Markdown file (.md, .markdown)") }
}

/// The path of a document for callers that may reach nothing but Markdown of the project; `named` is from its directory.
///
/// # Errors
/// `unsafe_path` for anything else.
#[cfg(feature = "mcp")]
pub(crate) fn document_in_project(cx: &Context, named: &Path) -> Result<PathBuf> {
    // The path as it is named, and as links lead it.
    if let Some(why) = why_not(named) {
        return Err(DocumentFault::refused(named, why).into());
    }
    let file = DocumentFile::at(cx, &root_of_project(cx)?.join(named))?;
    match why_not_in(&file)? {
        Some(why) => Err(DocumentFault::refused(named, why).into()),
        None => Ok(file.named),
    }
}
