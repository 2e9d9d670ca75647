//! Findings, and the steps that repair them.

use std::path::{Path, PathBuf};

use crate::codec::Place;
use crate::doctor::codes::severity;
use crate::doctor::report::{FindingReport, FindingState, Severity};
use crate::model::{Help, RunId};
use crate::store::local::DirLevel;

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Finding {
    pub(super) code: &'static str,
    pub(super) run: Option<RunId>,
    pub(super) path: PathBuf,
    pub(super) place: Option<Place>,
    pub(super) message: Help,
    pub(super) repair: Option<RepairStep>,
}

impl Finding {
    /// Sets the place in the file.
    pub(super) fn at_place(&mut self, place: Option<Place>) -> &mut Self {
        self.place = place;
        self
    }

    /// Sets the line of the file.
    pub(super) fn on_line(&mut self, line: usize) -> &mut Self {
        self.at_place(Some(Place { line, column: 1 }))
    }

    /// Sets the step that repairs it.
    pub(super) fn mend(&mut self, action: impl Into<Option<RepairStep>>) {
        self.repair = action.into();
    }

    pub(super) fn severity(&self) -> Severity {
        severity(self.code)
    }

    /// Whether both findings have the same code and place. Messages and repairs may differ.
    pub(super) fn is(&self, other: &Self) -> bool {
        (self.code, &self.path, self.place.map(|place| place.line))
            == (other.code, &other.path, other.place.map(|place| place.line))
    }

    /// The finding as the report shows it.
    pub(super) fn report(&self, by: &ReportView<'_>, state: FindingState, why: Option<String>) -> FindingReport {
        FindingReport {
            code: self.code,
            severity: self.severity(),
            path: self.path.strip_prefix(by.root).unwrap_or(&self.path).to_owned(),
            line: self.place.map(|place| place.line),
            column: self.place.map(|place| place.column),
            run_id: self.run.clone(),
            message: self.message.clone().in_project(by.place).to_string(),
            repair: self.repair.as_ref().map(RepairStep::sentence),
            state,
            why,
        }
    }
}

/// From where findings are reported.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReportView<'a> {
    /// The directory to which paths in the report are relative.
    pub(super) root: &'a Path,
    /// How the caller has to name the project in a command; none if `flow` finds it by itself.
    pub(super) place: Option<&'a str>,
}

/// A list of findings, all of one run or all of the project.
#[derive(Debug, Default)]
pub(super) struct Findings {
    run: Option<RunId>,
    pub(super) list: Vec<Finding>,
    /// Files and directories that could not be read, so that more may be wrong there, or less.
    pub(super) unread: Vec<PathBuf>,
}

impl Findings {
    pub(super) fn of_run(run: &RunId) -> Self {
        Self { run: Some(run.clone()), ..Self::default() }
    }

    /// The run that they belong to; none for the project.
    pub(super) fn run(&self) -> Option<&RunId> {
        self.run.as_ref()
    }

    pub(super) fn add(&mut self, code: &'static str, path: &Path, message: impl Into<Help>) -> &mut Finding {
        let (run, path, message) = (self.run.clone(), path.to_owned(), message.into());
        // Look the code up here, so that the first test that meets a code without a row in the table fails.
        let _ = severity(code);
        self.list.push(Finding { code, run, path, place: None, message, repair: None });
        self.list.last_mut().expect("just added")
    }

    /// Adds that something could not be read. A fault may pass, so another look may find something else.
    pub(super) fn add_unread(&mut self, path: &Path, message: impl Into<Help>) {
        self.unread.push(path.to_owned());
        self.add("unreadable", path, message);
    }

    /// The steps that would repair the findings, each once, in order.
    pub(super) fn actions(&self) -> Vec<RepairStep> {
        let mut actions: Vec<RepairStep> = Vec::new();
        for finding in &self.list {
            if let Some(action) = &finding.repair
                && !actions.contains(action)
            {
                actions.push(action.clone());
            }
        }
        // `RepairStep` has the order in which they must be taken.
        actions.sort();
        actions
    }
}

/// A step of a repair, in the order in which steps are taken.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RepairStep {
    /// Completes `.flow` as `flow init` does.
    Complete,
    /// Adds lines to a file of `.flow`.
    AddLines(&'static str, Vec<String>),
    /// Moves a name of `.flow` or `runs/` to the project's quarantine.
    ShelveInFlow(DirLevel, String),
    /// Puts what the store has lost of a run there again, from the copy here.
    PutAgain(RunId),
    /// Moves a name of the run to its quarantine.
    Shelve(String),
    /// Moves `run.yaml` to quarantine, so that it is rebuilt from the log.
    Rebuild,
    /// Copies the log into a file of its own, without hard links.
    OwnLog,
    /// Replaces the log by its sound lines.
    RewriteLog,
    /// Does the recovery that the next writer would do.
    Recover,
    /// Moves a name of `activities/` to quarantine.
    ShelveActivity(String),
    /// Moves an activity file to quarantine and writes it again.
    ReplaceActivity(String),
    /// Writes an activity file again.
    RestoreActivity(String),
}

impl RepairStep {
    /// A sentence for people that says what the step does.
    pub(super) fn sentence(&self) -> String {
        match self {
            Self::Complete => "complete .flow as `flow init` does".to_owned(),
            Self::AddLines(file, lines) => format!("add to .flow/{file}: {}", lines.join(", ")),
            Self::ShelveInFlow(DirLevel::Top, name) => format!("move {name} to .flow/.quarantine"),
            Self::ShelveInFlow(DirLevel::Inner, name) => format!("move runs/{name} to .flow/.quarantine"),
            Self::PutAgain(run) => format!("put into the store what it lacks of {run}"),
            Self::Shelve(name) => format!("move {name} to the run's .quarantine"),
            Self::Rebuild => "move run.yaml to the run's .quarantine and rebuild it from the log".to_owned(),
            Self::OwnLog => "give the log a file of its own".to_owned(),
            Self::RewriteLog => {
                "keep the log in the run's .quarantine, and go on with its sound lines and a log_repaired event"
                    .to_owned()
            }
            Self::Recover => "recover as the next command that writes would".to_owned(),
            Self::ShelveActivity(name) => format!("move activities/{name} to the run's .quarantine"),
            Self::ReplaceActivity(name) => {
                format!("move activities/{name} to the run's .quarantine and restore it from the log")
            }
            Self::RestoreActivity(name) => format!("restore activities/{name} from the log"),
        }
    }

    /// Whether commands cannot trust the run's files before this step is done.
    pub(super) fn is_mending(&self) -> bool {
        matches!(self, Self::Shelve(_) | Self::Rebuild | Self::OwnLog | Self::RewriteLog)
    }
}
