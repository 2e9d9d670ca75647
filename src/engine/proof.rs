//! Commands that must have been seen to pass before a run leaves a phase: `requires` of its workflow.
//!
//! Only an end that flow saw counts, of exactly the command that the project names, in the run's present stay in the
//! phase, and no file may have changed while it ran. Whether it still holds for the files is not in the log: [`Trail::judge`]
//! says that.

use crate::engine::fresh::files_before;
use crate::engine::past::demands::{Demand, DroppedRequirement};
use crate::engine::{Attempt, History, ProofCheck, Refusal, Trail};
use crate::machine::{Machine, Requirement};
use crate::model::{
    ActivityStatus, Execution, ExecutionEnd, MissingProof, Number, Obstacle, OwnedState, RunStatus, StateName,
    StepStatus, WayAround,
};

/// How many paths a sentence names.
const NAMED: usize = 3;

/// Whether a run may have to show something before it leaves `phase`. Without, its history need not be read.
pub(super) fn requires(machine: Option<&Machine>, phase: &StateName) -> bool {
    machine.is_some_and(|machine| machine.requires_of(phase).next().is_some())
}

/// A run that wants to leave the phase `from` for `to`, or to complete there (`to` is `None`).
#[derive(Clone, Copy)]
pub(super) struct Leaving<'a> {
    pub(super) machine: Option<&'a Machine>,
    pub(super) from: &'a StateName,
    pub(super) to: Option<&'a StateName>,
    /// What was done in the run; without it nothing is shown.
    pub(super) history: Option<&'a History>,
    pub(super) trail: &'a dyn Trail,
}

impl Leaving<'_> {
    /// What the phase requires and the run cannot show. Going back for another round claims nothing, so it needs no proof.
    ///
    /// # Errors
    /// [`Refusal::NotProved`] if it has to be looked whether a command holds for the files.
    pub(super) fn unproved(self) -> Result<Vec<MissingProof>, Refusal> {
        let Self { machine, from, to, history, trail } = self;
        let mut missing = Vec::new();
        let Some(machine) = machine else { return Ok(missing) };
        if to.is_some_and(|to| machine.leads_back(from, to)) {
            return Ok(missing);
        }
        for requirement in machine.requires_of(from) {
            let stays = history.filter(|history| history.state().document().state.is_in(from));
            let found = seen_to_pass(stays, from, requirement);
            let way_around = to.map_or(WayAround::Complete, |to| WayAround::Enter(to.clone()));
            let standing = Standing::Asked;
            let required = RequiredCommand { requirement, found, standing, is_behind: false, way_around, history };
            if let Some(one) = required.lacks(trail)? {
                let obstacle = history.and_then(|history| history.not_begun(machine, from));
                missing.push(MissingProof { obstacle, ..one });
            }
        }
        Ok(missing)
    }
}

/// How a run stands to what a phase requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing<'a> {
    /// It has to be shown before the run leaves the phase or is completed.
    Asked,
    /// It was shown when the run left the phase, and is not asked again.
    Shown,
    /// The run left the phase without it, for this reason.
    PassedOver(&'a str),
    /// The run went back from the phase, which claims nothing, and then around it.
    WentAround,
}

/// What a phase requires, and whether the run has shown it, in the phase or behind it.
#[derive(Debug)]
pub(crate) struct RequiredCommand<'a> {
    pub(crate) requirement: &'a Requirement,
    /// The record in which it was seen to pass, or why there is none.
    pub(crate) found: Result<&'a Attempt, String>,
    pub(crate) standing: Standing<'a>,
    /// Whether the run is past the phase.
    pub(crate) is_behind: bool,
    /// How the run goes on without it, unless a person decides there.
    way_around: WayAround,
    /// The run, if it has one.
    history: Option<&'a History>,
}

