//! The phases that a run has been in, as its events move it, and the records that count.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::engine::Attempt;
use crate::engine::past::demands::{Demand, Demands, DroppedRequirement, demands_of};
use crate::engine::pinned::pinned_value;
use crate::model::{ActivityRecorded, Emitted, Event, EventKind, IdList, Number, OwnedState, Seq, Skip, StateName};

/// A phase that was left, or completed with its run, although its work was not done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedPhase {
    /// The phase that was left.
    pub phase: StateName,
    /// Why.
    pub reason: String,
    /// The position of the event that skipped it.
    pub seq: Seq,
    /// The command that the phase requires and that was not seen to pass, if the reason is only about that.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub exec: Option<String>,
    /// What passed over it.
    #[serde(skip_serializing_if = "SkippedBy::is_leaving", default)]
    pub(in crate::engine) by: SkippedBy,
    /// The number of the latest record at that time.
    pub(in crate::engine) after: Number,
}

impl SkippedPhase {
    /// Whether the run was completed without it and has gone on since, so that it is to be done after all.
    #[must_use]
    pub fn is_taken_back(&self) -> bool {
        self.by == SkippedBy::EndTakenBack
    }
}

/// What passed over a phase.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::engine) enum SkippedBy {
    /// The run left it.
    #[default]
    Leaving,
    /// The run was completed.
    End,
    /// The run was completed and has gone on since, so that the work is to be done after all.
    EndTakenBack,
}

impl SkippedBy {
    fn is_leaving(&self) -> bool {
        *self == Self::Leaving
    }
}

/// The run's latest stay in a phase. Its records are identified by their numbers, which only rise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::engine) struct LatestStay {
    /// The number of the latest record before the stay.
    pub(in crate::engine) entered: Number,
    /// The number of the latest record when the run left; `None` while it stays.
    pub(in crate::engine) left: Option<Number>,
    /// Whether the stay began before the log.
    pub(in crate::engine) older: bool,
    /// Whether the run has since gone back to an earlier phase.
    pub(in crate::engine) overtaken: bool,
    /// Whether an edit or a loss took the run out of it, so that no rule was asked.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub(in crate::engine) left_unasked: bool,
}

impl LatestStay {
    /// A stay that begins after the record `entered`.
    fn after(entered: Number) -> Self {
        Self { entered, left: None, older: false, overtaken: false, left_unasked: false }
    }
}

/// How the run left a phase.
#[derive(Debug, Clone, Copy)]
struct Departure {
    /// The number of the latest record.
    latest: Number,
    /// As in [`LatestStay::left_unasked`].
    unasked: bool,
}

/// The phases that the run has been in, and the records that count.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(in crate::engine) struct Phases {
    pub(in crate::engine) here: Vec<StateName>,
    /// The phases that led to the current one, without earlier rounds.
    pub(in crate::engine) path: Vec<StateName>,
    pub(in crate::engine) stays: BTreeMap<StateName, LatestStay>,
    /// The entries of `completed_activities` with the number of their record; `None` for an entry that a person wrote.
    pub(in crate::engine) completed: Vec<(String, Option<Number>)>,
    pub(in crate::engine) skips: Vec<SkippedPhase>,
    /// What the definition that the run follows demands of commands.
    #[serde(skip_serializing_if = "BTreeSet::is_empty", default)]
    demands: Demands,
    /// What an adopted definition demands no longer, and the run had not shown when it left the phase.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub(in crate::engine) dropped: Vec<DroppedRequirement>,
}

impl Phases {
    /// Follows the run to where it is after `event`. `before` and `after` are the numbers of the latest records before
    /// and after the event; `attempts` are all records.
    pub(in crate::engine) fn note(
        &mut self,
        event: &Event,
        state: &OwnedState,
        before: Number,
        after: Number,
        attempts: &[Attempt],
    ) {
        match &event.kind {
            EventKind::RunStarted(_) | EventKind::RunAdopted(_) | EventKind::LogRepaired(_) => {
                self.completed = aligned(&[], &state.completed_activities, attempts);
            }
            EventKind::RunEdited(_) | EventKind::RunForked(_) => self.edit(state, attempts),
            _ => {}
        }
        if let Some(machine) = pinned_value(event) {
            self.ask(machine, event.seq);
        }
        for record in event.kind.records() {
            if record.activity.status().is_completed() {
                self.completed.push((record.id().to_string(), Some(record.number)));
            }
        }
        // A phase that begins again although the run may be in it already.
        let mut entered_again = None;
        match &event.kind {
            EventKind::Emitted(emitted) => self.go_through(emitted, state, before, after),
            EventKind::ActivityRecorded(record) => entered_again = self.pass_through(record, state, before),
            EventKind::RunEdited(edit) => entered_again = edit.changes.current_phase.value().cloned(),
            _ => {}
        }
        let stay = LatestStay {
            older: matches!(event.kind, EventKind::RunAdopted(_) | EventKind::LogRepaired(_)),
            ..LatestStay::after(match event.kind {
                // The activity that a report records for its step belongs to this stay.
                EventKind::Emitted(_) => before,
                // When the run came here was lost with the beginning of the log. What was recorded here last belongs to it.
                EventKind::LogRepaired(_) if self.here.is_empty() => last_elsewhere(state, attempts),
                _ => after,
            })
        };
        let left = Departure { latest: after, unasked: is_unasked(&event.kind) };
        self.arrive(state, entered_again.as_ref(), left, stay);
        if !state.status.is_terminal() {
            self.take_back_end();
        }
        if let Some((by, skip)) = skip_of(&event.kind) {
            self.note_skip(skip, by, event.seq, after);
        }
    }

