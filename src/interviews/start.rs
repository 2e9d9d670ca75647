//! `interview start`: begins an interview, or finds the one that exists.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::interviews::document_file::{CHARTER, DocumentFile, head_of, pad, script, script_of};
use crate::interviews::error::Result;
use crate::interviews::fault::InterviewFault;
use crate::interviews::gone::text_to_begin;
use crate::interviews::link::{InterviewEnd, LateEnd, end_in_waiting_runs, update_run};
use crate::interviews::next::{InterviewNext, InterviewState, faults, next_of, nothing, why_nothing};
use crate::interviews::pad::{InterviewDocument, Metadata, Pad, PadMode, Script, Step};
use crate::interviews::place::why_not_in;
use crate::model::{Help, Kind, Problem, RunId};
use crate::runs::context::Context;
use crate::runs::open::name::{Purpose, open_run};

/// The interview to begin or to find.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InterviewRequest {
    /// The document.
    pub document: PathBuf,
    /// The script; otherwise the one that the document names, or the charter.
    pub script: Option<String>,
    /// The run that the interview belongs to.
    #[serde(rename = "run_id")]
    pub run: Option<String>,
    /// Whether it may begin in a file that is not Markdown, or outside of the project.
    #[serde(default)]
    pub force: bool,
}

/// The report of `interview start`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct InterviewStartReport {
    /// The document, as it was named.
    pub document: PathBuf,
    /// What existed before: no document, a document, or an interview.
    pub mode: PadMode,
    /// The script.
    pub script: String,
    /// The run that the interview belongs to.
    pub run_id: Option<RunId>,
    /// Whether an interview was begun: false if one continues, or if there is nothing to ask.
    pub begun: bool,
    /// The next step.
    pub next: InterviewNext,
    /// Problems that did not stop the command.
    pub warnings: Vec<String>,
}

/// Begins an interview, or finds the one that exists. A document that does not exist is created with its sections and
/// the scratch pad in one write.
///
/// # Errors
/// [`Error::Script`](crate::interviews::Error::Script) for an invalid script;
/// [`Error::Run`](crate::interviews::Error::Run) and [`Error::Stopped`](crate::interviews::Error::Stopped) when the
/// document cannot be used. Then nothing is written.
pub fn start(cx: &Context, request: &InterviewRequest) -> Result<InterviewStartReport> {
    let file = DocumentFile::at(cx, &request.document)?;
    let run = request.run.as_ref().map(|run| run_beside(&file, run)).transpose()?;
    let named = request.script.as_deref();
    if let Some(named) = named {
        script(&file, named)?;
    }
    let there = whole(&file, &text_to_begin(&file, run.is_some())?, named).map_err(|fault| file.fault(fault))?;
    let before = file.document(&there);
    let noted = before.pad().and_then(|pad| pad.head.script.as_deref());
    let script = script(&file, named.or(noted).unwrap_or(CHARTER))?;
    before.settled().map_err(|error| file.fault(error.into()))?;
    let is_plain = before.is_without_pad() && !there.trim().is_empty();
    // A `finish` may have ended before it updated the run; then there is no interview to begin.
    let late = if is_plain { end_in_waiting_runs(&file, &InterviewEnd::Finished) } else { LateEnd::default() };
    let mut warnings = late.warnings();
    if late.was_open {
        return Ok(finished_before(file, &script, warnings));
    }
    refuse_elsewhere(&file, &before, request.force)?;
    let mut found = PadMode::Create;
    let mut now = String::new();
    // Set if there is nothing to ask, so that no interview begins.
    let mut unasked = None;
    let mut mended = false;
    file.update(&mut |old| {
        // The edit runs again on a newer text if the document was saved meanwhile, so it sets all of this again.
        let text = whole(&file, old.unwrap_or_default(), named)?;
        mended = old.is_some_and(|old| file.document(old).lost().is_some());
        unasked = None;
        let new = match file.document(&text) {
            document if document.pad().is_some() => {
                found = PadMode::Resume;
                same_script(&file, pad(&document)?, named)?;
                same_run(&file, document.only_pad()?, run.as_ref())?;
                text.clone()
            }
            _ if text.trim().is_empty() => {
                found = PadMode::Create;
                file.document(&script.skeleton()).begin(&head_of(&file, PadMode::Create, &script, run.as_ref()))?
            }
            document => {
                found = PadMode::Update;
                let begun = document.begin(&head_of(&file, PadMode::Update, &script, run.as_ref()))?;
                let fresh = file.document(&begun);
                let outlook = script.outlook(&fresh, fresh.only_pad()?);
                if outlook.step == Step::Nothing {
                    unasked = Some(outlook);
                    text.clone()
                } else {
                    begun
                }
            }
        };
        now.clone_from(&new);
        Ok(new)
    })?;
    let document = file.document(&now);
    let begun = found != PadMode::Resume && unasked.is_none();
    if mended && let Some(pad) = document.pad() {
        warnings.push(put_back(pad));
    }
    let (next, script, run_id) = match unasked {
        Some(outlook) => (nothing(&file, why_nothing(&outlook), outlook.metadata), script.id().to_owned(), run),
        None => {
            let script = script_of(&file, &document)?;
            let standing = InterviewState::of(&file, &document, &script)?;
            warnings.extend(faults(standing.pad));
            // A person can write anything there; what names no run is warned of below.
            let linked = standing.pad.head.run.as_deref().and_then(|run| RunId::new(run).ok());
            (next_of(&file, &standing), script.id().to_owned(), linked)
        }
    };
    warnings.extend(update_run(&file, &document, None));
    Ok(InterviewStartReport { document: file.named, mode: found, script, run_id, begun, next, warnings })
}

