//! `set`: changes the context, goal and limits of a run.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::engine::refuse_other_session;
use crate::model::{EventKind, FieldChange, Issue, RunChanges, RunDocument, RunEdited, RunId, Seq, SessionId, pairs};
use crate::runs::context::Context;
use crate::runs::error::{Error, Result};
use crate::runs::open::name::open_run_exactly;
use crate::runs::open::same_work::{SameWork, checked_work, refuse_second_run, refuse_work_in_git};
use crate::runs::open::select::select_run_to_write;
use crate::runs::write::journal::of_issue;
use crate::runs::write::transaction::Transaction;
use crate::runs::write::transaction::attempts::transact;

/// The changes; `None` and empty keep the current value.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SetRequest {
    /// The run; otherwise the session's or the only active one.
    #[serde(rename = "run_id")]
    pub run: Option<String>,
    /// `context.issue`: a number, the key of another tracker, or an address.
    pub issue: Option<Issue>,
    /// `context.pr`.
    pub pr: Option<u64>,
    /// `context.branch`.
    pub branch: Option<String>,
    /// `context.repo`.
    pub repo: Option<String>,
    /// `context.feature`.
    pub feature: Option<String>,
    /// `metadata.goal`.
    pub goal: Option<String>,
    /// `limits`: `max_iterations` and `max_runtime_minutes`, each a positive number, or none for no limit.
    #[serde(with = "pairs")]
    #[schemars(with = "BTreeMap<String, Option<u64>>")]
    pub limits: Vec<(String, Option<u64>)>,
    /// Whether the run may be about the same issue or pull request as another open run.
    pub another: bool,
    /// The session that calls.
    pub session: Option<SessionId>,
    /// The epoch under which the caller holds the run.
    pub epoch: Option<u64>,
}

/// The report of `set`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SetReport {
    /// The run.
    pub run_id: RunId,
    /// Its latest event.
    pub seq: Seq,
    /// Whether anything was written; `false` if the run had these values already.
    pub changed: bool,
    /// Its goal now.
    pub goal: Option<String>,
    /// Its context now.
    pub context: Map<String, Value>,
    /// Its limits now.
    pub limits: Map<String, Value>,
    /// Problems that did not stop the command.
    pub warnings: Vec<String>,
}

/// Changes the context, goal and limits of a run, as an edit of `run.yaml` would: the change is logged as an event.
/// Values that do not differ are not written.
///
/// # Errors
/// [`Error::Refused`] when another session holds the run, `run_file_invalid` when `run.yaml` is written in a way that
/// cannot be changed safely, [`Error::Store`] when it cannot be written.
pub fn set(cx: &Context, request: &SetRequest) -> Result<SetReport> {
    let issue = checked_work(request.issue.as_ref(), request.pr)?;
    let request = &SetRequest { issue, ..request.clone() };
    let project = cx.project()?;
    let caller = cx.caller(request.session.clone(), request.epoch)?;
    let now = cx.now();
    let run = select_run_to_write(&project, request.run.as_deref(), caller.session.as_ref())?;
    transact(&project, &*run, caller, now, |tx| {
        refuse_other_session(&tx.state, &tx.caller).map_err(|refusal| Error::refused(run.id(), refusal))?;
        let wanted = request.wanted(tx.state.document());
        tx.may_share_work = request.another;
        if !request.another && !tx.state.status().is_terminal() {
            // Only what is new: a run that shares its work already may be changed in other ways.
            let news = SameWork::of(&wanted).without(&SameWork::of(tx.state.document()));
            refuse_second_run(&project, Some(run.id()), &news)?;
            refuse_work_in_git(cx, project.root(), &news)?;
        }
        let changed = change_facts(tx, &wanted)?;
        let document = tx.state.document();
        let mut warnings = tx.warnings.clone();
        if changed
            && let (Some(issue), Some(journal)) = (&request.issue, document.context_text("journal"))
            && journal != of_issue(&issue.key(None))
        {
            warnings.push(format!("{journal} stays the journal of the run"));
        }
        Ok(SetReport {
            run_id: document.id.clone(),
            seq: document.state.last_seq.unwrap_or_default(),
            changed,
            goal: document.goal.clone(),
            context: document.context.clone(),
            limits: document.limits.clone(),
            warnings,
        })
    })
}

impl SetRequest {
    /// The document with the requested changes.
    fn wanted(&self, before: &RunDocument) -> RunDocument {
        let mut wanted = before.clone();
        let texts = [("branch", &self.branch), ("repo", &self.repo), ("feature", &self.feature)];
        for (key, text) in texts {
            if let Some(text) = text {
                wanted.context.insert(key.to_owned(), text.as_str().into());
            }
        }
        if let Some(issue) = &self.issue {
            wanted.context.insert("issue".to_owned(), issue.to_value());
        }
        if let Some(pr) = self.pr {
            wanted.context.insert("pr".to_owned(), pr.into());
        }
        for (name, limit) in &self.limits {
            // FlowRun's template writes a limit that does not apply as null.
            wanted.limits.insert(name.clone(), limit.map_or(Value::Null, Value::from));
        }
        wanted.goal = self.goal.clone().or(wanted.goal);
        wanted
    }
}

/// Changes the context of a run that this session drives.
///
/// # Errors
/// As [`set`].
pub(crate) fn change_context(
    cx: &Context,
    run: &RunId,
    session: &SessionId,
    epoch: u64,
    change: impl Fn(&mut Map<String, Value>),
) -> Result<()> {
    let project = cx.project()?;
    let run = open_run_exactly(&project, run.as_str())?;
    let caller = cx.caller(Some(session.clone()), Some(epoch))?;
    transact(&project, &*run, caller, cx.now(), |tx| {
        refuse_other_session(&tx.state, &tx.caller).map_err(|refusal| Error::refused(run.id(), refusal))?;
        let mut wanted = tx.state.document().clone();
        change(&mut wanted.context);
        change_facts(tx, &wanted).map(drop)
    })
}

/// Writes the facts of `wanted` that differ, as one event. False if none differs.
fn change_facts(tx: &mut Transaction<'_>, wanted: &RunDocument) -> Result<bool> {
    let before = tx.state.document().clone();
    if *wanted == before {
        return Ok(false);
    }
    tx.replace_dead_holder()?;
    append_facts(tx, wanted, &before)?;
    tx.commit()?;
    Ok(true)
}

/// Appends the event with the facts of `wanted` that differ from those of `before`.
fn append_facts(tx: &mut Transaction<'_>, wanted: &RunDocument, before: &RunDocument) -> Result<()> {
    let text = tx.text.with_facts(wanted).map_err(|error| tx.unusable(&error))?;
    let changes = RunChanges {
        goal: FieldChange::between(before.goal.as_ref(), wanted.goal.as_ref()),
        context: if_changed(&before.context, &wanted.context),
        limits: if_changed(&before.limits, &wanted.limits),
        ..RunChanges::default()
    };
    let session = tx.caller.session.clone();
    let edit = RunEdited { changes, by_command: true, session, text: text.text().to_owned() };
    tx.append_over(&text, EventKind::RunEdited(Box::new(edit)), None).map(drop)
}

fn if_changed<T: PartialEq + Clone>(before: &T, wanted: &T) -> Option<T> {
    if before == wanted { None } else { Some(wanted.clone()) }
}
