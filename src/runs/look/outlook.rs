//! What to do next in one run, whichever command asks.

use std::cell::LazyCell;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use schemars::JsonSchema;
use serde::Serialize;

use crate::catalog::CatalogError;
use crate::engine::{self, Action, Drift, History, HoldState, Outlook, Plan, RunState, Verdict, is_all_asked};
use crate::machine::{Difference, Machine};
use crate::model::{Execution, MissingProof, RunId, StateName, Suggestion, WorkflowId};
use crate::runs::advice::{adopt, advice, bring_back, share, unknown_driver};
use crate::runs::alternative::{Advice, Alternative};
use crate::runs::commands::{NamedNow, reopen};
use crate::runs::context::OpenedProject;
use crate::runs::driver::Driver;
use crate::runs::here::{finish_command, interview_command, moved_document, place_of_caller};
use crate::runs::look::driven::driver_from_here;
use crate::runs::look::life::lives;
use crate::runs::open::checkout::{places_of_lost, places_with, ways_back};
use crate::runs::open::damage::{apart_from_store, damage_of};
use crate::runs::open::proof::Proofs;
use crate::runs::open::same_work::has_second_run;
use crate::runs::open::view::View;
use crate::runs::write::exec::obstacle::obstacle;
use crate::runs::write::exec::trust::trusted;
use crate::store::StoredRun;

/// The next action.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
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
    /// What to look at before one of the alternatives is chosen; absent where nothing is in doubt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<String>,
    /// Commands for other decisions, or for when the outcome is known.
    pub alternatives: Vec<Alternative>,
}

/// An open run, what was read of it, and the project and context it was opened in.
#[derive(Clone, Copy)]
pub(in crate::runs) struct OpenedRun<'a> {
    pub(in crate::runs) project: &'a OpenedProject,
    pub(in crate::runs) run: &'a dyn StoredRun,
    pub(in crate::runs) view: &'a View,
}

/// What has to be known about a run besides its history. `hold_state` says whether another session is in the way.
pub(super) fn outlook<'a>(opened: OpenedRun<'a>, hold_state: HoldState, definitions: &Definitions) -> Outlook<'a> {
    let OpenedRun { project, view, .. } = opened;
    let state = view.history.state();
    let drift = match &view.machine {
        // Of a run that is over it does not matter, and a definition takes time to read.
        Some(pinned) if !state.status().is_terminal() => drift(project, pinned, state, definitions),
        _ => Drift::None,
    };
    let machine = view.machine.as_ref();
    let mut damage = damage_of(project, opened.run, view);
    if damage.is_none() && !state.status().is_terminal() {
        damage = apart_from_store(project, opened.run);
    }
    Outlook {
        machine,
        drift,
        damage,
        hold_state,
        now: project.cx.now(),
        lives: lives(project, &view.history, hold_state == HoldState::HeldByOther),
        unproved: unproved_by_name(project, view),
    }
}

/// What is missing of what the run still has to show, without a look at its files: a command that passed and that the project
/// calls something else today proves nothing. `None` without a workflow.
fn unproved_by_name(project: &OpenedProject, view: &View) -> Option<Vec<MissingProof>> {
    // The configuration is read only if something passed.
    let proofs = LazyCell::new(|| Proofs::of(project, BTreeMap::new()));
    let machine = view.machine.as_ref()?;
    Some(view.history.unproved_where(machine, |required, attempt| proofs.is_another_command(&required.exec, attempt)))
}

/// What to do next, as the engine finds it; a required command that would show nothing waits for a person.
pub(super) fn plan_for(opened: OpenedRun<'_>, outlook: &Outlook<'_>) -> Plan {
    let mut plan = engine::resume(&opened.view.history, outlook);
    if plan.next.action == Action::RunCommand
        && let Some(first) = plan.unproved.first_mut()
        && let Some(found) = obstacle(opened.project, first)
    {
        plan.verdict = Verdict::NeedsHuman;
        plan.reason = format!("{}; {}", plan.reason, found.what());
        first.obstacle = Some(found);
    }
    plan
}

/// As [`plan_for`], for a person: what a run waits for comes before the session that holds it, which is not at work then.
pub(super) fn plan_for_person(opened: OpenedRun<'_>, outlook: &mut Outlook<'_>) -> Plan {
    let plan = plan_for(opened, outlook);
    if plan.verdict != Verdict::Held {
        return plan;
    }
    let free = Outlook { hold_state: HoldState::Free, drift: Drift::None, ..outlook.clone() };
    let for_anyone = plan_for(opened, &free);
    if for_anyone.verdict != Verdict::NeedsHuman {
        return plan;
    }
    *outlook = free;
    for_anyone
}

/// What to do next in a run, and notes for people.
pub(in crate::runs) struct NextSteps {
    pub(in crate::runs) next: NextReport,
    pub(in crate::runs) notes: Vec<String>,
}

