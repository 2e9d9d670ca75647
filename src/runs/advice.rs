//! The command lines of a verdict: one that is safe to run without reading on, and one for each outcome that only the
//! caller can know.

use serde_json::{Value, json};

use crate::engine::{Action, History, InDoubt, Plan, UnitWork};
use crate::machine::Machine;
use crate::model::{
    ActivityStatus, Execution, GateStatus, LastSeen, MissingProof, Number, Obstacle, Question, ReportType, RunDocument,
    RunId, StateName, StepStatus, Suggestion, WorkflowId, slug,
};
use crate::runs::alternative::{Advice, Alternative};
use crate::runs::commands::{
    NamedNow, RunAgain, answer, naming_files, record, reopen, report, required_command, wait_for_commands,
};
use crate::runs::driver::{Driver, is_unknown_driver};

/// The commands for a plan. `machine` is the run's pinned workflow, `driver` the command that drives the run, `seen` how far
/// the run is shown, `named_now` tells what a command's name means today.
pub(super) fn advice(
    history: &History,
    plan: &Plan,
    machine: Option<&Machine>,
    driver: Option<Driver>,
    seen: LastSeen,
    named_now: &dyn Fn(&Execution) -> NamedNow,
    is_kept: &dyn Fn(&MissingProof) -> bool,
) -> Advice {
    let run = history.state().id();
    let workflow = &history.state().document().workflow;
    let commands = RunCommands { history, run, workflow, seen, named_now, is_kept };
    let advice = commands.next(plan, machine);
    let action = plan.next.action;
    // A driver would refuse to begin beside a command that may go on.
    let may_go_on = plan.in_doubt.iter().any(|doubt| doubt.process.is_some());
    match driver {
        Some(driver) if is_work(action) && !may_go_on => advice.driven_by(driver, action),
        _ => advice,
    }
}

/// Whether a driver could do the next action.
fn is_work(action: Action) -> bool {
    matches!(
        action,
        Action::StartPhase
            | Action::ChoosePhase
            | Action::WorkPhase
            | Action::RetryPhase
            | Action::Reconcile
            | Action::ResolveActivity
    )
}

/// The note when a driver could continue, but the run does not store its command.
pub(super) fn unknown_driver(run: &RunDocument, next: Action) -> Option<&'static str> {
    (is_unknown_driver(run) && is_work(next)).then_some(
        "it is not known by which commands the run is driven: those of the last driver do not fit into one line",
    )
}

fn doctor(run: &RunId) -> Suggestion {
    Suggestion::flow("doctor").value(run)
}

/// The advice for a run in which a merge joined two histories.
pub(super) fn join(run: &RunId) -> Advice {
    Advice { command: Some(doctor(run)), ..Advice::default() }
        .or("one history is to be made of both, with every record of both", doctor(run).flag("repair"))
}

/// The advice for a run that git put back to an older version.
pub(super) fn bring_back(run: &RunId, ways_back: Vec<Alternative>) -> Advice {
    Advice { command: None, alternatives: ways_back }
        .or("the run is to go on from here without the rest; the gap is noted", doctor(run).flag("repair"))
}

/// The command that puts into the store what it lacks of a run.
pub(super) fn share(run: &RunId) -> Alternative {
    let command = Suggestion::flow("remote push").value(run);
    Alternative::new("the store is to have the run as it is here", command)
}

/// The command that moves a run to the current definition of its workflow. `from` is the file of a definition outside
/// of the catalog.
pub(crate) fn adopt(run: &RunId, from: Option<&str>) -> Alternative {
    let command = Suggestion::flow("workflow adopt").value(run).maybe("from", from);
    Alternative::new("the run is to follow today's definition", command)
}

/// Builds command lines for one run.
struct RunCommands<'a> {
    history: &'a History,
    run: &'a RunId,
    workflow: &'a WorkflowId,
    seen: LastSeen,
    named_now: &'a dyn Fn(&Execution) -> NamedNow,
    is_kept: &'a dyn Fn(&MissingProof) -> bool,
}

