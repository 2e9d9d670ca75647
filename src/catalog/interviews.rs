//! The scripts of interviews: the project's in `.flow/interviews/`, before the shipped ones.

use std::path::PathBuf;

use crate::catalog::folder::Folder;
use crate::catalog::{Catalog, CatalogError, Origin};
use crate::codec::{DocumentKind, Place, Violation, parse, similar, validate};
use crate::interview::{Script, ScriptDocument};
use crate::model::{WorkflowId, limits};

/// How the name of a script's file ends.
pub(crate) const SUFFIX: &str = ".interview.yaml";
/// The project's own scripts, below `.flow`.
const FOLDER: &str = "interviews";
/// Names and texts of the scripts inside this program, sorted.
const SHIPPED: &[(&str, &str)] = &[("charter", include_str!("../../workflows/charter.interview.yaml"))];

impl Catalog {
    /// The script called `name`.
    ///
    /// # Errors
    /// [`CatalogError::UnknownScript`] when there is none, [`CatalogError::Script`] when it cannot be used.
    pub fn script(&self, name: &str) -> Result<(Script, Origin), CatalogError> {
        let folder = match &self.flow_dir {
            Some(flow_dir) => Folder::open(&flow_dir.join(FOLDER), false)?,
            None => None,
        };
        if let (Some(folder), Ok(id)) = (&folder, WorkflowId::new(name)) {
            let file = format!("{id}{SUFFIX}");
            if let Some(text) = folder.read(&file)? {
                let path = folder.join(&file);
                let script =
                    read_script(&text).map_err(|violations| CatalogError::Script { path: path.clone(), violations })?;
                return Ok((script, Origin::Project(path)));
            }
        }
        if let Some((_, text)) = SHIPPED.iter().find(|(shipped, _)| *shipped == name) {
            let path = PathBuf::from("workflows").join(format!("{name}{SUFFIX}"));
            let script = read_script(text).map_err(|violations| CatalogError::Script { path, violations })?;
            return Ok((script, Origin::Shipped));
        }
        let mut known: Vec<String> = SHIPPED.iter().map(|(id, _)| (*id).to_owned()).collect();
        if let Some(folder) = &folder {
            known.extend(folder.names()?.iter().filter_map(|file| Some(file.strip_suffix(SUFFIX)?.to_owned())));
        }
        known.sort();
        known.dedup();
        let suggestion = similar(name, known.iter().map(String::as_str)).map(str::to_owned);
        Err(CatalogError::UnknownScript { name: name.to_owned(), known, suggestion })
    }
}

/// Reads and proves a script.
///
/// # Errors
/// Everything that is wrong with it.
pub(crate) fn read_script(text: &str) -> Result<Script, Vec<Violation>> {
    let at = |place: Option<Place>, message: String| vec![Violation { pointer: String::new(), message, place }];
    let node = parse(text).map_err(|error| at(error.place, error.to_string()))?;
    let value = node.to_value();
    let violations = validate(DocumentKind::Interview, &value, Some(&node));
    if !violations.is_empty() {
        return Err(violations);
    }
    let document: ScriptDocument = serde_json::from_value(value).map_err(|error| at(None, error.to_string()))?;
    Script::build(document).map_err(|flaws| {
        let violation = |flaw: crate::interview::ScriptFlaw| {
            let place = Some(node.nearest(&flaw.pointer).place);
            Violation { pointer: flaw.pointer, message: flaw.message, place }
        };
        let mut violations: Vec<Violation> = flaws.into_iter().take(limits::VIOLATIONS).map(violation).collect();
        violations.sort_by_key(|violation| violation.place);
        violations
    })
}
