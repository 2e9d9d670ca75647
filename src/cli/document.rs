//! A page of the documentation in the columns and characters that a terminal has.

use std::mem::take;

use crate::cli::page::in_lines;
use crate::runs::{columns, wants_ascii};

/// The widest line, as of the pages themselves.
const WIDEST: usize = 120;

/// The page as a terminal shows it: as it is written where nothing says how many columns there are.
pub(super) fn shown(page: &str) -> String {
    let page = match columns() {
        Some(room) => in_columns(page, room.min(WIDEST)),
        None => page.to_owned(),
    };
    // Two characters stand for it, so this is not among the signs that one of ASCII takes the place of.
    if wants_ascii() { page.replace('≤', "<=") } else { page }
}

/// The page with paragraphs and tables in so many columns. Commands and what they print stay as they are.
fn in_columns(page: &str, room: usize) -> String {
    let (mut shown, mut paragraph, mut table) = (String::new(), String::new(), Vec::new());
    let mut is_code = false;
    for line in page.lines() {
        let is_fence = line.starts_with("```");
        is_code ^= is_fence;
        let is_row = !is_code && line.starts_with('|');
        let stays = is_code || is_fence || line.is_empty() || line.starts_with(['#', '<']) || line.starts_with("    ");
        if stays || is_row || line.trim_start().starts_with("- ") {
            add(&mut shown, &take(&mut paragraph), room);
        }
        if is_row {
            table.push(line);
            continue;
        }
        shown += &rows(&take(&mut table), room);
        if stays {
            shown += &format!("{line}\n");
        } else if paragraph.is_empty() {
            line.clone_into(&mut paragraph);
        } else {
            paragraph += " ";
            paragraph += line.trim_start();
        }
    }
    add(&mut shown, &paragraph, room);
    shown += &rows(&table, room);
    shown
}

/// Adds a paragraph, which may be an item of a list.
fn add(shown: &mut String, paragraph: &str, room: usize) {
    if paragraph.is_empty() {
        return;
    }
    let text = paragraph.trim_start();
    let before = paragraph.len() - text.len();
    let indent = if text.starts_with("- ") { before + 2 } else { before };
    *shown += &format!("{:before$}{}\n", "", in_lines(text, room, indent));
}

/// A table; where one of its rows has no room, the cells of each row stand below each other.
fn rows(table: &[&str], room: usize) -> String {
    let is_wide = table.iter().any(|line| line.chars().count() > room);
    let mut shown = String::new();
    for line in table {
        if !is_wide {
            shown += &format!("{line}\n");
            continue;
        }
        if line.starts_with("|-") {
            continue;
        }
        for (at, cell) in line.trim_matches('|').split(" | ").map(str::trim).enumerate() {
            let indent = if at == 0 { 0 } else { 2 };
            shown += &format!("{:indent$}{}\n", "", in_lines(cell, room, indent));
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_and_tables_have_the_columns_and_commands_stay_whole() {
        let page = "# A page\n\nOne sentence that goes\non here.\n\n- an item of some\n  length\n- two\n\n| word | meaning |\n\
                    |---|---|\n| run | one piece of work |\n\n```sh\nflow start start-issue --issue 42\n```\n";
        assert_eq!(
            in_columns(page, 20),
            "# A page\n\nOne sentence that\ngoes on here.\n\n- an item of some\n  length\n- two\n\nword\n  meaning\n\
             run\n  one piece of work\n\n```sh\nflow start start-issue --issue 42\n```\n"
        );
    }
}
