//! What readers need of a run's past, so that they need not read all of a long log.
//!
//! A recap is the fold of a log up to one event, without what no question about the present asks for: of the work that ended
//! well, only the latest of each phase and the last entries of `completed_activities`; of the commands that flow ran, the
//! last ones; of everything else, what is open or decided. That event has the digest of the recap, as it has that of
//! `run.yaml`, and a reader ignores a recap whose digest no event has. The fold of the events behind it gives the history
//! that the whole log gives, as far as [`resume`](crate::engine::resume) and the commands around it ask: a recap of a recap
//! and of the events behind it is the recap of the whole log. What a person or a repair does to the past cannot be told
//! that way: then the whole log is read.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::codec::digest;
use crate::engine::past::history::PlacedReport;
use crate::engine::pinned::pinned_value;
use crate::engine::{Attempt, History, RunState};
use crate::model::{
    APPROVAL, ActivityStatus, Event, EventKind, IdList, Number, ReportType, Seq, StateName, TextDigest, Unit,
};

/// The version of the form in which a recap is kept. Increase it when the form or what it leaves out changes: what another
/// version made is neither read nor compared. Version 1 stood in no digest.
const VERSION: u64 = 12;
/// How many of the last entries of `completed_activities` a recap keeps.
pub const RECENT: usize = 20;

/// The fold of a log up to one event, for questions about the run's present.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recap {
    /// The version of the form in which it is kept.
    v: u64,
    /// The definition that the run follows, if it is not the one of its first event.
    pinned: Option<Value>,
    history: History,
}

impl Recap {
    /// The fold of these events, the first ones of a log. `None` if flow did not start the run, or if a repair of the log is
    /// among them.
    #[must_use]
    pub fn of<'a>(events: impl IntoIterator<Item = &'a Event>) -> Option<Self> {
        let events: Vec<&Event> = events.into_iter().collect();
        for (nth, event) in events.iter().enumerate() {
            match event.kind {
                EventKind::RunStarted(_) | EventKind::RunForked(_) if nth == 0 => {}
                _ if nth == 0 || event.kind.begins_a_run() => return None,
                _ => {}
            }
        }
        let pinned = events.iter().skip(1).rev().find_map(|event| pinned_value(event)).cloned();
        Some(Self { v: VERSION, pinned, history: History::fold(events)? })
    }

    /// Goes on with the next event, after a recap was read; `None` if the event changes the past, of which a recap does not
    /// have everything.
    #[must_use]
    pub fn take(&mut self, event: &Event) -> Option<()> {
        if event.kind.changes_the_past() {
            return None;
        }
        self.pinned = pinned_value(event).cloned().or_else(|| self.pinned.take());
        self.history.take(event);
        Some(())
    }

    /// The position of the last event in it.
    #[must_use]
    pub fn seq(&self) -> Seq {
        self.history.state.run.state.last_seq.unwrap_or_default()
    }

    /// The definition that the run follows, if it is not the one of its first event.
    pub(crate) fn pinned(&self) -> Option<&Value> {
        self.pinned.as_ref()
    }

    /// The text in which it is kept, and whose digest an event has.
    #[must_use]
    pub fn text(&self) -> String {
        let mut kept = self.clone();
        kept.history.condense();
        serde_json::to_string(&kept).unwrap_or_default()
    }

    /// The digest by which an event names a recap with this text.
    #[must_use]
    pub fn digest_of(text: &str) -> TextDigest {
        TextDigest(format!("{VERSION}:{}", digest(text.as_bytes())))
    }

    /// Whether a recap that an event names so was made by this version.
    #[must_use]
    pub fn is_of_this_version(named: &TextDigest) -> bool {
        // Another version's digest is of another text, so comparing it would show damage where there is none.
        matches!(named.0.split_once(':'), Some((version, _)) if version == VERSION.to_string())
    }

    /// Reads a text of [`Self::text`]; `None` if it is none, or of another version.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let recap: Self = serde_json::from_str(text).ok()?;
        if recap.v == VERSION { Some(recap) } else { None }
    }

    /// The history, for a run whose `run.yaml` shows `state`. `None` if that is not the state of this fold.
    #[must_use]
    pub fn history(self, state: RunState) -> Option<History> {
        let mut history = self.history;
        let is_whole = state.run.state.completed_activities.len() == history.completed_count();
        let (folded, shown) = (&mut history.state.run.state, &state.run.state);
        // A recap has only the last entries of the list, so the whole one comes from `run.yaml`.
        folded.completed_activities = shown.completed_activities.clone();
        if !is_whole || *folded != *shown {
            return None;
        }
        history.state = state;
        Some(history)
    }
}

/// What the latest record of a phase is kept for.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Landmark {
    /// It is the latest of all.
    Newest,
    /// A person decided.
    Decision,
    /// Work ended well.
    Done,
    /// A person sent work back.
    Rejection,
}

/// An id, and the phase in which it was recorded.
type IdInPhase<'h> = (Option<&'h StateName>, &'h str);

