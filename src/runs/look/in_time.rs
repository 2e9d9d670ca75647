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
use crate::runs::look::seen::{seen_evidence, unproved_now};
use crate::runs::open::proof::evidence_states;
use crate::runs::open::recap::for_deciding;
use crate::runs::open::view::View;

/// How many looks at files go on at once in this process.
const AT_ONCE: usize = 4;
/// How many go on now.
static LOOKING: AtomicUsize = AtomicUsize::new(0);

/// The last commands of a run of which flow saw the end, the last record of each id.
#[derive(Debug, Clone)]
pub struct SeenCommands {
    cx: Context,
    run: RunId,
    /// Their records, the oldest first.
    pub(crate) last: Vec<Attempt>,
}

impl SeenCommands {
    /// Those among the records of `run`.
    pub(in crate::runs) fn of(cx: &Context, run: &RunId, history: &History) -> Self {
        let latest: BTreeSet<Number> = history.latest().into_iter().map(|attempt| attempt.number).collect();
        let mut last: Vec<Attempt> = history.seen_last().into_iter().cloned().collect();
        last.retain(|attempt| latest.contains(&attempt.number));
        Self { cx: cx.clone(), run: run.clone(), last }
    }

    /// Whether each of them still holds, by the number of its record. It is unknown if the files cannot be looked at in this
    /// time.
    #[must_use]
    pub fn states_within(&self, time: Duration) -> BTreeMap<Number, EvidenceState> {
        if self.last.is_empty() {
            return BTreeMap::new();
        }
        let (cx, run, last) = (self.cx.clone(), self.run.clone(), self.last.clone());
        let states = within(time, move || states_now(&cx, &run, &last).ok()).flatten();
        states.unwrap_or_else(|| {
            let unknown = EvidenceState::unknown("the files could not be looked at in time");
            self.last.iter().map(|attempt| (attempt.number, unknown.clone())).collect()
        })
    }
}

fn states_now(cx: &Context, run: &RunId, last: &[Attempt]) -> Result<BTreeMap<Number, EvidenceState>> {
    let project = cx.project()?;
    let run = project.runs().open(run)?;
    evidence_states(&project, &*run, &last.iter().collect::<Vec<_>>())
}

/// The commands of a run of which flow saw the end.
///
/// # Errors
/// Those of reading a run.
pub(crate) fn seen_commands(cx: &Context, run: &RunId) -> Result<SeenCommands> {
    let project = cx.project()?;
    let stored = project.runs().open(run)?;
    let view = for_deciding(&project, &*stored)?;
    Ok(SeenCommands::of(cx, run, &view.history))
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
