//! Where an interview may begin: in Markdown of the project. Anything else is a file that somebody else reads, such as
//! source code or the settings of a program, and a scratch pad would break it.

use std::path::{Component, Path, PathBuf};

#[cfg(feature = "mcp")]
use crate::disk::DocumentFault;
#[cfg(feature = "mcp")]
use crate::interviews::Error;
use crate::interviews::document_file::{DocumentFile, beside, unseen};
use crate::interviews::error::Result;
use crate::runs::{self, Context};

/// Why no interview begins in a document, for a caller who does not insist; `None` if one may. Agents' hosts and git keep
/// files of their own in directories that begin with a dot.
pub(super) fn why_not_in(cx: &Context, file: &DocumentFile) -> Result<Option<&'static str>> {
    let root = root_of_project(&beside(cx, file))?;
    let root = cx.disk.canonical(&root).map_err(|errno| unseen(&root, errno))?;
    let path = file.path();
    Ok(path.strip_prefix(root).map_or(Some("is outside of the project"), why_not))
}

/// The directory of the project, which may not have a `.flow` yet.
fn root_of_project(cx: &Context) -> Result<PathBuf> {
    match cx.project() {
        Ok(project) => Ok(project.root().to_owned()),
        Err(runs::Error::NoProject { .. }) => Ok(cx.root_to_be()?),
        Err(error) => Err(error.into()),
    }
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
    let is_markdown = |extension: &str| path.extension().is_some_and(|there| there.eq_ignore_ascii_case(extension));
    if ["md", "markdown"].into_iter().any(is_markdown) { None } else { Some("is not a Markdown file (.md, .markdown)") }
}

/// The path of a document for callers that may reach nothing but Markdown of the project; `named` is from its directory.
///
/// # Errors
/// [`Error::Document`] for anything else.
#[cfg(feature = "mcp")]
pub(crate) fn document_in_project(cx: &Context, named: &Path) -> Result<PathBuf> {
    let refuse = |why| Error::Document(DocumentFault::Unsafe { path: named.to_owned(), why });
    // The path as it is named, and as links lead it.
    if let Some(why) = why_not(named) {
        return Err(refuse(why));
    }
    let file = DocumentFile::at(cx, &root_of_project(cx)?.join(named))?;
    why_not_in(cx, &file)?.map_or(Ok(file.named), |why| Err(refuse(why)))
}
