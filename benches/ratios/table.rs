//! The table of ratios.

use std::fmt;
use std::path::Path;
use std::time::Duration;

/// What a ratio is to be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    /// Only told.
    None,
    /// Not more than this.
    AtMost(f64),
}

/// One measurement.
pub struct Row {
    what: String,
    /// The median, or a size.
    shown: String,
    compared: Option<(&'static str, f64, Bound)>,
}

impl Row {
    /// `compared` is to what, how long that took, and what the ratio is to be.
    pub fn new(what: &str, median: Duration, compared: Option<(&'static str, Duration, Bound)>) -> Self {
        let ratio = |(to, other, bound): (_, Duration, _)| (to, median.as_secs_f64() / other.as_secs_f64(), bound);
        let seconds = median.as_secs_f64();
        let shown = if seconds < 10.0 { format!("{:.2} ms", seconds * 1e3) } else { format!("{seconds:.0} s") };
        Self { what: what.to_owned(), shown, compared: compared.map(ratio) }
    }

    /// A size in bytes that has a limit.
    pub fn of_size(what: &str, bytes: f64, (limit, most): (&'static str, f64)) -> Self {
        let shown = format!("{:.2} MB", bytes / 1e6);
        Self { what: what.to_owned(), shown, compared: Some((limit, bytes / most, Bound::AtMost(1.0))) }
    }

    fn is_broken(&self) -> bool {
        matches!(self.compared, Some((_, ratio, Bound::AtMost(most))) if ratio > most)
    }
}

/// All measurements.
#[derive(Default)]
pub struct Table {
    rows: Vec<Row>,
}

const BEGIN: &str = "<!-- begin: cargo bench --bench ratios -- --write -->\n";
const END: &str = "<!-- end -->";

impl Table {
    pub fn push(&mut self, row: Row) {
        self.rows.push(row);
    }

    /// Whether any ratio is above its bound.
    pub fn is_broken(&self) -> bool {
        self.rows.iter().any(Row::is_broken)
    }

    /// Puts the table between the marks of a document.
    pub fn write(&self, path: &Path) {
        let text = std::fs::read_to_string(path).unwrap();
        let begin = text.find(BEGIN).expect("no mark where the table begins") + BEGIN.len();
        let end = begin + text[begin..].find(END).expect("no mark where the table ends");
        let today = chrono::Utc::now().format("%Y-%m-%d");
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let memory = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let kib = memory.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0);
        let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let head = format!("{today}, {cores} cores, {} GiB of memory, Linux {}.\n\n", kib >> 20, kernel.trim());
        std::fs::write(path, format!("{}{head}{self}{}", &text[..begin], &text[end..])).unwrap();
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| what | median | ratio | to | bound |\n|---|---|---|---|---|")?;
        for row in &self.rows {
            let (ratio, to, bound) = match row.compared {
                None => (String::new(), "", String::new()),
                Some((to, ratio, Bound::None)) => (format!("{ratio:.2}"), to, String::new()),
                Some((to, ratio, Bound::AtMost(most))) => {
                    let verdict = if row.is_broken() { ", missed" } else { "" };
                    (format!("{ratio:.2}"), to, format!("≤ {most}{verdict}"))
                }
            };
            writeln!(f, "| {} | {} | {ratio} | {to} | {bound} |", row.what, row.shown)?;
        }
        Ok(())
    }
}
