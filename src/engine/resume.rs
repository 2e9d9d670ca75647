//! What is the next safe action? One verdict, with its reason and what to do.

use schemars::JsonSchema;
use serde::Serialize;

use crate::engine::{Attempt, History, PhaseWork, Undone};
use crate::machine::Machine;
use crate::model::{ActivityStatus, Number, RunStatus, SESSION_ENDED, StateName, StepStatus, Timestamp};

/// The answer of `resume` in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The next phase or the valid transitions are known.
    Continue,
    /// Work was begun and its outcome is unknown: check before repeating.
    Reconcile,
    /// Blocked, waiting for an answer, or a limit is reached.
    NeedsHuman,
    /// A live session holds the run.
    Held,
    /// The workflow changed in a way that touches the position.
    Drifted,
    /// The log's sealed middle does not verify.
    Corrupt,
    /// A merge joined two histories of the run.
    Conflict,
    /// An older version of the run was put back, and the rest of it is elsewhere.
    Rewound,
    /// A run cannot be read, and no other one can be resumed.
    Unreadable,
    /// The run is over.
    Done,
    /// There is nothing to resume.
    None,
}

impl Verdict {
    /// As in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Continue => "continue",
            Self::Reconcile => "reconcile",
            Self::NeedsHuman => "needs_human",
            Self::Held => "held",
            Self::Drifted => "drifted",
            Self::Corrupt => "corrupt",
            Self::Conflict => "conflict",
            Self::Rewound => "rewound",
            Self::Unreadable => "unreadable",
            Self::Done => "done",
            Self::None => "none",
        }
    }
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Begin the next phase.
    StartPhase,
    /// Begin one of several next phases.
    ChoosePhase,
    /// Work in the current phase, in which nothing is completed yet.
    WorkPhase,
    /// Do the current phase's failed work again.
    RetryPhase,
    /// End the run: its last phase is done.
    Complete,
    /// Find out how begun work ended, and record it.
    Reconcile,
    /// Resolve what blocks the run.
    ResolveBlocker,
    /// Resolve what blocks an activity, and record how it went on.
    ResolveActivity,
    /// Answer what the user is asked.
    Answer,
    /// Raise the limit, or end the run.
    RaiseLimit,
    /// Ask the holder, or take the run over.
    TakeOver,
    /// Compare the run with the changed workflow.
    ReviewWorkflow,
    /// Repair the log.
    Repair,
    /// Make one history of those that a merge joined.
    Join,
    /// Bring back the version that has the rest of the run, or go on without it.
    BringBack,
    /// Start a run.
    Start,
    /// Nothing.
    Nothing,
}

/// The next action as data.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Next {
    /// What to do.
    pub action: Action,
    /// In which phase.
    pub phase: Option<StateName>,
    /// The valid next phases.
    pub choices: Vec<StateName>,
}

/// A completed activity.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Completed {
    /// Its number; none when a person wrote the entry.
    pub number: Option<Number>,
    /// Its id.
    pub id: String,
    /// The phase in which it was done.
    pub phase: Option<StateName>,
    /// How it ended.
    pub status: Option<ActivityStatus>,
}

/// Begun work whose outcome is unknown.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct InDoubt {
    /// Its number; none for a step whose begin was reported.
    pub number: Option<Number>,
    /// Its id; the name of the step.
    pub id: String,
    /// The phase in which it was begun.
    pub phase: Option<StateName>,
    /// Its status.
    pub status: ActivityStatus,
    /// When that was recorded.
    pub at: Option<Timestamp>,
    /// What it was.
    pub summary: Option<String>,
}

/// How the pinned workflow compares with today's definition.
#[derive(Debug, Clone, PartialEq)]
pub enum Drift {
    /// Equal, or there is no definition to compare with.
    None,
    /// Changed elsewhere; readable differences.
    Elsewhere(Vec<String>),
    /// Changed at the run's position; readable differences.
    AtPosition(Vec<String>),
}

