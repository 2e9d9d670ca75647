//! `evidence`: what runs refer to as evidence and artifacts, and whether it is there; and the content of these files.

use std::cmp::Reverse;
use std::path::{Component, Path};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::disk::{Dir, DiskError, FilePart, Trust};
use crate::engine::Attempt;
use crate::model::{KeptEvidence, Kind, Number, Problem, RunId, SessionId, StateName, Suggestion, limits};
use crate::runs::context::{Context, OpenedProject};
use crate::runs::error::{Error, Result};
use crate::runs::look::outlook::OpenedRun;
use crate::runs::look::seen::{SeenEvidence, seen_evidence};
use crate::runs::look::show::{ArtifactKind, ShownArtifact, artifacts, features};
use crate::runs::open::kept::{EvidenceSources, files_here, files_in_reach, kept_in_store};
use crate::runs::open::reading::{Unreadable, read_runs};
use crate::runs::open::reference::{DIRECTORY, Referent, is_web, referent};
use crate::runs::open::select::select_run;
use crate::runs::open::shared::{StoreAnswer, ask_store, request_to_read};
use crate::runs::open::view::for_reading;
use crate::store::{BroughtEvidence, RefreshScope, StoreError, StoredRun, WriteRequest};

/// How many bytes decide about the type of a content.
const HEAD: usize = 8192;

/// Whose evidence to list.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EvidenceRequest {
    /// The run; otherwise the session's or the only active one.
    #[serde(rename = "run_id")]
    pub run: Option<String>,
    /// Whether to list that of all runs, also of those that are over.
    pub all: bool,
    /// Only that of runs about this feature, of all of them.
    pub feature: Option<String>,
    /// The session of the caller.
    pub session: Option<SessionId>,
}

/// The report of `evidence`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct EvidenceReport {
    /// For each run: what its activities refer to, what nothing refers to, and its artifacts.
    pub evidence: Vec<EvidenceItem>,
    /// Commands of which flow saw the end, and whether that still holds; with a feature or all runs, nothing is looked at.
    pub seen: Vec<SeenEvidence>,
    /// Runs that cannot be read.
    pub unreadable: Vec<Unreadable>,
    /// Notes for people.
    pub notes: Vec<String>,
}

/// Something that a run refers to.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct EvidenceItem {
    /// The run.
    pub run_id: RunId,
    /// What refers to it.
    pub origin: EvidenceOrigin,
    /// The reference, as it was written.
    pub reference: String,
    /// What it says of itself.
    pub label: Option<String>,
    /// What the reference is.
    pub kind: EvidenceKind,
    /// The file that it names, if flow can read it: a file of the run's evidence, or one of the project.
    pub file: Option<EvidenceFile>,
    /// Whether the file is there; none for what is not a file, and for files outside of the project.
    pub exists: Option<bool>,
    /// The length of the file in bytes.
    pub bytes: Option<u64>,
}

impl EvidenceItem {
    /// A file of which nothing is known.
    fn bare(run: &RunId, origin: EvidenceOrigin, reference: String) -> Self {
        let (run_id, kind) = (run.clone(), EvidenceKind::File);
        Self { run_id, origin, reference, label: None, kind, file: None, exists: None, bytes: None }
    }
}

/// What refers to a piece of evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum EvidenceOrigin {
    /// An activity.
    Activity {
        /// Its number.
        number: Number,
        /// Its id.
        id: String,
    },
    /// A registered artifact, of this step.
    Artifact {
        /// The step.
        step: Option<StateName>,
    },
    /// Nothing: it is a file among the evidence.
    Directory,
}

/// What a reference is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceKind {
    /// A file.
    File,
    /// An address on the web.
    Link,
    /// Other text, such as a job or a commit.
    Text,
}

/// A file of a run that flow can read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceFile {
    /// A file in the run's `evidence/`, by its name.
    Evidence(String),
    /// A registered artifact, by its path in the project.
    Artifact(String),
}

/// Lists what runs refer to as evidence and artifacts. Writes nothing.
///
/// # Errors
/// [`NoSuchRun`](crate::runs::Error::NoSuchRun), and those of reading a run.
pub fn evidence(cx: &Context, request: &EvidenceRequest) -> Result<EvidenceReport> {
    let project = cx.project()?;
    if request.all || request.feature.is_some() {
        let notes = ask_store(&project, RefreshScope::All);
        let all = evidence_of_all(&project, request.feature.as_deref())?;
        return Ok(EvidenceReport { notes, ..all });
    }
    let asked = StoreAnswer::now(&project, RefreshScope::All);
    let run = select_run(&project, request.run.as_deref(), request.session.clone())?;
    let mut notes = asked.about(&project, &*run);
    let view = for_reading(&project, &*run)?;
    let evidence = evidence_of(&project, &*run, view.history.attempts(), &artifacts(&view))?;
    let seen = seen_evidence(&project, &*run, &view.history, &view.history.seen())?;
    if let Some(other) = evidence.iter().find(|item| item.run_id != *run.id()) {
        notes.push(format!("{} is a fork: what it took over is kept in {}", run.id(), other.run_id));
    }
    Ok(EvidenceReport { evidence, seen, unreadable: Vec::new(), notes })
}

