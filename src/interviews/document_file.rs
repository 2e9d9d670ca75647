//! The document of an interview, as a file: where it is, how it is read and replaced, and by which script it goes.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::codec::digest;
use crate::disk::{
    Disk, DocumentError, DocumentFault, DocumentPlace, Errno, FileType, Guard, Links, Operation, read_document,
    update_document,
};
use crate::interviews::definition;
use crate::interviews::error::{Error, InterviewFault, Result};
use crate::interviews::pad::{Document, EditError, Head, Mode, Pad, Script};
use crate::model::{Suggestion, limits};
use crate::runs::context::Context;
use crate::runs::{self, path_argument};
use crate::store::Project;

/// The script of a document that names none.
pub(super) const CHARTER: &str = "charter";

/// A document that somebody named.
#[derive(Debug, Clone)]
pub(super) struct DocumentFile {
    /// Where it is.
    pub(super) disk: Arc<dyn Disk>,
    /// As it was named.
    pub(super) named: PathBuf,
    /// The deepest directory on its path that is there.
    root: PathBuf,
    /// The document below it.
    relative: PathBuf,
    wait: Duration,
    /// The name of the document of which this is a copy.
    copy_of: Option<OsString>,
    /// The scripts by which an interview in it may go.
    known: Vec<Script>,
}

impl DocumentFile {
    /// The document at `named`, from the working directory.
    pub(super) fn at(cx: &Context, named: &Path) -> Result<Self> {
        let path = absolute(cx, named)?;
        let refuse = |why| Error::Document(DocumentFault::Unsafe { path: named.to_owned(), why });
        let text = named.as_os_str().as_encoded_bytes();
        if text.ends_with(b"/") || text.ends_with(b"/.") {
            return Err(refuse("names a directory, not a document"));
        }
        let mut root = path.parent().ok_or_else(|| refuse("names no file"))?;
        loop {
            match cx.disk.look(root, Links::Follow).map(|stat| stat.kind) {
                Ok(FileType::Directory) => break,
                Ok(_) | Err(Errno::NOTDIR) => return Err(refuse("is below something that is not a directory")),
                Err(Errno::NOENT) => root = root.parent().ok_or_else(|| refuse("names no file"))?,
                Err(errno) => return Err(unseen(root, errno).into()),
            }
        }
        let relative = path.strip_prefix(root).unwrap_or(&path).to_owned();
        // One document has one path, however it is named: runs know it by that.
        let root = cx.disk.canonical(root).map_err(|errno| unseen(root, errno))?;
        let (wait, known) = (cx.lock_wait()?, Vec::new());
        let disk = Arc::clone(&cx.disk);
        let mut file = Self { disk, named: named.to_owned(), root, relative, wait, copy_of: None, known };
        let path = file.path();
        if Project::is_inside(&path) || path.components().any(|part| part.as_os_str().eq_ignore_ascii_case(".git")) {
            return Err(refuse("is inside .git or .flow, where no document of an interview can be"));
        }
        file.known = scripts_of(cx, &file);
        Ok(file)
    }

    fn place(&self) -> DocumentPlace<'_> {
        DocumentPlace {
            disk: &*self.disk,
            root: &self.root,
            relative: &self.relative,
            limit: limits::INTERVIEW_BYTES,
            guard: Guard::Directory,
            wait: self.wait,
            copy_of: self.copy_of.as_deref(),
            digest,
        }
    }

    /// The whole path.
    pub(super) fn path(&self) -> PathBuf {
        self.root.join(&self.relative)
    }

    /// A command about it.
    pub(super) fn suggest(&self, verb: &str) -> Suggestion {
        Suggestion::flow(verb).value(path_argument(&self.named))
    }

    /// A copy of it beside it that is called `name`.
    pub(super) fn copy(&self, name: &str) -> Self {
        let beside = |path: &Path| path.with_file_name(name);
        let copy_of = self.relative.file_name().map(OsString::from);
        Self { named: beside(&self.named), relative: beside(&self.relative), copy_of, ..self.clone() }
    }

    /// What `text` says, which is or will be its own.
    pub(super) fn document<'t>(&'t self, text: &'t str) -> Document<'t> {
        Document::among(&self.known, text)
    }

    /// The names of the scripts by which an interview in it may go.
    pub(super) fn scripts(&self) -> Vec<String> {
        self.known.iter().map(|script| script.id().to_owned()).collect()
    }

    /// The script to which the questions in `pad` belong, when one knows more of them than any other.
    pub(super) fn script_that_asks(&self, pad: &Pad) -> Option<&str> {
        let most = self.known.iter().map(|script| script.knows(pad)).max().filter(|most| most.0 > 0)?;
        let mut best = self.known.iter().filter(|script| script.knows(pad) == most);
        best.next().filter(|_| best.next().is_none()).map(Script::id)
    }

    /// Its text; none when there is no such file.
    pub(super) fn read(&self) -> Result<Option<String>> {
        Ok(read_document(&self.place())?)
    }

    /// Its text, which must be there.
    pub(super) fn text(&self) -> Result<String> {
        self.read()?.ok_or_else(|| self.fault(InterviewFault::Missing))
    }

    /// Replaces its text on stable storage.
    pub(super) fn update(
        &self,
        edit: &mut dyn FnMut(Option<&str>) -> std::result::Result<String, InterviewFault>,
    ) -> Result<()> {
        update_document(&self.place(), edit).map_err(|error| match error {
            DocumentError::Edit { source, .. } => self.fault(source),
            DocumentError::Fault(fault) => fault.into(),
        })
    }

    pub(super) fn fault(&self, fault: InterviewFault) -> Error {
        Error::Stopped { document: self.named.clone(), fault }
    }
}

