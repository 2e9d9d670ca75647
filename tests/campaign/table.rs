//! The table of what was tried, for people and for `docs/durability.md`.

use std::fmt::Write as _;
use std::path::Path;

use crate::section::Row;

const BEGIN: &str = "<!-- campaign: begin -->\n";
const END: &str = "<!-- campaign: end -->\n";

/// Commands down, troubles across, and numbers of states over all places; power cuts have a table of their own.
pub fn text(rows: &[Row]) -> String {
    let places = in_order(rows, |row| &row.place);
    let mut text = String::new();
    let states = sum(rows, |_| true);
    let violations: usize = rows.iter().map(|row| row.violations.len()).sum();
    let by_place: Vec<_> =
        places.iter().map(|place| format!("{place} {}", sum(rows, |row| row.place == *place))).collect();
    let _ = writeln!(text, "Last run: {}, Linux {}. States tried: {}.", today(), kernel(), by_place.join(", "));
    let _ = writeln!(text, "**{states} states, {violations} violations.**");
    for power in [false, true] {
        let rows: Vec<_> = rows.iter().filter(|row| row.power == power).cloned().collect();
        if !rows.is_empty() {
            text.push('\n');
            table(&mut text, &rows);
        }
    }
    text
}

fn table(text: &mut String, rows: &[Row]) {
    let whats = in_order(rows, |row| &row.what);
    let troubles = in_order(rows, |row| &row.trouble);
    let _ = writeln!(text, "| command | {} | all |", troubles.join(" | "));
    let _ = writeln!(text, "|---|{}", "---:|".repeat(troubles.len() + 1));
    for what in &whats {
        let cells = troubles.iter().map(|trouble| sum(rows, |row| row.what == *what && row.trouble == *trouble));
        let cells: Vec<_> = cells.map(|states| if states == 0 { "–".to_owned() } else { states.to_string() }).collect();
        let _ = writeln!(text, "| {what} | {} | {} |", cells.join(" | "), sum(rows, |row| row.what == *what));
    }
    let all: Vec<_> = troubles.iter().map(|trouble| sum(rows, |row| row.trouble == *trouble).to_string()).collect();
    let _ = writeln!(text, "| all | {} | {} |", all.join(" | "), sum(rows, |_| true));
}

/// Puts the table between its marks in `docs/durability.md`.
pub fn write(text: &str) -> Result<(), String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/durability.md");
    let page = std::fs::read_to_string(&path).map_err(|error| error.to_string())?;
    let (before, rest) = page.split_once(BEGIN).ok_or("docs/durability.md has no mark where the table begins")?;
    let (_, after) = rest.split_once(END).ok_or("docs/durability.md has no mark where the table ends")?;
    std::fs::write(path, format!("{before}{BEGIN}{text}{END}{after}")).map_err(|error| error.to_string())
}

fn sum(rows: &[Row], of: impl Fn(&Row) -> bool) -> usize {
    rows.iter().filter(|row| of(row)).map(|row| row.states).sum()
}

/// The different names, in the order in which they come up.
fn in_order(rows: &[Row], name: impl Fn(&Row) -> &String) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for row in rows {
        if !names.contains(name(row)) {
            names.push(name(row).clone());
        }
    }
    names
}

fn today() -> String {
    chrono::Utc::now().date_naive().to_string()
}

fn kernel() -> String {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    // The version proper: what distributors append says nothing here.
    release.trim().split('-').next().unwrap_or_default().to_owned()
}
