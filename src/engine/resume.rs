//! Finds the next safe action: a verdict, the reason, and what to do.

mod notes;
mod outlook;
mod plan;

use crate::engine::doubt::in_doubt;
use crate::engine::gate_rules::turn_of_held;
use crate::engine::leave::is_strict;
use crate::engine::past::interviews::is_all_asked;
use crate::engine::past::units::UnitsAlone;
use crate::engine::refusal::needs_approval;
use crate::engine::resume::notes::notes;
use crate::engine::verdict::{Action, Verdict};
use crate::engine::{Attempt, GateTurn, History, InDoubt, PhaseWork, held_by};
use crate::machine::{Machine, in_words};
use crate::model::{ActivityStatus, GateStatus, MissingProof, RunStatus, StateName, StepStatus, Timestamp, counted};

pub use outlook::{Damage, Drift, HoldState, Outlook};
pub use plan::{CompletedActivity, Limit, Next, Plan};

/// Finds the next safe action. Pure: the same arguments give the same plan.
#[must_use]
pub fn resume(history: &History, outlook: &Outlook<'_>) -> Plan {
    let mut in_doubt = in_doubt(history);
    for doubt in &mut in_doubt {
        doubt.process = outlook.lives.left(doubt.number, &doubt.id);
        doubt.alive = doubt.process.map(|_| true).or(outlook.lives.of(&doubt.by));
    }
    // What to look at first: work in steps that the run has not left, and of which nothing shows that it goes on.
    in_doubt.sort_by_key(|doubt| (is_left(history, doubt), doubt.alive == Some(true)));
    let limit = limit_reached(history, outlook.now);
    let Proposal { verdict, reason, next } = proposal(history, outlook, &in_doubt, limit.as_ref());
    let completed = history.completed().into_iter().map(|entry| CompletedActivity {
        number: entry.number,
        id: entry.id.to_owned(),
        phase: entry.record.and_then(|record| record.phase.clone()),
        status: entry.record.map(|record| record.status),
        exit_code: entry.record.and_then(|record| record.exit_code),
        seen: entry.record.is_some_and(Attempt::flow_saw),
        claimed: entry.record.is_some_and(Attempt::is_claimed),
        seen_to_fail: entry.record.and_then(|record| record.seen_to_fail),
    });
    let completed = completed.collect();
    let left_undone = history.left_undone(outlook.machine);
    let begun_at = match in_doubt.first() {
        Some(doubt) if verdict == Verdict::Reconcile && doubt.alive == Some(true) => doubt.at,
        _ => None,
    };
    let mut unproved = if next.action == Action::RunCommand { unproved(history, outlook) } else { Vec::new() };
    // The one that the verdict is about comes first.
    unproved.sort_by_key(|one| Some(&one.phase) != next.phase.as_ref());
    let notes = notes(history, outlook);
    Plan { verdict, reason, next, completed, in_doubt, left_undone, begun_at, limit, unproved, notes }
}

/// Whether it is a step that the run left while it was running. That prevents completing the run, but not continuing it.
fn is_left(history: &History, doubt: &InDoubt) -> bool {
    // A step's doubt names the step as its phase.
    let is_here = doubt.phase.as_ref().is_some_and(|step| history.state().document().state.is_in(step));
    doubt.number.is_none() && !is_here
}

/// Whether its outcome has to be found out before the run goes on. Where it is a phase that was only reported as begun, the
/// records in the phase may already say that its work is done.
fn comes_first(history: &History, machine: Option<&Machine>, doubt: &InDoubt) -> bool {
    let step = doubt.phase.as_ref().filter(|_| doubt.number.is_none());
    let is_recorded = is_strict(machine) && step.is_some_and(|step| history.work(step).is_worked());
    !is_recorded && !is_left(history, doubt)
}

/// The gate at which a person has to decide before the run goes on, and why.
pub(crate) fn undecided(
    history: &History,
    machine: Option<&Machine>,
    held: Option<StateName>,
) -> Option<(StateName, String)> {
    if let Some(held) = held {
        let turn = turn_of_held(history.state(), &held);
        return Some((held.clone(), needs_approval(&[held], turn)));
    }
    let mut here = history.state().document().state.positions();
    let gate = here.find(|here| history.waits_for_a_person(machine, here))?;
    Some((gate.clone(), needs_approval(std::slice::from_ref(gate), GateTurn::Now)))
}

/// What to do next, and why.
struct Proposal {
    verdict: Verdict,
    reason: String,
    next: Next,
}

