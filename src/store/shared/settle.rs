//! Puts lines at the carrier, and finds out whether they are in the log.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use crate::store::error::{Result, StoreError};
use crate::store::pause::pause_after;
use crate::store::shared::carrier::{Carrier, LinesBehind, NoAnswer, Put, PutAnswer};

/// Who has the position.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PositionOwner {
    /// This commit.
    Ours,
    /// Another one.
    Theirs(LinesBehind),
}

/// Puts the lines of a commit, and returns when it is known who has the position. The same record that an earlier process put
/// there has other lines, so it is another commit: the next decision finds it.
///
/// # Errors
/// [`StoreError::Unreached`], [`StoreError::Refused`], [`StoreError::WorkTaken`] and [`StoreError::Damaged`]: nothing was written.
/// [`StoreError::Unconfirmed`] when the time is up before it is known. [`StoreError::Lost`] when the run is gone.
pub(super) fn settle(carrier: &dyn Carrier, put: &Put<'_>, deadline: Instant) -> Result<PositionOwner> {
    let mut tries = 0;
    // Whether an earlier try may have written the lines, or may still do so.
    let mut is_in_doubt = false;
    let mut why = String::new();
    loop {
        let answer = carrier.put(put, left_until(deadline));
        let said = match &answer {
            PutAnswer::Done => return Ok(PositionOwner::Ours),
            PutAnswer::WorkTaken { run, about } if !is_in_doubt => {
                return Err(StoreError::WorkTaken { run: run.clone(), about: about.clone() });
            }
            PutAnswer::Not(why) if !is_in_doubt => return Err(why.clone().at(carrier.address())),
            PutAnswer::Taken | PutAnswer::WorkTaken { .. } => "another commit may have its place".to_owned(),
            PutAnswer::Unknown(why) => {
                is_in_doubt = true;
                why.clone()
            }
            PutAnswer::Not(why) => why.why().to_owned(),
        };
        // Who had no time to ask learns nothing new.
        if why.is_empty() || !left_until(deadline).is_zero() {
            why = said;
        }
        // Not before this is known may anything else be put there.
        match carrier.lines_behind(put.run, put.before, left_until(deadline)) {
            Ok(Some(behind)) if !behind.lines.is_empty() => {
                let is_ours = behind.lines.starts_with(put.lines);
                if is_ours && !is_in_doubt {
                    // An earlier process put them there, and may have died before it said so.
                    let _ = carrier.list_again(put.run, put.lines, put.is_over, left_until(deadline));
                }
                return Ok(if is_ours { PositionOwner::Ours } else { PositionOwner::Theirs(behind) });
            }
            // The position is free.
            Ok(found) => match answer {
                PutAnswer::WorkTaken { run, about } => return Err(StoreError::WorkTaken { run, about }),
                PutAnswer::Taken if found.is_none() && put.before.0 > 0 => {
                    return Err(StoreError::Lost { run: put.run.clone(), at: carrier.address() });
                }
                _ => {}
            },
            Err(damaged @ NoAnswer::Damaged { .. }) if !is_in_doubt => return Err(damaged.at(carrier.address())),
            Err(error) if !left_until(deadline).is_zero() => error.why().clone_into(&mut why),
            Err(_) => {}
        }
        tries += 1;
        thread::sleep(pause_after(tries).min(left_until(deadline)));
        // Another try would be over before it begins, and say nothing but that.
        if left_until(deadline).is_zero() {
            let at = carrier.address().of_run(put.run);
            return Err(StoreError::Unconfirmed { at, source: io::Error::other(why) });
        }
    }
}

/// How long it is until `deadline`.
pub(crate) fn left_until(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}
