//! Power cuts: every state that they can leave, and real ones.

use crate::power::{
    self, Job, crashes_in_crashes, cut_command, cut_every_exec, cut_every_interview_command, cut_every_mode_command,
    cut_every_prune, every_command, real_cuts,
};
use crate::section::{Plan, Row, in_parallel};

/// The draws of the campaign; the rows name it.
const SEED: u64 = 1;

/// States that a power cut may leave, of every command.
pub fn every_state(plan: &Plan) -> Result<Vec<Row>, String> {
    let place = "states after a power cut";
    let name = |(case, _, pieces): &Job| format!("{place}: {}, {pieces}", case.name);
    let mut rows = in_parallel(plan, &every_command(), name, |job| told(place, cut_command(*job, SEED)))?;
    let others: [(&str, fn(u64) -> Vec<power::Row>); 4] = [
        ("modes", cut_every_mode_command),
        ("interviews", cut_every_interview_command),
        ("exec", cut_every_exec),
        ("prune", cut_every_prune),
    ];
    let name = |(what, _): &(&str, _)| format!("{place}: {what}");
    rows.extend(in_parallel(plan, &others, name, |(_, cut)| told(place, cut(SEED)))?);
    Ok(rows)
}

/// Power cuts inside recoveries, and after kills.
pub fn nested(plan: &Plan) -> Result<Vec<Row>, String> {
    let place = "a power cut after a crash";
    let jobs: Vec<_> = crashes_in_crashes().into_iter().enumerate().collect();
    in_parallel(plan, &jobs, |(nth, _)| format!("{place}: {nth}"), |(_, job)| told(place, vec![job(SEED)]))
}

/// File systems that are shut down at the instant of a kill.
pub fn real(plan: &Plan) -> Result<Vec<Row>, String> {
    let place = "real power cuts";
    plan.kept.job(place, || Ok(told(place, real_cuts()?)))
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