impl RequiredCommand<'_> {
    /// What is missing of it, because of `why`.
    pub(crate) fn missing(&self, why: String) -> MissingProof {
        let Requirement { state, exec, .. } = self.requirement;
        let last = self.history.and_then(|history| history.last_run_of(exec)).cloned().map(Box::new);
        let here = self.history.and_then(|history| history.state().phase());
        MissingProof {
            phase: state.clone(),
            exec: exec.clone(),
            why,
            is_behind: self.is_behind,
            is_elsewhere: here != Some(state),
            last,
            wrote: self.wrote(),
            asks_files: self.requirement.fresh,
            way_around: self.way_around(),
            obstacle: None,
        }
    }

    /// The files that changed while the command ran in the phase the last time, if it passed.
    fn wrote(&self) -> Vec<String> {
        let Requirement { state, exec, fresh, .. } = self.requirement;
        let latest = self.history.and_then(|history| history.latest_run(state, exec));
        match latest.and_then(|latest| latest.exec.as_deref()) {
            Some(Execution { end: Some(end), .. }) if *fresh && end.is_good() => end.changed.clone(),
            _ => Vec::new(),
        }
    }

    fn way_around(&self) -> WayAround {
        match self.history.and_then(|history| history.gate(&self.requirement.state)) {
            Some(_) => WayAround::None,
            None => self.way_around.clone(),
        }
    }

    /// What shows that it holds now: the record in which it was seen to pass, or, if the run left the phase with that, the
    /// latest run of the command in a phase behind it.
    ///
    /// # Errors
    /// Why there is none, in words.
    pub(crate) fn shown_by_now(&self, machine: &Machine) -> Result<&Attempt, String> {
        let found = self.found.clone();
        let Requirement { state, exec, .. } = self.requirement;
        // What was not shown in the phase, only its own records show.
        let (false, Ok(_), Some(history)) = (self.standing == Standing::Asked, &found, self.history) else {
            return found;
        };
        let Some(left) = history.phases.stays.get(state).and_then(|stay| stay.left) else { return found };
        for attempt in history.attempts().iter().rev() {
            if attempt.number <= left || attempt.names() != Some(exec) {
                continue;
            }
            let Some(at) = &attempt.phase else { continue };
            if at == state || machine.is_behind(at, state) {
                return passed(attempt, self.requirement);
            }
        }
        found
    }

    /// What is missing of it on the files as they are, because of `why`.
    pub(crate) fn missing_now(&self, why: String) -> MissingProof {
        match (self.standing, self.history) {
            (Standing::Shown, Some(history)) => history.missing_since(self.requirement, why),
            _ => self.missing(why),
        }
    }

    /// What is missing of it, if something is.
    fn lacks(&self, trail: &dyn Trail) -> Result<Option<MissingProof>, Refusal> {
        let why = match &self.found {
            Err(why) => why.clone(),
            Ok(attempt) => match trail.judge(self.requirement, attempt) {
                ProofCheck::Holds => return Ok(None),
                ProofCheck::DoesNot(why) => why,
                ProofCheck::NotLooked => {
                    let why = "whether it holds for the present files was not looked at".to_owned();
                    return Err(Refusal::NotProved { missing: vec![self.missing(why)], looked: false });
                }
            },
        };
        Ok(Some(self.missing(why)))
    }
}

/// The record in which `requirement` was seen to pass in the run's latest stay in `phase`; otherwise why there is none. An
/// earlier one does not count once the command was run again.
///
/// # Errors
/// Why, in words.
fn seen_to_pass<'h>(
    history: Option<&'h History>,
    phase: &StateName,
    requirement: &Requirement,
) -> Result<&'h Attempt, String> {
    let Some(latest) = history.and_then(|history| history.latest_run(phase, &requirement.exec)) else {
        let came = history.is_some_and(|history| history.phases.stays.contains_key(phase));
        let why = if came { "it was not run since the run came there" } else { "by its log, the run was never there" };
        return Err(why.to_owned());
    };
    passed(latest, requirement)
}

/// `latest`, the latest run of what `requirement` asks for, if it passed.
///
/// # Errors
/// Why it proves nothing, in words.
fn passed<'h>(latest: &'h Attempt, requirement: &Requirement) -> Result<&'h Attempt, String> {
    let end = latest.exec.as_ref().and_then(|exec| exec.end.as_ref());
    match (latest.status, end.map(ExecutionEnd::exit_code)) {
        (ActivityStatus::Passed, Some(0)) => match shows_nothing(latest, requirement) {
            None => Ok(latest),
            Some(why) => Err(format!("{} {} {why}", latest.number, latest.id)),
        },
        (_, Some(code)) => Err(format!("{} {} ended with exit status {code}", latest.number, latest.id)),
        (_, None) => Err(format!("the end of {} {} was not seen", latest.number, latest.id)),
    }
}

