//! What `drive` is asked for, and what it reports.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::drive::driven::{Drive, StateOutput};
use crate::model::{RunId, SessionId, StateName, named, pairs, seconds};

/// What to drive.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DriveRequest {
    /// The graph: a file, or the name of a workflow.
    pub graph: String,
    /// The run; otherwise the open one of that workflow, or a new one.
    #[serde(rename = "run_id")]
    pub run: Option<String>,
    /// The command for each type of state.
    #[serde(with = "pairs", default)]
    #[schemars(with = "BTreeMap<String, String>")]
    pub on: Vec<(String, String)>,
    /// The directory in which commands run; otherwise the one in which the run was first driven, and for a new run the
    /// working directory.
    #[serde(default)]
    pub dir: Option<PathBuf>,
    /// Types of states that a person does, unless they have a command.
    #[serde(default)]
    pub types: Vec<String>,
    /// Who chooses among several states.
    #[serde(default)]
    pub choose: Choose,
    /// The highest number of states to run.
    pub max_iter: usize,
    /// The time limit for one command, in seconds.
    #[serde(with = "seconds")]
    #[schemars(with = "f64", range(min = 0))]
    pub timeout: Duration,
    /// The goal of a new run.
    pub goal: Option<String>,
    /// The session that drives; otherwise a new one.
    pub session: Option<SessionId>,
}

/// Who chooses among several states that can follow.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Choose {
    /// A person, with `flow advance`, after the driver has stopped.
    #[default]
    #[serde(rename = "nobody")]
    Person,
    /// A command: the choices on standard input, the reply on standard output.
    Command(String),
    /// A model behind an endpoint.
    Endpoint(Endpoint),
}

/// A model that chooses, over HTTP.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Endpoint {
    /// The URL of the endpoint, up to `/v1` or to `/chat/completions`.
    pub url: String,
    /// The name of the model.
    pub model: String,
    /// The API key; none if the endpoint needs none. It is never serialized.
    #[serde(skip_serializing)]
    pub key: Option<String>,
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Do not print the key.
        f.debug_struct("Endpoint").field("url", &self.url).field("model", &self.model).finish_non_exhaustive()
    }
}

/// The report of `drive`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DriveReport {
    /// The run.
    pub run_id: RunId,
    /// Its workflow.
    pub workflow: String,
    /// Why the driver stopped, as a code.
    pub stop: DriveStop,
    /// The current state, or the next one.
    pub state: Option<StateName>,
    /// Why the driver stopped, as a sentence.
    pub reason: String,
    /// How many states were run.
    pub ran: usize,
    /// The latest output of a state, if a person is needed.
    pub given: Option<StateOutput>,
    /// Problems that did not stop the driver.
    pub warnings: Vec<String>,
}

named! {
    /// Why a driver stopped.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema)]
    pub enum DriveStop {
        /// The run is completed.
        Ended = "ended",
        /// A person has to answer or to choose.
        NeedsHuman = "needs_human",
        /// A state is not done yet, and has to run again later.
        NotReady = "not_ready",
        /// A state failed.
        Failed = "failed",
        /// The highest number of states was run.
        Limit = "limit",
    }
}

pub(super) fn report(
    drive: &Drive,
    stop: DriveStop,
    state: Option<StateName>,
    reason: String,
    ran: usize,
) -> DriveReport {
    DriveReport {
        run_id: drive.run.clone(),
        workflow: drive.workflow.clone(),
        stop,
        state,
        reason,
        ran,
        given: None,
        warnings: Vec::new(),
    }
}
