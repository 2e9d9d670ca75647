//! `attention`: what the open runs need, those first that need a person.

use std::cmp::Reverse;
use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::runs::context::{Context, OpenedProject};
use crate::runs::error::{Error, Result};
use crate::runs::look::card::{Card, read_card};
use crate::runs::look::outlook::Definitions;
use crate::runs::look::wait::{LOOKED_AT, cards_of};
use crate::runs::open::reading::{Unreadable, maybe_open, read_runs};
use crate::runs::open::shared::ask_store;
use crate::runs::open::worktrees::{NamedRuns, OtherWorktree, RUNS_NAMED, newest_open, project_around, worktrees_with};
use crate::store::RefreshScope;

/// Which runs to tell about.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AttentionRequest {
    /// Whether to include the open runs that need no person.
    pub all: bool,
}

/// The report of `attention`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct AttentionReport {
    /// The most urgent first; within a group the one that changed last.
    pub runs: Vec<Card>,
    /// Runs that cannot be read, for instance because a merge left conflict markers. They need a person as well.
    pub unreadable: Vec<Unreadable>,
    /// Other worktrees of the repository in which runs are open.
    pub worktrees: Vec<OtherWorktree>,
    /// What a reader should know of shared runs, or of a project around this one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Finds what the open runs need. Writes nothing. Asks git only about a run whose older version was put back. Without a
/// `.flow` there are no runs.
///
/// # Errors
/// [`crate::runs::Error::Store`] when the project cannot be read; a single unreadable run is in the report.
pub fn attention(cx: &Context, request: &AttentionRequest) -> Result<AttentionReport> {
    let project = match cx.project() {
        Ok(project) => project,
        Err(Error::NoProject { around, .. }) => {
            let (worktrees, notes) = (open_elsewhere(cx), project_around(around.as_deref(), "attention"));
            return Ok(AttentionReport { runs: Vec::new(), unreadable: Vec::new(), worktrees, notes });
        }
        Err(error) => return Err(error),
    };
    let notes = ask_store(&project, RefreshScope::Open);
    let (runs, unreadable) = open_cards(&project, *request)?;
    Ok(AttentionReport { runs, unreadable, worktrees: open_elsewhere(cx), notes })
}

/// The open runs of other worktrees: those that need a person first, then the newest.
fn open_elsewhere(cx: &Context) -> Vec<OtherWorktree> {
    worktrees_with(cx, NamedRuns::of_each(RUNS_NAMED), |project, here, named| {
        let mut there = newest_open(project, here, LOOKED_AT)?;
        let mut in_need = HashSet::new();
        if there.runs.len() > 1 {
            for card in cards_of(&project.cx, there.runs.iter().map(|run| &run.head.run_id))? {
                if card.group.needs_a_person() {
                    in_need.insert(card.run.head.run_id);
                }
            }
        }
        there.runs.sort_by_key(|run| !in_need.contains(&run.head.run_id));
        there.runs.truncate(named);
        Ok(there)
    })
}

/// The cards that `attention` shows, as far as they can be read here.
pub(super) fn open_cards(project: &OpenedProject, request: AttentionRequest) -> Result<(Vec<Card>, Vec<Unreadable>)> {
    let open = maybe_open(project)?;
    let definitions = Definitions::default();
    let (mut runs, unreadable) = read_runs(project, &open, |run| {
        let (card, _) = read_card(project, run, &definitions)?;
        // After a checkout the store cannot say which runs are open: it names every run, and most are over.
        let is_wanted = if request.all { card.group.is_open() } else { card.group.needs_a_person() };
        Ok(is_wanted.then_some(card))
    })?;
    runs.sort_by_cached_key(|card| (card.group, Reverse((card.run.head.updated_at, card.run.head.run_id.clone()))));
    Ok((runs, unreadable))
}