/// Why `attempt`, which passed, proves nothing, whatever the files are now.
fn shows_nothing(attempt: &Attempt, requirement: &Requirement) -> Option<String> {
    let exec = attempt.exec.as_deref()?;
    // Which words they were depends on the variables of the caller, so any command could look like any other.
    if exec.masked {
        return Some("has words that were masked, so which command it was cannot be told".to_owned());
    }
    if !requirement.fresh {
        return None;
    }
    if let Err(why) = files_before(exec) {
        return Some(format!("passed, and {why}"));
    }
    files_in_doubt(exec).map(|why| format!("passed, and {why}"))
}

/// Why the files on which a command ended may not be those on which it began, as a part of a sentence; `None` if they are.
pub(crate) fn files_in_doubt(exec: &Execution) -> Option<String> {
    let end = exec.end.as_ref()?;
    if exec.before.is_some() && end.after.is_none() {
        return Some("the files were not known any longer when it had ended".to_owned());
    }
    exec.saw_changes().then(|| format!("files changed while it ran{}", in_brackets(&end.changed, end.more_changed)))
}

/// The first of these paths, for a sentence.
pub(crate) fn in_brackets(paths: &[String], has_more: bool) -> String {
    if paths.is_empty() {
        return String::new();
    }
    let more = if paths.len() > NAMED || has_more { ", …" } else { "" };
    format!(" ({}{more})", paths[..paths.len().min(NAMED)].join(", "))
}

impl History {
    /// The latest run, in the run's latest stay in `phase`, of the command that the project calls `name`.
    #[must_use]
    pub fn latest_run(&self, phase: &StateName, name: &str) -> Option<&Attempt> {
        self.records_here(phase).into_iter().rfind(|attempt| attempt.names() == Some(name))
    }

    /// What is missing of `requirement`, whose phase the run left with what was asked for then: any place behind it shows it.
    fn missing_since(&self, requirement: &Requirement, why: String) -> MissingProof {
        let (found, history) = (Err(why.clone()), Some(self));
        let (standing, way_around) = (Standing::Shown, WayAround::Complete);
        let required = RequiredCommand { requirement, found, standing, is_behind: true, way_around, history };
        MissingProof { is_elsewhere: false, ..required.missing(why) }
    }

    /// What is missing of `requirement`, to whose phase only units came.
    pub(crate) fn missing_of_units(&self, machine: &Machine, requirement: &Requirement) -> MissingProof {
        let phase = &requirement.state;
        let obstacle = match self.state().phase() {
            Some(here) if here != phase => {
                Some(Obstacle::NoRun(format!("bring the run itself there, which is in `{here}`")))
            }
            _ => self.not_begun(machine, phase),
        };
        let why = "units came there, and it was not run there".to_owned();
        MissingProof { obstacle, ..self.missing_since(requirement, why) }
    }

    /// What keeps a command from being run in `phase`, if the run has come to no phase yet and does not begin there.
    fn not_begun(&self, machine: &Machine, phase: &StateName) -> Option<Obstacle> {
        if self.state().phase().is_some() || machine.initial().contains(phase) {
            return None;
        }
        let first = &machine.initial()[0];
        Some(Obstacle::NoRun(format!("record or report something in `{first}` first, where the run begins")))
    }

    /// The last time that the run ran the command which the project calls `name`, in any phase.
    fn last_run_of(&self, name: &str) -> Option<&Execution> {
        self.attempts().iter().rfind(|attempt| attempt.names() == Some(name))?.exec.as_deref()
    }

    /// What the phases require that the run has been in, in their order. So do those that every way to its place leads
    /// through, if something else than its transitions brought it there, those that it was completed without, and those
    /// around which it went after it had been there.
    pub(crate) fn requirements<'m>(&'m self, machine: &'m Machine) -> Vec<RequiredCommand<'m>> {
        let mut all = Vec::new();
        for phase in &self.phases.path {
            for requirement in machine.requires_of(phase) {
                all.push(self.required(requirement, Standing::Asked));
            }
        }
        let passed_over = self.passed_over_by_end(machine);
        for requirement in machine.requires() {
            let phase = &requirement.state;
            if self.phases.path.contains(phase) {
                continue;
            }
            let is_behind = self.phases.here.iter().any(|here| machine.is_behind(here, phase));
            // One that was passed over stays, also if the run went around its phase after that.
            let is_skipped = self.reason_to_skip(phase, &requirement.exec).is_some();
            if is_behind || is_skipped || passed_over.contains(phase) {
                all.push(self.required(requirement, Standing::Asked));
            } else if self.went_around(machine, phase) {
                all.push(self.required(requirement, Standing::WentAround));
            }
        }
        all
    }