impl Drift {
    /// Compares the pinned machine with the current one around where the run stands.
    #[must_use]
    pub fn between<'a>(
        pinned: &Machine,
        current: &Machine,
        positions: impl IntoIterator<Item = &'a StateName>,
    ) -> Self {
        let lines = pinned.changes(current);
        if lines.is_empty() {
            return Self::None;
        }
        let next = |machine: &Machine, phase| {
            // A way back for another round takes nothing from where the run is and can go.
            let mut names = machine.ahead_of(phase);
            names.sort();
            (machine.contains(phase), machine.is_terminal(phase), names)
        };
        let touched = positions.into_iter().any(|phase| next(pinned, phase) != next(current, phase));
        if touched { Self::AtPosition(lines) } else { Self::Elsewhere(lines) }
    }
}

/// Whether whoever holds the run keeps others from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// Nobody else holds it.
    Free,
    /// Somebody else holds it and is not known to be dead.
    HeldByOther,
    /// Somebody else held it and is dead.
    HolderDead,
}

/// What the world around the run says.
#[derive(Debug, Clone, PartialEq)]
pub struct Outlook<'a> {
    /// The pinned workflow.
    pub machine: Option<&'a Machine>,
    /// How it compares with today's definition.
    pub drift: Drift,
    /// What keeps the log from being trusted; none when it verifies.
    pub damage: Option<Damage>,
    /// Who holds the run.
    pub presence: Presence,
    /// The time.
    pub now: Timestamp,
}

/// What keeps a run from going on, each in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Damage {
    /// Sealed events are missing.
    Lost(String),
    /// A merge joined two histories.
    Joined(String),
    /// An older version was put back.
    Rewound(String),
}

/// The answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// In one word.
    pub verdict: Verdict,
    /// Why, one sentence without full stop.
    pub reason: String,
    /// What to do.
    pub next: Next,
    /// What is completed, in order.
    pub completed: Vec<Completed>,
    /// What is in doubt.
    pub in_doubt: Vec<InDoubt>,
    /// The limit that is reached.
    pub limit: Option<Limit>,
    /// Things to know that change no verdict.
    pub notes: Vec<String>,
}

/// A limit of the run that is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limit {
    /// Its name in `limits`.
    pub name: &'static str,
    /// What could be allowed instead.
    pub raised: u64,
    reason: String,
}

/// Finds the next safe action. Pure: the same history and outlook give the same plan.
#[must_use]
pub fn resume(history: &History, outlook: &Outlook<'_>) -> Plan {
    let in_doubt = in_doubt(history);
    let limit = limit_reached(history, outlook.now);
    let (verdict, reason, next) = judge(history, outlook, &in_doubt, limit.as_ref());
    let completed = history
        .completed()
        .into_iter()
        .map(|(id, attempt)| Completed {
            number: attempt.map(|attempt| attempt.number),
            id,
            phase: attempt.and_then(|attempt| attempt.phase.clone()),
            status: attempt.map(|attempt| attempt.status),
        })
        .collect();
    Plan { verdict, reason, next, completed, in_doubt, limit, notes: notes(history, outlook) }
}

