//! What was seen of commands that flow ran, and whether it still holds.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::engine::{Attempt, Damage, EvidenceState, Freshness, History, Outlook, Plan, ProofCheck};
use crate::machine::Requirement;
use crate::model::{
    ActivityStatus, MissingProof, NotCovered, Number, RunId, SessionId, StateName, Suggestion, command_line,
};
use crate::runs::commands::required_command;
use crate::runs::context::{Context, OpenedProject};
use crate::runs::error::Result;
use crate::runs::look::outlook::{Definitions, OpenedRun, comes_before, outlook, plan_for};
use crate::runs::open::damage::see_committed;
use crate::runs::open::proof::{Proofs, evidence_states};
use crate::runs::open::select::select_run;
use crate::runs::open::shared::StoreAnswer;
use crate::runs::open::view::{View, for_reading};
use crate::runs::write::claim::hold_state;
use crate::runs::write::exec::obstacle::obstacle;
use crate::runs::write::required_here::as_project_asks;
use crate::store::{RefreshScope, StoredRun};

/// A command of which flow saw the end, and whether that still holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SeenEvidence {
    /// The number of the record of its end.
    pub number: Number,
    /// Its id.
    pub id: String,
    /// The phase.
    pub phase: Option<StateName>,
    /// How it ended.
    pub status: ActivityStatus,
    /// Its exit status.
    pub exit_code: Option<i64>,
    /// The name that the project gives the command.
    pub name: Option<String>,
    /// The command, as a line for a shell. What looks like a secret is masked.
    pub command: String,
    /// The directory in which it ran, relative to the top of the checkout.
    pub dir: String,
    /// Globs of files that were looked at beside those that git lists.
    pub inputs: Vec<String>,
    /// Whether it is the last record of its id: an earlier one says nothing of how the work is now.
    pub latest: bool,
    /// Whether it still holds for the tracked and untracked files.
    #[serde(flatten)]
    pub state: EvidenceState,
    /// Files that are not covered.
    pub not_covered: Vec<NotCovered>,
}

/// Whose evidence to check.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct VerifyEvidenceRequest {
    /// The run; otherwise the session's or the only active one.
    #[serde(rename = "run_id")]
    pub run: Option<String>,
    /// The session of the caller.
    pub session: Option<SessionId>,
}

/// The report of `verify --evidence`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct VerifyEvidenceReport {
    /// The run.
    pub run_id: RunId,
    /// Whether all that phases require is proved; where none requires anything, whether every command that flow ran was seen to
    /// pass the last time and is fresh. Never if the log is damaged.
    pub ok: bool,
    /// What the phases require that the run has been in.
    pub required: Vec<RequiredEvidence>,
    /// Every command of which the end was seen.
    pub evidence: Vec<SeenEvidence>,
    /// Work that is recorded as passed and was not seen.
    pub claimed: Vec<ClaimedWork>,
    /// Why the log cannot be trusted, if it cannot: then nothing is proved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub damage: Option<String>,
    /// What else a reader needs to know, such as that events were lost.
    pub notes: Vec<String>,
}

/// A command that a phase requires.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RequiredEvidence {
    /// The phase.
    pub phase: StateName,
    /// The command, as the project names it.
    pub exec: String,
    /// Whether it was seen to pass, and still holds for the files if the phase requires that.
    pub proved: bool,
    /// The number of the record of its end.
    pub number: Option<Number>,
    /// What is missing.
    pub why: Option<String>,
    /// Why the run left the phase although it was missing.
    pub skip_reason: Option<String>,
    /// The command that shows what is missing, or does what has to come before that, while the run is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<Suggestion>,
}

/// Work that is recorded as passed and was not seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ClaimedWork {
    /// The number of its record.
    pub number: Number,
    /// Its id.
    pub id: String,
    /// The phase.
    pub phase: Option<StateName>,
    /// The number of the record in which flow saw the same work fail before.
    pub seen_to_fail: Option<Number>,
}

