//! The processes that were noted when work began without a session, and what their life says.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::model::{Event, EventKind, Number, StateName, StepStatus, Timestamp, Unit};

/// A step, or a unit of it.
type WorkPlace = (StateName, Option<Unit>);

/// The beginning of work: when, and the processes that were noted with it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Beginning {
    pub(crate) at: Option<Timestamp>,
    pub(crate) by: Vec<String>,
}

/// The beginnings of work whose caller had no session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(in crate::engine) struct Workers {
    activities: BTreeMap<Number, Vec<String>>,
    // The names of an object could not be places.
    #[serde(serialize_with = "as_pairs", deserialize_with = "from_pairs")]
    steps: BTreeMap<WorkPlace, Beginning>,
}

fn as_pairs<S: Serializer>(steps: &BTreeMap<WorkPlace, Beginning>, to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(steps)
}

fn from_pairs<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<WorkPlace, Beginning>, D::Error> {
    Ok(Vec::<(WorkPlace, Beginning)>::deserialize(from)?.into_iter().collect())
}

impl Workers {
    pub(in crate::engine) fn note(&mut self, event: &Event) {
        match &event.kind {
            EventKind::ActivityRecorded(record) if !record.by.is_empty() => {
                self.activities.insert(record.number, record.by.clone());
            }
            EventKind::Emitted(emitted) => {
                for report in &emitted.reports {
                    let (Some(step), Some(StepStatus::Running)) = (&report.step, report.status()) else { continue };
                    let place = (step.clone(), report.unit.clone());
                    // A session that began the work again is known otherwise; the earlier processes say nothing of it.
                    if emitted.by.is_empty() {
                        self.steps.remove(&place);
                    } else {
                        self.steps.insert(place, Beginning { at: Some(event.at), by: emitted.by.clone() });
                    }
                }
            }
            _ => {}
        }
    }

    /// Forgets all activities but these.
    pub(in crate::engine) fn keep_activities(&mut self, is_kept: impl Fn(Number) -> bool) {
        self.activities.retain(|number, _| is_kept(*number));
    }

    /// Whether no process was noted.
    pub(in crate::engine) fn is_empty(&self) -> bool {
        self.activities.is_empty() && self.steps.is_empty()
    }

    pub(in crate::engine) fn of_activity(&self, number: Number) -> &[String] {
        self.activities.get(&number).map(Vec::as_slice).unwrap_or_default()
    }

    pub(in crate::engine) fn of_step(&self, step: &StateName, unit: Option<&Unit>) -> Beginning {
        self.steps.get(&(step.clone(), unit.cloned())).cloned().unwrap_or_default()
    }
}

/// Which noted processes live, and which have ended. One that cannot be seen from here is missing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lives {
    noted: BTreeMap<String, bool>,
    /// The processes that go on with work whose flow is gone, by its number and id.
    left: BTreeMap<(Option<Number>, String), u32>,
}

impl FromIterator<(String, bool)> for Lives {
    fn from_iter<T: IntoIterator<Item = (String, bool)>>(lives: T) -> Self {
        Self { noted: lives.into_iter().collect(), left: BTreeMap::new() }
    }
}

impl Lives {
    /// Adds that a process goes on with this work.
    pub(crate) fn note_left(&mut self, number: Option<Number>, id: &str, process: u32) {
        self.left.insert((number, id.to_owned()), process);
    }

    /// The process that goes on with this work.
    pub(in crate::engine) fn left(&self, number: Option<Number>, id: &str) -> Option<u32> {
        self.left.get(&(number, id.to_owned())).copied()
    }

    /// Whether work goes on that was begun by these processes: one of them lives. `None` if that is not known.
    pub(crate) fn of(&self, by: &[String]) -> Option<bool> {
        if by.iter().any(|process| self.noted.get(process) == Some(&true)) {
            return Some(true);
        }
        let have_ended = !by.is_empty() && by.iter().all(|process| self.noted.get(process) == Some(&false));
        have_ended.then_some(false)
    }
}
