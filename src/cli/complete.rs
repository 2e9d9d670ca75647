//! What completion in a shell offers: the names of runs, phases, workflows, commands and modes, and types of reports.

use std::ffi::OsStr;

use clap_complete::engine::{ArgValueCandidates, ArgValueCompleter, CompletionCandidate};

use crate::cli::page::clean;
use crate::model::ReportType;
use crate::modes;
use crate::modes::policy::ModeKind;
use crate::runs::{self, BriefRequest, Context, ListFilter, ListedRun, Options, TrustRequest};

/// The highest number of runs that are offered; the newest are.
const RUNS: usize = 100;

/// Runs, newest first, by any part of their names: those that were made here all begin with a date.
pub(super) fn runs() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| {
        let typed = typed.to_string_lossy().into_owned();
        let mut found = found(run_names);
        found.retain(|candidate| candidate.get_value().to_string_lossy().contains(&typed));
        found
    })
}

fn run_names(cx: &Context) -> Option<Names> {
    // A shell shows no more, and a project may have thousands.
    let filter = ListFilter { limit: Some(RUNS), ..ListFilter::default() };
    let mut names = Vec::new();
    for ListedRun { head, .. } in runs::list(cx, &filter).ok()?.runs {
        names.push((head.run_id.to_string(), format!("{} {}", head.workflow, head.status)));
    }
    Some(names)
}

/// The phases of the workflow of the run that would be resumed.
pub(super) fn phases() -> ArgValueCandidates {
    candidates(|cx| {
        let workflow = runs::brief(cx, &BriefRequest::default()).ok()??.position.workflow?;
        let (report, _) = runs::workflow_show(cx, workflow.as_str()).ok()?;
        let states = report.states.into_iter();
        Some(states.map(|state| (state.name.to_string(), state.description.unwrap_or_default())).collect())
    })
}

/// Workflows.
pub(super) fn workflows() -> ArgValueCandidates {
    candidates(|cx| {
        let workflows = runs::workflow_list(cx).ok()?.workflows.into_iter();
        Some(workflows.map(|workflow| (workflow.id, workflow.description.unwrap_or_default())).collect())
    })
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

/// Types of reports.
pub(super) fn report_types() -> ArgValueCandidates {
    candidates(|_| Some(ReportType::ALL.map(|kind| (kind.as_str().to_owned(), String::new())).to_vec()))
}

/// Names with their meanings.
type Names = Vec<(String, String)>;

/// What a shell offers: the names that `find` finds, in their order.
fn candidates(find: fn(&Context) -> Option<Names>) -> ArgValueCandidates {
    ArgValueCandidates::new(move || found(find))
}

fn found(find: fn(&Context) -> Option<Names>) -> Vec<CompletionCandidate> {
    // In the middle of a command line an error would only be in the way.
    let Ok(cx) = Context::of_this_process(Options::default()) else { return Vec::new() };
    let mut candidates = Vec::new();
    for (at, (name, help)) in find(&cx).unwrap_or_default().into_iter().enumerate() {
        let help = clean(&help).into_owned();
        let help = if help.is_empty() { None } else { Some(help.into()) };
        // Without the order a shell would sort the names, and the newest runs are not the first of them.
        candidates.push(CompletionCandidate::new(name).help(help).display_order(Some(at)));
    }
    candidates
}
