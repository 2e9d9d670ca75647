//! Carries out the steps of a repair.
//!
//! Under its lock a run is examined again, and only what that finds is repaired. First come the steps without which no
//! command can use its files: odd names go to quarantine, a damaged log is replaced. Then comes the recovery that every
//! writer does, and then the files that follow from the log. Since the first steps can uncover more, all of this is
//! repeated until no step is left that has not been tried.

use crate::doctor::diagnosis::{Diagnosis, diagnose};
use crate::doctor::finding::{Finding, Findings, RepairStep};
use crate::doctor::project;
use crate::doctor::report::PlanStep;
use crate::doctor::survey::{DoctorRequest, Survey, copy_is_read_again};
use crate::engine::Caller;
use crate::model::{Explain as _, RunId, Timestamp};
use crate::runs::write::transaction::attempts::transact;
use crate::runs::{OpenedProject, Result, work_of};
use crate::store::local::layout::RUN_FILE;
use crate::store::local::{DirLevel, RunDir};
use crate::store::{ActivityFile, StoredRun as _};

/// The highest number of rounds; each finds only what the round before could not see.
const ROUNDS: usize = 4;

/// The repair of a project: the steps that were carried out, and the ones that failed.
#[derive(Debug)]
pub(super) struct Mending<'a> {
    project: &'a OpenedProject,
    /// Whether the request names the run that is repaired.
    named: bool,
    pub(super) plan: Vec<PlanStep>,
    failed: Vec<FailedStep>,
}

/// A step that failed, or all steps of a run.
#[derive(Debug, PartialEq)]
struct FailedStep {
    run: Option<RunId>,
    /// None for all of the run.
    step: Option<RepairStep>,
    why: String,
}

impl<'a> Mending<'a> {
    pub(super) fn new(project: &'a OpenedProject, request: &DoctorRequest) -> Self {
        Self { project, named: request.run.is_some(), plan: Vec::new(), failed: Vec::new() }
    }

    /// Notes the steps that would repair `findings`, without carrying them out.
    pub(super) fn note(&mut self, findings: &Findings) {
        for action in findings.actions() {
            self.step(findings.run(), &action);
        }
    }

    fn step(&mut self, run: Option<&RunId>, action: &RepairStep) {
        let step = PlanStep { run_id: run.cloned(), step: action.sentence() };
        if !self.plan.contains(&step) {
            self.plan.push(step);
        }
    }

    fn failed(&mut self, run: Option<&RunId>, step: Option<&RepairStep>, why: String) {
        let failure = FailedStep { run: run.cloned(), step: step.cloned(), why };
        if !self.failed.contains(&failure) {
            self.failed.push(failure);
        }
    }

    /// Whether a step of the repair was carried out for `run`.
    pub(super) fn has_touched(&self, run: &RunId) -> bool {
        self.plan.iter().any(|step| step.run_id.as_ref() == Some(run))
    }

    /// Why a finding that has a repair is not repaired, or was repaired only after a failure.
    pub(super) fn trouble_with(&self, finding: &Finding) -> Option<String> {
        finding.repair.as_ref()?;
        let mut reasons = Vec::new();
        for failed in &self.failed {
            if failed.run == finding.run && (failed.step.is_none() || failed.step == finding.repair) {
                reasons.push(failed.why.as_str());
            }
        }
        if reasons.is_empty() { None } else { Some(reasons.join("; ")) }
    }

    /// Repairs what was found. A failure is noted, and the rest is still repaired.
    pub(super) fn mend(&mut self, found: &Survey) -> Result<()> {
        for part in &found.parts {
            let actions = part.actions();
            if actions.is_empty() {
                continue;
            }
            match part.run() {
                Some(id) => {
                    let run = self.project.with_files_of(id)?.run(id)?;
                    self.mend_run(&run);
                }
                None if !self.named => self.mend_project(actions),
                // What the store lacks of the run that is named.
                None => self.take_steps(&actions),
            }
        }
        Ok(())
    }

    fn mend_project(&mut self, first: Vec<RepairStep>) {
        let mut tried: Vec<Vec<RepairStep>> = Vec::new();
        let mut actions = first;
        // The same steps again would fail again.
        while tried.len() < ROUNDS && !actions.is_empty() && !tried.contains(&actions) {
            self.take_steps(&actions);
            let mut found = Findings::default();
            project::check(self.project, &mut found);
            tried.push(std::mem::replace(&mut actions, found.actions()));
        }
    }

    fn take_steps(&mut self, actions: &[RepairStep]) {
        let now = self.project.cx.now();
        for action in actions {
            match self.take_step(action, now) {
                Ok(()) => self.step(None, action),
                Err(error) => self.failed(None, Some(action), error.one_line()),
            }
        }
    }

