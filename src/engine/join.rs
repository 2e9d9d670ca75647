//! Histories of one run that git merged into one log: finds out which line belongs to which history, and joins them.
//!
//! A log is only appended to. So if two branches both recorded, their logs have a common beginning and differ after it.
//! A merge puts the lines of one branch after those of the other, where the positions start over. The first history is
//! kept unchanged, the new events of the others are replayed after it, and what both changed is merged field by field,
//! as git merges lines ([`join`]).

use std::collections::{HashMap, HashSet};

use serde::Serialize;
use serde_json::{Map, Value};

use crate::engine::RunState;
use crate::machine::Machine;
use crate::model::{
    ActivityRecorded, Event, EventId, EventKind, IdList, LostRange, OwnedState, Question, RunDocument, RunStatus, Seq,
    StateName, StepStatus, Steps, Timestamp, UnsettledActivity,
};

/// The histories in a log. An event is identified by its index among the lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Histories {
    /// The first history, in order.
    pub main: Vec<usize>,
    /// The other histories, in the order of the file.
    pub sides: Vec<Side>,
    /// How many lines repeat an event that another history has, maybe at another position.
    pub repeats: usize,
}

/// A history from another branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Side {
    /// All its events, from the beginning of the run.
    pub whole: Vec<usize>,
    /// How many of its first events the earlier histories have too.
    pub common: usize,
    /// The events that only this history has, and whose records no repair of the main history recovered from files.
    pub new: Vec<usize>,
}

impl Histories {
    /// Separates the histories. `lines` are the events in the order of the file, without equal lines.
    #[must_use]
    pub fn of(lines: &[&Event]) -> Self {
        let replayed = replayed(lines);
        let mut chains: Vec<Vec<usize>> = Vec::new();
        for (at, event) in lines.iter().enumerate() {
            match chains.last_mut() {
                Some(chain) if continues(lines, chain, event, &replayed) => chain.push(at),
                _ => chains.push(vec![at]),
            }
        }
        if chains.is_empty() {
            return Self::default();
        }
        // A merge may put the lines of a branch before the one that begins the run.
        let begins = chains.iter().position(|chain| chain.iter().any(|&at| RunState::begin(lines[at]).is_some()));
        let main = chains.remove(begins.unwrap_or(0));
        let mut seen: HashSet<_> = main.iter().map(|&at| identity(lines[at])).collect();
        let salvaged: Vec<_> = main.iter().flat_map(|&at| salvaged(lines[at])).collect();
        let mut sides = Vec::new();
        let mut kept = main.len();
        for chain in chains {
            let first = lines[chain[0]].seq;
            let mut whole = main.clone();
            // What the branch itself declared lost, it did not have.
            whole.retain(|&at| {
                let seq = lines[at].seq;
                seq < first && !chain.iter().any(|&own| is_lost_to(lines[own], seq, &replayed))
            });
            whole.extend(chain);
            let common = whole.iter().take_while(|&&at| seen.contains(&identity(lines[at]))).count();
            let mut new = whole.clone();
            new.retain(|&at| seen.insert(identity(lines[at])));
            if new.is_empty() {
                continue;
            }
            // A record that a repair recovered from its file is the record itself.
            new.retain(|&at| !is_salvaged(lines[at], &salvaged));
            kept += new.len();
            sides.push(Side { whole, common, new });
        }
        Self { main, sides, repeats: lines.len() - kept }
    }

    /// Whether the log has more than one history.
    #[must_use]
    pub fn are_joined(&self) -> bool {
        !self.sides.is_empty() || self.repeats > 0
    }
}

impl Side {
    /// The activities that this history and an earlier one both completed after their common beginning.
    #[must_use]
    pub fn twice(&self, lines: &[&Event]) -> Vec<String> {
        let new: HashSet<_> = self.new.iter().collect();
        let mut twice = Vec::new();
        for at in &self.whole[self.common..] {
            if new.contains(at) {
                continue;
            }
            for record in lines[*at].kind.records() {
                if record.activity.status().is_completed() {
                    twice.push(record.id().to_string());
                }
            }
        }
        twice
    }
}

/// Whether `event` goes on with the history `chain`: it has a later position, and does not declare lost what is there.
fn continues(lines: &[&Event], chain: &[usize], event: &Event, replayed: &HashSet<(&EventId, Seq)>) -> bool {
    let last = chain.last().map(|&last| lines[last].seq);
    // This runs for every event, and few of them are repairs, so check that first.
    let may_lack = !lost(event).is_empty();
    last < Some(event.seq) && !(may_lack && chain.iter().any(|&here| is_lost_to(event, lines[here].seq, replayed)))
}

