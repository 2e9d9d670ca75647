//! `show`: one run, now or after an earlier event.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::codec::parse_value;
use crate::engine::{Attempt, History, LeftUndone, RunUsage, UnitWork, approval_title};
use crate::model::{Approval, Doing, Number, ReportType, Seq, SessionId, StateName, StepStatus, Timestamp, Unit};
use crate::runs::context::Context;
use crate::runs::error::Result;
use crate::runs::look::seen::{SeenEvidence, seen_evidence};
use crate::runs::open::damage::notes_of;
use crate::runs::open::listing::head_of;
use crate::runs::open::select::select_run;
use crate::runs::open::shared::{Sharing, StoreAnswer};
use crate::runs::open::view::{View, for_reading};
use crate::store::RefreshScope;

/// The report of `show`: the run's document, and what its log adds.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ShowReport {
    /// `run.yaml` as an object, including keys that flow does not know; `flow schema run` describes it.
    #[serde(flatten)]
    pub document: Map<String, Value>,
    /// The phases of its workflow in order, then other steps that were reported.
    pub steps: Vec<ShownStep>,
    /// All records of activities, in the order of their numbers.
    pub activities: Vec<Attempt>,
    /// What its work used, as it was reported.
    pub usage: RunUsage,
    /// Commands of which flow saw the end, and whether that still holds; nothing of a run as it was.
    pub evidence: Vec<SeenEvidence>,
    /// The registered artifacts, the latest for each place.
    pub artifacts: Vec<ShownArtifact>,
    /// Phases that were left although their work was not done.
    pub skipped: Vec<ShownSkip>,
    /// The decisions of people at gates, oldest first.
    pub approvals: Vec<ShownApproval>,
    /// What the run left behind without settling it.
    pub left_undone: Vec<LeftUndone>,
    /// What an active run is doing, if that says more than its status.
    pub doing: Option<Doing>,
    /// Why it is over, as it was said.
    pub end_reason: Option<String>,
    /// The features that its artifacts belong to.
    pub features: BTreeSet<String>,
    /// Notes for people.
    pub notes: Vec<String>,
    /// Where it is shared, and as of when; nothing if it is of this checkout alone.
    #[serde(flatten)]
    pub sharing: Option<Sharing>,
}

/// A person's decision at a gate.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ShownApproval {
    /// The gate.
    pub phase: Option<StateName>,
    /// The number of its record.
    pub number: Number,
    /// Whether the person approved.
    pub approved: bool,
    /// Who decided, where, and what they had seen.
    #[serde(flatten)]
    pub approval: Approval,
    /// When.
    pub at: Option<Timestamp>,
    /// Why, in the person's words.
    pub reason: Option<String>,
}

/// A phase, and the status of its work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ShownStep {
    /// Its name.
    pub step: StateName,
    /// The status of its work.
    pub status: StepStatus,
    /// Whether it is a current phase of the run.
    pub current: bool,
    /// The units of its work, and the work of sub-agents.
    pub units: Vec<ShownUnit>,
    /// Why it was left although its work was not done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skip_reason: Option<String>,
}

/// A unit of work, or the work of a sub-agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ShownUnit {
    /// Where it is: a step of the workflow, or `agent:step`.
    pub step: StateName,
    /// The unit; none for a sub-agent that reports as a whole.
    pub unit: Option<Unit>,
    /// Its status.
    pub status: StepStatus,
    /// What was said with the status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl ShownUnit {
    pub(in crate::runs) fn of(unit: &UnitWork<'_>) -> Self {
        let message = unit.message.map(str::to_owned);
        Self { step: unit.step.clone(), unit: unit.unit.cloned(), status: unit.status, message }
    }

    /// What was said of it, if it is not done: what came of work that is done stands in the log.
    #[must_use]
    pub fn open_message(&self) -> Option<&str> {
        if self.status.is_done() { None } else { self.message.as_deref() }
    }
}

/// A registered file or link.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ShownArtifact {
    /// The content of the report: `path` or `url`, `label`, and any other fields.
    #[serde(flatten)]
    pub data: Map<String, Value>,
    /// Its kind.
    pub kind: ArtifactKind,
    /// Its step.
    pub step: Option<StateName>,
    /// Its unit.
    pub unit: Option<Unit>,
    /// When it was registered.
    pub at: Timestamp,
}

/// The kind of an artifact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ArtifactKind {
    /// A link, with a `url`.
    Link,
    /// A file, with a `path`.
    File,
}

/// A phase that was left although its work was not done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ShownSkip {
    /// The phase.
    pub phase: StateName,
    /// The command that the phase requires and that was not seen to pass, if the reason is only about that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exec: Option<String>,
    /// Why, in the words of the caller.
    pub reason: String,
    /// The position of the event.
    pub seq: Seq,
}

/// Which run to show, and as of when.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ShowRequest {
    /// The run; otherwise the session's or the only active one.
    #[serde(rename = "run_id")]
    pub run: Option<String>,
    /// As of this event; otherwise the current state.
    pub at: Option<u64>,
    /// The session of the caller.
    pub session: Option<SessionId>,
}

