//! `wait`: the state of one run, which `wait` asks for again and again.

use crate::runs::context::Context;
use crate::runs::error::Result;
use crate::runs::look::card::{Card, read_card};
use crate::runs::look::outlook::Definitions;
use crate::runs::open::checkout::elsewhere;
use crate::runs::open::name::open_run_exactly;
use crate::store::Presence;

/// What the run `id` needs now, by its whole id.
///
/// # Errors
/// [`crate::runs::Error::NoSuchRun`] and the like when it is gone, and those of a run that cannot be read.
pub fn card_of(cx: &Context, id: &str) -> Result<Card> {
    let project = cx.project()?;
    let run = open_run_exactly(&project, id)?;
    if run.presence() == Presence::Away {
        return Err(elsewhere(&project, &*run));
    }
    Ok(read_card(&project, &*run, &Definitions::default())?.0)
}