/// The latest records of each kind, as places in the list of all.
#[derive(Default)]
struct LatestRecords<'h> {
    of_id: BTreeMap<&'h str, usize>,
    tried: BTreeMap<&'h str, usize>,
    in_phase: BTreeMap<IdInPhase<'h>, usize>,
    good: BTreeMap<IdInPhase<'h>, usize>,
    settlers: BTreeMap<IdInPhase<'h>, usize>,
    /// By the names of commands.
    runs: BTreeMap<IdInPhase<'h>, usize>,
    landmarks: BTreeMap<(Option<&'h StateName>, Landmark), usize>,
}

impl<'h> LatestRecords<'h> {
    /// Notes the record at the place `at`, which is later than all that were noted.
    fn note(&mut self, at: usize, attempt: &'h Attempt, counted: &BTreeSet<Number>) {
        let id = attempt.id.as_str();
        let phase = attempt.phase.as_ref();
        self.of_id.insert(id, at);
        self.in_phase.insert((phase, id), at);
        self.landmarks.insert((phase, Landmark::Newest), at);
        // What the phase may require, whatever came after it.
        if let Some(name) = attempt.names() {
            self.runs.insert((phase, name), at);
        }
        if id == APPROVAL {
            self.landmarks.insert((phase, Landmark::Decision), at);
        } else if attempt.status.is_completed() {
            self.landmarks.insert((phase, Landmark::Done), at);
        }
        if attempt.approval.is_some() && attempt.status == ActivityStatus::Failed {
            self.landmarks.insert((phase, Landmark::Rejection), at);
        }
        if attempt.is_good(counted) {
            self.good.insert((phase, id), at);
        }
        if attempt.is_tried() {
            self.tried.insert(id, at);
        }
        for settled in &attempt.settles {
            self.settlers.insert((phase, settled.as_str()), at);
        }
    }

    /// Adds the records without which the kept one at the place `at` would look as if nothing had come after it. Of what came
    /// before it, only that may be asked for which an earlier recap kept: what ended well and still counts, such a recap may
    /// have left out.
    fn add_later(&self, at: usize, attempts: &[Attempt], counted: &BTreeSet<Number>, more: &mut Vec<usize>) {
        let kept = &attempts[at];
        let id = kept.id.as_str();
        let id_in_phase = (kept.phase.as_ref(), id);
        more.extend(self.of_id.get(id));
        more.extend(self.in_phase.get(&id_in_phase));
        if kept.is_good(counted) {
            return;
        }
        more.extend(self.settlers.get(&id_in_phase).filter(|&&settler| settler > at));
        // Whether a person withdrew the work, or only this record of it.
        if kept.status.is_completed() {
            more.extend(self.good.get(&id_in_phase));
        }
        // That it was tried follows from `completed_activities` otherwise. But an older try that is kept must not come to be
        // the latest one.
        if let Some(&last_try) = self.tried.get(id)
            && (kept.is_tried() || !attempts[last_try].is_good(counted))
        {
            more.push(last_try);
        }
    }
}

