//! `set`: change what a run is about, and its limits.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::engine::{Caller, refuse_other_session};
use crate::model::{EventKind, RunChanges, RunDocument, RunEdited, RunId, Seq, SessionId, Timestamp, pairs};
use crate::runs::context::Flow;
use crate::runs::error::{Error, Result};
use crate::runs::load::{Loaded, for_writing};
use crate::runs::start::SameWork;

/// What to change; `None` stays as it is.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SetRequest {
    /// The run; otherwise the session's or the only active one.
    #[serde(rename = "run_id")]
    pub run: Option<String>,
    /// `context.issue`.
    pub issue: Option<u64>,
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
    /// Whether the run may be about what another open run is about.
    pub another: bool,
    /// Who asks.
    pub session: Option<SessionId>,
    /// The epoch under which the caller holds the run.
    pub epoch: Option<u64>,
}

/// A run of which something was to change.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SetReport {
    /// The run.
    pub run_id: RunId,
    /// Its latest event.
    pub seq: Seq,
    /// Whether anything was written; `false` when it was so already.
    pub changed: bool,
    /// Its goal now.
    pub goal: Option<String>,
    /// What it is about now.
    pub context: Map<String, Value>,
    /// Its limits now.
    pub limits: Map<String, Value>,
    /// What went wrong beside the work itself.
    pub warnings: Vec<String>,
}

impl Flow {
    /// Changes what a run is about, and its limits, as an edit of `run.yaml` would: the change is an event. What a run
    /// says already is not written again.
    ///
    /// # Errors
    /// [`Error::Refused`] when another session holds the run, [`Error::RunFile`] when `run.yaml` is written in a way that
    /// cannot be changed safely, [`Error::Store`] when it cannot be written.
    pub fn set(&self, request: &SetRequest) -> Result<SetReport> {
        let project = self.project()?;
        let caller = self.caller(request.session.clone(), request.epoch)?;
        let now = self.clock.now();
        let run = self.select_to_write(&project, request.run.as_deref(), caller.session.as_ref(), now)?;
        let mut loaded = for_writing(self, &project, &run, now)?;
        let caller = self.judge_holder(&loaded, caller)?;
        refuse_other_session(&loaded.state, &caller)
            .map_err(|refusal| Error::Refused { run: run.id().clone(), refusal })?;
        let mut wanted = loaded.state.document().clone();
        let texts = [("branch", &request.branch), ("repo", &request.repo), ("feature", &request.feature)];
        for (key, text) in texts.into_iter().filter_map(|(key, text)| Some((key, text.as_ref()?))) {
            wanted.context.insert(key.to_owned(), text.as_str().into());
        }
        let numbers = [("issue", request.issue), ("pr", request.pr)];
        for (key, number) in numbers.into_iter().filter_map(|(key, number)| Some((key, number?))) {
            wanted.context.insert(key.to_owned(), number.into());
        }
        for (name, limit) in &request.limits {
            wanted.limits.insert(name.clone(), limit.map_or(Value::Null, Value::from));
        }
        wanted.goal = request.goal.clone().or(wanted.goal);
        let moves = request.issue.is_some() || request.pr.is_some();
        if moves && !request.another && !loaded.state.status().is_terminal() {
            self.refuse_second_run(&project, Some(run.id()), &SameWork::of(&wanted))?;
        }
        let changed = self.change_facts(&mut loaded, &caller, now, &wanted)?;
        let document = loaded.state.document();
        Ok(SetReport {
            run_id: document.id.clone(),
            seq: document.state.last_seq.unwrap_or_default(),
            changed,
            goal: document.goal.clone(),
            context: document.context.clone(),
            limits: document.limits.clone(),
            warnings: loaded.warnings.clone(),
        })
    }

    /// Changes the context of a run that this session drives.
    ///
    /// # Errors
    /// As [`Flow::set`].
    pub(crate) fn change_context(
        &self,
        run: &RunId,
        session: &SessionId,
        epoch: u64,
        change: impl FnOnce(&mut Map<String, Value>),
    ) -> Result<()> {
        let project = self.project()?;
        let run = self.run(&project, run.as_str())?;
        let now = self.clock.now();
        let mut loaded = for_writing(self, &project, &run, now)?;
        let caller = self.judge_holder(&loaded, self.caller(Some(session.clone()), Some(epoch))?)?;
        refuse_other_session(&loaded.state, &caller)
            .map_err(|refusal| Error::Refused { run: run.id().clone(), refusal })?;
        let mut wanted = loaded.state.document().clone();
        change(&mut wanted.context);
        self.change_facts(&mut loaded, &caller, now, &wanted).map(drop)
    }

    /// Writes the facts of `wanted` that differ, as one event. Gives whether any did.
    fn change_facts(
        &self,
        loaded: &mut Loaded<'_>,
        caller: &Caller,
        now: Timestamp,
        wanted: &RunDocument,
    ) -> Result<bool> {
        let before = loaded.state.document().clone();
        if *wanted == before {
            return Ok(false);
        }
        let fault = |error| Error::RunFile { path: loaded.locked.run_file(), error };
        let text = loaded.text.with_facts(wanted).map_err(fault)?;
        let differs = |old: &Map<String, Value>, new: &Map<String, Value>| (old != new).then(|| new.clone());
        let changes = RunChanges {
            goal: (before.goal != wanted.goal).then(|| wanted.goal.clone()),
            context: differs(&before.context, &wanted.context),
            limits: differs(&before.limits, &wanted.limits),
            ..RunChanges::default()
        };
        self.replace_dead_holder(loaded, caller, now)?;
        let session = caller.session.clone();
        let edit = RunEdited { changes, by_command: true, session, text: text.text().to_owned() };
        loaded.commit_over(self, &text, EventKind::RunEdited(Box::new(edit)), None, now, Vec::new())?;
        Ok(true)
    }
}