    /// `requirement`, which is `otherwise` if the run left its phase without having shown it and without a reason.
    fn required<'m>(&'m self, requirement: &'m Requirement, otherwise: Standing<'m>) -> RequiredCommand<'m> {
        let Requirement { state: phase, exec, .. } = requirement;
        let found = seen_to_pass(Some(self), phase, requirement);
        let is_behind = !self.phases.here.contains(phase);
        let was_shown = found.is_ok() && self.phases.stays.get(phase).is_some_and(|stay| !stay.left_unasked);
        let standing = match self.reason_to_skip(phase, exec) {
            _ if !is_behind => Standing::Asked,
            Some(reason) => Standing::PassedOver(reason),
            None if was_shown => Standing::Shown,
            None => otherwise,
        };
        let way_around = if is_behind { WayAround::Complete } else { WayAround::None };
        RequiredCommand { requirement, found, standing, is_behind, way_around, history: Some(self) }
    }

    /// Whether the run has been in `phase`, went back from it, and comes there no more unless it goes back once again.
    pub(crate) fn went_around(&self, machine: &Machine, phase: &StateName) -> bool {
        if !self.phases.stays.contains_key(phase) {
            return false;
        }
        let is_completed = self.state().status() == RunStatus::Completed;
        is_completed || !self.phases.here.iter().any(|here| machine.leads_on(here, phase))
    }

    /// What the phases require that units were in or went past, in a run in which nothing else reported.
    pub(crate) fn required_of_units<'m>(&self, machine: &'m Machine) -> Vec<&'m Requirement> {
        let run = &self.state().document().state;
        let is_of_units = run.steps.is_empty() && run.last_number == Number(0);
        if !is_of_units || run.status.is_terminal() {
            return Vec::new();
        }
        let mut units = self.units();
        units.retain(|unit| unit.status != StepStatus::NotStarted);
        let mut required = Vec::new();
        for requirement in machine.requires() {
            let phase = &requirement.state;
            let is_asked = self.phases.path.contains(phase);
            if !is_asked && units.iter().any(|unit| unit.below == phase || machine.is_behind(unit.below, phase)) {
                required.push(requirement);
            }
        }
        required
    }

    /// The phases that require something and that the run did not come to, although it is completed.
    fn passed_over_by_end(&self, machine: &Machine) -> Vec<StateName> {
        let run = &self.state().document().state;
        if run.status != RunStatus::Completed {
            return Vec::new();
        }
        match run.current_phase {
            Some(_) => phases_ahead(run, Some(machine)),
            None => phases_to_prove(run, Some(machine)),
        }
    }

    /// What the run still has to show: all that is required where it is, and of the phases that it has left what it did not
    /// show then. If something else than its transitions took it out of a phase, nothing was asked. A reason that was given when
    /// it left counts.
    pub(crate) fn still_required<'m>(&'m self, machine: &'m Machine) -> Vec<RequiredCommand<'m>> {
        let mut all = self.requirements(machine);
        all.retain(|one| one.standing == Standing::Asked);
        all
    }

    /// Whether `phase`, which the run has left, requires something that the run did not show when it left.
    pub(super) fn is_required_behind(&self, machine: &Machine, phase: &StateName) -> bool {
        let mut required = self.requirements(machine).into_iter();
        required.any(|one| one.is_behind && one.standing != Standing::Shown && one.requirement.state == *phase)
    }

    /// What is missing of what phases require that the run has left.
    ///
    /// # Errors
    /// [`Refusal::NotProved`] if it has to be looked whether a command holds for the files.
    pub(super) fn unproved_behind(&self, machine: &Machine, trail: &dyn Trail) -> Result<Vec<MissingProof>, Refusal> {
        let mut missing = Vec::new();
        for required in self.still_required(machine) {
            if required.is_behind {
                missing.extend(required.lacks(trail)?);
            }
        }
        Ok(missing)
    }

    /// What a definition demanded of commands until the run adopted a weaker one, and the run has not shown, in words.
    pub(crate) fn dropped_requirements(&self) -> Vec<String> {
        let mut dropped = Vec::new();
        for DroppedRequirement { phase, exec, seq, demand } in &self.phases.dropped {
            let until = format!("until event {seq} (another definition)");
            let latest = self.latest_run(phase, exec);
            let latest = latest.filter(|latest| latest.status == ActivityStatus::Passed && latest.is_seen());
            dropped.push(match (demand, latest) {
                (Demand::Pass, Some(Attempt { number, id, .. })) => {
                    format!("`{phase}` required `{exec}` {until}, and whether {number} {id} still held was not asked")
                }
                (Demand::Pass, None) => {
                    format!("`{phase}` required `{exec}` {until}, and it was not seen to pass there")
                }
                (Demand::Fresh, _) => {
                    format!("`{phase}` required `{exec}` to pass on the files as they are {until}; now an earlier pass is enough")
                }
                // Where the run is or was there, what it requires is asked as before.
                (Demand::Always, _) if self.phases.path.contains(phase) => continue,
                (Demand::Always, _) => format!(
                    "no run ended without `{phase}`, which requires `{exec}`, {until}; now there is a way round it"
                ),
            });
        }
        dropped
    }

    /// Why the run left `phase` the last time although `exec` was not seen to pass there.
    #[must_use]
    pub fn reason_to_skip(&self, phase: &StateName, exec: &str) -> Option<&str> {
        Some(&self.phases.standing_skip(phase, Some(exec))?.reason)
    }

    /// What the log does not show of what phases require, for which no reason was given: what the run still has to show, and
    /// what it went around.
    pub(crate) fn left_without(&self, machine: &Machine) -> Vec<MissingProof> {
        let mut missing = Vec::new();
        for required in self.requirements(machine) {
            if let (Standing::Asked | Standing::WentAround, Err(why)) = (required.standing, &required.found) {
                missing.push(required.missing(why.clone()));
            }
        }
        missing
    }

    /// What the run still has to show, as far as the log shows that it is missing.
    pub(crate) fn unproved_by_log(&self, machine: &Machine) -> Vec<MissingProof> {
        self.unproved_where(machine, |_, _| None)
    }

    /// What the run still has to show: what the log shows to be missing, and what was seen to pass and `why_not` says does not
    /// count.
    pub(crate) fn unproved_where(
        &self,
        machine: &Machine,
        why_not: impl Fn(&Requirement, &Attempt) -> Option<String>,
    ) -> Vec<MissingProof> {
        let mut missing = Vec::new();
        for required in self.still_required(machine) {
            let why = match &required.found {
                Ok(attempt) => why_not(required.requirement, attempt),
                Err(why) => Some(why.clone()),
            };
            missing.extend(why.map(|why| required.missing(why)));
        }
        missing
    }
}