/// What the project's configuration calls today by the name of a command that ran.
fn named_now(project: &OpenedProject, exec: &Execution) -> NamedNow {
    let Some(Ok(argv)) = exec.name.as_ref().map(|name| trusted(project, name)) else { return NamedNow::Nothing };
    // Of a masked command only the name is known.
    if exec.masked || argv == exec.argv { NamedNow::Same } else { NamedNow::Another }
}

/// A plan in commands that this machine may run.
fn advice_here(project: &OpenedProject, view: &View, plan: &Plan, driver: Option<Driver>) -> Advice {
    advice(
        &view.history,
        plan,
        view.machine.as_ref(),
        driver,
        view.last_seen(),
        &|exec| named_now(project, exec),
        &|one| obstacle(project, one).is_some(),
    )
}

/// What a plan puts before running the command that the project calls `exec`, if something.
pub(super) fn comes_before(
    opened: OpenedRun<'_>,
    outlook: &Outlook<'_>,
    plan: &Plan,
    exec: &str,
) -> Option<Suggestion> {
    let is_first = match plan.next.action {
        Action::Repair | Action::Join | Action::BringBack | Action::Share | Action::TakeOver => true,
        Action::Reconcile => plan.in_doubt.iter().any(|doubt| doubt.names() == Some(exec)),
        _ => false,
    };
    if !is_first {
        return None;
    }
    let next = next_steps(opened, outlook, plan).next;
    let mut ways: Vec<_> = next.command.into_iter().collect();
    ways.extend(next.alternatives.into_iter().map(|way| way.command));
    match ways.as_slice() {
        [only] => Some(only.clone()),
        // It says for what each of them is.
        _ => Some(Suggestion::flow("resume").value(opened.run.id())),
    }
}

/// A plan in words and commands.
pub(super) fn next_steps(opened: OpenedRun<'_>, outlook: &Outlook<'_>, plan: &Plan) -> NextSteps {
    let OpenedRun { project, run, view } = opened;
    let document = view.history.state().document();
    let mut advice = advice_here(project, view, plan, driver_from_here(project, view));
    if plan.verdict == Verdict::Drifted {
        advice.alternatives = ways_after_drift(project, view, outlook);
    }
    if plan.verdict == Verdict::Rewound {
        let shown = document.state.last_seq.unwrap_or_default();
        let mut places = places_of_lost(project, run, &view.faults);
        if places.is_empty() {
            places = places_with(project, run, view.noted.max(shown));
        }
        advice.alternatives = bring_back(run.id(), ways_back(project, run, &places, view.log.last_seq())).alternatives;
    }
    if plan.next.action == Action::Share {
        // Of two that went on in different ways one has to be moved by hand.
        let may_push = match run.hides() {
            Some(hidden) => hidden.goes_on,
            None => run.is_lost(),
        };
        advice.alternatives = if may_push { vec![share(run.id())] } else { Vec::new() };
    }
    if plan.verdict == Verdict::Done && has_second_run(project, document) {
        let command = reopen(run.id(), true).example("reason", "why");
        let when = "there is more to do, although another open run is about the same";
        advice.alternatives = vec![Alternative::new(when, command)];
    }
    let mut advice = advice.in_project(place_of_caller(project).as_deref());
    let mut notes = plan.notes.clone();
    if outlook.machine.is_none() {
        notes.push(without_machine(project, run.id(), &document.workflow));
    }
    notes.extend(new_gates(run.id(), &outlook.drift));
    notes.extend(unknown_driver(document, plan.next.action).map(str::to_owned));
    for process in plan.in_doubt.iter().filter_map(|doubt| doubt.process) {
        notes.push(format!("the flow that began process {process} is gone; `kill {process}` ends it"));
    }
    if let Some(document) = asked_in(&view.history, plan) {
        advice.alternatives.clear();
        match way_of_interview(opened, document) {
            Ok(way) => advice.alternatives.push(way),
            Err(why) => notes.extend(why),
        }
    }
    if let Some(document) = given_up(&view.history, plan) {
        match interview_command(project, run.id(), document) {
            Ok(command) => {
                let when = format!("the questions of {document} are to be answered after all");
                advice.alternatives.insert(0, Alternative::new(when, command));
            }
            Err(why) => notes.push(why),
        }
    }
    notes.extend(view.notes.iter().cloned());
    let description = match (&view.machine, &plan.next.phase) {
        (Some(machine), Some(phase)) => machine.state(phase).and_then(|state| state.description.clone()),
        _ => None,
    };
    let next = NextReport {
        first: look_first(project, run.id(), plan),
        command: advice.command,
        action: plan.next.action,
        phase: plan.next.phase.clone(),
        choices: plan.next.choices.clone(),
        description,
        alternatives: advice.alternatives,
    };
    NextSteps { next, notes }
}

