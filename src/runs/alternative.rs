//! The commands that a verdict proposes: one to run next, and one for each outcome that only the caller can know.

use schemars::JsonSchema;
use serde::Serialize;

use crate::engine::Action;
use crate::model::Suggestion;
use crate::runs::driver::{CommandSource, Driver};

/// A command, and the case in which to run it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Alternative {
    /// The outcome or decision for which the command is right, in words.
    pub when: String,
    /// The command, as a line for a shell.
    pub command: Suggestion,
    /// Who has to run it; none if anyone may.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<Who>,
    /// The file of the checkout that names the commands in it, if this machine never ran them: an author of the file chose
    /// them, so read them before you run them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub never_run_here: Option<CommandSource>,
}

/// Who has to run a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Who {
    /// A person, at a terminal that no agent began.
    Person,
}

impl Alternative {
    /// A command that anyone may run.
    pub(crate) fn new(when: impl Into<String>, command: Suggestion) -> Self {
        Self { when: when.into(), command, by: None, never_run_here: None }
    }
}

/// The commands to run next.
#[derive(Debug, Default)]
pub(super) struct Advice {
    /// Begins work, or inspects something. It never marks anything as done.
    pub(super) command: Option<Suggestion>,
    /// One for each outcome or decision.
    pub(super) alternatives: Vec<Alternative>,
}

impl Advice {
    pub(super) fn or(mut self, when: impl Into<String>, command: Suggestion) -> Self {
        self.alternatives.push(Alternative::new(when, command));
        self
    }

    /// Adds a command that only a person may run.
    pub(super) fn or_a_person(mut self, when: &str, command: Suggestion) -> Self {
        self.alternatives.push(Alternative { by: Some(Who::Person), ..Alternative::new(when, command) });
        self
    }

    /// The advice for a run with a driver: the driver begins the work, so its command replaces the one here. Where it would
    /// stop for a person's choice, it comes last.
    pub(super) fn driven_by(mut self, driver: Driver, action: Action) -> Self {
        let place = if action == Action::ChoosePhase && !driver.chooses { self.alternatives.len() } else { 0 };
        let never_run_here = driver.never_run_here;
        let way = Alternative { never_run_here, ..Alternative::new(driver.when(), driver.command) };
        self.alternatives.insert(place, way);
        Self { command: None, ..self }
    }

    /// The advice for a caller who has to name the project in commands.
    pub(super) fn in_project(self, project: Option<&str>) -> Self {
        let command = self.command.map(|command| command.in_project(project));
        let mut alternatives = Vec::new();
        for way in self.alternatives {
            alternatives.push(Alternative { command: way.command.in_project(project), ..way });
        }
        Self { command, alternatives }
    }

    pub(super) fn or_each(mut self, ways: impl IntoIterator<Item = (String, Suggestion)>) -> Self {
        self.alternatives.extend(ways.into_iter().map(|(when, command)| Alternative::new(when, command)));
        self
    }
}
