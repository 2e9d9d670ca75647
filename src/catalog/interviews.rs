//! The scripts of interviews: the project's in `.flow/interviews/`, before the shipped ones.

use std::path::PathBuf;

use crate::catalog::folder::Folder;
use crate::catalog::proved::read_proved;
use crate::catalog::{Catalog, CatalogError, Origin};
use crate::codec::{DocumentKind, Violation, similar};
use crate::interview::{Script, ScriptDocument};
use crate::model::{Flaw, WorkflowId};

/// How the name of a script's file ends.
pub(crate) const SUFFIX: &str = ".interview.yaml";
/// The project's own scripts, below `.flow`.
const FOLDER: &str = "interviews";
/// Names and texts of the scripts inside this program, sorted.
const SHIPPED: &[(&str, &str)] = &[("charter", include_str!("../../workflows/charter.interview.yaml"))];

impl Catalog {
    /// The names of the project's own scripts, sorted, also of those that no script can have.
    ///
    /// # Errors
    /// When their directory cannot be read.
    pub fn own_scripts(&self) -> Result<Vec<String>, CatalogError> {
        own_scripts(self.own_folder()?.as_ref())
    }

    /// All scripts that can be used.
    #[must_use]
    pub fn scripts(&self) -> Vec<Script> {
        let shipped = || SHIPPED.iter().map(|(id, _)| (*id).to_owned()).collect();
        let names = self.own_folder().and_then(|folder| known(folder.as_ref())).unwrap_or_else(|_| shipped());
        names.iter().filter_map(|name| Some(self.script(name).ok()?.0)).collect()
    }

    fn own_folder(&self) -> Result<Option<Folder>, CatalogError> {
        match &self.flow_dir {
            Some(flow_dir) => Folder::open(&flow_dir.join(FOLDER), false),
            None => Ok(None),
        }
    }

    /// The script called `name`.
    ///
    /// # Errors
    /// [`CatalogError::UnknownScript`] when there is none, [`CatalogError::Script`] when it cannot be used.
    pub fn script(&self, name: &str) -> Result<(Script, Origin), CatalogError> {
        let folder = self.own_folder()?;
        if let (Some(folder), Ok(id)) = (&folder, WorkflowId::new(name)) {
            let file = format!("{id}{SUFFIX}");
            if let Some(text) = folder.read(&file)? {
                let path = folder.join(&file);
                let script = read_named(&text, name)
                    .map_err(|violations| CatalogError::Script { path: path.clone(), violations })?;
                return Ok((script, Origin::Project(path)));
            }
        }
        if let Some((_, text)) = SHIPPED.iter().find(|(shipped, _)| *shipped == name) {
            let path = PathBuf::from("workflows").join(format!("{name}{SUFFIX}"));
            let script = read_script(text).map_err(|violations| CatalogError::Script { path, violations })?;
            return Ok((script, Origin::Shipped));
        }
        let known = known(folder.as_ref())?;
        let suggestion = similar(name, known.iter().map(String::as_str)).map(str::to_owned);
        Err(CatalogError::UnknownScript { name: name.to_owned(), known, suggestion })
    }
}

/// The names that scripts have, sorted.
fn known(folder: Option<&Folder>) -> Result<Vec<String>, CatalogError> {
    let mut known: Vec<String> = SHIPPED.iter().map(|(id, _)| (*id).to_owned()).collect();
    known.extend(own_scripts(folder)?.into_iter().filter(|name| WorkflowId::new(name.as_str()).is_ok()));
    known.sort();
    known.dedup();
    Ok(known)
}

fn own_scripts(folder: Option<&Folder>) -> Result<Vec<String>, CatalogError> {
    let files = folder.map(Folder::names).transpose()?.unwrap_or_default();
    let mut names: Vec<String> = files.iter().filter_map(|file| Some(file.strip_suffix(SUFFIX)?.to_owned())).collect();
    names.sort();
    Ok(names)
}

/// Reads and proves a script whose file has this name. A document names its script by that name, and by no other one could
/// the interview go on.
fn read_named(text: &str, name: &str) -> Result<Script, Vec<Violation>> {
    read_proved(text, DocumentKind::Interview, |document: ScriptDocument| match document.metadata.id.as_str() {
        id if id == name => Script::build(document),
        id => {
            let message = format!("the id is `{id}`, but the file's name makes it `{name}`");
            Err(vec![Flaw { pointer: "/metadata/id".to_owned(), message }])
        }
    })
}

/// Reads and proves a script.
///
/// # Errors
/// Everything that is wrong with it.
pub(crate) fn read_script(text: &str) -> Result<Script, Vec<Violation>> {
    read_proved(text, DocumentKind::Interview, Script::build)
}