/// Says of each command that flow ran in a run whether what was seen still holds. Writes nothing but a cache.
///
/// # Errors
/// [`NoSuchRun`](crate::runs::Error::NoSuchRun), and those of reading a run.
pub fn verify_evidence(cx: &Context, request: &VerifyEvidenceRequest) -> Result<VerifyEvidenceReport> {
    let project = cx.project()?;
    let asked = StoreAnswer::now(&project, RefreshScope::All);
    let run = select_run(&project, request.run.as_deref(), request.session.clone())?;
    let mut view = for_reading(&project, &*run)?;
    see_committed(&project, &*run, &mut view);
    let evidence = seen_evidence(&project, &*run, &view.history, &view.history.seen())?;
    let mut claimed = Vec::new();
    for attempt in view.history.attempts() {
        if attempt.is_claimed() {
            let (number, id, phase) = (attempt.number, attempt.id.clone(), attempt.phase.clone());
            claimed.push(ClaimedWork { number, id, phase, seen_to_fail: attempt.seen_to_fail });
        }
    }
    let opened = OpenedRun { project: &project, run: &*run, view: &view };
    let caller = cx.caller(request.session.clone(), None)?;
    let mut outlook = outlook(opened, hold_state(&project, view.history.hold(), &caller)?, &Definitions::default());
    outlook.unproved = Some(unproved_now(&project, &view, &evidence));
    let plan = plan_for(opened, &outlook);
    let required = required_evidence(opened, &outlook, &plan, &evidence);
    let ok =
        if required.is_empty() { all_hold(&view.history, &evidence) } else { required.iter().all(|one| one.proved) };
    // That it is not in its store as it is here says nothing of its log.
    let damage = outlook.damage.filter(|damage| !matches!(damage, Damage::Apart(_)));
    let damage = damage.map(|damage| damage.what().to_owned());
    let ok = ok && damage.is_none();
    let mut notes = view.notes.clone();
    notes.extend(view.history.dropped_requirements());
    notes.extend(view.history.losses());
    for attempt in view.history.latest_run_by_flow() {
        if !attempt.is_seen() {
            notes.push(format!("the end of {} {} was not seen", attempt.number, attempt.id));
        }
    }
    notes.extend(required_since(&project, &view));
    notes.extend(asked.about(&project, &*run));
    Ok(VerifyEvidenceReport { run_id: run.id().clone(), ok, required, evidence, claimed, damage, notes })
}

/// Whether every command that flow ran passed the last time and is fresh. What was recorded by hand behind that proves nothing.
fn all_hold(history: &History, evidence: &[SeenEvidence]) -> bool {
    for attempt in history.latest_run_by_flow() {
        let Some(seen) = evidence.iter().find(|seen| seen.number == attempt.number) else { return false };
        if seen.status != ActivityStatus::Passed || seen.state.freshness != Freshness::Fresh {
            return false;
        }
    }
    true
}

/// What the phases require that the run has been in, given what was seen of its commands.
fn required_evidence(
    opened: OpenedRun<'_>,
    outlook: &Outlook<'_>,
    plan: &Plan,
    seen: &[SeenEvidence],
) -> Vec<RequiredEvidence> {
    let OpenedRun { project, run, view } = opened;
    let Some(machine) = &view.machine else { return Vec::new() };
    let history = &view.history;
    let proofs = Proofs::of(project, states_of(seen));
    // Each requirement, the record that shows it, and what is missing of it.
    let mut requirements = Vec::new();
    for one in history.requirements(machine) {
        let shown = one.shown_by_now(machine);
        let number = shown.as_ref().ok().map(|attempt| attempt.number);
        let why = match shown {
            Ok(attempt) => why_stale(&proofs, one.requirement, attempt),
            Err(why) => Some(why),
        };
        requirements.push((one.requirement, number, why.map(|why| one.missing_now(why))));
    }
    for requirement in history.required_of_units(machine) {
        requirements.push((requirement, None, Some(history.missing_of_units(machine, requirement))));
    }
    let is_over = history.state().status().is_terminal();
    let mut required = Vec::new();
    for (requirement, number, missing) in requirements {
        let Requirement { state: phase, exec, .. } = requirement.clone();
        let skip_reason = history.reason_to_skip(&phase, &exec).or(history.work(&phase).skipped).map(str::to_owned);
        let (mut why, mut command) = (None, None);
        if let Some(missing) = missing {
            // A run that is over runs nothing, and what cannot run here is not proposed.
            if !is_over && missing.obstacle.is_none() && obstacle(project, &missing).is_none() {
                let first = comes_before(opened, outlook, plan, &exec);
                command = Some(first.unwrap_or_else(|| required_command(run.id(), &missing)));
            }
            why = Some(match &missing.obstacle {
                Some(obstacle) => format!("{}; {}", missing.why, obstacle.what()),
                None => missing.why,
            });
        }
        required.push(RequiredEvidence { phase, exec, proved: why.is_none(), number, why, skip_reason, command });
    }
    required
}