/// What the latest report is kept for.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum LastReport<'h> {
    /// The status of a step of the workflow.
    Step(&'h StateName),
    /// A question, of a step or of a unit in it.
    Question(&'h StateName, Option<&'h Unit>),
    /// The status of a unit.
    Unit(&'h Unit),
    /// The same, in a step of the workflow.
    StepOfUnit(&'h Unit),
}

impl History {
    /// Leaves out what no question about the present asks for.
    fn condense(&mut self) {
        // `run.yaml` has the list, and it may be long.
        self.state.run.state.completed_activities = IdList::default();
        let counted = self.counted();
        let recent = self.recent();
        self.condense_work(&counted, &recent);
        let forgotten = self.phases.forget_completed(RECENT);
        self.left_out.completed += forgotten.len();
        self.left_out.unrecorded |= forgotten.iter().any(|(_, number)| number.is_none());
        self.left_out.counted.clear();
        let numbers: BTreeSet<Number> = self.attempts.iter().map(|attempt| attempt.number).collect();
        for number in numbers.intersection(&counted) {
            if !recent.contains(number) {
                self.left_out.counted.push(*number);
            }
        }
    }

    /// The numbers of the records to which the last entries of `completed_activities` belong.
    pub(super) fn recent(&self) -> BTreeSet<Number> {
        let last = self.phases.completed.iter().rev().take(RECENT);
        last.filter_map(|(_, number)| *number).collect()
    }

    /// As [`Self::condense`], without its list of what is completed: leaves out records and reports. `counted` are the numbers
    /// of those to which an entry of `completed_activities` belongs, `recent` those of the last ones.
    pub(super) fn condense_work(&mut self, counted: &BTreeSet<Number>, recent: &BTreeSet<Number>) {
        self.condense_reports();
        let kept = self.needed(counted, recent);
        for (at, attempt) in self.attempts.iter().enumerate() {
            // `max_iterations` counts every failure of a phase, also those that are left out.
            if kept.contains(&at) {
                continue;
            }
            if let Some(phase) = &attempt.phase
                && attempt.status == ActivityStatus::Failed
            {
                *self.left_out.failures.entry(phase.clone()).or_default() += 1;
            }
            self.left_out.seen += usize::from(attempt.is_seen());
        }
        keep(&mut self.attempts, &kept);
        // Sums are over all records, so that those of a recap could only mislead.
        self.attempts.iter_mut().for_each(|attempt| attempt.usage = None);
        let numbers: BTreeSet<Number> = self.attempts.iter().map(|attempt| attempt.number).collect();
        self.workers.keep_activities(|number| numbers.contains(&number));
    }

    /// The records that are needed, as places in the list of all. `counted` are the numbers of those to which an entry of
    /// `completed_activities` belongs, `recent` those of the last ones.
    fn needed(&self, counted: &BTreeSet<Number>, recent: &BTreeSet<Number>) -> BTreeSet<usize> {
        let attempts = &self.attempts;
        let mut latest = LatestRecords::default();
        let mut needed = BTreeSet::new();
        for (at, attempt) in attempts.iter().enumerate() {
            latest.note(at, attempt, counted);
            if recent.contains(&attempt.number) {
                needed.insert(at);
            }
        }
        needed.extend(latest.landmarks.values());
        needed.extend(latest.runs.values());
        needed.extend(seen_last(attempts));
        // The last record tells the number before the next one, whatever it is.
        needed.extend(attempts.len().checked_sub(1));
        for &at in latest.in_phase.values() {
            if !attempts[at].is_good(counted) {
                needed.insert(at);
            }
        }
        loop {
            let mut more = Vec::new();
            for &at in &needed {
                latest.add_later(at, attempts, counted, &mut more);
            }
            let before = needed.len();
            needed.extend(more);
            if needed.len() == before {
                return needed;
            }
        }
    }

    /// The records of commands of which readers of the run's present say whether what was seen still holds: the last ones of
    /// each name in each phase, and of the ids that were seen last. So their number does not grow with the run.
    #[must_use]
    pub fn seen_last(&self) -> Vec<&Attempt> {
        seen_last(&self.attempts).into_iter().map(|at| &self.attempts[at]).collect()
    }

    /// How many commands flow saw end beside [`Self::seen_last`], whose number does not grow with the run.
    #[must_use]
    pub fn seen_before(&self) -> usize {
        self.left_out.seen + self.seen().len() - seen_last(&self.attempts).len()
    }

    fn condense_reports(&mut self) {
        let (mut first_step, mut first_from) = (None, BTreeMap::new());
        let (mut last, mut agents) = (BTreeMap::new(), BTreeMap::new());
        let mut place = None;
        // The place of a unit's work is the step that was reported last before it.
        let mut places = BTreeMap::new();
        for (at, PlacedReport { report, step_at, .. }) in self.placed_reports().enumerate() {
            place = step_at;
            let unit = report.unit.as_ref();
            if let Some((step, _)) = report.own_step() {
                first_step.get_or_insert(at);
                last.insert(LastReport::Step(step), at);
            }
            let Some(step) = &report.step else { continue };
            if report.from.is_some() {
                first_from.entry(step).or_insert(at);
            }
            if report.kind() == Some(ReportType::WaitingForUser) {
                last.insert(LastReport::Question(step, unit), at);
            }
            if report.status().is_none() {
                continue;
            }
            if let Some(unit) = unit {
                last.insert(LastReport::Unit(unit), at);
                if step.agent().is_none() {
                    last.insert(LastReport::StepOfUnit(unit), at);
                }
                places.insert((Some(unit), None), place);
            } else if let Some(agent) = step.agent() {
                agents.insert(agent, at);
                places.insert((None, Some(agent)), place);
            }
        }
        let mut kept = BTreeSet::from_iter(first_step);
        kept.extend(first_from.into_values());
        kept.extend(last.into_values());
        kept.extend(agents.into_values());
        kept.extend(places.into_values().flatten().chain(place).chain(self.reports.len().checked_sub(1)));
        keep(&mut self.reports, &kept);
    }
}

impl Attempt {
    /// Whether it ended well, and an entry of `completed_activities` belongs to it.
    fn is_good(&self, counted: &BTreeSet<Number>) -> bool {
        self.status.is_completed() && counted.contains(&self.number)
    }
}

/// The places of the records of [`History::seen_last`]. A record that is none of them does not become one later: an id or a
/// name only comes back with a new record. So a recap of a recap has the same.
fn seen_last(attempts: &[Attempt]) -> BTreeSet<usize> {
    let (mut of_id, mut of_name) = (BTreeMap::new(), BTreeMap::new());
    for (at, attempt) in attempts.iter().enumerate() {
        if !attempt.is_seen() {
            continue;
        }
        of_id.insert(attempt.id.as_str(), at);
        if let Some(name) = attempt.names() {
            of_name.insert((attempt.phase.as_ref(), name), at);
        }
    }
    let by_age = BTreeSet::from_iter(of_id.into_values());
    let mut places: BTreeSet<usize> = by_age.into_iter().rev().take(RECENT).collect();
    places.extend(of_name.into_values());
    places
}

/// Keeps what is at these places.
fn keep<T>(all: &mut Vec<T>, places: &BTreeSet<usize>) {
    let mut at = 0;
    all.retain(|_| {
        at += 1;
        places.contains(&(at - 1))
    });
}