impl RunCommands<'_> {
    /// The commands for the next action of `plan`.
    fn next(&self, plan: &Plan, machine: Option<&Machine>) -> Advice {
        let action = plan.next.action;
        let phase = plan.next.phase.as_ref();
        let none = Advice::default();
        match action {
            Action::StartPhase | Action::WorkPhase | Action::RetryPhase => {
                phase.map_or(none, |phase| self.work(action, phase, machine))
            }
            Action::RunCommand => phase.map_or(none, |phase| self.run_required(phase, &plan.unproved, machine)),
            Action::ChoosePhase => self.choose(phase, &plan.next.choices, machine),
            Action::Complete => {
                let complete = none.or("everything that the run was for is done", self.status("complete", None));
                let (Some(machine), Some(phase)) = (machine, phase) else { return complete };
                complete.or_each(self.rounds(machine, phase))
            }
            // One at a time: the verdict names the next one when this one is settled.
            Action::Reconcile => plan.in_doubt.first().map_or(none, |doubt| self.reconcile(doubt, machine)),
            Action::ResolveActivity => match self.history.waiting_unit() {
                Some(unit) => self.resolve_unit(&unit),
                None => phase.map_or(none, |phase| self.resolve(phase, machine)),
            },
            Action::ResolveBlocker => none
                .or("the blocker is gone", self.status("unblock", Some("what was resolved")))
                .or("the run is not to go on", self.status("cancel", Some("why"))),
            Action::Decide => none
                .or_a_person("a person agrees", self.decision("approve"))
                .or_a_person("a person does not agree", self.decision("reject").example("reason", "what is missing")),
            Action::Answer => {
                let questions = &self.history.state().document().state.questions;
                none.or_each(questions.iter().map(|question| self.answer(question)))
            }
            Action::RaiseLimit => {
                let mut advice = none;
                if let Some(limit) = &plan.limit {
                    let raised = format!("{}={}", limit.name, limit.raised);
                    let command = Suggestion::flow("set").value(self.run).option("limit", raised);
                    advice = advice.or("a person lets the run go on", command);
                }
                advice.or("the run is not to go on", self.status("fail", Some("the limit is reached")))
            }
            Action::TakeOver => none.or(
                "a person knows that the session which holds it is over",
                Suggestion::flow("resume").value(self.run).flag("take-over"),
            ),
            Action::Repair => Advice { command: Some(doctor(self.run)), ..none }
                .or("what it finds is to be repaired", doctor(self.run).flag("repair")),
            Action::Join => join(self.run),
            Action::Nothing => none.or("there is more to do", reopen(self.run, false).example("reason", "why")),
            Action::ReviewWorkflow | Action::BringBack | Action::Share | Action::Start => none,
        }
    }

    /// Work in a phase: begin it, or record its outcome.
    fn work(&self, action: Action, phase: &StateName, machine: Option<&Machine>) -> Advice {
        let implied = self.completed_by_begin(phase, machine);
        // Only its document says that an interview began or went well.
        let is_interview = self.history.given_up_interview(phase).is_some();
        let advice = if is_interview {
            Advice::default()
        } else if implied.is_empty() {
            Advice { command: Some(self.begin(phase)), alternatives: Vec::new() }
        } else {
            // `Advice::command` never marks anything as done, and this begin does.
            let when = format!("`{phase}` is to be begun, which also says that {} is done", implied.join(", "));
            Advice::default().or(when, self.begin(phase))
        };
        let mut advice = self.try_again(advice, phase);
        if !is_interview {
            let when = format!("the work of `{phase}` is done");
            advice = advice.or_each(self.well_ended(&when, Some(phase), self.fresh_id(phase).as_deref(), machine));
        }
        if action == Action::WorkPhase
            && let Some(machine) = machine
        {
            advice = advice.or_each(self.required(machine, None));
        }
        if action != Action::StartPhase {
            let fresh = self.fresh_id(phase);
            let skipped = self.outcome_because(Some(phase), fresh.as_deref(), ActivityStatus::Skipped, "why");
            advice = advice.or(format!("`{phase}` needs no work in this run"), skipped);
        }
        match (action, machine, self.history.state().phase()) {
            (Action::RetryPhase, Some(machine), _) => self.ways_out(advice, machine, phase),
            (Action::StartPhase, Some(machine), Some(here)) => advice.or_each(self.rounds(machine, here)),
            (Action::WorkPhase, Some(machine), _) if self.history.gate(phase) == Some(GateStatus::Rejected) => {
                advice.or_each(self.rounds_before(machine, phase))
            }
            _ => advice,
        }
    }

    /// The commands that are required where the run is, and not seen to pass; only those of `phase`, if it is named.
    fn required(&self, machine: &Machine, phase: Option<&StateName>) -> Vec<(String, Suggestion)> {
        let mut ways = Vec::new();
        for one in self.history.unproved_by_log(machine) {
            // What keeps it from running here is told by the verdict of that phase.
            if phase.is_none_or(|phase| one.phase == *phase) && !(self.is_kept)(&one) {
                let when = format!("`{}` is ready for `{}`, which it requires", one.phase, one.exec);
                ways.push((when, required_command(self.run, &one)));
            }
        }
        ways
    }

    /// Adds that a command which flow saw fail runs again. One that the project names may do so without reading on.
    fn try_again(&self, advice: Advice, phase: &StateName) -> Advice {
        let open = self.history.work(phase).open;
        let Some(failed) = open.last().filter(|attempt| attempt.status == ActivityStatus::Failed) else {
            return advice;
        };
        if let Some(replayed) = failed.replay {
            let again = Suggestion::flow("replay").value(self.run).value(replayed);
            return advice.or(format!("the command of {replayed} is to be run and compared again"), again);
        }
        let Some(exec) = &failed.exec else { return advice };
        let again = self.again(&failed.id, failed.phase.as_ref(), exec);
        match again.by_name() {
            Some(command) => Advice { command: Some(command), ..advice },
            None => advice.or_each(again.ways("the command is to be run again")),
        }
    }

    fn again<'w>(&'w self, id: &'w str, phase: Option<&'w StateName>, exec: &'w Execution) -> RunAgain<'w> {
        // Without its phase it is recorded where the run is, and the phase in which it failed is never settled.
        let phase = phase.filter(|phase| Some(*phase) != self.history.state().phase());
        RunAgain { run: self.run, id, phase, exec, named: (self.named_now)(exec) }
    }

    /// Run what is required, or do away with what keeps it from being a proof.
    fn show(&self, missing: &MissingProof) -> Advice {
        let (run, advice) = (required_command(self.run, missing), Advice::default());
        match missing.obstacle {
            None => Advice { command: Some(run), ..advice },
            Some(Obstacle::NotAccepted(_)) => {
                advice.or_a_person("a person accepts what .flow/config.yaml names", Suggestion::flow("trust"))
            }
            Some(Obstacle::Configuration(_) | Obstacle::NoRun(_)) => advice,
            Some(Obstacle::WritesFiles(_)) => advice.or("it changes no files when it is run again", run),
            Some(Obstacle::UnknownFiles(_)) => advice.or("the files can be told again", run),
            Some(Obstacle::NoFiles(_)) => advice.or("the files that count are named", naming_files(self.run, missing)),
        }
    }

    /// Run what `phase` requires, or leave it without that for a reason.
    fn run_required(&self, phase: &StateName, missing: &[MissingProof], machine: Option<&Machine>) -> Advice {
        let mut advice = missing.first().map(|one| self.show(one)).unwrap_or_default();
        let Some(machine) = machine else { return advice };
        let is_behind = missing.first().is_some_and(|one| one.is_behind);
        let here = self.history.state().phase().filter(|here| is_behind && !machine.is_terminal(here));
        if let Some(here) = here {
            for to in machine.ahead_of(here) {
                advice = advice.or(format!("`{to}` comes first, and this before the end"), self.begin(&to));
            }
            return advice;
        }
        // Only a person lets the run leave a gate, and not with a reason alone.
        let is_gate = self.history.gate(phase).is_some();
        if is_behind || machine.is_terminal(phase) && !is_gate {
            let complete = self.status("complete", None).example("skip-reason", "why");
            advice = advice.or("the run is completed without it, for a reason that is noted", complete);
        }
        if is_behind {
            return advice;
        }
        for to in machine.ahead_of(phase).into_iter().filter(|_| !is_gate) {
            let id = slug(to.as_str(), 80).unwrap_or_else(|| "activity".to_owned());
            let record = self.outcome(Some(&to), Some(&id), ActivityStatus::Running);
            let when = format!("`{to}` is begun without it, for a reason that is noted");
            advice = advice.or(when, record.example("skip-reason", "why"));
        }
        advice.or_each(self.rounds(machine, phase))
    }

    /// A choice among several phases, or the end.
    fn choose(&self, here: Option<&StateName>, choices: &[StateName], machine: Option<&Machine>) -> Advice {
        let mut advice = Advice::default();
        for to in choices {
            let description = machine.and_then(|machine| machine.state(to)?.description.as_ref());
            let what = description.map(|text| format!(" ({text})")).unwrap_or_default();
            let is_back = matches!((here, machine), (Some(here), Some(machine)) if machine.leads_back(here, to));
            let when = if is_back { "needs another round" } else { "is what comes next" };
            advice = advice.or(format!("`{to}` {when}{what}"), self.begin(to));
        }
        // Without a workflow or before the first phase, nothing says that more has to follow.
        let goes_on = matches!((here, machine), (Some(here), Some(machine)) if !machine.is_terminal(here));
        let ends = !goes_on && self.history.unsettled().is_empty();
        if ends { advice.or("the run is at its end", self.status("complete", None)) } else { advice }
    }

    /// The possible outcomes of work that was begun.
    fn reconcile(&self, doubt: &InDoubt, machine: Option<&Machine>) -> Advice {
        // A reported step has no number, and its id is only the step's name: it is settled by a report.
        let id = doubt.number.map(|_| doubt.id.as_str());
        let phase = doubt.phase.as_ref();
        let blocked = self.outcome_because(phase, id, ActivityStatus::Blocked, "what is needed");
        if doubt.is_command_at_work() {
            return Advice::default().or("its end is to be waited for", wait_for_commands(self.run));
        }
        let advice = match &doubt.exec {
            Some(exec) => self.run_again(doubt, exec),
            // Without it, the report that a step ended well is refused.
            None => match machine {
                Some(machine) if id.is_none() => Advice::default().or_each(self.required(machine, phase)),
                _ => Advice::default(),
            },
        };
        let advice = match phase {
            Some(phase) if id.is_none() && self.is_only_begun(phase, machine) => {
                let record = self.outcome(Some(phase), Some(&self.id_for(phase)), ActivityStatus::Running);
                advice.or(format!("the work of `{phase}` is to be done, and its outcome recorded then"), record)
            }
            _ => advice,
        };
        advice
            .or_each(self.well_ended("it ended well", phase, id, machine))
            .or("it failed", self.outcome(phase, id, ActivityStatus::Failed))
            .or("it cannot go on without a person", blocked)
    }

    /// Whether a phase is reported as begun and nothing is recorded in it. In a workflow of phases, as after `advance`, such a
    /// report says no more than that the run came there.
    fn is_only_begun(&self, phase: &StateName, machine: Option<&Machine>) -> bool {
        machine.is_some_and(Machine::is_phases) && self.history.work(phase).latest.is_none()
    }

    /// The ways to settle a command of which flow did not see the end.
    fn run_again(&self, doubt: &InDoubt, exec: &Execution) -> Advice {
        let again = self.again(&doubt.id, doubt.phase.as_ref(), exec);
        let given_up =
            self.outcome_because(doubt.phase.as_ref(), Some(&doubt.id), ActivityStatus::Skipped, "why it is given up");
        Advice::default().or_each(again.ways("it may be run once more")).or("it is given up", given_up)
    }

    /// The ways to continue work that is blocked.
    fn resolve(&self, phase: &StateName, machine: Option<&Machine>) -> Advice {
        let work = self.history.work(phase);
        let is_reported = self.reports() && work.open.is_empty();
        let id = if is_reported { None } else { work.latest.map(|latest| latest.id.as_str()) };
        let phase = Some(phase);
        Advice::default()
            .or("what it waited for is there, and the work goes on", self.outcome(phase, id, ActivityStatus::Running))
            .or_each(self.well_ended("what it waited for is there, and the work is done", phase, id, machine))
            .or("it failed", self.outcome(phase, id, ActivityStatus::Failed))
    }

    /// The ways to say that the work of a phase, or its activity `id`, is done. A report of it ends the run where the run can
    /// end, so the ways on stand before it there.
    fn well_ended(
        &self,
        when: &str,
        phase: Option<&StateName>,
        id: Option<&str>,
        machine: Option<&Machine>,
    ) -> Vec<(String, Suggestion)> {
        let next = match (machine, phase) {
            (Some(machine), Some(phase)) if id.is_none() && machine.is_terminal(phase) => machine.next_of(phase),
            _ => Vec::new(),
        };
        let mut ways = Vec::new();
        for to in &next {
            let move_on =
                Suggestion::flow("advance").value(self.run).option("to", to).example("summary", "what was done");
            ways.push((format!("{when}, and the run goes on to `{to}`"), move_on));
        }
        let end = if next.is_empty() { "" } else { ", and the run ends here" };
        ways.push((format!("{when}{end}"), self.outcome(phase, id, ActivityStatus::Passed)));
        ways
    }

    /// The ways to continue a unit or sub-agent that waits.
    fn resolve_unit(&self, unit: &UnitWork<'_>) -> Advice {
        let report = |status| self.report_status(unit.step, &json!({ "status": status })).maybe("unit", unit.unit);
        Advice::default()
            .or("what it waited for is there, and the work goes on", report(StepStatus::Running))
            .or("what it waited for is there, and the work is done", report(StepStatus::Completed))
            .or("it failed", report(StepStatus::Failed))
    }

    /// Whether the run's steps are reported with `emit`; then later work is reported too.
    fn reports(&self) -> bool {
        !self.history.reports().is_empty()
    }

    fn status(&self, verb: &str, reason: Option<&str>) -> Suggestion {
        let command = Suggestion::flow(verb).value(self.run);
        match reason {
            Some(reason) => command.example("reason", reason),
            None => command,
        }
    }

    /// The command by which a person decides at a gate, on the run as it is shown.
    fn decision(&self, verb: &str) -> Suggestion {
        // So the decision is refused if something is recorded between the reading and the command.
        Suggestion::flow(verb).value(self.run).option("seen", &self.seen)
    }

    /// The command that sets the status of a step, or of the activity `id` in a phase.
    fn outcome(&self, phase: Option<&StateName>, id: Option<&str>, status: ActivityStatus) -> Suggestion {
        match (phase, id) {
            (Some(step), None) => self.report_status(step, &json!({ "status": StepStatus::from(status) })),
            (phase, id) => {
                let after = id.and_then(|id| self.latest_try(id));
                record(self.run, phase, id.unwrap_or("activity"), status, after)
            }
        }
    }

    /// The latest record under an id that was tried.
    fn latest_try(&self, id: &str) -> Option<Number> {
        let latest = self.history.attempts().iter().rfind(|attempt| attempt.id == id)?;
        self.history.was_tried(id).then_some(latest.number)
    }

    /// As `outcome`, with a text for people.
    fn outcome_because(
        &self,
        phase: Option<&StateName>,
        id: Option<&str>,
        status: ActivityStatus,
        why: &str,
    ) -> Suggestion {
        match (phase, id) {
            (Some(step), None) => {
                let data = json!({ "status": StepStatus::from(status), "message": why });
                report(self.run, self.workflow, ReportType::StatusChange, step).example("data", data)
            }
            (phase, id) => self.outcome(phase, id, status).example("summary", why),
        }
    }

    fn report_status(&self, step: &StateName, data: &Value) -> Suggestion {
        report(self.run, self.workflow, ReportType::StatusChange, step).option("data", data)
    }

    /// The id for a new record of work in a phase; none if the phase is reported instead.
    fn fresh_id(&self, phase: &StateName) -> Option<String> {
        // Reported runs continue with reports, unless the phase has an open activity that was recorded directly.
        let is_reported = self.reports() && self.history.work(phase).open.is_empty();
        if is_reported { None } else { Some(self.id_for(phase)) }
    }

    /// The command that sets the status of a phase as a whole.
    fn outcome_of(&self, phase: &StateName, status: ActivityStatus) -> Suggestion {
        self.outcome(Some(phase), self.fresh_id(phase).as_deref(), status)
    }

    /// The steps that a report of the begin of `phase` completes: its direct predecessors that run or wait (rp1).
    fn completed_by_begin(&self, phase: &StateName, machine: Option<&Machine>) -> Vec<String> {
        let mut completed = Vec::new();
        let Some(machine) = machine.filter(|_| self.reports()) else { return completed };
        for (step, status) in self.history.state().document().state.steps.iter() {
            if status.is_open() && step != phase && machine.next_of(step).contains(phase) {
                completed.push(format!("`{step}`"));
            }
        }
        completed
    }

    fn begin(&self, phase: &StateName) -> Suggestion {
        self.outcome_of(phase, ActivityStatus::Running)
    }

    /// The id for work in `phase`: that of an open activity which failed, was only planned or was taken back, since nothing
    /// else settles it; otherwise one that no completed record has.
    fn id_for(&self, phase: &StateName) -> String {
        let mut open = self.history.work(phase).open;
        // Only a person decides at a gate.
        open.retain(|attempt| attempt.approval.is_none());
        if let Some(open) = open.last()
            && (open.status.is_completed() || matches!(open.status, ActivityStatus::Failed | ActivityStatus::Pending))
        {
            return open.id.clone();
        }
        // A record with the id of a completed one would look like a retry.
        let base = slug(phase.as_str(), 80).unwrap_or_else(|| "activity".to_owned());
        let taken = &self.history.state().document().state.completed_activities;
        let (mut id, mut n) = (base.clone(), 2);
        while taken.contains(&id) {
            id = format!("{base}-{n}");
            n += 1;
        }
        id
    }

    /// The phases to return to for another round.
    fn rounds(&self, machine: &Machine, here: &StateName) -> Vec<(String, Suggestion)> {
        let back = machine.back_from(here);
        back.iter().map(|to| (format!("`{here}` shows that `{to}` needs more work"), self.begin(to))).collect()
    }

    /// The phases to which a run can go from a gate that a person rejected, and from which it comes to the gate again.
    fn rounds_before(&self, machine: &Machine, gate: &StateName) -> Vec<(String, Suggestion)> {
        let mut ways = self.rounds(machine, gate);
        for to in machine.next_of(gate) {
            if to != *gate && !machine.leads_back(gate, &to) && machine.is_before(&to, gate) {
                ways.push((format!("`{to}` is to be done before `{gate}` is decided on again"), self.begin(&to)));
            }
        }
        ways
    }

    /// The alternatives for a phase that failed.
    fn ways_out(&self, mut advice: Advice, machine: &Machine, here: &StateName) -> Advice {
        if self.history.state().document().state.positions().any(|position| position == here) {
            advice = advice.or_each(self.rounds(machine, here));
            // Only a person lets the run leave a gate, and not with a reason alone.
            if !self.reports() && self.history.gate(here).is_none() {
                for to in machine.ahead_of(here) {
                    let command = self.begin(&to).example("skip-reason", "why");
                    advice = advice.or(format!("a person decides to go on to `{to}` without it"), command);
                }
            }
        }
        advice.or("the run has failed", self.status("fail", Some("why")))
    }

    fn answer(&self, question: &Question) -> (String, Suggestion) {
        let command = answer(self.run, self.workflow, question);
        let who = question.unit.as_ref().map(|unit| format!(" ({unit})")).unwrap_or_default();
        (format!("the question of `{}`{who} is answered (write the answer where … stands)", question.step), command)
    }
}