/// Whether `event` is a repair whose writer did not have the event at the position `seq`.
fn is_lost_to(event: &Event, seq: Seq, replayed: &HashSet<(&EventId, Seq)>) -> bool {
    // A repair that an earlier join appended speaks of the positions of its own branch.
    lost(event).iter().any(|range| range.from <= seq && seq <= range.to) && !replayed.contains(&(&event.id, event.seq))
}

/// What identifies an event at every position.
fn identity(event: &Event) -> (&EventId, Timestamp, &str) {
    (&event.id, event.at, event.kind.name())
}

/// The positions that `event` declares lost. Its writer did not have those events.
fn lost(event: &Event) -> &[LostRange] {
    match &event.kind {
        EventKind::LogRepaired(repair) => &repair.lost,
        _ => &[],
    }
}

/// The records that `event` recovered from activity files.
fn salvaged(event: &Event) -> &[ActivityRecorded] {
    match &event.kind {
        EventKind::LogRepaired(repair) => &repair.salvaged,
        _ => &[],
    }
}

/// Whether a repair of the main history recovered all records of `event` from activity files.
fn is_salvaged(event: &Event, salvaged: &[&ActivityRecorded]) -> bool {
    let records = event.kind.records();
    !records.is_empty()
        && records.iter().all(|record| {
            salvaged.iter().any(|known| known.number == record.number && known.activity == record.activity)
        })
}

/// Events that an earlier join appended to the first history, at their new positions.
pub(super) fn replayed<'a>(events: &[&'a Event]) -> HashSet<(&'a EventId, Seq)> {
    let mut replayed = HashSet::new();
    for event in events {
        if let EventKind::LogRepaired(repair) = &event.kind {
            replayed.extend(repair.renumbered.iter().map(|line| (&line.id, line.seq)));
        }
    }
    replayed
}

/// The result of joining two histories.
#[derive(Debug, Clone, PartialEq)]
pub struct Join {
    /// The run that has what both histories changed.
    pub document: RunDocument,
    /// A message for each value that both histories changed, with the value that was chosen.
    pub settled: Vec<String>,
}

/// Three-way merge of a run: `base`, `ours` and `theirs`. A value that only one history changed since `base` is taken
/// from there. Of a value that both changed, `ours` is taken, or the one that is further on. `twice` names completed
/// activities of `theirs` that `ours` has too.
#[must_use]
pub fn join([base, ours, theirs]: [&RunDocument; 3], twice: &[String], machine: Option<&Machine>) -> Join {
    let mut settled = Vec::new();
    let mut document = ours.clone();
    document.goal = three_way("goal", [&base.goal, &ours.goal, &theirs.goal], &mut settled);
    document.context = maps("context", [&base.context, &ours.context, &theirs.context], &mut settled);
    document.limits = maps("limits", [&base.limits, &ours.limits, &theirs.limits], &mut settled);
    let states = States { base: &base.state, ours: &ours.state, theirs: &theirs.state };
    document.state = states.join(twice, machine, &mut settled);
    Join { document, settled }
}

/// What `run.yaml` says in two histories, and where both come from.
struct States<'a> {
    base: &'a OwnedState,
    ours: &'a OwnedState,
    theirs: &'a OwnedState,
}

impl<'a> States<'a> {
    fn join(&self, twice: &[String], machine: Option<&Machine>, settled: &mut Vec<String>) -> OwnedState {
        let Self { base, ours, theirs } = self;
        let mut state = (*ours).clone();
        let status = self.status(settled);
        (state.status, state.blocked_reason) = (status.status, status.blocked_reason.clone());
        let place = self.place(machine, settled);
        (state.current_phase, state.other_phases) = (place.current_phase.clone(), place.other_phases.clone());
        state.current_activity = match self.changed_side(|run| &run.current_activity) {
            ChangedSide::Ours => ours.current_activity.clone(),
            // The replayed events of `theirs` come last.
            ChangedSide::Theirs | ChangedSide::Both => theirs.current_activity.clone(),
        };
        state.completed_activities = self.completed(twice);
        state.open_activities = self.open();
        let holder = match self.changed_side(|run| (&run.session, run.epoch)) {
            ChangedSide::Theirs => theirs,
            // The later claim took the run from the earlier one.
            ChangedSide::Both if theirs.epoch > ours.epoch => theirs,
            ChangedSide::Ours | ChangedSide::Both => ours,
        };
        (state.session, state.epoch) = (holder.session.clone(), holder.epoch);
        // No number is used twice, on whichever branch it was given.
        state.last_number = ours.last_number.max(theirs.last_number);
        state.workflow_seq = three_way("workflow", [base, ours, theirs].map(|run| &run.workflow_seq), settled);
        state.steps = self.steps();
        state.questions = self.questions();
        state.unsettled = self.unsettled(&state);
        // As for every run that ended, whichever history ended it.
        if state.status.is_terminal() {
            state.session = None;
            state.questions.clear();
        }
        state
    }