fn judge(
    history: &History,
    outlook: &Outlook<'_>,
    in_doubt: &[InDoubt],
    limit: Option<&Limit>,
) -> (Verdict, String, Next) {
    let state = &history.state().document().state;
    let phase = state.current_phase.clone();
    let choices = choices(outlook.machine, phase.as_ref());
    let next = |action| Next { action, phase: phase.clone(), choices: choices.clone() };
    match &outlook.damage {
        Some(Damage::Lost(what)) => return (Verdict::Corrupt, what.clone(), next(Action::Repair)),
        Some(Damage::Joined(what)) => return (Verdict::Conflict, what.clone(), next(Action::Join)),
        Some(Damage::Rewound(what)) => return (Verdict::Rewound, what.clone(), next(Action::BringBack)),
        None => {}
    }
    match state.status {
        RunStatus::Completed | RunStatus::Failed | RunStatus::Cancelled => {
            let nothing = Next { action: Action::Nothing, phase: None, choices: Vec::new() };
            let why = history.end_reason().map(|reason| format!(": {reason}")).unwrap_or_default();
            return (Verdict::Done, format!("the run is {}{why}", state.status), nothing);
        }
        RunStatus::Blocked => {
            let reason = state.blocked_reason.as_deref().unwrap_or("no reason was given");
            return (Verdict::NeedsHuman, format!("blocked: {reason}"), next(Action::ResolveBlocker));
        }
        RunStatus::Active => {}
    }
    if let (Presence::HeldByOther, Some(session)) = (outlook.presence, &state.session) {
        return (Verdict::Held, format!("session {session} holds the run"), next(Action::TakeOver));
    }
    if let Drift::AtPosition(lines) = &outlook.drift {
        let reason = format!("the workflow changed where the run stands: {}", lines.join("; "));
        return (Verdict::Drifted, reason, next(Action::ReviewWorkflow));
    }
    if let Some(limit) = limit {
        return (Verdict::NeedsHuman, limit.reason.clone(), next(Action::RaiseLimit));
    }
    if let Some(question) = state.questions.last() {
        let who = question.unit.as_ref().map(|unit| format!(" ({unit})")).unwrap_or_default();
        let reason = format!("`{}`{who} waits for an answer: {}", question.step, question.prompt);
        return (Verdict::NeedsHuman, reason, next(Action::Answer));
    }
    // A step that the run left while it ran keeps it from its end, not from going on.
    let is_left = |doubt: &&InDoubt| doubt.number.is_none() && !state.positions().any(|here| doubt.id == here.as_str());
    if let Some(first) = in_doubt.iter().find(|doubt| !is_left(doubt)) {
        return reconcile(first, phase, choices);
    }
    if let Some((behind, work)) = history.undone_behind().first() {
        return to_do(history, outlook.machine, behind, work);
    }
    // In parallel branches, the one that has something left to do.
    let open = |here: &&StateName| state.steps.get(here).is_some_and(|status| !status.is_done());
    let here = state.positions().find(open).cloned().or(phase);
    let choices = self::choices(outlook.machine, here.as_ref());
    let (verdict, reason, next) = go_on(history, outlook.machine, here, choices);
    let may_end = match next.action {
        Action::Complete => true,
        Action::ChoosePhase => {
            outlook.machine.zip(next.phase.as_ref()).is_none_or(|(machine, here)| machine.is_terminal(here))
        }
        _ => false,
    };
    if !may_end {
        return (verdict, reason, next);
    }
    // What `complete` would refuse is not proposed.
    match (in_doubt.first(), history.unsettled().first()) {
        (Some(left), _) => reconcile(left, next.phase, next.choices),
        (None, Some((behind, work))) if next.choices.is_empty() || next.action == Action::Complete => {
            to_do(history, outlook.machine, behind, work)
        }
        _ => (verdict, reason, next),
    }
}

/// Work that is left to do in a phase behind the run.
fn to_do(
    history: &History,
    machine: Option<&Machine>,
    behind: &StateName,
    work: &PhaseWork<'_>,
) -> (Verdict, String, Next) {
    let (verdict, action, reason) = undone(history, behind, work);
    (verdict, reason, Next { action, phase: Some(behind.clone()), choices: choices(machine, Some(behind)) })
}

fn reconcile(doubt: &InDoubt, phase: Option<StateName>, choices: Vec<StateName>) -> (Verdict, String, Next) {
    let what = match doubt.number {
        Some(number) => format!("{number} {}", doubt.id),
        None => format!("`{}`", doubt.id),
    };
    let reason = format!("{what} was begun and its outcome is unknown");
    (Verdict::Reconcile, reason, Next { action: Action::Reconcile, phase: doubt.phase.clone().or(phase), choices })
}

