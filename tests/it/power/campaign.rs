//! All of it, for hours: what is too much for every `cargo test`.
#![allow(dead_code, reason = "called by the campaign, which shares this module")]

use super::commands::{ALL, FIRST_START, ONE_RECORD};
use super::enumerate::{Row, enumerate};
use super::model::{Effort, Model};
use super::nested::{crash_in_recovery, cut_after_kill};
use super::real_cut::cut_everywhere;
use super::recorded::{How, Recorded};
use crate::support::mount::FileSystem;

/// Every command, every crash point, every model, with pages and with sectors. `seed` is for the draws; the rows name it.
pub fn every_command(seed: u64) -> Vec<Row> {
    let effort = Effort { drawn: 4000, states: usize::MAX, seed };
    let mut rows = Vec::new();
    for case in ALL {
        for (block, pieces) in [(4096, "pages"), (512, "sectors")] {
            let recorded = Recorded::of(case, How { block, ..How::USUAL });
            rows.extend(enumerate(&format!("{}, {pieces}, seed {seed}", case.name), &recorded, &Model::ALL, &effort));
        }
    }
    rows
}

/// Power cuts in every recovery from a power cut, and after every kill.
pub fn crashes_in_crashes(seed: u64) -> Vec<Row> {
    let every = Effort { drawn: 200, states: usize::MAX, seed };
    let inner = Effort { states: 500, ..every };
    let outer = Effort { states: 300, ..every };
    let cases = [&ONE_RECORD, &FIRST_START];
    let in_recovery = cases.iter().map(|case| crash_in_recovery(case, &outer, &inner));
    in_recovery.chain(cases.iter().map(|case| cut_after_kill(case, usize::MAX, &inner))).collect()
}

/// Power cuts at every call of every command on every file system that this machine can mount.
///
/// # Errors
/// Why it cannot mount one.
pub fn real_cuts() -> Result<Vec<Row>, String> {
    let single = ALL.iter().filter(|case| case.commands.len() == 1);
    let product = single.flat_map(|case| FileSystem::ALL.map(|kind| (case, kind)));
    product.map(|(case, kind)| cut_everywhere(kind, case, usize::MAX, None)).collect()
}