impl Attempt {
    /// The name of the command that it was, if the project names it.
    pub(crate) fn names(&self) -> Option<&str> {
        self.exec.as_ref()?.name.as_deref()
    }
}

/// The phases that the run has not come to on its usual way to the end; none if it can end where it is, or anywhere. A
/// run in which only units report has come to none, and ends with them unless its workflow is written as phases.
pub(super) fn phases_ahead(run: &OwnedState, machine: Option<&Machine>) -> Vec<StateName> {
    let Some(machine) = machine else { return Vec::new() };
    let here: Vec<&StateName> = run.positions().collect();
    // A workflow without terminal states can be completed anywhere.
    if machine.terminal().is_empty() || here.iter().any(|phase| machine.is_terminal(phase)) {
        return Vec::new();
    }
    let mut ahead: Vec<StateName> = Vec::new();
    let mut at = match here.first() {
        Some(first) => (*first).clone(),
        None if machine.is_phases() => {
            ahead.extend(machine.initial().first().cloned());
            machine.initial()[0].clone()
        }
        None => return Vec::new(),
    };
    while !machine.is_terminal(&at) {
        // Not every circle has a transition that counts as a way back.
        let next = machine.ahead_of(&at).into_iter().find(|next| !ahead.contains(next) && !here.contains(&next));
        let Some(next) = next else { break };
        ahead.push(next.clone());
        at = next;
    }
    ahead
}

/// The phases whose requirements a run has to meet that is completed: those in which it is; if it has come to none, as one in
/// which only units report, all.
pub(super) fn phases_to_prove(run: &OwnedState, machine: Option<&Machine>) -> Vec<StateName> {
    match (machine, &run.current_phase) {
        (Some(machine), None) => machine.requires().iter().map(|one| one.state.clone()).collect(),
        _ => run.positions().cloned().collect(),
    }
}
