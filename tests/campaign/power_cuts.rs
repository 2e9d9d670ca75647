//! Power cuts: every state that they can leave, and real ones.

use crate::power::{
    self, crashes_in_crashes, cut_command, cut_every_exec, cut_every_interview_command, cut_every_mode_command,
    cut_every_prune, every_command, real_cuts,
};
use crate::section::{Plan, Row, in_parallel};

/// The draws of the campaign; the rows name it.
const SEED: u64 = 1;

/// States that a power cut may leave, of every command.
pub fn every_state(_: &Plan) -> Result<Vec<Row>, String> {
    let jobs = every_command();
    let place = "states after a power cut";
    let mut rows = in_parallel(&jobs, |job| told(place, cut_command(*job, SEED)));
    rows.extend(told(place, cut_every_mode_command(SEED)));
    rows.extend(told(place, cut_every_interview_command(SEED)));
    rows.extend(told(place, cut_every_exec(SEED)));
    rows.extend(told(place, cut_every_prune(SEED)));
    Ok(rows)
}

/// Power cuts inside recoveries, and after kills.
pub fn nested(_: &Plan) -> Result<Vec<Row>, String> {
    let jobs = crashes_in_crashes();
    Ok(in_parallel(&jobs, |job| told("a power cut after a crash", vec![job(SEED)])))
}

/// File systems that are shut down at the instant of a kill.
pub fn real(_: &Plan) -> Result<Vec<Row>, String> {
    Ok(told("real power cuts", real_cuts()?))
}

fn told(place: &str, found: Vec<power::Row>) -> Vec<Row> {
    let row = |row: power::Row| {
        let (what, trouble) = row.what.rsplit_once(", ").unwrap_or((&row.what, "power cut"));
        let what = what.replace(&format!(", seed {SEED}"), "");
        // Pages and sectors are how the power is cut, not what it is cut in.
        let (what, trouble) = match what.rsplit_once(", ") {
            Some((what, pieces @ ("pages" | "sectors"))) => (what.to_owned(), format!("{trouble}, {pieces}")),
            _ => (what.clone(), trouble.to_owned()),
        };
        Row { power: true, place: place.to_owned(), what, trouble, states: row.checked, violations: row.violations }
    };
    found.into_iter().map(row).collect()
}
