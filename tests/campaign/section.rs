//! Parts of the campaign. A new one is a line in [`all`].

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde::{Deserialize, Serialize};

use crate::kept::Kept;
use crate::{commands, power_cuts, whole};

/// What is to be tried.
#[derive(Debug)]
pub struct Plan {
    /// Only cells whose "row, column" contains one of these; all when there is none.
    pub only: Vec<String>,
    /// What was tried before.
    pub kept: Kept,
}

impl Plan {
    /// Whether this row and column is to be tried.
    pub fn takes(&self, what: &str, trouble: &str) -> bool {
        let name = format!("{what}, {trouble}");
        self.only.is_empty() || self.only.iter().any(|part| name.contains(part))
    }
}

/// A part of the campaign.
pub struct Section {
    /// Its name on the command line.
    pub name: &'static str,
    /// Tries everything; why not, when it cannot be tried here.
    pub run: fn(&Plan) -> Result<Vec<Row>, String>,
}

/// What came of one row and column of a table in one place.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Row {
    /// Whether it belongs to the table of power cuts.
    pub power: bool,
    /// Where it was tried: a file system.
    pub place: String,
    /// The table's row: a command.
    pub what: String,
    /// The table's column: a trouble.
    pub trouble: String,
    /// How many states were tried.
    pub states: usize,
    /// What went wrong.
    pub violations: Vec<String>,
}

/// All sections, in the order in which they run.
pub fn all() -> Vec<Section> {
    vec![
        Section { name: "inside", run: commands::in_this_process },
        Section { name: "tests", run: whole::all_tests },
        Section { name: "tmpfs", run: commands::on_memory },
        Section { name: "temporary", run: commands::in_the_temporary_directory },
        Section { name: "ext4", run: commands::on_ext4 },
        Section { name: "xfs", run: commands::on_xfs },
        Section { name: "btrfs", run: commands::on_btrfs },
        Section { name: "disk", run: commands::on_small_disks },
        Section { name: "states", run: power_cuts::every_state },
        Section { name: "nested", run: power_cuts::nested },
        Section { name: "cuts", run: power_cuts::real },
    ]
}

/// How many things are tried at once: more than processors, since many states wait.
const THREADS: usize = 4;

/// Tries every job on a few threads, and gives what came of them in the order of the jobs. `name` tells one from all others.
pub fn in_parallel<J: Sync>(
    plan: &Plan,
    jobs: &[J],
    name: impl Fn(&J) -> String + Sync,
    work: impl Fn(&J) -> Vec<Row> + Sync,
) -> Result<Vec<Row>, String> {
    let next = AtomicUsize::new(0);
    let rows = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(at) else { break };
                    let found = plan.kept.job(&name(job), || Ok(work(job)));
                    let found = found.expect("BUG: it can be done here");
                    found.iter().for_each(tell);
                    rows.lock().unwrap().push((at, found));
                }
            });
        }
    });
    let mut rows = rows.into_inner().unwrap();
    rows.sort_by_key(|(at, _)| *at);
    Ok(rows.into_iter().flat_map(|(_, found)| found).collect())
}

fn tell(row: &Row) {
    println!("  {:6} states, {:3} violations: {}, {}", row.states, row.violations.len(), row.what, row.trouble);
    for violation in &row.violations {
        println!("    VIOLATION: {violation}");
    }
}