    /// Takes one step in `.flow`. It takes the lock by itself, because completing `.flow` takes it too.
    fn take_step(&self, action: &RepairStep, now: Timestamp) -> Result<()> {
        let project = self.project;
        let request = project.cx.write_request(now, project.cx.lock_wait()?);
        match action {
            RepairStep::Complete => {
                project.cx.init_project(false)?;
            }
            RepairStep::AddLines(name, lines) => project.lock_for_repair(&request)?.add_lines(name, lines)?,
            RepairStep::ShelveInFlow(shelf, name) => {
                let set_aside = project.lock_for_repair(&request)?.set_aside(*shelf, name, now);
                match set_aside {
                    Ok(_) => {}
                    // The name is gone: its creator was alive after all, or another repair was faster.
                    Err(error) if error.is_not_found() => {}
                    Err(error) => return Err(error.into()),
                }
            }
            RepairStep::PutAgain(run) => {
                // A store may take longer than a lock.
                let request = project.cx.write_request(now, project.commit_wait()?);
                if let Some(shared) = project.runs().shared().accepted() {
                    shared.bring_unlisted(run, &request)?;
                    let work = work_of(project, &*project.runs().open(run)?)?;
                    shared.put_again(run, work, &request)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn mend_run(&mut self, run: &RunDir) {
        let mut tried: Vec<Vec<RepairStep>> = Vec::new();
        for _ in 0..ROUNDS {
            let now = self.project.cx.now();
            let actions = match self.mend_files(run, now) {
                Ok(actions) => actions,
                Err(error) => {
                    self.failed(Some(run.id()), None, error.one_line());
                    return;
                }
            };
            if actions.is_empty() || tried.contains(&actions) {
                return;
            }
            if let Err(error) = self.recover(run, &actions, now) {
                self.failed(Some(run.id()), None, error.one_line());
            }
            tried.push(actions);
        }
    }

    /// Examines a run again under its lock, and carries out the steps that make its files usable. Gives all steps that are
    /// due.
    fn mend_files(&mut self, run: &RunDir, now: Timestamp) -> Result<Vec<RepairStep>> {
        let project = self.project;
        let mut locked = run.lock_for_repair(&project.cx.write_request(now, project.cx.lock_wait()?))?;
        let Diagnosis { findings, rewrite } = diagnose(project, run, Some(locked.noted()), self.named, now);
        if !findings.unread.is_empty() {
            // Nothing is repaired on half a look, and a look without findings must not count as a repair.
            self.failed(Some(run.id()), None, "the run could not be read when it was to be repaired".to_owned());
        }
        if rewrite.is_some() && project.runs().shared().has(run.id()) {
            return Err(copy_is_read_again(run).into());
        }
        let actions = findings.actions();
        for action in actions.iter().filter(|action| action.is_mending()) {
            match action {
                RepairStep::Shelve(name) => drop(locked.set_aside(DirLevel::Top, name, now)?),
                RepairStep::Rebuild => drop(locked.set_aside(DirLevel::Top, RUN_FILE, now)?),
                RepairStep::OwnLog => locked.own_log()?,
                RepairStep::RewriteLog => {
                    if let Some(rewrite) = &rewrite {
                        let id = project.cx.ids.next(now);
                        locked.replace_log(|kept| rewrite.bytes(&id, now, kept), rewrite.last(), now)?;
                    }
                }
                _ => {}
            }
            self.step(Some(run.id()), action);
        }
        Ok(actions)
    }

    /// Does the recovery of the next writer, and then the steps that only a repair does.
    fn recover(&mut self, run: &RunDir, actions: &[RepairStep], now: Timestamp) -> Result<()> {
        // That of a copy goes through its store, which records what a person typed into it.
        let shared = match self.project.runs().shared().copies_with(run.id()) {
            Some(_) => Some(self.project.runs().open(run.id())?),
            None => None,
        };
        transact(self.project, shared.as_deref().unwrap_or(run), Caller::default(), now, |tx| {
            // The files follow from the log that is here.
            tx.answer_stands();
            for action in actions {
                if let RepairStep::ShelveActivity(name) | RepairStep::ReplaceActivity(name) = action
                    && let Some(chores) = tx.writer.chores()
                {
                    chores.set_aside(name, now)?;
                }
            }
            // All recorded activities, because a replaced log or a removed link can leave any of them without its file.
            let files = ActivityFile::of_all(tx.writer.log()?.events());
            if let Some(chores) = tx.writer.chores() {
                chores.restore(&files)?;
            }
            Ok(())
        })?;
        for action in actions.iter().filter(|action| !action.is_mending()) {
            self.step(Some(run.id()), action);
        }
        Ok(())
    }
}
