//! All of it, for hours: what is too much for every `cargo test`.
#![allow(dead_code, reason = "called by the campaign, which shares this module")]

use super::commands::{ALL, Case, FIRST_START, ONE_RECORD};
use super::enumerate::{Row, enumerate};
use super::exec::{EXEC_CASES, cut_exec};
use super::interviews::{INTERVIEW_CASES, cut_interview, cut_interview_after_kill};
use super::model::{Effort, Model};
use super::modes::{MODE_CASES, ModeCase, crash_in_recovery_of_modes, cut_modes, cut_modes_after_kill};
use super::nested::{crash_in_recovery, cut_after_kill};
use super::prune::{PRUNE_CASES, cut_prune, cut_prune_after_kill};
use super::real_cut::cut_everywhere;
use super::recorded::{How, Recorded};
use super::repair::cut_repair_after_kill;
use crate::support::mount::FileSystem;

/// A command, and the bytes that a disk writes wholly or not at all.
pub type Job = (&'static Case, usize, &'static str);

/// Every command, with pages and with sectors.
pub fn every_command() -> Vec<Job> {
    ALL.iter()
        .flat_map(|case| [(4096, "pages"), (512, "sectors")].map(|(block, pieces)| (case, block, pieces)))
        .collect()
}

/// Every crash point and every model of one command. All states of a command that writes a few blocks are tried; one
/// that writes many has millions, of which so many are taken at equal distances. `seed` is for the draws; the rows name it.
pub fn cut_command((case, block, pieces): Job, seed: u64) -> Vec<Row> {
    let effort = Effort { drawn: 1000, states: 3000, seed };
    let recorded = Recorded::of(case, How { block, ..How::USUAL });
    enumerate(&format!("{}, {pieces}, seed {seed}", case.name), &recorded, &Model::ALL, &effort)
}

/// The same of every command that changes modes.
pub fn cut_every_mode_command(seed: u64) -> Vec<Row> {
    let effort = Effort { drawn: 1000, states: 3000, seed };
    MODE_CASES.iter().flat_map(|case| cut_modes(case, &effort, None)).collect()
}

/// The same of every command that replaces the document of an interview.
pub fn cut_every_interview_command(seed: u64) -> Vec<Row> {
    let effort = Effort { drawn: 1000, states: 3000, seed };
    INTERVIEW_CASES.iter().flat_map(|case| cut_interview(case, &effort, None)).collect()
}

/// The same of every way to run a command.
pub fn cut_every_exec(seed: u64) -> Vec<Row> {
    let effort = Effort { drawn: 1000, states: 3000, seed };
    EXEC_CASES.iter().flat_map(|case| cut_exec(case, &effort, None)).collect()
}

/// The same of every way to prune.
pub fn cut_every_prune(seed: u64) -> Vec<Row> {
    let effort = Effort { drawn: 1000, states: 3000, seed };
    PRUNE_CASES.iter().flat_map(|case| cut_prune(case, &effort, None)).collect()
}

/// Power cuts in recoveries from a power cut, and after every kill, for a seed.
pub fn crashes_in_crashes() -> [fn(u64) -> Row; 13] {
    const INNER: Effort = Effort { drawn: 200, states: 200, seed: 0 };
    const OUTER: Effort = Effort { states: 150, ..INNER };
    fn in_recovery(case: &'static Case, seed: u64) -> Row {
        crash_in_recovery(case, &Effort { seed, ..OUTER }, &Effort { seed, ..INNER })
    }
    fn after_kill(case: &'static Case, seed: u64) -> Row {
        cut_after_kill(case, usize::MAX, &Effort { seed, ..INNER })
    }
    fn in_recovery_of_modes(case: &'static ModeCase, seed: u64) -> Row {
        crash_in_recovery_of_modes(case, &Effort { seed, ..OUTER }, &Effort { seed, ..INNER })
    }
    fn modes_after_kill(case: &'static ModeCase, seed: u64) -> Row {
        cut_modes_after_kill(case, usize::MAX, &Effort { seed, ..INNER })
    }
    const HAND_OVER: &ModeCase = &MODE_CASES[1];
    const CANCEL: &ModeCase = &MODE_CASES[3];
    [
        |seed| in_recovery(&ONE_RECORD, seed),
        |seed| in_recovery(&FIRST_START, seed),
        |seed| after_kill(&ONE_RECORD, seed),
        |seed| after_kill(&FIRST_START, seed),
        |seed| in_recovery_of_modes(HAND_OVER, seed),
        |seed| in_recovery_of_modes(CANCEL, seed),
        |seed| modes_after_kill(HAND_OVER, seed),
        |seed| modes_after_kill(CANCEL, seed),
        |seed| cut_interview_after_kill(&INTERVIEW_CASES[0], &Effort { seed, ..INNER }),
        |seed| cut_interview_after_kill(&INTERVIEW_CASES[1], &Effort { seed, ..INNER }),
        |seed| cut_prune_after_kill(&PRUNE_CASES[0], &Effort { seed, ..INNER }),
        |seed| cut_prune_after_kill(&PRUNE_CASES[1], &Effort { seed, ..INNER }),
        |seed| cut_repair_after_kill(&Effort { seed, ..INNER }),
    ]
}

/// Power cuts at every call of every command on every file system that this machine can mount.
///
/// # Errors
/// Why it cannot mount one.
pub fn real_cuts() -> Result<Vec<Row>, String> {
    let single = ALL.iter().filter(|case| case.commands.len() == 1);
    let product = single.flat_map(|case| FileSystem::ALL.map(|kind| (case, kind)));
    product.map(|(case, kind)| Ok(cut_everywhere(kind, case, usize::MAX, &[])?)).collect()
}
