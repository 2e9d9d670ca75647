//! The scripts of interviews. Those of the project, in `.flow/interviews/`, take precedence over the shipped ones.

use std::path::PathBuf;

use crate::catalog::{Catalog, CatalogError, Folder, flaws_of_file, read_proved};
use crate::codec::{DocumentKind, Violation, similar};
use crate::interviews::error::{Error, Result};
use crate::interviews::pad::{Script, ScriptDocument};
use crate::model::{Flaw, WorkflowId};
use crate::runs::Context;

/// The suffix of a script's file name.
pub(crate) const SCRIPT_SUFFIX: &str = ".interview.yaml";
/// The directory of the project's own scripts, below `.flow`.
const FOLDER: &str = "interviews";
/// Names and texts of the shipped scripts, sorted.
const SHIPPED: &[(&str, &str)] = &[("charter", include_str!("../../workflows/charter.interview.yaml"))];

/// The names of the project's own scripts, sorted, including names that are not valid.
///
/// # Errors
/// When their directory cannot be read.
pub(crate) fn own_scripts(catalog: &Catalog) -> Result<Vec<String>> {
    Ok(own(catalog.own(Some(FOLDER))?.as_ref())?)
}

/// The names of all scripts, sorted: the project's own and the shipped ones.
///
/// # Errors
/// When the project cannot be looked for, or the directory of its own scripts cannot be read.
pub fn script_names(cx: &Context) -> Result<Vec<String>> {
    Ok(known(cx.catalog(cx.project().ok().as_ref()).own(Some(FOLDER))?.as_ref())?)
}

/// All valid scripts.
pub(super) fn scripts(catalog: &Catalog) -> Vec<Script> {
    // The shipped ones are there even if the directory of the project's own cannot be read.
    let names = catalog.own(Some(FOLDER)).and_then(|folder| known(folder.as_ref())).unwrap_or_else(|_| shipped_names());
    names.iter().filter_map(|name| script(catalog, name).ok()).collect()
}

/// The path below `.flow` of the project's own script called `name`; `None` if it is there, or if there can be none.
///
/// # Errors
/// When its directory cannot be read.
pub(super) fn absent_script(catalog: &Catalog, name: &str) -> Result<Option<String>> {
    let Ok(id) = WorkflowId::new(name) else { return Ok(None) };
    let file = format!("{id}{SCRIPT_SUFFIX}");
    let is_there = catalog.own(Some(FOLDER))?.is_some_and(|folder| !matches!(folder.read(&file), Ok(None)));
    Ok(if is_there { None } else { Some(format!("{FOLDER}/{file}")) })
}

/// The script called `name`.
///
/// # Errors
/// [`Error::UnknownScript`] when it does not exist, [`Error::Script`] when it is invalid.
pub(crate) fn script(catalog: &Catalog, name: &str) -> Result<Script> {
    let folder = catalog.own(Some(FOLDER))?;
    if let (Some(folder), Ok(id)) = (&folder, WorkflowId::new(name)) {
        let file = format!("{id}{SCRIPT_SUFFIX}");
        let path = folder.join(&file);
        match folder.read(&file) {
            Ok(Some(text)) => return read_named(&text, name).map_err(|violations| Error::Script { path, violations }),
            Ok(None) => {}
            Err(error) => return Err(Error::Script { path, violations: flaws_of_file(error)? }),
        }
    }
    if let Some((_, text)) = SHIPPED.iter().find(|(shipped, _)| *shipped == name) {
        let path = PathBuf::from("workflows").join(format!("{name}{SCRIPT_SUFFIX}"));
        return read_script(text).map_err(|violations| Error::Script { path, violations });
    }
    let known = known(folder.as_ref())?;
    let suggestion = similar(name, known.iter().map(String::as_str)).map(str::to_owned);
    Err(Error::UnknownScript { name: name.to_owned(), known, suggestion })
}

/// The names of all scripts, sorted.
fn known(folder: Option<&Folder>) -> Result<Vec<String>, CatalogError> {
    let mut known = shipped_names();
    known.extend(own(folder)?.into_iter().filter(|name| WorkflowId::new(name.as_str()).is_ok()));
    known.sort();
    // A project's own script may have the name of a shipped one.
    known.dedup();
    Ok(known)
}

fn shipped_names() -> Vec<String> {
    SHIPPED.iter().map(|(id, _)| (*id).to_owned()).collect()
}

fn own(folder: Option<&Folder>) -> Result<Vec<String>, CatalogError> {
    let Some(folder) = folder else { return Ok(Vec::new()) };
    let files = folder.names()?;
    let mut names: Vec<String> =
        files.iter().filter_map(|file| Some(file.strip_suffix(SCRIPT_SUFFIX)?.to_owned())).collect();
    names.sort();
    Ok(names)
}

/// Reads and checks a script in a file with this name. The name and the id must be the same, because a document refers
/// to its script by name.
fn read_named(text: &str, name: &str) -> Result<Script, Vec<Violation>> {
    read_proved(text, DocumentKind::Interview, |document: ScriptDocument| {
        let id = &document.metadata.id;
        if id != name {
            let message = format!("the id is `{id}`, but the file's name makes it `{name}`");
            return Err(vec![Flaw { pointer: "/metadata/id".to_owned(), message }]);
        }
        Script::build(document)
    })
}

/// Reads and checks a script.
///
/// # Errors
/// Everything that is wrong with it.
pub(crate) fn read_script(text: &str) -> Result<Script, Vec<Violation>> {
    read_proved(text, DocumentKind::Interview, Script::build)
}
