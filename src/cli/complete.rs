//! What completion in a shell offers: the names of runs, phases, workflows, sessions and so on.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use clap::ArgMatches;
use clap_complete::engine::{
    ArgValueCandidates, ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter as _,
};

use crate::cli::page::clean;
use crate::hooks::event_names;
use crate::hooks::settings::AgentHost;
use crate::interviews;
use crate::model::ReportType;
use crate::modes;
use crate::modes::policy::ModeKind;
use crate::runs::{
    self, BriefRequest, Context, ListFilter, NextStatesRequest, Options, ShowRequest, TrustRequest, WorkflowEntry,
};
use crate::sharing::SharedStores;

/// The highest number of runs that are offered; the newest are.
const RUNS: usize = 100;

/// Runs, newest first, by any part of their names: those that were made here all begin with a date.
pub(super) fn runs() -> ArgValueCompleter {
    ArgValueCompleter::new(fitting_runs)
}

/// Runs as [`runs`] offers them, then files.
pub(super) fn runs_and_files() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| {
        let mut candidates = fitting_runs(typed);
        candidates.extend(PathCompleter::any().complete(typed));
        candidates
    })
}

fn fitting_runs(typed: &OsStr) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    let mut found = found(run_names);
    found.retain(|candidate| candidate.get_value().to_string_lossy().contains(&*typed));
    found
}

fn run_names(cx: &Context) -> Option<Names> {
    // A shell shows no more, and a project may have thousands.
    let filter = ListFilter { limit: Some(RUNS), ..ListFilter::default() };
    let mut names = Vec::new();
    for listed in runs::list_looking_at(cx, &filter, 0).ok()?.runs {
        let head = listed.run.head;
        names.push((head.run_id.to_string(), format!("{} {}", head.workflow, head.status)));
    }
    Some(names)
}

/// The phases of the run that the line names, of the workflow that it names, or of the run that would be resumed.
pub(super) fn phases() -> ArgValueCandidates {
    candidates(|cx| {
        if let Some(run) = named_by_line(&["run", "run_id"]) {
            return phases_of_run(cx, run);
        }
        let workflow = match named_by_line(&["workflow"]) {
            Some(workflow) => workflow,
            None => runs::brief(cx, &BriefRequest::default()).ok()??.position.workflow?.to_string(),
        };
        let (report, _) = runs::workflow_show(cx, &workflow).ok()?;
        let states = report.states.into_iter();
        Some(states.map(|state| (state.name.to_string(), state.description.unwrap_or_default())).collect())
    })
}

/// The phases of the definition that the run follows, and how far it is in them.
fn phases_of_run(cx: &Context, run: String) -> Option<Names> {
    let request = ShowRequest { run: Some(run), ..ShowRequest::default() };
    let steps = runs::show(&cx.offline(), &request).ok()?.steps;
    Some(steps.into_iter().map(|step| (step.step.to_string(), step.status.to_string())).collect())
}

/// The states that can follow in the run that the line names, or in the one that would be moved.
pub(super) fn following() -> ArgValueCandidates {
    candidates(|cx| {
        let request = NextStatesRequest { run: named_by_line(&["run", "run_id"]), ..NextStatesRequest::default() };
        let choices = runs::next_states(cx, &request).ok()?.choices;
        Some(choices.tt.iter().map(ToString::to_string).zip(choices.td).collect())
    })
}

/// Workflows of which runs are begun.
pub(super) fn workflows() -> ArgValueCandidates {
    candidates(|cx| workflow_names(cx, WorkflowEntry::is_begun))
}

/// Workflows to look at: those of agents, and those with errors, as well.
pub(super) fn definitions() -> ArgValueCandidates {
    candidates(|cx| workflow_names(cx, |_| true))
}

fn workflow_names(cx: &Context, takes: fn(&WorkflowEntry) -> bool) -> Option<Names> {
    let mut names = Vec::new();
    for workflow in runs::workflow_list(cx).ok()?.workflows {
        if takes(&workflow) {
            names.push((workflow.id, workflow.description.unwrap_or_default()));
        }
    }
    Some(names)
}

/// Commands that the project names.
pub(super) fn commands() -> ArgValueCandidates {
    candidates(|cx| {
        let named = runs::trust(cx, &TrustRequest { accept: false }).ok()?.commands;
        Some(named.into_iter().map(|one| (one.name, one.command)).collect())
    })
}

/// Modes.
pub(super) fn modes() -> ArgValueCandidates {
    candidates(|cx| {
        let policy = modes::table(cx).ok()?;
        let mut names = Vec::new();
        for mode in policy.modes {
            let kind = if mode.kind == ModeKind::Planning { "planning" } else { "execution" };
            names.push((mode.mode.to_string(), kind.to_owned()));
        }
        Some(names)
    })
}

