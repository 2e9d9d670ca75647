//! Whether the log of a run can be trusted, and what a reader is told of that.

use crate::engine::{Damage, Fault, held_by};
use crate::model::{LostRange, RunStatus, Seq};
use crate::runs::context::OpenedProject;
use crate::runs::error::ends_at;
use crate::runs::open::checkout::{committed_beyond, places_of_lost};
use crate::runs::open::view::View;
use crate::store::{StoreError, StoredRun};

/// Why the log of a run cannot be trusted; `None` if it verifies.
pub(in crate::runs) fn damage_of(project: &OpenedProject, run: &dyn StoredRun, view: &View) -> Option<Damage> {
    let is_kept = !places_of_lost(project, run, &view.faults).is_empty();
    worst_damage(view, is_kept)
}

/// Notes in `view` that git has a log of the run that goes on behind this one, if it has.
pub(in crate::runs) fn see_committed(project: &OpenedProject, run: &dyn StoredRun, view: &mut View) {
    let last = view.log.last_seq();
    if let Some(noted) = committed_beyond(project, run, view.noted, last) {
        view.noted = noted;
        view.faults.push(Fault::Rewound { last, noted });
    }
}

/// Why a person has to look at an open run that machines share before it goes on, although its log can be trusted.
pub(in crate::runs) fn apart_from_store(project: &OpenedProject, run: &dyn StoredRun) -> Option<Damage> {
    if let Some(hidden) = run.hides() {
        return Some(Damage::Apart(hidden.to_string()));
    }
    if run.is_lost()
        && let Some(at) = project.runs().shared().address()
    {
        return Some(Damage::Apart(StoreError::Lost { run: run.id().clone(), at }.to_string()));
    }
    Some(Damage::Apart(run.displaced()?.to_string()))
}

/// What a reader should know of a run: first of all that its log cannot be trusted.
pub(in crate::runs) fn notes_of(project: &OpenedProject, run: &dyn StoredRun, view: &View) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(damage) = damage_of(project, run, view) {
        notes.push(format!("the log cannot be trusted: {}", damage.what()));
    }
    notes.extend(view.notes.iter().cloned());
    let state = view.history.state();
    let gates: Vec<_> = held_by(state, view.machine.as_ref()).iter().map(|gate| format!("`{gate}`")).collect();
    if state.status() == RunStatus::Completed && !gates.is_empty() {
        notes.push(format!("the run waits for a person: no one decided in {}", gates.join(", ")));
    }
    notes
}

/// The worst damage to the sealed part of a log. Lines of other programs and a torn tail are not damage. `is_kept`: git
/// has what is missing.
fn worst_damage(view: &View, is_kept: bool) -> Option<Damage> {
    let culprit = match view.log.damaged().next() {
        Some(line) => format!(" (line {}: {})", line.line, line.fault),
        None => String::new(),
    };
    let mut worst: Option<(u8, Damage)> = None;
    for fault in &view.faults {
        let (rank, damage) = match fault {
            Fault::Joined(what) => (0, Damage::Joined(format!("a merge joined two histories of the run: {what}"))),
            Fault::Gap(lost) if is_kept => (
                1,
                Damage::Rewound(format!("{} missing from the log{culprit}, and git has such events", with_verb(lost))),
            ),
            Fault::Gap(lost) => (1, Damage::Lost(format!("{} missing from the log{culprit}", with_verb(lost)))),
            // Events that git has can be brought back, so they are not lost.
            Fault::EndLost(lost) if is_kept => (2, put_back(view.log.last_seq(), view.noted.max(lost.to))),
            Fault::EndLost(lost) => {
                (2, Damage::Lost(format!("{} missing from the end of the log{culprit}", with_verb(lost))))
            }
            Fault::Rewound { last, noted } => (2, put_back(*last, *noted)),
            _ => continue,
        };
        // Of two of the same rank the first one counts.
        match &worst {
            Some((known, _)) if *known <= rank => {}
            _ => worst = Some((rank, damage)),
        }
    }
    Some(worst?.1)
}

fn with_verb(lost: &LostRange) -> String {
    format!("{} {}", lost.in_words(), if lost.from == lost.to { "is" } else { "are" })
}

fn put_back(last: Seq, written: Seq) -> Damage {
    let there = ends_at(last);
    Damage::Rewound(format!(
        "an older version of the run was put back: its log {there}, and event {written} was written"
    ))
}