impl Proposal {
    fn continues(reason: String, next: Next) -> Self {
        Self { verdict: Verdict::Continue, reason, next }
    }

    fn needs_human(reason: String, next: Next) -> Self {
        Self { verdict: Verdict::NeedsHuman, reason, next }
    }
}

/// The verdict of a damaged run, and the next action.
fn because_of(damage: &Damage) -> (Verdict, Action) {
    match damage {
        Damage::Lost(_) => (Verdict::Corrupt, Action::Repair),
        Damage::Joined(_) => (Verdict::Conflict, Action::Join),
        Damage::Rewound(_) => (Verdict::Rewound, Action::BringBack),
        Damage::Apart(_) => (Verdict::NeedsHuman, Action::Share),
    }
}

/// The first rule that applies decides.
fn proposal(history: &History, outlook: &Outlook<'_>, in_doubt: &[InDoubt], limit: Option<&Limit>) -> Proposal {
    let state = &history.state().document().state;
    let phase = state.current_phase.clone();
    let choices = choices_of(outlook.machine, phase.as_ref());
    let next = |action| Next { action, phase: phase.clone(), choices: choices.clone() };
    if let Some(damage) = &outlook.damage {
        let (verdict, action) = because_of(damage);
        return Proposal { verdict, reason: damage.what().to_owned(), next: next(action) };
    }
    // An edit may say of a run that waits in a gate, or is past one, that it is completed.
    let held = held_by(history.state(), outlook.machine).into_iter().next();
    match state.status {
        RunStatus::Completed if held.is_some() => {}
        RunStatus::Completed | RunStatus::Failed | RunStatus::Cancelled => {
            let nothing = Next { action: Action::Nothing, phase: None, choices: Vec::new() };
            let why = after_colon(history.end_reason());
            let reason = format!("the run is {}{why}", state.status);
            return Proposal { verdict: Verdict::Done, reason, next: nothing };
        }
        RunStatus::Blocked => {
            let reason = state.blocked_reason.as_deref().unwrap_or("no reason was given");
            return Proposal::needs_human(format!("blocked: {reason}"), next(Action::ResolveBlocker));
        }
        RunStatus::Active => {}
    }
    if let (HoldState::HeldByOther, Some(session)) = (outlook.hold_state, &state.session) {
        let reason = format!("session {session} holds the run");
        return Proposal { verdict: Verdict::Held, reason, next: next(Action::TakeOver) };
    }
    // A command that runs after the decision would take it back, so what the gate's phase requires comes before.
    let mut required = None;
    if let Some((gate, reason)) = undecided(history, outlook.machine, held) {
        required = unproved(history, outlook).into_iter().find(|one| one.phase == gate && !one.is_behind);
        if required.is_none() {
            return Proposal::needs_human(reason, Next { action: Action::Decide, phase: Some(gate), choices });
        }
    }
    if let Drift::AtPosition(differences) = &outlook.drift {
        let reason = format!("the workflow changed where the run stands: {}", in_words(differences));
        return Proposal { verdict: Verdict::Drifted, reason, next: next(Action::ReviewWorkflow) };
    }
    if let Some(limit) = limit {
        return Proposal::needs_human(limit.reason.clone(), next(Action::RaiseLimit));
    }
    if let Some(question) = state.questions.last() {
        let who = question.unit.as_ref().map(|unit| format!(" ({unit})")).unwrap_or_default();
        let more = match state.questions.len() - 1 {
            0 => String::new(),
            more => format!(" (and {})", counted(more, "more question")),
        };
        let has_all = history.document_of(question).is_some_and(|document| is_all_asked(question, document));
        let waits = if has_all { "has its answers" } else { "waits for an answer" };
        // Before the prompt, which lists may cut.
        let reason = format!("`{}`{who} {waits}{more}: {}", question.step, question.prompt);
        return Proposal::needs_human(reason, next(Action::Answer));
    }
    // The end of a run closes its questions, and the interview goes on when the run does.
    if let Some(begun) = history.begun_interviews().first() {
        let reason = format!("the interview about {} is not finished", begun.document);
        return Proposal::needs_human(reason, next(Action::Answer));
    }
    // As a question of a unit: the work beside it does not get what it waits for.
    if let Some(unit) = history.waiting_unit() {
        let reason = format!("{} waits{}", unit.name(), after_colon(unit.message));
        return Proposal::needs_human(reason, next(Action::ResolveActivity));
    }
    if let Some(doubt) = in_doubt.iter().find(|doubt| comes_first(history, outlook.machine, doubt)) {
        return plan_to_reconcile(doubt, phase, choices);
    }
    if let Some((behind, work)) = history.undone_behind().first() {
        return undone(history, behind, work, choices_of(outlook.machine, Some(behind)));
    }
    match required {
        Some(first) => plan_required(outlook.machine, first),
        None => plan_to_go_on(history, outlook, in_doubt.first()),
    }
}