/// What the workflow requires today and the definition does not that the run follows: the project may have named the command
/// only after the run began.
fn required_since(project: &OpenedProject, view: &View) -> Vec<String> {
    let mut notes = Vec::new();
    let workflow = view.history.state().document().workflow.as_str();
    let (Some(pinned), Ok(found)) = (&view.machine, project.catalog().find(workflow)) else { return notes };
    // A configuration that cannot be read is reported where it is needed.
    let Ok(today) = as_project_asks(Some(project), found.machine) else { return notes };
    for Requirement { state, exec, .. } in today.requires() {
        if pinned.requires().iter().all(|one| one.state != *state || one.exec != *exec) {
            notes.push(format!("`{state}` requires `{exec}` today, and did not when the run began"));
        }
    }
    notes
}

/// Notes on what phases require that the run has left, and that does not hold for the files as they are now.
pub(super) fn no_longer_shown(
    opened: OpenedRun<'_>,
    outlook: &Outlook<'_>,
    plan: &Plan,
    seen: &[SeenEvidence],
) -> Vec<String> {
    let mut notes = Vec::new();
    let history = &opened.view.history;
    let run = &history.state().document().state;
    let left_without = opened.view.machine.as_ref().map(|machine| history.left_without(machine)).unwrap_or_default();
    for RequiredEvidence { phase, exec, why, skip_reason, command, .. } in
        required_evidence(opened, outlook, plan, seen)
    {
        let is_left_undone = left_without.iter().any(|one| one.phase == phase && one.exec == exec);
        let is_told = is_left_undone || run.is_in(&phase) || comes_before(opened, outlook, plan, &exec).is_some();
        if let (Some(why), Some(command), None, false) = (why, command, skip_reason, is_told) {
            notes.push(format!("`{phase}` was left with `{exec}`: {why}; `{command}` shows whether it holds now"));
        }
    }
    notes
}

/// Why what was seen to pass does not hold on the files as they are, if it does not.
fn why_stale(proofs: &Proofs, requirement: &Requirement, attempt: &Attempt) -> Option<String> {
    match proofs.judge(requirement, attempt) {
        ProofCheck::Holds => None,
        ProofCheck::DoesNot(why) => Some(why),
        ProofCheck::NotLooked => Some("it cannot be told whether it still holds".to_owned()),
    }
}

/// What is missing of what the run still has to show, on the files as they are: given what was seen of its commands.
pub(in crate::runs) fn unproved_now(project: &OpenedProject, view: &View, seen: &[SeenEvidence]) -> Vec<MissingProof> {
    let mut unproved = Vec::new();
    let Some(machine) = &view.machine else { return unproved };
    let proofs = Proofs::of(project, states_of(seen));
    for mut missing in view.history.unproved_where(machine, |required, attempt| why_stale(&proofs, required, attempt)) {
        // Where the files are others by now, a person may have seen to it that the command changes none.
        let last = seen.iter().rfind(|seen| seen.name.as_ref() == Some(&missing.exec));
        if !last.is_some_and(|last| last.state.by_itself) {
            missing.wrote.clear();
        }
        unproved.push(missing);
    }
    unproved
}

fn states_of(seen: &[SeenEvidence]) -> BTreeMap<Number, EvidenceState> {
    seen.iter().map(|one| (one.number, one.state.clone())).collect()
}

/// Whether what these records of the history say, of commands of which the end was seen, still holds. The files are looked at
/// only if there is one.
pub(in crate::runs) fn seen_evidence(
    project: &OpenedProject,
    run: &dyn StoredRun,
    history: &History,
    ended: &[&Attempt],
) -> Result<Vec<SeenEvidence>> {
    let states = evidence_states(project, run, ended)?;
    let latest = history.latest().into_iter().map(|attempt| attempt.number).collect();
    Ok(with_states(ended, &latest, states))
}

/// What these records say, of commands of which the end was seen, and whether it holds by `states`. `latest` are the latest
/// records of all ids.
pub(in crate::runs) fn with_states(
    ended: &[&Attempt],
    latest: &BTreeSet<Number>,
    mut states: BTreeMap<Number, EvidenceState>,
) -> Vec<SeenEvidence> {
    let mut found = Vec::new();
    for attempt in ended {
        let (Some(exec), Some(state)) = (&attempt.exec, states.remove(&attempt.number)) else { continue };
        found.push(SeenEvidence {
            number: attempt.number,
            id: attempt.id.clone(),
            phase: attempt.phase.clone(),
            status: attempt.status,
            exit_code: attempt.exit_code,
            name: exec.name.clone(),
            command: command_line(&exec.argv),
            dir: exec.dir.clone(),
            inputs: exec.inputs.clone(),
            latest: latest.contains(&attempt.number),
            state,
            not_covered: exec.before.as_ref().map(|tree| tree.not_covered.clone()).unwrap_or_default(),
        });
    }
    found
}