/// The report about an interview that was finished, and whose run learns of it only now.
fn finished_before(file: DocumentFile, script: &Script, warnings: Vec<String>) -> InterviewStartReport {
    let next = nothing(&file, "it is finished, which its run knows now", Metadata::default());
    let (document, script) = (file.named, script.id().to_owned());
    InterviewStartReport { document, mode: PadMode::Update, script, run_id: None, begun: false, next, warnings }
}

/// Refuses a document in which no interview begins, unless the caller insists.
fn refuse_elsewhere(file: &DocumentFile, before: &InterviewDocument<'_>, force: bool) -> Result<()> {
    // What was begun goes on wherever it is: refusing it would strand the answers.
    if force || before.pad().is_some() {
        return Ok(());
    }
    let Some(why) = why_not_in(file)? else { return Ok(()) };
    let message = format!("no interview begins in {}: it {why}", file.named.display());
    Err(Problem::new(Kind::Refused, "not_a_document", message)
        .help("--force begins one there all the same; nothing was written")
        .into())
}

/// The id of the run called `run` in the project of a document.
fn run_beside(file: &DocumentFile, run: &str) -> Result<RunId> {
    Ok(open_run(&file.cx.project()?, run, Purpose::Write)?.id().clone())
}

/// Repairs a document whose scratch pad lost its heading: restores the heading, and adds the name of the script if the
/// pad no longer has it. That is the script that is `named`, or the only one that knows its questions.
fn whole(file: &DocumentFile, text: &str, named: Option<&str>) -> Result<String, InterviewFault> {
    let document = file.document(text);
    // A text with the marks of a merge cannot be judged; the caller refuses it.
    let lost = if document.settled().is_ok() { document.lost() } else { None };
    let text = if lost.is_some() { document.with_heading()? } else { text.to_owned() };
    let read = file.document(&text);
    let pad = match read.only_pad() {
        Ok(pad) if pad.head.script.is_none() => pad,
        _ => return Ok(text),
    };
    let script = match (named, lost) {
        (None, None) => return Ok(text),
        (Some(_), None) if pad.head.mode.is_some() => return Ok(text),
        (Some(named), _) => named,
        (None, Some(line)) => match file.script_that_asks(pad) {
            Some(script) => script,
            // The head is whole, and the charter is what a head without a script means.
            None if pad.head.mode.is_some() => CHARTER,
            None => {
                let at = file.named.display();
                let message = format!("{at}:{line} this scratch pad does not say to which script its questions belong");
                let help = Help::from("name it with ") + file.suggest("interview start").option("script", "NAME");
                return Err(Problem::new(Kind::Damaged, "pad_script_lost", message)
                    .help(help + format!(": {}; nothing was written", file.scripts().join(", ")))
                    .into());
            }
        },
    };
    if script == CHARTER { Ok(text) } else { Ok(read.with_script(script)?) }
}

/// The warning about a pad whose heading was restored.
fn put_back(pad: &Pad) -> String {
    let by = match &pad.head.script {
        Some(script) => format!(", and the script is `{script}`"),
        None => String::new(),
    };
    format!("the heading of the scratch pad was gone; it is back in line {}{by}", pad.line)
}

/// Refuses another script than the one with which the interview began.
fn same_script(file: &DocumentFile, pad: &Pad, named: Option<&str>) -> std::result::Result<(), InterviewFault> {
    let script = pad.head.script.as_deref().unwrap_or(CHARTER);
    if named.is_none_or(|named| named == script) {
        return Ok(());
    }
    let message = format!("the interview in {} uses the script `{script}`", file.named.display());
    Err(Problem::new(Kind::Refused, "wrong_interview", message)
        .help("leave --script out, or abandon that interview first")
        .into())
}

fn same_run(file: &DocumentFile, pad: &Pad, named: Option<&RunId>) -> std::result::Result<(), InterviewFault> {
    let run = pad.head.run.as_deref();
    if named.is_none_or(|named| run == Some(named.as_str())) {
        return Ok(());
    }
    let whose = run.map_or("no run".to_owned(), |run| format!("the run {run}"));
    let message = format!("the interview in {} belongs to {whose}", file.named.display());
    Err(Problem::new(Kind::Refused, "wrong_run", message)
        .help("leave --run-id out, or write `<!-- Run: ID -->` below the heading of the scratch pad")
        .into())
}
