//! The file of an interview's document: its path, reading and replacing it, and its script.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::disk::{DocumentError, DocumentFault, DocumentPlace, read_document, root_of, update_document};
use crate::interviews::definition;
use crate::interviews::error::{Error, Result};
use crate::interviews::fault::InterviewFault;
use crate::interviews::pad::{InterviewDocument, Pad, PadHead, PadMode, Script};
use crate::model::{RunId, Suggestion, limits};
use crate::runs::context::Context;
use crate::runs::path_argument;
use crate::store::Project;

/// The script of a document that does not name one.
pub(super) const CHARTER: &str = "charter";

/// The file of a document.
#[derive(Debug, Clone)]
pub(super) struct DocumentFile {
    /// In the project of the document: the one that the caller names, otherwise the one that contains the document, otherwise
    /// the caller's.
    pub(super) cx: Context,
    /// The path as the caller gave it.
    pub(super) named: PathBuf,
    /// The deepest directory on its path that exists.
    root: PathBuf,
    /// The path of the document below `root`.
    relative: PathBuf,
    wait: Duration,
    /// For a copy: the name of the original document.
    copy_of: Option<OsString>,
    /// The scripts that an interview in it may use.
    known: Vec<Script>,
}

impl DocumentFile {
    /// The document at `named`, from the working directory.
    pub(super) fn at(cx: &Context, named: &Path) -> Result<Self> {
        let path = cx.absolute(named)?;
        let text = named.as_os_str().as_encoded_bytes();
        if text.ends_with(b"/") || text.ends_with(b"/.") {
            return Err(DocumentFault::refused(named, "names a directory, not a document").into());
        }
        // Links in the directory are resolved, so that one document has one path: runs refer to it by that.
        let (root, relative) = root_of(&*cx.disk, &path).map_err(|why| why.fault(named))?;
        let (wait, known) = (cx.lock_wait()?, Vec::new());
        let cx = beside(cx, &root);
        let mut file = Self { cx, named: named.to_owned(), root, relative, wait, copy_of: None, known };
        let path = file.path();
        if Project::is_inside(&path) || path.components().any(|part| part.as_os_str().eq_ignore_ascii_case(".git")) {
            return Err(DocumentFault::refused(
                named,
                "is inside .git or .flow, where no document of an interview can be",
            )
            .into());
        }
        // Invalid scripts are reported when they are used.
        file.known = definition::scripts(&file.cx.catalog(file.cx.project().ok().as_ref()));
        Ok(file)
    }

    fn place(&self) -> DocumentPlace<'_> {
        let place = self.cx.document(&self.root, &self.relative, limits::INTERVIEW_BYTES, self.wait);
        DocumentPlace { copy_of: self.copy_of.as_deref(), ..place }
    }

    /// The absolute path.
    pub(super) fn path(&self) -> PathBuf {
        self.root.join(&self.relative)
    }

    /// A command line about the document.
    pub(super) fn suggest(&self, verb: &str) -> Suggestion {
        Suggestion::flow(verb).value(path_argument(&self.named))
    }

    /// A copy called `name` in the same directory.
    pub(super) fn copy(&self, name: &str) -> Self {
        let beside = |path: &Path| path.with_file_name(name);
        let copy_of = self.relative.file_name().map(OsString::from);
        Self { named: beside(&self.named), relative: beside(&self.relative), copy_of, ..self.clone() }
    }

    /// Parses `text`, the current or future content of the document.
    pub(super) fn document<'t>(&'t self, text: &'t str) -> InterviewDocument<'t> {
        InterviewDocument::among(&self.known, text)
    }

    /// The names of the scripts that an interview in it may use.
    pub(super) fn scripts(&self) -> Vec<String> {
        self.known.iter().map(|script| script.id().to_owned()).collect()
    }

    /// The script that knows most of the questions in `pad`; none if no script knows any, or if two know equally many.
    pub(super) fn script_that_asks(&self, pad: &Pad) -> Option<&str> {
        let (mut best, mut most) = (None, (0, 0));
        for script in &self.known {
            let known = script.knows(pad);
            if known > most {
                (best, most) = (Some(script.id()), known);
            } else if known == most {
                best = None;
            }
        }
        // Without a topic of its own a script knows nothing of the pad.
        if most.0 > 0 { best } else { None }
    }

    /// Its content; none if the file does not exist.
    pub(super) fn read(&self) -> Result<Option<String>> {
        Ok(read_document(&self.place())?)
    }

    /// Replaces its content on stable storage.
    pub(super) fn update(&self, edit: &mut dyn FnMut(Option<&str>) -> Result<String, InterviewFault>) -> Result<()> {
        update_document(&self.place(), edit).map_err(|error| match error {
            DocumentError::Edit { source, .. } => self.fault(source),
            DocumentError::Fault(fault) => fault.into(),
        })
    }

    pub(super) fn fault(&self, fault: InterviewFault) -> Error {
        Error::Stopped { document: self.named.clone(), fault }
    }
}

/// `cx` for the project of a document in `dir`.
fn beside(cx: &Context, dir: &Path) -> Context {
    // What the caller names wins.
    if cx.options.project.is_some() || cx.env.flow_dir.is_some() {
        return cx.clone();
    }
    match Project::find(&*cx.disk, dir, || cx.git.top(dir)) {
        Ok(Some(root)) => cx.in_project(&root),
        Ok(None) => cx.clone(),
        // Opening the project there reports what is wrong.
        Err(_) => cx.in_project(dir),
    }
}

/// The script called `name`.
pub(super) fn script(file: &DocumentFile, name: &str) -> Result<Script> {
    let project = file.cx.project_if_any()?;
    let catalog = file.cx.catalog(project.as_ref());
    if let Some(project) = &project
        && let Some(own) = definition::absent_script(&catalog, name)?
    {
        file.cx.refuse_left_out(project.root(), &format!(".flow/{own}"))?;
    }
    definition::script(&catalog, name)
}

/// The script of the interview in `document`.
pub(super) fn script_of(file: &DocumentFile, document: &InterviewDocument<'_>) -> Result<Script> {
    let pad = pad(document).map_err(|fault| file.fault(fault))?;
    script(file, pad.head.script.as_deref().unwrap_or(CHARTER))
}

/// The head of a pad for an interview that begins now.
pub(super) fn head_of(file: &DocumentFile, mode: PadMode, script: &Script, run: Option<&RunId>) -> PadHead {
    PadHead {
        mode: Some(mode),
        started: Some(file.cx.now().in_seconds()),
        script: if script.id() == CHARTER { None } else { Some(script.id().to_owned()) },
        run: run.map(RunId::to_string),
    }
}

/// The only pad of `document`, provided that its mode or at least one question can be read.
pub(super) fn pad<'d>(document: &'d InterviewDocument<'_>) -> Result<&'d Pad, InterviewFault> {
    let pad = document.only_pad()?;
    let says_nothing = pad.head.mode.is_none() && pad.entries.is_empty();
    match pad.faults.first() {
        Some(fault) if says_nothing => Err(InterviewFault::Unreadable { fault: fault.clone() }),
        _ => Ok(pad),
    }
}