/// Sessions that hold runs or have modes.
pub(super) fn sessions() -> ArgValueCandidates {
    candidates(|cx| {
        let mut names = Vec::new();
        for one in modes::sessions(cx).ok()?.sessions {
            let Some(session) = one.session else { continue };
            let runs: Vec<_> = one.runs.into_iter().map(|run| run.name).collect();
            names.push((session.to_string(), runs.join(", ")));
        }
        Some(names)
    })
}

/// Scripts of interviews.
pub(super) fn scripts() -> ArgValueCandidates {
    candidates(|cx| Some(without_help(interviews::script_names(cx).ok()?)))
}

/// Documents in which an interview is open, then files.
pub(super) fn documents() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| {
        let begin = typed.to_string_lossy();
        let mut documents = found(document_names);
        documents.retain(|candidate| candidate.get_value().to_string_lossy().starts_with(&*begin));
        let mut files = PathCompleter::any().complete(typed);
        files.retain(|file| documents.iter().all(|document| document.get_value() != file.get_value()));
        documents.extend(files);
        documents
    })
}

fn document_names(cx: &Context) -> Option<Names> {
    let report = interviews::list(cx).ok()?;
    let mut documents: Vec<_> = report.interviews.into_iter().map(|one| (one.document, one.name)).collect();
    documents.extend(report.documents.into_iter().map(|one| (one.document, String::new())));
    let root = cx.project().ok().map(|project| project.root().to_owned());
    let mut names = Vec::new();
    for (document, run) in documents {
        // As it is named in the working directory.
        let path = match &root {
            Some(root) if cx.env.cwd.as_ref() != Some(root) => root.join(document),
            _ => document,
        };
        names.push((path.to_str()?.to_owned(), run));
    }
    Some(names)
}

/// Hosts that call a hook.
pub(super) fn calling_hosts() -> ArgValueCandidates {
    candidates(|_| Some(without_help(AgentHost::names().chain(["auto"]))))
}

/// Events of which hosts tell.
pub(super) fn hook_events() -> ArgValueCandidates {
    candidates(|_| Some(without_help(event_names())))
}

fn without_help(names: impl IntoIterator<Item = impl Into<String>>) -> Names {
    names.into_iter().map(|name| (name.into(), String::new())).collect()
}

/// Types of reports.
pub(super) fn report_types() -> ArgValueCandidates {
    candidates(|_| Some(without_help(ReportType::ALL.map(ReportType::as_str))))
}

/// What stands on the line before the word that is completed, as far as it can be read.
static LINE: OnceLock<ArgMatches> = OnceLock::new();

/// Keeps what the line says already: candidates are those of the run and of the project that it names.
pub(super) fn keep_line(line: ArgMatches) {
    // One line is completed in a process.
    let _ = LINE.set(line);
}

/// The first of these arguments that the line has.
pub(super) fn named_by_line(names: &[&str]) -> Option<String> {
    let mut command = LINE.get()?;
    while let Some((_, below)) = command.subcommand() {
        command = below;
    }
    for name in names {
        if let Ok(Some(text)) = command.try_get_one::<String>(name) {
            return Some(text.clone());
        }
    }
    None
}

/// The directory that the line names with `-C`.
fn project_of_line() -> Option<PathBuf> {
    let line = LINE.get()?;
    let below = line.subcommand().and_then(|(_, below)| below.try_get_one::<PathBuf>("project").ok().flatten());
    below.or_else(|| line.try_get_one::<PathBuf>("project").ok().flatten()).cloned()
}

/// Names with their meanings.
type Names = Vec<(String, String)>;

/// What a shell offers: the names that `find` finds, in their order.
fn candidates(find: fn(&Context) -> Option<Names>) -> ArgValueCandidates {
    ArgValueCandidates::new(move || found(find))
}

fn found(find: fn(&Context) -> Option<Names>) -> Vec<CompletionCandidate> {
    // In the middle of a command line an error would only be in the way.
    let options = Options { project: project_of_line(), ..Options::default() };
    let Ok(cx) = Context::of_this_process(options) else { return Vec::new() };
    // Shared runs as they were seen last: a key that is pressed waits for no network.
    let cx = cx.choosing_stores_by(Arc::new(SharedStores)).offline();
    let mut candidates = Vec::new();
    for (at, (name, help)) in find(&cx).unwrap_or_default().into_iter().enumerate() {
        let help = clean(&help).into_owned();
        let help = if help.is_empty() { None } else { Some(help.into()) };
        // Without the order a shell would sort the names, and the newest runs are not the first of them.
        candidates.push(CompletionCandidate::new(name).help(help).display_order(Some(at)));
    }
    candidates
}
