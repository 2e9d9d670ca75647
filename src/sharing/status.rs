//! `remote status`: what is shared, and as of when.

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::{Explain as _, RunId, RunStatus, Seq, Suggestion, Timestamp, first_few, without_login};
use crate::runs::{Context, Result, UnseenStore};
use crate::sharing::chosen::NamedStore;
use crate::store::shared::Shared;
use crate::store::{RefreshScope, RunStore as _, SharedRuns as _, StoreError, WriteRequest};

/// How many runs are named that the store does not list.
const NAMED: usize = 5;

/// The report of `remote status`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct StoreStatusReport {
    /// The store that the project names, without what logs in; none if its runs are in this checkout alone.
    pub store: Option<String>,
    /// Its address, without what logs in.
    pub address: Option<String>,
    /// Whether the user accepted it on this machine.
    pub accepted: bool,
    /// Whether it was reached just now.
    pub reached: bool,
    /// When it was reached last.
    pub at: Option<Timestamp>,
    /// The shared runs of which copies are here.
    pub runs: Vec<SharedRow>,
    /// How many runs are in this checkout alone.
    pub local: usize,
    /// What a reader should know.
    pub notes: Vec<String>,
}

/// A shared run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SharedRow {
    /// Its id.
    pub run_id: RunId,
    /// Its status; none if the copy cannot be read.
    pub status: Option<RunStatus>,
    /// Its last event that is here.
    pub seq: Seq,
    /// Whether the store has lost it, or the end of it.
    pub lost: bool,
}

/// Asks the store that the project names, and reports what is shared.
///
/// # Errors
/// When the project cannot be read. A store that is not reached is in the notes.
pub fn store_status(cx: &Context) -> Result<StoreStatusReport> {
    let project = cx.project()?;
    let local = project.local_runs().ids()?.len();
    let Some(named) = project.catalog().store()? else {
        return Ok(StoreStatusReport { local, ..StoreStatusReport::default() });
    };
    let shown = Some(without_login(&named));
    let mut report = StoreStatusReport { store: shown, local, ..StoreStatusReport::default() };
    let name = named.parse().map_err(crate::runs::Error::from);
    let store = match name.and_then(|name| NamedStore::find(cx, project.root(), name)) {
        Ok(store) => store,
        Err(_) => {
            report.notes.extend(UnseenStore::of(&project).map(|unseen| unseen.told));
            return Ok(report);
        }
    };
    report.address = Some(store.shown_address());
    report.accepted = store.is_accepted(&project);
    if !report.accepted {
        return Ok(report);
    }
    let shared = store.open(&project)?;
    let request = cx.write_request(cx.now(), project.commit_wait()?);
    let mut unlisted = Vec::new();
    match ask(&shared, &request) {
        Ok((told, runs)) => {
            report.notes.extend(told);
            unlisted = runs;
        }
        Err(error) => report.notes.push(error.one_line()),
    }
    let as_of = shared.as_of();
    (report.reached, report.at) = (as_of.reached, as_of.at);
    for run_id in shared.ids_of_copies()? {
        let run = shared.open(&run_id)?;
        let seq = run.last()?;
        if seq == Seq(0) {
            // An empty directory.
            continue;
        }
        let text = run.text()?.and_then(|text| crate::codec::RunText::parse(text).ok());
        let status = text.map(|text| text.document().state.status);
        // Of runs that are over, those that are not listed count as lost, and the log is not looked at.
        let is_over = status.is_some_and(RunStatus::is_terminal);
        let lost = run.is_lost() && !(is_over && unlisted.contains(&run_id));
        if let Some(displaced) = run.displaced() {
            report.notes.push(format!("{displaced}; {}", displaced.help()));
        }
        report.runs.push(SharedRow { seq, run_id, status, lost });
    }
    Ok(report)
}

/// Brings the copies up to date. Returns what a reader should know, and the runs that the store has and does not list.
fn ask(shared: &Shared, request: &WriteRequest) -> std::result::Result<(Vec<String>, Vec<RunId>), StoreError> {
    let mut told = shared.refresh(RefreshScope::All, request)?;
    let unlisted = shared.unlisted(request)?;
    if !unlisted.is_empty() {
        let store = shared.address();
        let (runs, repair) = (first_few(&unlisted, NAMED), Suggestion::flow("doctor").flag("repair"));
        told.push(format!("{store} has the logs of {runs} and does not list them; `{repair}` lists them again"));
    }
    Ok((told, unlisted))
}
