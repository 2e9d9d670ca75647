//! Whether work that was begun without a session still goes on, as far as the processes tell that were noted with it.

use std::collections::BTreeSet;

use crate::engine::{Beginning, History, Lives, UnitWork, in_doubt};
use crate::host::{Holder, Liveness};
use crate::model::{StepStatus, Timestamp};

/// Which of the processes live that began the work of which no outcome is known.
pub(in crate::runs) fn lives(history: &History) -> Lives {
    let life = |process: String| {
        let liveness = process.parse().map_or(Liveness::Unknown, |holder: Holder| holder.liveness());
        match liveness {
            Liveness::Alive => Some((process, true)),
            Liveness::Dead => Some((process, false)),
            Liveness::Unknown => None,
        }
    };
    noted(history).into_iter().filter_map(life).collect()
}

/// The same at an earlier time, when `history` was all that had happened. Whether they lived is not known any more, and the
/// log does not say that they ended.
pub(in crate::runs) fn lives_then(history: &History) -> Lives {
    noted(history).into_iter().map(|process| (process, true)).collect()
}

fn noted(history: &History) -> BTreeSet<String> {
    // Most runs are those of sessions, and what follows looks at the whole history.
    if !history.has_workers() {
        return BTreeSet::new();
    }
    let of_units = running_units(history).flat_map(|(_, beginning)| beginning.by);
    in_doubt(history).into_iter().flat_map(|doubt| doubt.by).chain(of_units).collect()
}

/// A unit of work that was begun.
pub(in crate::runs) enum BegunUnit {
    /// Its outcome is unknown.
    InDoubt(String),
    /// The process that began it still runs.
    GoesOn { unit: String, at: Option<Timestamp> },
}

/// A unit of which no outcome is known; one of which nothing shows that it goes on comes first.
pub(in crate::runs) fn begun_unit(history: &History, lives: &Lives) -> Option<BegunUnit> {
    let units = running_units(history).map(|(unit, beginning)| match lives.of(&beginning.by) {
        Some(true) => BegunUnit::GoesOn { unit, at: beginning.at },
        Some(false) | None => BegunUnit::InDoubt(unit),
    });
    units.min_by_key(|unit| matches!(unit, BegunUnit::GoesOn { .. }))
}

fn running_units(history: &History) -> impl Iterator<Item = (String, Beginning)> {
    let running = history.units().into_iter().filter(|unit| unit.status == StepStatus::Running);
    running.map(|unit| (unit_in_words(&unit), history.began_step(unit.step, unit.unit)))
}

/// A unit, in words.
pub(in crate::runs) fn unit_in_words(unit: &UnitWork<'_>) -> String {
    match unit.unit {
        Some(name) => format!("unit {name} of `{}`", unit.step),
        None => format!("`{}`", unit.step),
    }
}
