//! Draws a machine with characters.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use crate::machine::{Machine, Transition};
use crate::model::StateName;

/// Draws `machine` from top to bottom: each state, and below it the transition to the state that is drawn next. Other
/// transitions are drawn at its side, with an arrow that shows whether they lead up or down.
#[must_use]
pub fn picture(machine: &Machine) -> String {
    let order = order(machine);
    let rows: HashMap<_, _> = order.iter().copied().zip(0..).collect();
    let mut text = String::new();
    for (row, name) in order.iter().enumerate() {
        if machine.initial().contains(name) {
            text.push_str(if row == 0 { "  ●\n  ▼\n" } else { "  ● begins here as well\n  ▼\n" });
        }
        let below = order.get(row + 1).copied();
        let state = machine.state(name);
        let label = state.and_then(|state| state.label.as_deref().or(state.description.as_deref()));
        let label = label.map(|label| format!("   {}", in_one_line(label))).unwrap_or_default();
        let gate = if machine.gates().contains(name) { "   (a person lets it go on)" } else { "" };
        let required: Vec<_> = machine.requires_of(name).map(|one| one.exec.as_str()).collect();
        let required = match required.as_slice() {
            [] => String::new(),
            required => format!("   (not left before {} was seen to pass)", required.join(", ")),
        };
        let _ = writeln!(text, "  {name}{gate}{required}{label}");
        let (down, beside): (Vec<&Transition>, Vec<_>) =
            machine.successors(name).partition(|one| Some(&one.to) == below);
        for one in beside {
            let arrow = if rows.get(&one.to) <= Some(&row) { "↑" } else { "↓" };
            let label = one.label.as_ref().map(|label| format!("  ({})", in_one_line(label))).unwrap_or_default();
            let _ = writeln!(text, "  ├─▶ {} {arrow}{label}", one.to);
        }
        if machine.is_terminal(name) {
            text.push_str(if down.is_empty() { "  ◉\n" } else { "  ├─▶ ◉\n" });
        }
        for one in &down {
            match &one.label {
                Some(label) => drop(writeln!(text, "  │ {}", in_one_line(label))),
                None => text.push_str("  │\n"),
            }
        }
        if down.is_empty() {
            text.push('\n');
        } else {
            text.push_str("  ▼\n");
        }
    }
    text.trim_end().to_owned() + "\n"
}

/// Puts a text on one line, because a line break would break the picture.
fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The order in which to draw the states: from the initial ones along the first transition that is not drawn yet.
/// States that no run can reach come last.
fn order(machine: &Machine) -> Vec<&StateName> {
    let mut seen = HashSet::new();
    let mut order = Vec::new();
    let begins = machine.initial().iter().chain(machine.states().iter().map(|state| &state.name));
    for begin in begins {
        // Transitions to the side are followed after the states below.
        let mut open = vec![begin];
        while let Some(name) = open.pop() {
            if seen.insert(name) {
                order.push(name);
                let next: Vec<_> = machine.successors(name).map(|one| &one.to).collect();
                open.extend(next.into_iter().rev());
            }
        }
    }
    order
}