/// What to look at where only that shows how work ended.
fn look_first(project: &OpenedProject, run: &RunId, plan: &Plan) -> Option<String> {
    let doubt = plan.in_doubt.first()?;
    if plan.next.action != Action::Reconcile || doubt.is_command_at_work() {
        return None;
    }
    let place = place_of_caller(project);
    let about = |verb, run| Suggestion::flow(verb).value(run).in_project(place.as_deref());
    let mut look = format!("in the working tree, and at what `{}` lists", about("evidence", run));
    if let Some(parent) = &doubt.of {
        // A fork does not hear of what is recorded in its parent.
        look.push_str(&format!(", and whether `{}` has its end", about("show", parent)));
    }
    Some(format!("look whether `{}` was done: {look}; then say how it ended", doubt.id))
}

/// Why nothing says which phases a run has.
fn without_machine(project: &OpenedProject, run: &RunId, workflow: &WorkflowId) -> String {
    match project.catalog().find(workflow.as_str()) {
        Err(CatalogError::NoMachine { .. }) => {
            format!("its workflow has no state machine: its steps are free, and `flow complete {run}` ends the run")
        }
        Ok(_) => {
            let command = adopt(run, None).command;
            format!("it follows no definition, so phases are not checked; `{command}` moves it to today's")
        }
        Err(_) => format!(
            "the definition of its workflow is missing, so phases are not checked; put it back as \
             .flow/workflows/{workflow}.workflow.yaml or where it was"
        ),
    }
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

/// The path in the project of the document whose interview the run waits for.
fn asked_in<'h>(history: &'h History, plan: &Plan) -> Option<&'h str> {
    if plan.next.action != Action::Answer {
        return None;
    }
    match history.state().document().state.questions.last() {
        Some(question) => history.document_of(question),
        None => Some(history.begun_interviews().first()?.document),
    }
}

/// How an interview goes on, or the notes that say why that is not known.
fn way_of_interview(opened: OpenedRun<'_>, document: &str) -> Result<Alternative, Vec<String>> {
    let OpenedRun { project, run, view } = opened;
    match interview_command(project, run.id(), document) {
        Ok(_) if has_all_answers(&view.history, document) => {
            let when = format!("all questions of {document} have answers");
            Ok(Alternative::new(when, finish_command(project, document)))
        }
        Ok(command) => Ok(Alternative::new(format!("a person is here to answer the questions of {document}"), command)),
        Err(why) => Err(moved_document(project, run.id(), &view.history, document).into_iter().chain([why]).collect()),
    }
}

/// Whether the run knows that the interview about the document has all its answers.
fn has_all_answers(history: &History, document: &str) -> bool {
    let question = history.state().document().state.questions.last();
    question.is_some_and(|question| is_all_asked(question, document))
}

/// The path in the project of the document whose interview was given up, where the run is to go on with that work.
fn given_up<'h>(history: &'h History, plan: &Plan) -> Option<&'h str> {
    let is_work = matches!(plan.next.action, Action::WorkPhase | Action::RetryPhase);
    history.given_up_interview(plan.next.phase.as_ref().filter(|_| is_work)?)
}

/// Today's definitions of workflows, each looked for once.
#[derive(Debug, Default)]
pub(in crate::runs) struct Definitions(Mutex<HashMap<WorkflowId, Option<Arc<Machine>>>>);

impl Definitions {
    /// Today's definition; `None` if it is broken or missing. Then the run continues with its pinned one, and other
    /// commands report that.
    fn current(&self, project: &OpenedProject, workflow: &WorkflowId) -> Option<Arc<Machine>> {
        // Held while the definition is read, so that threads that list runs do not each read it.
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(machine) = known.get(workflow) {
            return machine.clone();
        }
        let found = project.cx.find_workflow(project.root(), &project.catalog(), workflow.as_str());
        let machine = found.ok().map(|found| Arc::new(found.machine));
        known.insert(workflow.clone(), machine.clone());
        machine
    }
}

fn drift(project: &OpenedProject, pinned: &Machine, state: &RunState, definitions: &Definitions) -> Drift {
    let Some(current) = definitions.current(project, pinned.id()) else { return Drift::None };
    let current = (*current).clone().spelled_as(pinned.states().iter().map(|state| &state.name));
    Drift::between(pinned, &current, state.document().state.positions())
}

/// After a drift: move the run to the current definition, if its phase exists there, or continue with the pinned one.
fn ways_after_drift(project: &OpenedProject, view: &View, outlook: &Outlook<'_>) -> Vec<Alternative> {
    let state = view.history.state().document();
    let mut ways = Vec::new();
    if let Ok(today) = project.catalog().find(state.workflow.as_str())
        && state.state.positions().all(|phase| today.machine.contains(phase))
    {
        ways.push(adopt(&state.id, None));
    }
    let before = Outlook { drift: Drift::None, ..outlook.clone() };
    // A driver does not go on under it.
    let advice = advice_here(project, view, &engine::resume(&view.history, &before), None);
    let mut older = advice.alternatives;
    if let Some(command) = advice.command {
        older.insert(0, Alternative::new("it is to be begun", command));
    }
    for way in older {
        let when = format!("the run goes on under the definition it started with, and {}", way.when);
        ways.push(Alternative { when, ..way });
    }
    ways
}