    /// Which history changed a value since `base`.
    fn changed_side<T: PartialEq>(&self, value: impl Fn(&'a OwnedState) -> T) -> ChangedSide {
        changed_side(&[self.base, self.ours, self.theirs].map(value))
    }

    /// The history whose status is taken: if both changed it, the one that is further on.
    fn status(&self, settled: &mut Vec<String>) -> &'a OwnedState {
        let Self { ours, theirs, .. } = self;
        match self.changed_side(|run| (run.status, &run.blocked_reason)) {
            ChangedSide::Ours => ours,
            ChangedSide::Theirs => theirs,
            ChangedSide::Both if ours.status == theirs.status => ours,
            ChangedSide::Both => {
                let is_theirs = rank(theirs.status) > rank(ours.status);
                let (stands, not) = if is_theirs { (theirs, ours) } else { (ours, theirs) };
                settled.push(format!("the run was {} and {}: it is {}", stands.status, not.status, stands.status));
                stands
            }
        }
    }

    /// The history whose place is taken: if both moved the run, the one that is further on.
    fn place(&self, machine: Option<&Machine>, settled: &mut Vec<String>) -> &'a OwnedState {
        let Self { ours, theirs, .. } = self;
        match self.changed_side(|run| (&run.current_phase, &run.other_phases)) {
            ChangedSide::Ours => return ours,
            ChangedSide::Theirs => return theirs,
            ChangedSide::Both => {}
        }
        let stands = match (&ours.current_phase, &theirs.current_phase, machine) {
            (Some(here), Some(there), Some(machine)) if leads_to(machine, here, there) => theirs,
            (None, Some(_), _) => theirs,
            _ => ours,
        };
        if ours.current_phase != theirs.current_phase {
            let (here, there, now) = (phase_name(ours), phase_name(theirs), phase_name(stands));
            settled.push(format!("it was in {here} and in {there}: it is in {now} now"));
        }
        stands
    }

    /// The completed activities of `ours`, without those that `theirs` withdrew, followed by those that `theirs` added.
    fn completed(&self, twice: &[String]) -> IdList {
        let mut withdrawn = Counts::of(self.base.completed_activities.iter());
        let added: Vec<_> = self.theirs.completed_activities.iter().filter(|id| !withdrawn.take(id)).collect();
        // What is left now is what `theirs` had and has no longer.
        let mut list = IdList::default();
        for id in self.ours.completed_activities.iter() {
            if !withdrawn.take(id) {
                list.push(id);
            }
        }
        let mut twice = Counts::of(twice.iter().map(String::as_str));
        for id in added {
            if !twice.take(id) {
                list.push(id);
            }
        }
        list
    }

    /// The open activities of the joined run.
    fn open(&self) -> IdList {
        let Self { ours, theirs, .. } = self;
        let mut list = IdList::default();
        let only_theirs = theirs.open_activities.iter().filter(|id| !ours.open_activities.contains(id));
        for id in ours.open_activities.iter().chain(only_theirs) {
            let from = match self.changed_side(|run| run.open_activities.contains(id)) {
                ChangedSide::Theirs => theirs,
                ChangedSide::Ours | ChangedSide::Both => ours,
            };
            if from.open_activities.contains(id) {
                list.push(id);
            }
        }
        list
    }

    /// The reported steps. If both sides changed a step, a status that means done wins.
    fn steps(&self) -> Steps {
        let mut steps = self.ours.steps.clone();
        for (step, reported) in self.theirs.steps.iter() {
            let is_theirs = match self.changed_side(|run| run.steps.get(step)) {
                ChangedSide::Ours => false,
                ChangedSide::Theirs => true,
                ChangedSide::Both => reported.is_done() && !steps.get(step).is_some_and(StepStatus::is_done),
            };
            if is_theirs {
                steps.set(step, reported);
            }
        }
        steps
    }

    /// The questions that neither side has answered.
    fn questions(&self) -> Vec<Question> {
        let Self { base, ours, theirs } = self;
        let mut open = Vec::new();
        for question in ours.questions.iter().chain(&theirs.questions) {
            // An old question that one side lacks was answered there.
            let is_in_both = ours.questions.contains(question) && theirs.questions.contains(question);
            let is_answered = base.questions.contains(question) && !is_in_both;
            if !is_answered && !open.contains(question) {
                open.push(question.clone());
            }
        }
        open
    }

    /// What failed or is blocked: what either history settled is settled, and what either left behind is left behind.
    fn unsettled(&self, joined: &OwnedState) -> Vec<UnsettledActivity> {
        let Self { base, ours, theirs } = self;
        let mut all = ours.unsettled.clone();
        all.retain(|one| !has(base, one) || has(theirs, one));
        for one in &theirs.unsettled {
            if !has(ours, one) && !has(base, one) {
                all.push(one.clone());
            }
        }
        // What came after its history had left the phase was reported there as well.
        all.retain(|one| {
            let own = if has(ours, one) { ours } else { theirs };
            joined.is_in(&one.phase) || !own.is_in(&one.phase)
        });
        all
    }
}