/// The plan to run a command that a phase requires.
fn plan_required(machine: Option<&Machine>, first: MissingProof) -> Proposal {
    let reason = first.to_string();
    let choices = choices_of(machine, Some(&first.phase));
    Proposal::continues(reason, Next { action: Action::RunCommand, phase: Some(first.phase), choices })
}

/// The plan to run a command that a phase requires, if nothing else is left to do here, and the run may not go on without.
fn required_before(history: &History, outlook: &Outlook<'_>, next: &Next) -> Option<Proposal> {
    if !matches!(next.action, Action::StartPhase | Action::ChoosePhase | Action::Complete) {
        return None;
    }
    let first = unproved(history, outlook).into_iter().next()?;
    Some(plan_required(outlook.machine, first))
}

/// What is missing of what the run still has to show, as far as it is known.
fn unproved(history: &History, outlook: &Outlook<'_>) -> Vec<MissingProof> {
    match (&outlook.unproved, outlook.machine) {
        (Some(known), _) => known.clone(),
        (None, Some(machine)) => history.unproved_by_log(machine),
        (None, None) => Vec::new(),
    }
}

/// The plan if no person and no earlier work is needed. Does not propose what `complete` would refuse.
fn plan_to_go_on(history: &History, outlook: &Outlook<'_>, left: Option<&InDoubt>) -> Proposal {
    let plan = plan_beyond(history, outlook.machine, left);
    required_before(history, outlook, &plan.next).unwrap_or(plan)
}

/// As [`plan_to_go_on`], without what phases require.
fn plan_beyond(history: &History, machine: Option<&Machine>, left: Option<&InDoubt>) -> Proposal {
    let state = &history.state().document().state;
    // With parallel branches, take the one that still has something to do.
    let here = state.positions().find(|here| matches!(state.steps.get(here), Some(status) if !status.is_done()));
    let here = here.or(state.current_phase.as_ref()).cloned();
    let choices = choices_of(machine, here.as_ref());
    let plan = plan_next(history, machine, here, choices);
    let next = &plan.next;
    let may_end = match (next.action, machine, &next.phase) {
        (Action::Complete, ..) => true,
        // Where the workflow is not known, the run may end in any phase.
        (Action::ChoosePhase, Some(machine), Some(here)) => machine.is_terminal(here),
        (Action::ChoosePhase, ..) => true,
        _ => false,
    };
    if !may_end {
        return plan;
    }
    match (left, history.unsettled().first()) {
        (Some(left), _) => plan_to_reconcile(left, plan.next.phase, plan.next.choices),
        (None, Some((behind, work))) if next.choices.is_empty() || next.action == Action::Complete => {
            undone(history, behind, work, choices_of(machine, Some(behind)))
        }
        _ => plan,
    }
}

/// The plan to find out how begun work ended.
fn plan_to_reconcile(doubt: &InDoubt, phase: Option<StateName>, choices: Vec<StateName>) -> Proposal {
    let what = match doubt.number {
        Some(number) => format!("{number} {}", doubt.id),
        None => format!("`{}`", doubt.id),
    };
    let reason = match (doubt.process, doubt.alive) {
        (Some(process), _) => format!("process {process} still works on {what}"),
        (None, Some(true)) => format!("the process that began {what} still runs"),
        (None, Some(false) | None) => format!("{what} was begun and its outcome is unknown"),
    };
    let next = Next { action: Action::Reconcile, phase: doubt.phase.clone().or(phase), choices };
    Proposal { verdict: Verdict::Reconcile, reason, next }
}

