//! What is wrong, and what would be done about it.

use std::path::{Path, PathBuf};

use crate::codec::Place;
use crate::doctor::codes::severity;
use crate::doctor::report::{FindingReport, FindingState, Severity};
use crate::model::{Help, RunId};
use crate::store::local::Shelf;

/// Something that is not as it should be.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Finding {
    pub(super) code: &'static str,
    pub(super) run: Option<RunId>,
    pub(super) path: PathBuf,
    pub(super) place: Option<Place>,
    pub(super) message: Help,
    pub(super) repair: Option<Action>,
}

impl Finding {
    /// Says where in the file.
    pub(super) fn at(&mut self, place: Option<Place>) -> &mut Self {
        self.place = place;
        self
    }

    /// Says which line of the file.
    pub(super) fn on_line(&mut self, line: usize) -> &mut Self {
        self.at(Some(Place { line, column: 1 }))
    }

    /// Says what mends it.
    pub(super) fn mend(&mut self, action: impl Into<Option<Action>>) {
        self.repair = action.into();
    }

    pub(super) fn severity(&self) -> Severity {
        severity(self.code)
    }

    /// Whether the other one says the same of the same thing.
    pub(super) fn is(&self, other: &Self) -> bool {
        (self.code, &self.path, self.place.map(|place| place.line))
            == (other.code, &other.path, other.place.map(|place| place.line))
    }

    /// As the caller sees it.
    pub(super) fn report(&self, by: &Caller<'_>, state: FindingState, why: Option<String>) -> FindingReport {
        FindingReport {
            code: self.code,
            severity: self.severity(),
            path: self.path.strip_prefix(by.root).unwrap_or(&self.path).to_owned(),
            line: self.place.map(|place| place.line),
            column: self.place.map(|place| place.column),
            run_id: self.run.clone(),
            message: self.message.clone().in_project(by.place).to_string(),
            repair: self.repair.as_ref().map(Action::in_words),
            state,
            why,
        }
    }
}

/// For whom findings are reported.
#[derive(Debug, Clone, Copy)]
pub(super) struct Caller<'a> {
    /// From where paths are named.
    pub(super) root: &'a Path,
    /// How the caller has to name the project in a command; none where it is found.
    pub(super) place: Option<&'a str>,
}

/// Findings as they come in.
#[derive(Debug, Default)]
pub(super) struct Findings {
    run: Option<RunId>,
    pub(super) list: Vec<Finding>,
}

impl Findings {
    pub(super) fn of_run(run: &RunId) -> Self {
        Self { run: Some(run.clone()), list: Vec::new() }
    }

    pub(super) fn add(&mut self, code: &'static str, path: &Path, message: impl Into<Help>) -> &mut Finding {
        let (run, path, message) = (self.run.clone(), path.to_owned(), message.into());
        // Asked here, so that a code that no page explains is noticed by the first test that meets it.
        let _ = severity(code);
        self.list.push(Finding { code, run, path, place: None, message, repair: None });
        self.list.last_mut().expect("just added")
    }

    /// What would be done, each step once.
    pub(super) fn actions(&self) -> Vec<Action> {
        let mut actions: Vec<Action> = Vec::new();
        for action in self.list.iter().filter_map(|finding| finding.repair.clone()) {
            if !actions.contains(&action) {
                actions.push(action);
            }
        }
        actions.sort();
        actions
    }
}

/// A step of a repair, in the order in which steps are taken.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Action {
    /// Completes `.flow` as `flow init` does.
    Complete,
    /// Adds lines to a file of `.flow`.
    AddLines(&'static str, Vec<String>),
    /// Moves a name of `.flow` or `runs/` to the project's quarantine.
    ShelveInFlow(FlowShelf, String),
    /// Moves a name of the run to its quarantine.
    Shelve(String),
    /// Moves `run.yaml` to quarantine; the log rebuilds it.
    Rebuild,
    /// Gives the log a file of its own.
    OwnLog,
    /// Replaces the log by what survived of it.
    RewriteLog,
    /// Does what the next writer would do.
    Recover,
    /// Moves a name of `activities/` to quarantine.
    ShelveActivity(String),
    /// Moves an activity file to quarantine and writes it again.
    ReplaceActivity(String),
    /// Writes an activity file again.
    RestoreActivity(String),
}

/// [`Shelf`], with an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FlowShelf {
    Flow,
    Runs,
}

impl From<FlowShelf> for Shelf {
    fn from(shelf: FlowShelf) -> Self {
        match shelf {
            FlowShelf::Flow => Self::Top,
            FlowShelf::Runs => Self::Inner,
        }
    }
}

impl Action {
    /// What is done, for people.
    pub(super) fn in_words(&self) -> String {
        match self {
            Self::Complete => "complete .flow as `flow init` does".to_owned(),
            Self::AddLines(file, lines) => format!("add to .flow/{file}: {}", lines.join(", ")),
            Self::ShelveInFlow(FlowShelf::Flow, name) => format!("move {name} to .flow/.quarantine"),
            Self::ShelveInFlow(FlowShelf::Runs, name) => format!("move runs/{name} to .flow/.quarantine"),
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

    /// Whether it is to be done before the run's files can be trusted.
    pub(super) fn is_mending(&self) -> bool {
        matches!(self, Self::Shelve(_) | Self::Rebuild | Self::OwnLog | Self::RewriteLog)
    }
}
