//! What to do next in one run, whichever command asks.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use schemars::JsonSchema;
use serde::Serialize;

use crate::disk::Links;
use crate::engine::{self, Action, Damage, Drift, Fault, History, Outlook, Plan, Presence, RunState, Verdict};
use crate::machine::{Difference, Machine};
use crate::model::{LostRange, RunId, Seq, StateName, Suggestion, WorkflowId};
use crate::runs::advice::{Alternative, adopt, advice, bring_back, reopen, unknown_driver};
use crate::runs::context::Context;
use crate::runs::error::ends_at;
use crate::runs::here::{named_here, place_from, place_of_caller};
use crate::runs::look::driven::driver_from_here;
use crate::runs::look::life::lives;
use crate::runs::open::checkout::{places_of_log, places_with, ways_back};
use crate::runs::open::same_work::has_second_run;
use crate::runs::open::view::View;
use crate::store::{Project, StoredRun};

/// The next action.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct NextReport {
    /// The kind of action.
    pub action: Action,
    /// The phase that it is about.
    pub phase: Option<StateName>,
    /// The valid next phases.
    pub choices: Vec<StateName>,
    /// The workflow's description of that phase.
    pub description: Option<String>,
    /// A command line that is safe to run without reading on: it begins work or inspects something, and never marks
    /// anything as done. None where a judgement is needed; then `alternatives` has one command for each outcome.
    pub command: Option<Suggestion>,
    /// Commands for other decisions, or for when the outcome is known.
    pub alternatives: Vec<Alternative>,
}

/// What has to be known about a run besides its history. `presence` says whether another session is in the way.
pub(in crate::runs) fn outlook<'a>(
    cx: &Context,
    project: &Project,
    run: &dyn StoredRun,
    view: &'a View,
    presence: Presence,
    definitions: &Definitions,
) -> Outlook<'a> {
    let state = view.history.state();
    let drift = match (&view.machine, state.status().is_terminal()) {
        (Some(pinned), false) => drift(cx, project, pinned, state, definitions),
        _ => Drift::None,
    };
    let machine = view.machine.as_ref();
    let shown = state.document().state.last_seq;
    let is_away = view.log.last_seq() == Seq(0) && !places_of_log(cx, project, run, shown).is_empty();
    let damage = damage(view, is_away);
    Outlook { machine, drift, damage, presence, now: cx.clock.now(), lives: lives(&view.history) }
}

/// The next steps of a run.
pub(in crate::runs) struct Steps {
    pub(in crate::runs) next: NextReport,
    pub(in crate::runs) notes: Vec<String>,
}

/// The commands for a plan.
pub(in crate::runs) fn steps(
    cx: &Context,
    project: &Project,
    run: &dyn StoredRun,
    view: &View,
    outlook: &Outlook<'_>,
    plan: &Plan,
) -> Steps {
    let document = view.history.state().document();
    let driver = driver_from_here(cx, project, view);
    let mut advice = advice(&view.history, plan, view.machine.as_ref(), driver);
    if plan.verdict == Verdict::Drifted {
        advice.alternatives = ways_after_drift(cx, project, view, outlook);
    }
    if plan.verdict == Verdict::Rewound {
        let shown = document.state.last_seq.unwrap_or_default();
        let places = places_with(cx, project, run, view.noted.max(shown));
        advice.alternatives = bring_back(run.id(), ways_back(cx, project, run, &places)).alternatives;
    }
    if plan.verdict == Verdict::Done && has_second_run(cx, project, document) {
        let command = reopen(run.id(), true).example("reason", "why");
        let when = "there is more to do, although another open run is about the same";
        advice.alternatives = vec![Alternative::new(when, command)];
    }
    let mut advice = advice.in_project(place_of_caller(cx, project).as_deref());
    let mut notes = plan.notes.clone();
    notes.extend(new_gates(run.id(), &outlook.drift));
    notes.extend(unknown_driver(document, plan.next.action).map(str::to_owned));
    if let Some(document) = asked_in(&view.history, plan) {
        let command = interview_command(cx, project, run.id().as_str(), document, &mut notes);
        let when = format!("the person is there to go on with {document}");
        advice.alternatives = command.map(|command| Alternative::new(when, command)).into_iter().collect();
    }
    notes.extend(view.notes.iter().cloned());
    let description = match (&view.machine, &plan.next.phase) {
        (Some(machine), Some(phase)) => machine.state(phase).and_then(|state| state.description.clone()),
        _ => None,
    };
    let next = NextReport {
        command: advice.command,
        action: plan.next.action,
        phase: plan.next.phase.clone(),
        choices: plan.next.choices.clone(),
        description,
        alternatives: advice.alternatives,
    };
    Steps { next, notes }
}

/// That today's definition has gates which the run does not have, because it began before them.
fn new_gates(run: &RunId, drift: &Drift) -> Option<String> {
    let (Drift::Elsewhere(differences) | Drift::AtPosition(differences)) = drift else { return None };
    let mut gates = Vec::new();
    for difference in differences {
        if let Difference::Gate { state, is: true } = difference {
            gates.push(format!("`{state}`"));
        }
    }
    if gates.is_empty() {
        return None;
    }
    let command = adopt(run, None).command;
    Some(format!("in today's definition a person decides in {}; `{command}` moves the run to it", gates.join(", ")))
}

