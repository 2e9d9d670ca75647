//! `export`: the forms in which a run leaves flow, and the file into which such a text is put.

use std::convert::Infallible;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::disk::{DocumentError, DocumentFault, root_of, update_document};
use crate::model::{RunId, Seq, limits};
use crate::runs::context::Context;
use crate::runs::error::{Error, Result};
use crate::store::Project;

/// A form in which a run leaves flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ExportFormat {
    /// The workflow as a state diagram of Mermaid, with the run's position.
    Mermaid,
    /// The steps over time as a Gantt diagram of Mermaid.
    Gantt,
    /// The steps over time as a picture.
    Svg,
    /// A page in one file, without scripts.
    Html,
    /// The trace event format of Chrome, for Perfetto and others.
    ChromeTrace,
    /// All events as a batch of CloudEvents.
    Cloudevents,
    /// A trace of OpenTelemetry, as OTLP in JSON.
    OtlpJson,
    /// What was seen of commands, as a statement of in-toto in each line.
    InToto,
}

/// The report of `export`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ExportReport {
    /// The run.
    pub run_id: RunId,
    /// The format.
    pub format: ExportFormat,
    /// The event after which the run is shown; none for the current state.
    pub at: Option<Seq>,
    /// The file that was written; none if the text is in this report.
    pub path: Option<PathBuf>,
    /// The directory that was made for the file, with those below it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub made: Option<PathBuf>,
    /// The text; none if it was written to a file.
    pub text: Option<String>,
}

/// Puts an exported text into the file at `named`, from the working directory: a new file, or in one step in the place of
/// a text that is there. Returns the absolute path, and the first directory that was made for it.
///
/// # Errors
/// [`Error::Document`] if that is not a text file of the user's, is inside `.flow` or `.git`, or cannot be written.
pub fn save_export(cx: &Context, named: &Path, text: &str) -> Result<(PathBuf, Option<PathBuf>)> {
    let path = cx.absolute(named)?;
    // The parts of a path do not show what it ends with.
    let bytes = named.as_os_str().as_encoded_bytes();
    if bytes.ends_with(b"/") || bytes.ends_with(b"/.") {
        return Err(DocumentFault::refused(named, "names a directory, not a file").into());
    }
    let (root, relative) = root_of(&*cx.disk, &path).map_err(|why| why.fault(named))?;
    let path = root.join(&relative);
    if is_kept_by_programs(cx, &path) {
        let why = "is inside .git or .flow, which hold nothing but what git and flow write";
        return Err(DocumentFault::refused(named, why).into());
    }
    let place = cx.document(&root, &relative, limits::EXPORT_BYTES, cx.lock_wait()?);
    let missing = path.ancestors().skip(1).take_while(|dir| !cx.disk.is_dir(dir));
    let made = missing.last().map(Path::to_owned);
    update_document::<Infallible>(&place, &mut |_| Ok(text.to_owned())).map_err(|error| match error {
        DocumentError::Fault(fault) => Error::from(fault),
        DocumentError::Edit { source, .. } => match source {},
    })?;
    Ok((path, made))
}

/// Whether a path is inside `.git`, a `.flow`, or the directory that is the project's under another name.
fn is_kept_by_programs(cx: &Context, path: &Path) -> bool {
    let in_git = path.components().any(|part| part.as_os_str().eq_ignore_ascii_case(".git"));
    if in_git || Project::is_inside(path) {
        return true;
    }
    let Ok(project) = cx.project() else { return false };
    // A link may give the project's directory another name.
    let own = cx.disk.canonical(project.path()).unwrap_or_else(|_| project.path().to_owned());
    path.starts_with(own)
}
