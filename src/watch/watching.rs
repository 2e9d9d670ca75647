//! What to watch, and what is reported of it.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::RunId;
use crate::runs::{self, Card, CardFilter, CardsReport, Context, Result};

/// What to watch.
#[derive(Debug, Clone, Default)]
pub struct Watching {
    /// A directory of the project; otherwise the one of the context.
    pub dir: Option<PathBuf>,
    /// Only this run: its id, a prefix of its id, or `@latest`.
    pub run: Option<String>,
    /// Only runs with this text, as in [`CardFilter`].
    pub search: Option<String>,
    /// Only runs of this workflow.
    pub workflow: Option<String>,
    /// Whether to look at files at fixed intervals instead of watching them.
    pub poll: bool,
    /// Whether signs are those of ASCII.
    pub ascii: bool,
    /// Whether to show colours.
    pub colour: bool,
    /// Whether the screen calls the person to runs that begin to need one.
    pub notify: bool,
}

impl Watching {
    pub(super) fn context(&self, cx: &Context) -> Context {
        match &self.dir {
            Some(dir) => cx.in_project(dir),
            None => cx.clone(),
        }
    }

    pub(super) fn filter(&self) -> CardFilter {
        CardFilter {
            search: self.search.clone(),
            workflow: self.workflow.clone(),
            limit: usize::MAX,
            ..CardFilter::default()
        }
    }

    /// The id of the run that is named.
    pub(super) fn run_id(&self, cx: &Context) -> Result<Option<RunId>> {
        let Some(name) = self.run.as_deref() else { return Ok(None) };
        Ok(Some(runs::meant_run(cx, Some(name), None)?.run_id))
    }
}

/// A line of `watch --json`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum WatchMessage {
    /// The first line: the runs as they are.
    Snapshot {
        /// The cards of all open runs, and how many runs are over.
        cards: CardsReport,
    },
    /// A run is new, or changed.
    Run {
        /// The whole card: the last one counts.
        card: Box<Card>,
    },
    /// A run is gone, cannot be read, or is no longer among those that were asked for.
    Gone {
        /// The run.
        run: RunId,
    },
}