/// What to do about a phase whose work is not done.
fn undone(history: &History, phase: &StateName, work: &PhaseWork<'_>) -> (Verdict, Action, String) {
    let said = || history.message(phase).map(|message| format!(": {message}")).unwrap_or_default();
    match (work.status, work.latest) {
        (_, Some(latest)) if work.withdrawn => {
            let reason = format!(
                "`{phase}` is to be done again: {} {} was taken off completed_activities",
                latest.number, latest.id
            );
            (Verdict::Continue, Action::WorkPhase, reason)
        }
        (StepStatus::Failed, Some(latest)) if !work.reported => {
            (Verdict::Continue, Action::RetryPhase, format!("{} {} failed in `{phase}`", latest.number, latest.id))
        }
        (StepStatus::Waiting, Some(latest)) if !work.reported => {
            let what = latest.summary.as_deref().unwrap_or("it gave no reason");
            let reason = format!("{} {} is blocked: {what}", latest.number, latest.id);
            (Verdict::NeedsHuman, Action::ResolveActivity, reason)
        }
        (StepStatus::Failed, _) => (Verdict::Continue, Action::RetryPhase, format!("`{phase}` failed{}", said())),
        (StepStatus::Waiting, _) => {
            (Verdict::NeedsHuman, Action::ResolveActivity, format!("`{phase}` waits{}", said()))
        }
        _ => (Verdict::Continue, Action::WorkPhase, format!("nothing is completed in `{phase}` yet")),
    }
}

/// The run is free and whole: what comes next follows from the latest record in its phase.
fn go_on(
    history: &History,
    machine: Option<&Machine>,
    phase: Option<StateName>,
    choices: Vec<StateName>,
) -> (Verdict, String, Next) {
    let Some(here) = phase else {
        let first = choices.first().cloned();
        let next = Next { action: Action::StartPhase, phase: first, choices };
        return (Verdict::Continue, "the run has not entered a phase yet".to_owned(), next);
    };
    let work = history.work(&here);
    if !work.is_done() {
        let (verdict, action, reason) = undone(history, &here, &work);
        return (verdict, reason, Next { action, phase: Some(here), choices });
    }
    let Some(machine) = machine else {
        let reason = format!("`{here}` is done; its workflow is not known here, so what follows is not known");
        return (Verdict::Continue, reason, Next { action: Action::ChoosePhase, phase: Some(here), choices });
    };
    let (action, phase, reason) = match (machine.usual_next(&here), machine.is_terminal(&here)) {
        (Some(next), false) => {
            (Action::StartPhase, Some(next.clone()), format!("`{here}` is done; `{next}` comes next"))
        }
        (None, false) if !choices.is_empty() => {
            (Action::ChoosePhase, Some(here.clone()), format!("`{here}` is done; several phases can follow"))
        }
        (_, true) if !machine.ahead_of(&here).is_empty() => {
            let reason = format!("`{here}` is done; the run can end here or go on");
            (Action::ChoosePhase, Some(here.clone()), reason)
        }
        _ => (Action::Complete, Some(here.clone()), format!("`{here}` is done and is the last phase")),
    };
    (Verdict::Continue, reason, Next { action, phase, choices })
}

fn choices(machine: Option<&Machine>, phase: Option<&StateName>) -> Vec<StateName> {
    match (machine, phase) {
        (Some(machine), Some(phase)) => machine.next_of(phase),
        (Some(machine), None) => machine.initial().to_vec(),
        (None, _) => Vec::new(),
    }
}

