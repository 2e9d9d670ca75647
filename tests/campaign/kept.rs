//! What earlier campaigns with the very same program found, so that one that was interrupted can go on.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;

use flowrun::codec::digest;
use serde::{Deserialize, Serialize};

use crate::section::Row;

/// The results of one build of the program.
#[derive(Debug)]
pub struct Kept {
    /// A line for each job, as soon as it was done.
    file: File,
    /// Those that are not done again, by their names.
    found: BTreeMap<String, Vec<Row>>,
}

/// A line of the file.
#[derive(Serialize, Deserialize)]
struct Line {
    job: String,
    rows: Vec<Row>,
}

impl Kept {
    /// Those of the program that is tried now. With `go_on` a job is not done again, unless a promise was broken in it.
    pub fn of_this_program(go_on: bool) -> Self {
        let program = std::fs::read(env!("CARGO_BIN_EXE_flow")).unwrap();
        let name = format!("campaign-{}.jsonl", digest(&program));
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let mut found = BTreeMap::new();
        let text = if go_on { std::fs::read_to_string(&path).unwrap_or_default() } else { String::new() };
        for line in text.lines() {
            // The last line of a campaign that was killed may be cut off.
            let Ok(Line { job, rows }) = serde_json::from_str(line) else { continue };
            if rows.iter().all(|row| row.violations.is_empty()) {
                found.insert(job, rows);
            } else {
                found.remove(&job);
            }
        }
        Self { file: OpenOptions::new().create(true).append(true).open(path).unwrap(), found }
    }

    /// What came of a job, which is done if it was not done before.
    ///
    /// # Errors
    /// Why it cannot be done here.
    pub fn job(&self, name: &str, work: impl FnOnce() -> Result<Vec<Row>, String>) -> Result<Vec<Row>, String> {
        if let Some(rows) = self.found.get(name) {
            return Ok(rows.clone());
        }
        let rows = work()?;
        let line = Line { job: name.to_owned(), rows };
        (&self.file).write_all((serde_json::to_string(&line).unwrap() + "\n").as_bytes()).unwrap();
        Ok(line.rows)
    }
}