fn has(run: &OwnedState, one: &UnsettledActivity) -> bool {
    run.unsettled.iter().any(|other| other.id == one.id)
}

fn phase_name(run: &OwnedState) -> String {
    match &run.current_phase {
        Some(phase) => format!("`{phase}`"),
        None => "no phase".to_owned(),
    }
}

/// Whether a run can get from one state to the other without going back.
fn leads_to(machine: &Machine, from: &StateName, to: &StateName) -> bool {
    let mut seen = HashSet::from([from.clone()]);
    let mut next = vec![from.clone()];
    while let Some(here) = next.pop() {
        for ahead in machine.ahead_of(&here) {
            if ahead == *to {
                return true;
            }
            if seen.insert(ahead.clone()) {
                next.push(ahead);
            }
        }
    }
    false
}

/// The precedence of a status: an ended run before a blocked one, and that before an active one.
fn rank(status: RunStatus) -> u8 {
    match status {
        RunStatus::Active => 0,
        RunStatus::Blocked => 1,
        RunStatus::Completed | RunStatus::Failed | RunStatus::Cancelled => 2,
    }
}

enum ChangedSide {
    Ours,
    Theirs,
    Both,
}

/// Which side changed a value since `base`.
fn changed_side<T: PartialEq>([base, ours, theirs]: &[T; 3]) -> ChangedSide {
    if ours == theirs || theirs == base {
        ChangedSide::Ours
    } else if ours == base {
        ChangedSide::Theirs
    } else {
        ChangedSide::Both
    }
}

/// The value to take. If both changed it, takes `ours` and adds a message.
fn three_way<T: PartialEq + Clone + Serialize>(name: &str, of: [&T; 3], settled: &mut Vec<String>) -> T {
    let [_, ours, theirs] = of;
    match changed_side(&of) {
        ChangedSide::Ours => ours.clone(),
        ChangedSide::Theirs => theirs.clone(),
        ChangedSide::Both => {
            let here = serde_json::to_string(ours).unwrap_or_default();
            let there = serde_json::to_string(theirs).unwrap_or_default();
            settled.push(format!("{name} was {here} and {there}: it is {here}"));
            ours.clone()
        }
    }
}

fn maps(name: &str, of: [&Map<String, Value>; 3], settled: &mut Vec<String>) -> Map<String, Value> {
    let [base, ours, theirs] = of;
    let mut joined = ours.clone();
    for key in ours.keys().chain(theirs.keys().filter(|key| !ours.contains_key(*key))) {
        match three_way(&format!("{name}.{key}"), [&base.get(key), &ours.get(key), &theirs.get(key)], settled) {
            Some(value) => joined.insert(key.clone(), value.clone()),
            // The other keys keep their order, in which people wrote them.
            None => joined.shift_remove(key),
        };
    }
    joined
}

/// How many of each id are left.
struct Counts<'a>(HashMap<&'a str, usize>);

impl<'a> Counts<'a> {
    fn of(ids: impl Iterator<Item = &'a str>) -> Self {
        let mut counts = HashMap::new();
        for id in ids {
            *counts.entry(id).or_insert(0) += 1;
        }
        Self(counts)
    }

    /// Takes one; `false` if none is left.
    fn take(&mut self, id: &str) -> bool {
        match self.0.get_mut(id) {
            Some(left) if *left > 0 => {
                *left -= 1;
                true
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests;