/// Begun work whose outcome is not recorded: activities, and steps that were reported as running. Those in which the run
/// stands come before those that it left.
pub(super) fn in_doubt(history: &History) -> Vec<InDoubt> {
    let doubtful = |attempt: &&Attempt| attempt.status == ActivityStatus::Running;
    let activities = history.latest().into_iter().filter(doubtful).map(|attempt| InDoubt {
        number: Some(attempt.number),
        id: attempt.id.clone(),
        phase: attempt.phase.clone(),
        status: attempt.status,
        at: attempt.at,
        summary: attempt.summary.clone(),
    });
    let run = &history.state().document().state;
    let is_here = |step: &&StateName| run.positions().any(|here| here == *step);
    let (here, left): (Vec<_>, Vec<_>) = run.running_steps().partition(is_here);
    let steps = here.into_iter().chain(left).map(|step| InDoubt {
        number: None,
        id: step.to_string(),
        phase: Some(step.clone()),
        status: ActivityStatus::Running,
        at: history.reported_at(step),
        summary: history.message(step).map(str::to_owned),
    });
    activities.chain(steps).collect()
}

/// `max_iterations` bounds how often the current phase may fail, `max_runtime_minutes` the age of the run.
fn limit_reached(history: &History, now: Timestamp) -> Option<Limit> {
    let run = history.state().document();
    if let Some(minutes) = run.limit("max_runtime_minutes") {
        let age = run.created_at.minutes_until(now);
        if age >= minutes {
            let reason = format!("the run is {age} minutes old; its limit is {minutes} (max_runtime_minutes)");
            return Some(Limit { name: "max_runtime_minutes", raised: age.saturating_add(minutes.max(1)), reason });
        }
    }
    let most = run.limit("max_iterations")?;
    let here = run.state.current_phase.as_ref()?;
    let failed = history
        .attempts()
        .iter()
        .filter(|attempt| attempt.phase.as_ref() == Some(here) && attempt.status == ActivityStatus::Failed)
        .count();
    if history.work(here).is_done() {
        return None;
    }
    let failed = u64::try_from(failed).unwrap_or(u64::MAX);
    let reason = format!("`{here}` failed {failed} times; the run's limit is {most} (max_iterations)");
    (failed >= most).then(|| Limit { name: "max_iterations", raised: failed.saturating_add(most.max(1)), reason })
}

fn notes(history: &History, outlook: &Outlook<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    let state = &history.state().document().state;
    if state.status == RunStatus::Active && state.blocked_reason.as_deref() == Some(SESSION_ENDED) {
        notes.push("the session that worked on it ended".to_owned());
    }
    let skip = |skip: &crate::engine::SkippedPhase| {
        format!("`{}` was left undone (event {}): {}", skip.phase, skip.seq, skip.reason)
    };
    notes.extend(history.skips().iter().map(skip));
    if state.status == RunStatus::Completed
        && let (Some(machine), Some(here)) = (outlook.machine, &state.current_phase)
        && machine.contains(here)
        && !machine.is_terminal(here)
        && !machine.terminal().is_empty()
    {
        let last: Vec<_> = machine.terminal().iter().map(|name| format!("`{name}`")).collect();
        notes.push(format!("it was completed in `{here}`; its workflow ends in {}", last.join(", ")));
    }
    if state.status == RunStatus::Active {
        let left = state.running_steps().filter(|step| !state.positions().any(|here| here == *step));
        notes.extend(left.map(|step| format!("`{step}` is left and was never reported as done")));
    }
    if state.status == RunStatus::Completed {
        let undone = history.unsettled();
        notes.extend(undone.iter().map(|(phase, work)| Undone::new(None, phase, work).to_string()));
    }
    if outlook.presence == Presence::HolderDead {
        notes.push("the process that held it is gone".to_owned());
    }
    if let Drift::Elsewhere(lines) = &outlook.drift {
        notes.push(format!("the workflow changed elsewhere: {}", lines.join("; ")));
    }
    let workers = history.open_workers();
    if !workers.is_empty() {
        let open = if state.status.is_terminal() { "not done when the run ended" } else { "reported as not done" };
        notes.push(format!("{open}: {}", workers.join(", ")));
    }
    notes.extend(history.losses());
    if outlook.machine.is_none() {
        let workflow = &history.state().document().workflow;
        notes.push(format!(
            "the definition of its workflow is missing, so phases are not checked; put it back as \
             .flow/workflows/{workflow}.workflow.yaml or where it was"
        ));
    }
    notes
}