fn unseen(path: &Path, errno: Errno) -> DocumentFault {
    DocumentFault::Io { doing: Operation::Inspect, path: path.to_owned(), source: errno.into() }
}

/// `path` from the working directory.
pub(crate) fn absolute(cx: &Context, path: &Path) -> Result<PathBuf> {
    match &cx.env.cwd {
        Some(cwd) => Ok(cwd.join(path)),
        None if path.is_absolute() => Ok(path.to_owned()),
        None => Err(runs::Error::Usage("the working directory does not exist; name the whole path".to_owned()).into()),
    }
}

/// The same in the project of a document: the one that the caller names, otherwise the one in which it lies, otherwise
/// the caller's.
pub(super) fn beside(cx: &Context, file: &DocumentFile) -> Context {
    if cx.options.project.is_some() || cx.env.flow_dir.is_some() {
        return cx.clone();
    }
    match Project::find(&*cx.disk, &file.root, || cx.git.top(&file.root)) {
        Ok(Some(root)) => cx.in_project(&root),
        Ok(None) => cx.clone(),
        // Opening it there says what is wrong.
        Err(_) => cx.in_project(&file.root),
    }
}

/// The scripts of the project of a document. What is wrong with one of them is told where it is used.
fn scripts_of(cx: &Context, file: &DocumentFile) -> Vec<Script> {
    definition::scripts(&cx.catalog(beside(cx, file).project().ok().as_ref()))
}

/// The script called `name`.
pub(super) fn script(cx: &Context, file: &DocumentFile, name: &str) -> Result<Script> {
    let project = match beside(cx, file).project() {
        Ok(project) => Some(project),
        Err(runs::Error::NoProject { .. }) => None,
        Err(error) => return Err(error.into()),
    };
    definition::script(&cx.catalog(project.as_ref()), name)
}

/// The script by which the interview in `document` goes.
pub(super) fn script_of(cx: &Context, file: &DocumentFile, document: &Document<'_>) -> Result<Script> {
    let pad = pad(document).map_err(|fault| file.fault(fault))?;
    script(cx, file, pad.head.script.as_deref().unwrap_or(CHARTER))
}

/// How an interview begins that begins now.
pub(super) fn head_of(cx: &Context, mode: Mode, script: &Script, run: Option<String>) -> Head {
    Head {
        mode: Some(mode),
        started: Some(cx.now().in_seconds()),
        script: (script.id() != CHARTER).then(|| script.id().to_owned()),
        run,
    }
}

/// The only pad of `document`, which tells how the interview began or at least one question.
pub(super) fn pad<'d>(document: &'d Document<'_>) -> std::result::Result<&'d Pad, InterviewFault> {
    let pad = document.only_pad()?;
    let says_nothing = pad.head.mode.is_none() && pad.entries.is_empty();
    match pad.faults.first() {
        Some(fault) if says_nothing => Err(InterviewFault::Unreadable { fault: fault.clone() }),
        _ => Ok(pad),
    }
}

impl From<EditError> for InterviewFault {
    fn from(error: EditError) -> Self {
        Self::Edit(error)
    }
}
