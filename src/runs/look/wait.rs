//! What runs need now that are named: one, which `wait` asks for again and again, or those of a list.

use crate::model::RunId;
use crate::runs::context::Context;
use crate::runs::error::Result;
use crate::runs::look::card::{Card, read_card};
use crate::runs::look::outlook::Definitions;
use crate::runs::open::checkout::{elsewhere, may_be_elsewhere};
use crate::runs::open::name::open_run_exactly;
use crate::runs::open::recap::for_deciding;
use crate::runs::open::worktrees::OtherWorktree;
use crate::runs::write::begun::has_command_at_work;

/// What the run `id` needs now, by its whole id.
///
/// # Errors
/// [`crate::runs::Error::NoSuchRun`] and the like when it is gone, and those of a run that cannot be read.
pub fn card_of(cx: &Context, id: &str) -> Result<Card> {
    let project = cx.project()?;
    let run = open_run_exactly(&project, id)?;
    if may_be_elsewhere(&project, &*run) {
        return Err(elsewhere(&project, &*run));
    }
    Ok(read_card(&project, &*run, &Definitions::default())?.0)
}

/// Whether a command that flow runs is at work in the run `id`.
///
/// # Errors
/// As [`card_of`].
pub fn runs_command(cx: &Context, id: &str) -> Result<bool> {
    let project = cx.project()?;
    let view = for_deciding(&project, &*open_run_exactly(&project, id)?)?;
    Ok(has_command_at_work(&project, &view.history))
}

/// How many runs of another worktree are looked at: that takes longer than to read their files.
pub(in crate::runs) const LOOKED_AT: usize = 100;

/// What the named runs of other worktrees need now, one list for each worktree. Of very many, the first ones are looked at.
#[must_use]
pub fn cards_in_worktrees(cx: &Context, worktrees: &[OtherWorktree]) -> Vec<Vec<Card>> {
    let mut all = Vec::new();
    for worktree in worktrees {
        let there = cx.in_project(&worktree.path).locally();
        let named = worktree.runs.iter().take(LOOKED_AT).map(|run| &run.head.run_id);
        // What cannot be read there is reported with the worktree.
        all.push(cards_of(&there, named).unwrap_or_default());
    }
    all
}

/// What these runs need now; those that are gone or cannot be read are left out.
///
/// # Errors
/// Those of reading the project.
pub fn cards_of<'r>(cx: &Context, ids: impl Iterator<Item = &'r RunId>) -> Result<Vec<Card>> {
    let Some(project) = cx.project_if_any()? else { return Ok(Vec::new()) };
    let definitions = Definitions::default();
    let mut cards = Vec::new();
    for id in ids {
        if let Ok(run) = open_run_exactly(&project, id.as_str())
            && !may_be_elsewhere(&project, &*run)
            && let Ok((card, _)) = read_card(&project, &*run, &definitions)
        {
            cards.push(card);
        }
    }
    Ok(cards)
}
