//! Commands that must have been seen to pass before a run leaves a phase: `requires` of its workflow.
//!
//! Only an end that flow saw counts, of exactly the command that the project names, in the run's present stay in the
//! phase. Whether it still holds for the files is not in the log: [`Trail::judge`] says that.

use crate::engine::leave::is_way_back;
use crate::engine::{Attempt, History, Judgement, Refusal, Trail};
use crate::machine::{Machine, Requirement};
use crate::model::{ActivityStatus, ExecutionEnd, Owned, StateName, Unproved};

/// Whether a run may have to show something before it leaves `phase`. Without, its history need not be read.
pub(super) fn requires(machine: Option<&Machine>, phase: &StateName) -> bool {
    machine.is_some_and(|machine| machine.requires_of(phase).next().is_some())
}

/// What `phase` requires and the run cannot show, if it leaves the phase for `to`, or completes there (`to` is `None`).
/// Going back for another round claims nothing, so it needs no proof.
///
/// # Errors
/// [`Refusal::NotProved`] if it has to be looked whether a command holds for the files.
pub(super) fn unproved(
    machine: Option<&Machine>,
    phase: &StateName,
    to: Option<&StateName>,
    history: Option<&History>,
    trail: &dyn Trail,
) -> Result<Vec<Unproved>, Refusal> {
    let mut missing = Vec::new();
    let Some(machine) = machine else { return Ok(missing) };
    if to.is_some_and(|to| is_way_back(Some(machine), phase, to)) {
        return Ok(missing);
    }
    for requirement in machine.requires_of(phase) {
        let stays = history.filter(|history| history.state().document().state.is_in(phase));
        let why = match seen_to_pass(stays, phase, requirement) {
            Err(why) => why,
            Ok(attempt) => match trail.judge(requirement, attempt) {
                Judgement::Holds => continue,
                Judgement::DoesNot(why) => why,
                Judgement::NotLooked => {
                    let why = "whether it holds for the present files was not looked at".to_owned();
                    let missing = vec![lack(requirement, why)];
                    return Err(Refusal::NotProved { missing, looked: false });
                }
            },
        };
        missing.push(lack(requirement, why));
    }
    Ok(missing)
}

fn lack(requirement: &Requirement, why: String) -> Unproved {
    Unproved { phase: requirement.state.clone(), exec: requirement.exec.clone(), why, is_behind: false }
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
        let came = history.is_some_and(|history| history.phases.path.contains(phase));
        let why = if came { "it was not run since the run came there" } else { "by its log, the run was never there" };
        return Err(why.to_owned());
    };
    let end = latest.exec.as_ref().and_then(|exec| exec.end.as_ref());
    match (latest.status, end.map(ExecutionEnd::exit_code)) {
        (ActivityStatus::Passed, Some(0)) => Ok(latest),
        (_, Some(code)) => Err(format!("{} {} ended with exit status {code}", latest.number, latest.id)),
        (_, None) => Err(format!("the end of {} {} was not seen", latest.number, latest.id)),
    }
}

impl History {
    /// The latest run, in the run's latest stay in `phase`, of the command that the project calls `name`.
    #[must_use]
    pub fn latest_run(&self, phase: &StateName, name: &str) -> Option<&Attempt> {
        self.records_here(phase).into_iter().rfind(|attempt| attempt.names() == Some(name))
    }

    /// What the phases require that the run has been in, in their order, each with the record in which it was seen to pass,
    /// or why there is none. So do those that every way to its place leads through, if something else than its transitions
    /// brought it there.
    pub(crate) fn requirements<'m>(&self, machine: &'m Machine) -> Vec<(&'m Requirement, Result<&Attempt, String>)> {
        let mut all = Vec::new();
        for phase in &self.phases.path {
            for requirement in machine.requires_of(phase) {
                all.push((requirement, seen_to_pass(Some(self), phase, requirement)));
            }
        }
        for requirement in machine.requires() {
            let phase = &requirement.state;
            let is_behind = self.phases.here.iter().any(|here| machine.is_behind(here, phase));
            if is_behind && !self.phases.path.contains(phase) {
                all.push((requirement, seen_to_pass(Some(self), phase, requirement)));
            }
        }
        all
    }

    /// What phases require that the run has left, otherwise than by its transitions, without having run it. A reason that was
    /// given when it left counts.
    pub(super) fn unproved_behind(&self, machine: &Machine) -> Vec<Unproved> {
        let mut missing = Vec::new();
        for (requirement, found) in self.requirements(machine) {
            let phase = &requirement.state;
            if let Err(why) = found
                && !self.phases.here.contains(phase)
                && self.reason_to_skip(phase, &requirement.exec).is_none()
            {
                missing.push(Unproved { is_behind: true, ..lack(requirement, why) });
            }
        }
        missing
    }

    /// Why the run left `phase` the last time although `exec` was not seen to pass there.
    #[must_use]
    pub fn reason_to_skip(&self, phase: &StateName, exec: &str) -> Option<&str> {
        let mut skips = self.phases.skips.iter();
        let skip = skips.rfind(|skip| skip.phase == *phase && skip.exec.as_deref() == Some(exec))?;
        let since = self.phases.stays.get(phase).map(|stay| stay.entered);
        if since.is_some_and(|since| skip.after < since) { None } else { Some(&skip.reason) }
    }

    /// What the phases require in which the run is, as far as the log shows that it is missing.
    pub(crate) fn unproved_here(&self, machine: &Machine) -> Vec<Unproved> {
        let mut missing = Vec::new();
        for phase in self.state().document().state.positions() {
            for requirement in machine.requires_of(phase) {
                if let Err(why) = seen_to_pass(Some(self), phase, requirement) {
                    missing.push(lack(requirement, why));
                }
            }
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

/// The phases whose requirements a run has to meet that is completed: those in which it is; if it has come to none, as one in
/// which only units report, all.
pub(super) fn phases_to_prove(run: &Owned, machine: Option<&Machine>) -> Vec<StateName> {
    match (machine, &run.current_phase) {
        (Some(machine), None) => machine.requires().iter().map(|one| one.state.clone()).collect(),
        _ => run.positions().cloned().collect(),
    }
}