/// What all runs refer to, or those about a feature; the run that was started last comes first.
fn evidence_of_all(project: &OpenedProject, feature: Option<&str>) -> Result<EvidenceReport> {
    let (mut found, unreadable) = read_runs(project, &project.runs().ids()?, |run| {
        let view = for_reading(project, run)?;
        let document = view.history.state().document();
        if let Some(feature) = feature
            && document.context_text("feature") != Some(feature)
            && !features(&view.history).contains(feature)
        {
            return Ok(None);
        }
        let evidence = evidence_of(project, run, view.history.attempts(), &artifacts(&view))?;
        Ok(Some((Reverse((document.created_at, document.id.clone())), evidence)))
    })?;
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    let evidence = found.into_iter().flat_map(|(_, evidence)| evidence).collect();
    Ok(EvidenceReport { evidence, seen: Vec::new(), unreadable, notes: Vec::new() })
}

/// What a run with these activities and artifacts refers to.
pub(in crate::runs) fn evidence_of<'a>(
    project: &OpenedProject,
    run: &dyn StoredRun,
    activities: impl IntoIterator<Item = &'a Attempt>,
    artifacts: &[ShownArtifact],
) -> Result<Vec<EvidenceItem>> {
    let mut unnamed = files_here(run)?;
    let mut found = Vec::new();
    let mut keepers = EvidenceSources::of(project, run, files_in_reach)?;
    for attempt in activities {
        if attempt.evidence.is_empty() {
            continue;
        }
        let keeper = keepers.get(attempt);
        for reference in &attempt.evidence {
            let names = match &keeper {
                Some(keeper) => referent(project, keeper.run, reference, keeper.files),
                None => Referent::Missing,
            };
            let origin = EvidenceOrigin::Activity { number: attempt.number, id: attempt.id.clone() };
            let item = item_of_activity(attempt.of.as_ref().unwrap_or(run.id()), origin, reference, names);
            if attempt.of.is_none()
                && let Some(EvidenceFile::Evidence(name)) = &item.file
            {
                unnamed.remove(name);
            }
            found.push(item);
        }
    }
    for (name, bytes) in unnamed {
        let mut item = EvidenceItem::bare(run.id(), EvidenceOrigin::Directory, format!("{DIRECTORY}{name}"));
        item.file = Some(EvidenceFile::Evidence(name));
        (item.exists, item.bytes) = (Some(true), Some(bytes));
        found.push(item);
    }
    for artifact in artifacts {
        found.push(item_of_artifact(project, run.id(), artifact));
    }
    Ok(found)
}

/// Brings the evidence of a shared run that other machines recorded.
///
/// # Errors
/// `store_not_reached`, and those of reading the run.
pub(crate) fn bring_evidence(run: &dyn StoredRun, request: &WriteRequest) -> Result<BroughtEvidence> {
    let wanted: Vec<KeptEvidence> = kept_in_store(run)?.into_values().collect();
    Ok(run.bring_evidence(&wanted, request)?)
}

fn item_of_activity(run: &RunId, origin: EvidenceOrigin, reference: &str, referent: Referent) -> EvidenceItem {
    let mut item = EvidenceItem::bare(run, origin, reference.to_owned());
    match referent {
        Referent::Evidence { name, bytes } => {
            item.file = Some(EvidenceFile::Evidence(name));
            (item.exists, item.bytes) = (Some(bytes.is_some()), bytes);
        }
        Referent::InProject { bytes } => (item.exists, item.bytes) = (Some(true), bytes),
        Referent::Missing => item.exists = Some(false),
        Referent::Outside => {}
        Referent::Link => item.kind = EvidenceKind::Link,
        Referent::Text => item.kind = EvidenceKind::Text,
    }
    item
}

fn item_of_artifact(project: &OpenedProject, run: &RunId, artifact: &ShownArtifact) -> EvidenceItem {
    let is_link = artifact.kind == ArtifactKind::Link;
    let reference = artifact.data.get(if is_link { "url" } else { "path" }).and_then(Value::as_str).unwrap_or_default();
    let origin = EvidenceOrigin::Artifact { step: artifact.step.clone() };
    let mut item = EvidenceItem::bare(run, origin, reference.to_owned());
    item.label = artifact.data.get("label").and_then(Value::as_str).map(str::to_owned);
    if is_link {
        // What another program wrote into the log may be anything.
        item.kind = if is_web(reference) { EvidenceKind::Link } else { EvidenceKind::Text };
        return item;
    }
    let path = project.relative(Path::new(reference));
    if names(&path).is_some() {
        let length = part_of(project, &path, 0, 0).ok().flatten().map(|part| part.len);
        item.file = Some(EvidenceFile::Artifact(path.to_string_lossy().into_owned()));
        item.exists = Some(length.is_some());
        item.bytes = length;
    }
    item
}