/// The run's document with `steps`, `activities` and `artifacts`. With `at`, the state after that event.
///
/// # Errors
/// [`NoSuchRun`](crate::runs::Error::NoSuchRun), `event_not_found`, and those of reading a run.
pub fn show(cx: &Context, request: &ShowRequest) -> Result<ShowReport> {
    let project = cx.project()?;
    let asked = StoreAnswer::now(&project, RefreshScope::All);
    let run = select_run(&project, request.run.as_deref(), request.session.clone())?;
    let mut view = for_reading(&project, &*run)?;
    let sharing = Sharing::of(project.runs().shared(), &*run);
    if sharing.is_some() {
        view.notes.extend(asked.about(&project, &*run));
    }
    view.notes = notes_of(&project, &*run, &view);
    if let Some(at) = request.at {
        view.go_back(run.id(), Seq(at))?;
    }
    let evidence = match request.at {
        None => seen_evidence(&project, &*run, &view.history, &view.history.seen())?,
        Some(_) => Vec::new(),
    };
    Ok(ShowReport { sharing, evidence, ..report(view) })
}

fn report(view: View) -> ShowReport {
    let mut document = match parse_value(&view.text) {
        Ok(Value::Object(document)) => document,
        _ => Map::new(),
    };
    // A person's own keys may have the names of these fields, and an object must not have a name twice.
    without(
        &mut document,
        &[
            "steps", "activities", "usage", "evidence", "artifacts", "skipped", "approvals", "left_undone", "doing",
            "end_reason", "features", "notes", "store", "as_of",
        ],
    );
    ShowReport {
        document,
        steps: steps(&view),
        activities: view.history.attempts().to_vec(),
        usage: view.history.usage(),
        evidence: Vec::new(),
        artifacts: artifacts(&view),
        skipped: skipped(&view.history),
        approvals: approvals(&view.history),
        left_undone: view.history.left_undone(view.machine.as_ref()),
        doing: head_of(&view).doing,
        end_reason: view.history.end_reason().map(str::to_owned),
        features: features(&view.history),
        notes: [view.notes, view.history.dropped_requirements()].concat(),
        sharing: None,
    }
}

pub(in crate::runs) fn skipped(history: &History) -> Vec<ShownSkip> {
    let skips = history.skips().iter();
    let shown = skips.map(|skip| ShownSkip {
        phase: skip.phase.clone(),
        exec: skip.exec.clone(),
        reason: skip.reason.clone(),
        seq: skip.seq,
    });
    shown.collect()
}

/// The decisions of people at gates, oldest first.
pub(in crate::runs) fn approvals(history: &History) -> Vec<ShownApproval> {
    let mut approvals = Vec::new();
    for attempt in history.attempts() {
        let Some(approval) = &attempt.approval else { continue };
        let approved = attempt.status.is_completed();
        approvals.push(ShownApproval {
            phase: attempt.phase.clone(),
            number: attempt.number,
            approved,
            approval: approval.clone(),
            at: attempt.at,
            // Without a reason the record has only its title.
            reason: attempt.summary.clone().filter(|words| *words != approval_title(approved, approval)),
        });
    }
    approvals
}

pub(in crate::runs) fn features(history: &History) -> BTreeSet<String> {
    history.reports().iter().filter_map(|report| report.text("feature")).map(str::to_owned).collect()
}

fn without(object: &mut Map<String, Value>, names: &[&str]) {
    for name in names {
        object.shift_remove(*name);
    }
}

/// The workflow's phases in order, each with the status of its work and its units.
pub(in crate::runs) fn steps(view: &View) -> Vec<ShownStep> {
    let history = &view.history;
    let state = history.state();
    let run = &state.document().state;
    let mut names: Vec<_> = match &view.machine {
        Some(machine) => machine.states().iter().map(|state| state.name.clone()).collect(),
        None if run.steps.is_empty() => state.phase().cloned().into_iter().collect(),
        None => run.steps.iter().map(|(step, _)| step.clone()).collect(),
    };
    let units = history.units();
    for unit in &units {
        if !names.contains(unit.below) {
            names.push(unit.below.clone());
        }
    }
    let mut steps = Vec::with_capacity(names.len());
    for name in names {
        let here = run.positions().any(|here| *here == name) && !state.status().is_terminal();
        let work = history.work(&name);
        // A run is at work where it is, although nothing was reported there.
        let at_work = here && work.status == StepStatus::NotStarted && !work.reported;
        // The work of an earlier round is to be done again, unless the run went around the phase.
        let is_around = work.again && view.machine.as_ref().is_some_and(|machine| history.went_around(machine, &name));
        let status = match work.latest {
            _ if at_work => StepStatus::Running,
            Some(latest) if is_around => latest.status.into(),
            _ => work.status,
        };
        let below = units.iter().filter(|unit| *unit.below == name);
        steps.push(ShownStep {
            status,
            current: here,
            units: below.map(ShownUnit::of).collect(),
            skip_reason: work.skipped.map(str::to_owned),
            step: name,
        });
    }
    steps
}

/// The registered artifacts, the latest for each place.
pub(in crate::runs) fn artifacts(view: &View) -> Vec<ShownArtifact> {
    let mut artifacts: Vec<(String, ShownArtifact)> = Vec::new();
    for report in view.history.reports() {
        if report.kind() != Some(ReportType::ArtifactRegistered) {
            continue;
        }
        let (kind, place) = match report.text("url") {
            Some(url) => (ArtifactKind::Link, url.trim_end_matches('/')),
            None => (ArtifactKind::File, report.text("path").unwrap_or_default()),
        };
        let mut data = report.data.clone();
        // The report has fields of these names, and an object must not have a name twice.
        without(&mut data, &["kind", "step", "unit", "at"]);
        let (step, unit) = (report.step.clone(), report.unit.clone());
        // One that is registered again moves to the end.
        artifacts.retain(|(known, _)| known != place);
        artifacts.push((place.to_owned(), ShownArtifact { data, kind, step, unit, at: report.at }));
    }
    artifacts.into_iter().map(|(_, artifact)| artifact).collect()
}