/// The plan for a phase whose work is not done.
fn undone(history: &History, phase: &StateName, work: &PhaseWork<'_>, choices: Vec<StateName>) -> Proposal {
    let next = |action| Next { action, phase: Some(phase.clone()), choices };
    match (work.status, work.latest) {
        (_, Some(latest)) if work.withdrawn => {
            let reason = format!(
                "`{phase}` is to be done again: {} {} is not in completed_activities",
                latest.number, latest.id
            );
            Proposal::continues(reason, next(Action::WorkPhase))
        }
        (StepStatus::Failed, Some(latest)) if !work.reported => {
            let reason = format!("{} {} failed in `{phase}`", latest.number, latest.id);
            Proposal::continues(reason, next(Action::RetryPhase))
        }
        (StepStatus::Waiting, Some(latest)) if !work.reported => {
            let what = latest.summary.as_deref().unwrap_or("it gave no reason");
            let reason = format!("{} {} is blocked: {what}", latest.number, latest.id);
            Proposal::needs_human(reason, next(Action::ResolveActivity))
        }
        (StepStatus::Failed, _) => {
            let reason = format!("`{phase}` failed{}", after_colon(history.message(phase)));
            Proposal::continues(reason, next(Action::RetryPhase))
        }
        (StepStatus::Waiting, _) => {
            let reason = format!("`{phase}` waits{}", after_colon(history.message(phase)));
            Proposal::needs_human(reason, next(Action::ResolveActivity))
        }
        (StepStatus::NotStarted, Some(latest)) if latest.status == ActivityStatus::Pending => {
            let reason = format!("{} {} is planned in `{phase}`, and was not begun", latest.number, latest.id);
            Proposal::continues(reason, next(Action::WorkPhase))
        }
        _ => Proposal::continues(format!("nothing is completed in `{phase}` yet"), next(Action::WorkPhase)),
    }
}

/// The end of a reason that repeats what was said, if anything was.
fn after_colon(text: Option<&str>) -> String {
    match text {
        Some(text) => format!(": {text}"),
        None => String::new(),
    }
}

/// The plan if nothing prevents continuing: it follows from the work in the phase.
fn plan_next(
    history: &History,
    machine: Option<&Machine>,
    phase: Option<StateName>,
    choices: Vec<StateName>,
) -> Proposal {
    let Some(here) = phase else {
        let start = Next { action: Action::StartPhase, phase: choices.first().cloned(), choices };
        let complete = Next { action: Action::Complete, phase: None, choices: Vec::new() };
        let (reason, next) = match UnitsAlone::of(history) {
            // Of these, `complete` wants more than units.
            UnitsAlone::Done if machine.is_some_and(asks_for_phases) => {
                ("only units report, and all of them are done; the phases are still to come".to_owned(), start)
            }
            UnitsAlone::Done => ("only units report, and all of them are done".to_owned(), complete),
            UnitsAlone::Open(units) => (format!("only units report; not done: {}", units.join(", ")), start),
            UnitsAlone::No => ("the run has not entered a phase yet".to_owned(), start),
        };
        return Proposal::continues(reason, next);
    };
    let work = history.work(&here);
    if history.gate(&here) == Some(GateStatus::Rejected) {
        let why = after_colon(history.rejection(&here));
        let reason = format!("a person rejected what was done before `{here}` is left{why}");
        return Proposal::continues(reason, Next { action: Action::WorkPhase, phase: Some(here), choices });
    }
    let is_worked = is_strict(machine) && work.is_worked();
    if !work.is_done() && !is_worked {
        return undone(history, &here, &work, choices);
    }
    let Some(machine) = machine else {
        let reason = format!("`{here}` is done; no definition says what follows");
        return Proposal::continues(reason, Next { action: Action::ChoosePhase, phase: Some(here), choices });
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
    Proposal::continues(reason, Next { action, phase, choices })
}

/// Whether a run cannot end by the work of its units alone.
fn asks_for_phases(machine: &Machine) -> bool {
    machine.is_phases() || !machine.requires().is_empty() || !machine.gates().is_empty()
}

/// The phases that may follow `phase`, or with which a run may begin.
fn choices_of(machine: Option<&Machine>, phase: Option<&StateName>) -> Vec<StateName> {
    match (machine, phase) {
        (Some(machine), Some(phase)) => machine.next_of(phase),
        (Some(machine), None) => machine.initial().to_vec(),
        (None, _) => Vec::new(),
    }
}

/// The limit that is reached. `max_iterations` limits how often the current phase may fail, `max_runtime_minutes` the
/// age of the run.
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
    // A recap leaves most failures out and only counts them.
    let mut failed = history.left_out.failures.get(here).copied().unwrap_or_default();
    for attempt in history.attempts() {
        if attempt.phase.as_ref() == Some(here) && attempt.status == ActivityStatus::Failed {
            failed += 1;
        }
    }
    let failed = u64::try_from(failed).unwrap_or(u64::MAX);
    if failed < most || history.work(here).is_done() {
        return None;
    }
    let reason = format!("`{here}` failed {failed} times; the run's limit is {most} (max_iterations)");
    Some(Limit { name: "max_iterations", raised: failed.saturating_add(most.max(1)), reason })
}