    /// Notes for which phases, and for which commands that they require, the reason of `skip` is.
    fn note_skip(&mut self, skip: &Skip, by: SkippedBy, seq: Seq, after: Number) {
        let reason = &skip.reason;
        for phase in &skip.phases {
            self.skips.push(SkippedPhase { phase: phase.clone(), reason: reason.clone(), seq, exec: None, by, after });
        }
        for one in &skip.unproved {
            let (phase, exec) = (one.phase.clone(), Some(one.exec.clone()));
            self.skips.push(SkippedPhase { phase, reason: reason.clone(), seq, exec, by, after });
        }
    }

    /// Follows the run to a definition, which demands what it says from here on.
    fn ask(&mut self, machine: &Value, seq: Seq) {
        let now = demands_of(machine);
        self.dropped.retain(|one| !now.contains(&(one.phase.clone(), one.exec.clone(), one.demand)));
        for one in std::mem::replace(&mut self.demands, now) {
            if self.demands.contains(&one) {
                continue;
            }
            let (phase, exec, demand) = one;
            // What the run left by the rules it had shown, or has a reason for.
            let stay = self.stays.get(&phase);
            let is_settled = stay.is_some_and(|stay| stay.left.is_some() && !stay.left_unasked && !stay.overtaken);
            // Without the command nothing else is demanded of it.
            let is_gone =
                self.dropped.iter().any(|one| (&one.phase, &one.exec, one.demand) == (&phase, &exec, Demand::Pass));
            if !is_settled && !is_gone {
                self.dropped.push(DroppedRequirement { phase, exec, seq, demand });
            }
        }
    }

    /// Enters the phase of a record if the run was not in it. Returns the phase that the run enters again after the
    /// record.
    fn pass_through(&mut self, record: &ActivityRecorded, state: &OwnedState, before: Number) -> Option<StateName> {
        // A late record does not move the run.
        if record.late {
            return None;
        }
        let phase = &record.phase;
        let to = record.advanced_to.clone();
        if self.here.contains(phase) {
            // Advancing to a parallel branch in which the run is already does not begin another stay there.
            return to.filter(|to| to == phase || !self.here.contains(to));
        }
        self.enter(phase, LatestStay::after(before), state);
        self.here.push(phase.clone());
        to
    }

    /// Enters the phases that the run entered and left within one batch of reports.
    fn go_through(&mut self, emitted: &Emitted, state: &OwnedState, before: Number, after: Number) {
        for report in &emitted.reports {
            // A step that flow completes because another one began is not entered by that.
            if report.auto {
                continue;
            }
            let Some((step, _)) = report.own_step() else { continue };
            // A report on a step that the run is in, or that it left earlier, has no `from`.
            let enters = report.from.is_some() || self.here.is_empty();
            if !enters || self.here.contains(step) {
                continue;
            }
            if let Some(from) = report.from.as_ref().filter(|from| self.here.contains(from)) {
                self.here.retain(|here| here != from);
                self.leave(from, Departure { latest: after, unasked: false });
            }
            self.enter(step, LatestStay::after(before), state);
            self.here.push(step.clone());
        }
    }

    /// Leaves and enters phases to match `state`. Enters `again` even if the run is in it.
    fn arrive(&mut self, state: &OwnedState, again: Option<&StateName>, left: Departure, stay: LatestStay) {
        let now: Vec<_> = state.positions().cloned().collect();
        let before = std::mem::take(&mut self.here);
        for phase in &before {
            if !now.contains(phase) {
                self.leave(phase, left);
            }
        }
        for phase in &now {
            if again == Some(phase) || !before.contains(phase) {
                self.enter(phase, stay, state);
            }
        }
        self.here = now;
    }

    fn leave(&mut self, phase: &StateName, left: Departure) {
        if let Some(stay) = self.stays.get_mut(phase) {
            (stay.left, stay.left_unasked) = (Some(left.latest), left.unasked);
        }
    }

    fn enter(&mut self, phase: &StateName, stay: LatestStay, state: &OwnedState) {
        if let Some(at) = self.path.iter().position(|passed| passed == phase) {
            // The run starts another round: the phases after the first visit have to be done again, except for parallel
            // branches in which the run still is.
            for passed in self.path.split_off(at) {
                if passed == *phase {
                    continue;
                }
                if state.is_in(&passed) {
                    self.path.push(passed);
                } else if let Some(stay) = self.stays.get_mut(&passed) {
                    stay.overtaken = true;
                }
            }
        }
        self.path.push(phase.clone());
        self.stays.insert(phase.clone(), stay);
    }