/// The names of a path inside of the project, except what git and flow keep there. None if no file can have one of them.
fn names(path: &Path) -> Option<Vec<&str>> {
    let mut names = Vec::new();
    for part in path.components() {
        let Component::Normal(name) = part else { return None };
        let name = name.to_str()?;
        // In any case of letters: some file systems make no difference.
        let is_kept = name.eq_ignore_ascii_case(".git") || name.eq_ignore_ascii_case(".flow");
        if is_kept || name.contains('\0') || name.len() > limits::NAME_BYTES {
            return None;
        }
        names.push(name);
    }
    if names.is_empty() { None } else { Some(names) }
}

type ReadPart = std::result::Result<Option<FilePart>, StoreError>;

/// A part of a file of the project. An error if a directory is missing, or if a link or anything but a file is in the way.
fn part_of(project: &OpenedProject, path: &Path, offset: u64, limit: usize) -> ReadPart {
    let Some(mut names) = names(path) else { return Ok(None) };
    let last = names.pop().unwrap_or_default();
    // Files of any owner: they are only shown.
    let mut dir = Dir::open_path(&*project.cx.disk, project.root(), Trust::AnyOwner)?;
    // Name by name, so that no link is followed out of the project.
    for name in names {
        dir = dir.open_dir(name)?;
    }
    Ok(dir.read_part(last, offset, limit)?)
}

/// A part of a file that a run refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileContent {
    /// The part of the file that was asked for.
    pub bytes: Vec<u8>,
    /// The length of the whole file.
    pub len: u64,
    /// The media type of an image, as its first bytes say: PNG, JPEG, GIF or WebP.
    pub image: Option<&'static str>,
}

impl FileContent {
    /// The bytes as text; `None` if they are not text. A character that the end of the part cuts is left out.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        let valid = match std::str::from_utf8(&self.bytes) {
            Ok(text) => text,
            Err(error) if error.error_len().is_none() && self.len > self.bytes.len() as u64 => {
                std::str::from_utf8(&self.bytes[..error.valid_up_to()]).ok()?
            }
            Err(_) => return None,
        };
        let is_binary = valid[..valid.floor_char_boundary(HEAD)].contains('\0');
        if is_binary { None } else { Some(valid) }
    }
}

/// At most `limit` bytes of a file that the run refers to, from `offset` on.
///
/// # Errors
/// `file_not_found` if the run does not refer to this file, or if it is not there.
pub(in crate::runs) fn content(
    opened: OpenedRun<'_>,
    file: &EvidenceFile,
    offset: u64,
    limit: usize,
) -> Result<FileContent> {
    if let EvidenceFile::Artifact(path) = file
        && !is_registered(opened, Path::new(path))
    {
        return Err(no_such_file(opened.run));
    }
    let FilePart { bytes, len } = part_of_file(opened, file, offset, limit)?;
    // The first bytes tell the type, whichever part is asked for.
    let image = if offset == 0 { image_type(&bytes) } else { image_type(&part_of_file(opened, file, 0, 16)?.bytes) };
    Ok(FileContent { bytes, len, image })
}

/// Whether the run registered a file of the project as an artifact: a page could name any other one.
fn is_registered(opened: OpenedRun<'_>, path: &Path) -> bool {
    artifacts(opened.view).iter().any(|artifact| {
        let registered = artifact.data.get("path").and_then(Value::as_str).unwrap_or_default();
        artifact.kind == ArtifactKind::File && opened.project.relative(Path::new(registered)) == path
    })
}

fn part_of_file(opened: OpenedRun<'_>, file: &EvidenceFile, offset: u64, limit: usize) -> Result<FilePart> {
    let read = match file {
        EvidenceFile::Evidence(name) => read_evidence(opened, name, offset, limit)?,
        EvidenceFile::Artifact(path) => part_of(opened.project, Path::new(path), offset, limit),
    };
    match read {
        Ok(Some(part)) => Ok(part),
        // What cannot be opened safely counts as missing: the reference is other programs' text.
        Ok(None) | Err(StoreError::Disk(DiskError::NotFound { .. } | DiskError::Unsafe { .. })) => {
            Err(no_such_file(opened.run))
        }
        Err(error) => Err(error.into()),
    }
}

/// A part of a file of the run's evidence. That of a shared run may have to come from the store first.
fn read_evidence(opened: OpenedRun<'_>, name: &str, offset: u64, limit: usize) -> Result<ReadPart> {
    let run = opened.run;
    let here = run.read_evidence(name, offset, limit);
    if !matches!(here, Ok(None)) || run.as_of().is_none() || opened.project.cx.options.is_offline {
        return Ok(here);
    }
    let Some(kept) = kept_in_store(run)?.remove(name) else { return Ok(here) };
    run.bring_evidence(&[kept], &request_to_read(opened.project)?)?;
    Ok(run.read_evidence(name, offset, limit))
}

fn no_such_file(run: &dyn StoredRun) -> Error {
    let message = format!("run {} has no such file", run.id());
    let help = Suggestion::flow("evidence").value(run.id()) + " lists what it refers to";
    Problem::new(Kind::NotFound, "file_not_found", message).help(help).into()
}

fn image_type(head: &[u8]) -> Option<&'static str> {
    match head {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}