/// The path in the project of the document whose interview has an open question.
fn asked_in<'h>(history: &'h History, plan: &Plan) -> Option<&'h str> {
    let question = history.state().document().state.questions.last().filter(|_| plan.next.action == Action::Answer)?;
    history.document_of(question)
}

/// Today's definitions of workflows, each looked for once.
#[derive(Debug, Default)]
pub(in crate::runs) struct Definitions(Mutex<HashMap<WorkflowId, Option<Arc<Machine>>>>);

impl Definitions {
    /// Today's definition; `None` if it is broken or missing. Then the run continues with its pinned one, and other
    /// commands report that.
    fn find(&self, cx: &Context, project: &Project, workflow: &WorkflowId) -> Option<Arc<Machine>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let find = || cx.catalog(Some(project)).find(workflow.as_str()).ok().map(|found| Arc::new(found.machine));
        known.entry(workflow.clone()).or_insert_with(find).clone()
    }
}

fn drift(cx: &Context, project: &Project, pinned: &Machine, state: &RunState, definitions: &Definitions) -> Drift {
    let Some(current) = definitions.find(cx, project, pinned.id()) else { return Drift::None };
    let current = (*current).clone().spelled_as(pinned.states().iter().map(|state| &state.name));
    Drift::between(pinned, &current, state.document().state.positions())
}

/// After a drift: move the run to the current definition, if its phase exists there, or continue with the pinned one.
fn ways_after_drift(cx: &Context, project: &Project, view: &View, outlook: &Outlook<'_>) -> Vec<Alternative> {
    let state = view.history.state().document();
    let today = cx.catalog(Some(project)).find(state.workflow.as_str());
    let fits = today.is_ok_and(|today| state.state.positions().all(|phase| today.machine.contains(phase)));
    let before = Outlook { drift: Drift::None, ..outlook.clone() };
    let driver = driver_from_here(cx, project, view);
    let older = advice(&view.history, &engine::resume(&view.history, &before), view.machine.as_ref(), driver);
    let begin = older.command.map(|command| Alternative::new("it is to be begun", command));
    let under = |way: Alternative| {
        let when = format!("the run goes on under the definition it started with, and {}", way.when);
        Alternative { when, ..way }
    };
    let older = begin.into_iter().chain(older.alternatives).map(under);
    fits.then(|| adopt(&state.id, None)).into_iter().chain(older).collect()
}

/// The command that continues an interview. None if its document does not exist: then a person has to decide, and the
/// notes say how.
fn interview_command(
    cx: &Context,
    project: &Project,
    run: &str,
    document: &str,
    notes: &mut Vec<String>,
) -> Option<Suggestion> {
    let path = project.root().join(document);
    // A document in another project belongs to the interviews of that project.
    let place = place_from(cx, project, path.parent().unwrap_or(project.root()));
    let interview = |verb: &str| {
        let named = named_here(cx, project, Path::new(document));
        Suggestion::flow(verb).value(named).in_project(place.as_deref())
    };
    let command = interview("interview run").option("run-id", run);
    if cx.disk.look(&path, Links::Follow).is_ok() {
        return Some(command);
    }
    notes.push(format!(
        "{document} is gone: put it back, begin anew with `{command}`, or end the interview with `{}`",
        interview("interview abandon")
    ));
    None
}

/// The damage to the sealed part of a log. Lines of other programs and a torn tail are not damage. `is_away`: git has
/// the log, but it is not in this checkout.
fn damage(view: &View, is_away: bool) -> Option<Damage> {
    let is_or_are = |lost: &LostRange| if lost.from == lost.to { "is" } else { "are" };
    let culprit = view.log.skipped.first().map(|line| format!(" (line {}: {})", line.line, line.fault.as_str()));
    let culprit = culprit.unwrap_or_default();
    let put_back = |last: Seq, written: Seq| {
        let there = ends_at(last);
        format!("an older version of the run was put back: its log {there}, and event {written} was written")
    };
    let damage = |fault: &Fault| match fault {
        Fault::Joined(what) => Some((0, Damage::Joined(format!("a merge joined two histories of the run: {what}")))),
        Fault::Gap(lost) => {
            let what = format!("{} {} missing from the log{culprit}", lost.in_words(), is_or_are(lost));
            Some((1, Damage::Lost(what)))
        }
        Fault::EndLost(lost) if is_away => {
            Some((2, Damage::Rewound(put_back(view.log.last_seq(), view.noted.max(lost.to)))))
        }
        Fault::EndLost(lost) => {
            let what = format!("{} {} missing from the end of the log{culprit}", lost.in_words(), is_or_are(lost));
            Some((2, Damage::Lost(what)))
        }
        Fault::Rewound { last, noted } => Some((2, Damage::Rewound(put_back(*last, *noted)))),
        _ => None,
    };
    view.faults.iter().filter_map(damage).min_by_key(|(rank, _)| *rank).map(|(_, damage)| damage)
}