    /// Notes that the run goes on although it was completed: what its end passed over is to be done.
    pub(in crate::engine) fn take_back_end(&mut self) {
        for skip in &mut self.skips {
            if skip.by == SkippedBy::End {
                skip.by = SkippedBy::EndTakenBack;
            }
        }
    }

    /// The latest reason for which `phase` was passed over, or `exec` of it, unless the run came back since.
    pub(in crate::engine) fn standing_skip(&self, phase: &StateName, exec: Option<&str>) -> Option<&SkippedPhase> {
        let skip = self.skips.iter().rfind(|skip| skip.phase == *phase && skip.exec.as_deref() == exec)?;
        let since = self.stays.get(phase).map_or(Number(0), |stay| stay.entered);
        let counts = skip.after >= since && !skip.is_taken_back();
        counts.then_some(skip)
    }

    /// Follows a person's edit of the state: removed entries of `completed_activities` no longer count.
    pub(in crate::engine) fn edit(&mut self, state: &OwnedState, attempts: &[Attempt]) {
        let same = self.completed.iter().map(|(id, _)| id.as_str()).eq(state.completed_activities.iter());
        if !same {
            self.completed = aligned(&self.completed, &state.completed_activities, attempts);
        }
    }

    /// As [`Self::edit`], for a document that is not in the log yet.
    pub(in crate::engine) fn show(&mut self, state: &OwnedState, latest: Number, attempts: &[Attempt]) {
        self.edit(state, attempts);
        if !state.status.is_terminal() {
            self.take_back_end();
        }
        // A phase that a person set begins another stay, even if the run was there in a parallel branch.
        let moved = self.here.first() != state.current_phase.as_ref();
        let again = if moved { state.current_phase.as_ref() } else { None };
        self.arrive(state, again, Departure { latest, unasked: true }, LatestStay::after(latest));
    }

    /// Takes over records that another program made before the log began.
    pub(in crate::engine) fn add_earlier(&mut self, state: &OwnedState, attempts: &[Attempt]) {
        self.completed = aligned(&[], &state.completed_activities, attempts);
    }

    /// Forgets all entries of `completed_activities` but the last `most`, and returns them.
    pub(in crate::engine) fn forget_completed(&mut self, most: usize) -> Vec<(String, Option<Number>)> {
        self.completed.drain(..self.completed.len().saturating_sub(most)).collect()
    }
}

/// The number of the last record in another phase than that of the run.
fn last_elsewhere(state: &OwnedState, attempts: &[Attempt]) -> Number {
    let elsewhere = attempts.iter().rfind(|attempt| attempt.phase.as_ref().is_none_or(|phase| !state.is_in(phase)));
    elsewhere.map_or(Number(0), |attempt| attempt.number)
}

/// Whether an event moves the run without asking whether it may leave where it is.
fn is_unasked(kind: &EventKind) -> bool {
    match kind {
        EventKind::RunEdited(_) => true,
        EventKind::LogRepaired(repair) => !repair.lost.is_empty(),
        _ => false,
    }
}

fn skip_of(kind: &EventKind) -> Option<(SkippedBy, &Skip)> {
    let (by, skip) = match kind {
        EventKind::ActivityRecorded(record) => (SkippedBy::Leaving, &record.skipped),
        EventKind::RunCompleted(change) => (SkippedBy::End, &change.skipped),
        _ => return None,
    };
    Some((by, skip.as_ref()?))
}

/// The record for each entry of `ids`. An entry that was in `before` keeps its record; a new one gets the first
/// completed record with its id that no other entry has.
fn aligned(before: &[(String, Option<Number>)], ids: &IdList, attempts: &[Attempt]) -> Vec<(String, Option<Number>)> {
    let mut rest = before.iter();
    let mut entries: Vec<(String, Option<Number>)> = Vec::new();
    let (mut new, mut taken) = (Vec::new(), HashSet::new());
    for id in ids.iter() {
        // If two entries have the same id, the first ones are kept. What is not found takes nothing from `rest`.
        let mut ahead = rest.clone();
        let number = match ahead.find(|(known, _)| known == id) {
            Some((_, number)) => {
                rest = ahead;
                *number
            }
            None => {
                new.push(entries.len());
                None
            }
        };
        taken.extend(number);
        entries.push((id.to_owned(), number));
    }
    // Then no record has to be found, and a long log has many.
    if new.is_empty() {
        return entries;
    }
    let mut free: BTreeMap<&str, VecDeque<Number>> = BTreeMap::new();
    for attempt in attempts {
        if attempt.status.is_completed() && !taken.contains(&attempt.number) {
            free.entry(&attempt.id).or_default().push_back(attempt.number);
        }
    }
    for at in new {
        let (id, number) = &mut entries[at];
        *number = free.get_mut(id.as_str()).and_then(VecDeque::pop_front);
    }
    entries
}
