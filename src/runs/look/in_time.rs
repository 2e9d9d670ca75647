//! Whether what was seen still holds, as far as that is known in time: a host waits for its hooks, and a person for a page.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::engine::{Attempt, EvidenceState, History};
use crate::model::{MissingProof, Number, RunId};
use crate::runs::context::Context;
use crate::runs::error::Result;
use crate::runs::look::seen::{SeenEvidence, seen_evidence, unproved_now, with_states};
use crate::runs::open::proof::evidence_states;
use crate::runs::open::recap::for_deciding;
use crate::runs::open::view::View;

/// How many looks at files go on at once in this process.
const AT_ONCE: usize = 4;
/// How many go on now.
static LOOKING: AtomicUsize = AtomicUsize::new(0);

/// Commands of a run of which flow saw the end.
#[derive(Debug, Clone)]
pub struct SeenCommands {
    cx: Context,
    run: RunId,
    /// Their records, the oldest first.
    pub(crate) records: Vec<Attempt>,
    /// The latest records of all ids.
    latest: BTreeSet<Number>,
}

impl SeenCommands {
    /// The last ones, the last record of each id.
    pub(in crate::runs) fn last(cx: &Context, run: &RunId, history: &History) -> Self {
        let mut last = Self::new(cx, run, history, history.seen_last());
        last.records.retain(|attempt| last.latest.contains(&attempt.number));
        last
    }

    /// All of them, also those that were done again.
    pub(in crate::runs) fn all(cx: &Context, run: &RunId, history: &History) -> Self {
        Self::new(cx, run, history, history.seen())
    }

    fn new(cx: &Context, run: &RunId, history: &History, records: Vec<&Attempt>) -> Self {
        let latest = history.latest().into_iter().map(|attempt| attempt.number).collect();
        Self { cx: cx.clone(), run: run.clone(), records: records.into_iter().cloned().collect(), latest }
    }

    /// What each of them shows, and whether it still holds, as [`Self::states_within`] says.
    #[must_use]
    pub fn evidence_within(&self, time: Duration) -> Vec<SeenEvidence> {
        let records: Vec<_> = self.records.iter().collect();
        with_states(&records, &self.latest, self.states_within(time))
    }

    /// Whether each of them still holds, by the number of its record. It is unknown if the files cannot be looked at in this
    /// time.
    #[must_use]
    pub fn states_within(&self, time: Duration) -> BTreeMap<Number, EvidenceState> {
        if self.records.is_empty() {
            return BTreeMap::new();
        }
        let (cx, run, records) = (self.cx.clone(), self.run.clone(), self.records.clone());
        let states = within(time, move || states_now(&cx, &run, &records).ok()).flatten();
        states.unwrap_or_else(|| {
            let unknown = EvidenceState::unknown("the files could not be looked at in time");
            self.records.iter().map(|attempt| (attempt.number, unknown.clone())).collect()
        })
    }
}

fn states_now(cx: &Context, run: &RunId, records: &[Attempt]) -> Result<BTreeMap<Number, EvidenceState>> {
    let project = cx.project()?;
    let run = project.runs().open(run)?;
    evidence_states(&project, &*run, &records.iter().collect::<Vec<_>>())
}

/// The last commands of a run of which flow saw the end.
///
/// # Errors
/// Those of reading a run.
pub(crate) fn seen_commands(cx: &Context, run: &RunId) -> Result<SeenCommands> {
    let project = cx.project()?;
    let stored = project.runs().open(run)?;
    let view = for_deciding(&project, &*stored)?;
    Ok(SeenCommands::last(cx, run, &view.history))
}

/// What is missing of what the run of a view still has to show on the files as they are; `None` if nothing of it asks for
/// them, or if they cannot be looked at in this time.
pub(in crate::runs) fn unproved_within(cx: &Context, view: &View, time: Duration) -> Option<Vec<MissingProof>> {
    if !asks_for_files(view) {
        return None;
    }
    let (cx, run) = (cx.clone(), view.history.state().id().clone());
    within(time, move || unproved_of(&cx, &run).ok()).flatten()
}

/// Whether the files decide what the run of a view still has to show.
pub(in crate::runs) fn asks_for_files(view: &View) -> bool {
    let Some(machine) = &view.machine else { return false };
    view.history.still_required(machine).iter().any(|one| one.requirement.fresh)
}

fn unproved_of(cx: &Context, run: &RunId) -> Result<Vec<MissingProof>> {
    let project = cx.project()?;
    let run = project.runs().open(run)?;
    let view = for_deciding(&project, &*run)?;
    let seen = seen_evidence(&project, &*run, &view.history, &view.history.seen_last())?;
    Ok(unproved_now(&project, &view, &seen))
}

/// What `look` finds, if it takes no longer than `time`.
pub(in crate::runs) fn within<T: Send + 'static>(
    time: Duration,
    look: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    // A look that takes too long goes on after its page was given up; without a limit, reloading would pile them up.
    if LOOKING.fetch_add(1, Ordering::SeqCst) >= AT_ONCE {
        LOOKING.fetch_sub(1, Ordering::SeqCst);
        return None;
    }
    let (answer, answered) = mpsc::channel();
    // Not waited for: a checkout may have any number of files.
    thread::spawn(move || {
        let found = look();
        LOOKING.fetch_sub(1, Ordering::SeqCst);
        answer.send(found)
    });
    answered.recv_timeout(time).ok()
}
