//! The workflow as a state diagram of Mermaid, in which the states have classes that say where the run was and is.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;

use crate::machine::{Machine, mermaid_with_classes};
use crate::model::{StateName, is_terminal_control};
use crate::picture::Tone;
use crate::picture::page::marks;
use crate::picture::svg::Progress;
use crate::runs::RunReport;

/// The classes with their looks, which are readable on light and on dark pages.
const CLASSES: [(&str, &str); 11] = [
    ("done", "fill:#e3f3e8,stroke:#17663a,color:#1c2126"),
    ("failed", "fill:#fbe9e7,stroke:#ad2318,color:#1c2126"),
    ("skipped", "fill:#f5f7f9,stroke:#545d66,color:#545d66,stroke-dasharray:4 3"),
    ("waits", "fill:#fdeee2,stroke:#96380e,color:#1c2126,stroke-width:3px"),
    ("doubt", "fill:#f5e8f9,stroke:#762a8c,color:#1c2126,stroke-width:3px"),
    ("leftBehind", "fill:#fbe9e7,stroke:#ad2318,color:#1c2126,stroke-width:3px"),
    ("failing", "fill:#fbe9e7,stroke:#ad2318,color:#1c2126,stroke-width:3px,stroke-dasharray:8 3"),
    ("damaged", "fill:#fbe9e7,stroke:#ad2318,color:#1c2126,stroke-width:3px,stroke-dasharray:4 3"),
    ("atWork", "fill:#e4effa,stroke:#0a58a6,color:#1c2126,stroke-width:3px"),
    ("doneHere", "fill:#e3f3e8,stroke:#17663a,color:#1c2126,stroke-width:3px"),
    ("ready", "fill:#ffffff,stroke:#1c2126,color:#1c2126,stroke-width:3px"),
];

/// The diagram, with a `classDef` for each class that a state has.
pub(super) fn write(run: &RunReport, machine: &Machine) -> String {
    let mut classes: HashMap<StateName, &str> = HashMap::new();
    for (state, mark) in marks(run).states {
        if let Some(class) = class_of(mark.progress) {
            classes.insert(state, class);
        }
    }
    let mut text = mermaid_with_classes(machine, &classes);
    let used: BTreeSet<&str> = classes.into_values().collect();
    for (class, look) in CLASSES {
        if used.contains(class) {
            let _ = writeln!(text, "    classDef {class} {look}");
        }
    }
    // Descriptions may have marks that change the direction of what follows.
    text.replace(|c| c != '\n' && is_terminal_control(c), " ")
}

fn class_of(progress: Progress) -> Option<&'static str> {
    Some(match progress {
        Progress::Untouched => return None,
        Progress::Done => "done",
        Progress::Failed => "failed",
        Progress::Skipped => "skipped",
        Progress::Here(Tone::Waits) | Progress::HereDone(Tone::Waits) => "waits",
        Progress::Here(Tone::Doubt) | Progress::HereDone(Tone::Doubt) => "doubt",
        Progress::Here(Tone::LeftBehind) | Progress::HereDone(Tone::LeftBehind) => "leftBehind",
        Progress::Here(Tone::Failing) | Progress::HereDone(Tone::Failing) => "failing",
        Progress::Here(Tone::Damaged) | Progress::HereDone(Tone::Damaged) => "damaged",
        Progress::Here(Tone::Work) => "atWork",
        Progress::Here(Tone::Ready) => "ready",
        Progress::HereDone(Tone::Work | Tone::Ready) => "doneHere",
    })
}
