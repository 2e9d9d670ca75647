//! Histories of one run that git merged into one log: finds out which line belongs to which history, and joins them.
//!
//! A log is only appended to. So if two branches both recorded, their logs have a common beginning and differ after it.
//! A merge puts the lines of one branch after those of the other, where the positions start over. The first history is
//! kept unchanged, the new events of the others are replayed after it, and what both changed is merged field by field,
//! as git merges lines ([`join`]).

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use crate::engine::RunState;
use crate::machine::Machine;
use crate::model::{
    ActivityRecorded, Event, EventId, EventKind, IdList, LostRange, Owned, Question, RunDocument, RunStatus, Seq,
    StateName, Steps, Timestamp, Unsettled,
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
        let is_lost_to = |event: &Event, seq: Seq| {
            let missed = lost(event).any(|range| range.from <= seq && seq <= range.to);
            missed && !replayed.contains(&(&event.id, event.seq))
        };
        let misses = |event: &Event, chain: &[usize]| {
            // This runs for every event, and few of them are repairs, so check that first.
            lost(event).next().is_some() && chain.iter().any(|&here| is_lost_to(event, lines[here].seq))
        };
        let mut chains: Vec<Vec<usize>> = Vec::new();
        for (at, event) in lines.iter().enumerate() {
            let follows = |chain: &&mut Vec<usize>| {
                let last = chain.last().map(|&last| lines[last].seq);
                last < Some(event.seq) && !misses(event, chain)
            };
            match chains.last_mut().filter(follows) {
                Some(chain) => chain.push(at),
                None => chains.push(vec![at]),
            }
        }
        if chains.is_empty() {
            return Self::default();
        }
        let begins = |chain: &Vec<usize>| chain.iter().any(|&at| RunState::begin(lines[at]).is_some());
        let main = chains.remove(chains.iter().position(begins).unwrap_or(0));
        let mut seen: HashSet<_> = main.iter().map(|&at| identity(lines[at])).collect();
        let salvaged: Vec<_> = main.iter().flat_map(|&at| salvaged(lines[at])).collect();
        let mut sides = Vec::new();
        for chain in chains {
            let first = lines[chain[0]].seq;
            let before = main.iter().copied().filter(|&at| {
                let seq = lines[at].seq;
                seq < first && !chain.iter().any(|&own| is_lost_to(lines[own], seq))
            });
            let whole: Vec<_> = before.chain(chain.iter().copied()).collect();
            let common = whole.iter().take_while(|&&at| seen.contains(&identity(lines[at]))).count();
            let fresh: Vec<_> = whole.iter().copied().filter(|&at| seen.insert(identity(lines[at]))).collect();
            let new: Vec<_> = fresh.iter().copied().filter(|&at| !is_salvaged(lines[at], &salvaged)).collect();
            if !fresh.is_empty() {
                sides.push(Side { whole, common, new });
            }
        }
        let kept = main.len() + sides.iter().map(|side: &Side| side.new.len()).sum::<usize>();
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
        let known = self.whole[self.common..].iter().filter(|at| !new.contains(at));
        let records = known.flat_map(|&at| lines[at].kind.records());
        let completed = records.filter(|record| record.activity.status().is_completed());
        completed.map(|record| record.id().to_string()).collect()
    }
}

/// What identifies an event at every position.
fn identity(event: &Event) -> (&EventId, Timestamp, &str) {
    (&event.id, event.at, event.kind.name())
}

/// The positions that `event` declares lost. Whoever wrote it did not have those events.
fn lost(event: &Event) -> impl Iterator<Item = &LostRange> {
    let lost = match &event.kind {
        EventKind::LogRepaired(repair) => Some(&repair.lost),
        _ => None,
    };
    lost.into_iter().flatten()
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
    let found = |record: &ActivityRecorded| {
        salvaged.iter().any(|known| known.number == record.number && known.activity == record.activity)
    };
    !records.is_empty() && records.iter().all(found)
}

/// Events that an earlier join appended to the first history, at their new positions.
pub(super) fn replayed<'a>(events: &[&'a Event]) -> HashSet<(&'a EventId, Seq)> {
    let repairs = events.iter().filter_map(|event| match &event.kind {
        EventKind::LogRepaired(repair) => Some(&repair.renumbered),
        _ => None,
    });
    repairs.flatten().map(|line| (&line.id, line.seq)).collect()
}

/// The result of joining two histories.
#[derive(Debug, Clone, PartialEq)]
pub struct Join {
    /// The run.
    pub document: RunDocument,
    /// A message for each value that both histories changed, with the value that was chosen.
    pub settled: Vec<String>,
}

/// Three-way merge of a run: a value that only one history changed since `base` is taken from there. Of a value that
/// both changed, `ours` is taken, or the one that is further on. `twice` names completed activities of `theirs` that
/// `ours` has too.
#[must_use]
pub fn join(
    base: &RunDocument,
    ours: &RunDocument,
    theirs: &RunDocument,
    twice: &[String],
    machine: Option<&Machine>,
) -> Join {
    let mut settled = Vec::new();
    let mut document = ours.clone();
    document.goal = three_way("goal", &base.goal, &ours.goal, &theirs.goal, &mut settled);
    document.context = maps("context", &base.context, &ours.context, &theirs.context, &mut settled);
    document.limits = maps("limits", &base.limits, &ours.limits, &theirs.limits, &mut settled);
    document.state = states(&base.state, &ours.state, &theirs.state, twice, machine, &mut settled);
    Join { document, settled }
}

fn states(
    base: &Owned,
    ours: &Owned,
    theirs: &Owned,
    twice: &[String],
    machine: Option<&Machine>,
    settled: &mut Vec<String>,
) -> Owned {
    let mut state = ours.clone();
    let status = |run: &Owned| (run.status, run.blocked_reason.clone());
    (state.status, state.blocked_reason) = match pick(&status(base), &status(ours), &status(theirs)) {
        Pick::Ours => status(ours),
        Pick::Theirs => status(theirs),
        Pick::Both if ours.status == theirs.status => status(ours),
        Pick::Both => {
            let (stands, not) = if rank(theirs.status) > rank(ours.status) { (theirs, ours) } else { (ours, theirs) };
            settled.push(format!("the run was {} and {}: it is {}", stands.status, not.status, stands.status));
            status(stands)
        }
    };
    place(&mut state, base, ours, theirs, machine, settled);
    state.current_activity = match pick(&base.current_activity, &ours.current_activity, &theirs.current_activity) {
        Pick::Ours => ours.current_activity.clone(),
        // The replayed events of `theirs` come last.
        Pick::Theirs | Pick::Both => theirs.current_activity.clone(),
    };
    state.completed_activities = completed(base, ours, theirs, twice);
    state.open_activities = open(base, ours, theirs);
    let session = |run: &Owned| (run.session.clone(), run.epoch);
    (state.session, state.epoch) = match pick(&session(base), &session(ours), &session(theirs)) {
        Pick::Theirs => session(theirs),
        Pick::Both if theirs.epoch > ours.epoch => session(theirs),
        _ => session(ours),
    };
    state.last_number = ours.last_number.max(theirs.last_number);
    state.workflow_seq = three_way("workflow", &base.workflow_seq, &ours.workflow_seq, &theirs.workflow_seq, settled);
    state.steps = steps(base, ours, theirs);
    state.questions = questions(base, ours, theirs);
    state.unsettled = unsettled(base, ours, theirs, &state);
    if state.status.is_terminal() {
        state.session = None;
        state.questions.clear();
    }
    state
}

/// Merges what failed or is blocked: what either history settled is settled, and what either left behind is left behind.
fn unsettled(base: &Owned, ours: &Owned, theirs: &Owned, joined: &Owned) -> Vec<Unsettled> {
    let has = |run: &Owned, one: &Unsettled| run.unsettled.iter().any(|other| other.id == one.id);
    let is_new = |one: &&Unsettled| !has(ours, one) && !has(base, one);
    let mut all: Vec<Unsettled> =
        ours.unsettled.iter().filter(|one| !has(base, one) || has(theirs, one)).cloned().collect();
    all.extend(theirs.unsettled.iter().filter(is_new).cloned());
    // What came after its history had left the phase was told there as well.
    let is_here = |run: &Owned, one: &Unsettled| run.positions().any(|here| *here == one.phase);
    all.retain(|one| is_here(joined, one) || !is_here(if has(ours, one) { ours } else { theirs }, one));
    all
}

/// Merges where the run is. If both histories moved it, the place that is further on is taken.
fn place(
    state: &mut Owned,
    base: &Owned,
    ours: &Owned,
    theirs: &Owned,
    machine: Option<&Machine>,
    settled: &mut Vec<String>,
) {
    let at = |run: &Owned| (run.current_phase.clone(), run.other_phases.clone());
    let name = |run: &Owned| run.current_phase.as_ref().map_or_else(|| "no phase".to_owned(), |at| format!("`{at}`"));
    let taken = match pick(&at(base), &at(ours), &at(theirs)) {
        Pick::Ours => ours,
        Pick::Theirs => theirs,
        Pick::Both => {
            let (here, there) = (ours.current_phase.as_ref(), theirs.current_phase.as_ref());
            let further = match (machine, here, there) {
                (Some(machine), Some(here), Some(there)) => leads_to(machine, here, there),
                (_, None, Some(_)) => true,
                _ => false,
            };
            let stands = if further { theirs } else { ours };
            if here != there {
                settled.push(format!(
                    "it was in {} and in {}: it is in {} now",
                    name(ours),
                    name(theirs),
                    name(stands)
                ));
            }
            stands
        }
    };
    (state.current_phase, state.other_phases) = at(taken);
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

enum Pick {
    Ours,
    Theirs,
    Both,
}

/// Which side changed a value since `base`.
fn pick<T: PartialEq>(base: &T, ours: &T, theirs: &T) -> Pick {
    match (ours == base, theirs == base) {
        _ if ours == theirs => Pick::Ours,
        (true, _) => Pick::Theirs,
        (_, true) => Pick::Ours,
        _ => Pick::Both,
    }
}

/// The value to take. If both changed it, takes `ours` and adds a message.
fn three_way<T: PartialEq + Clone + serde::Serialize>(
    name: &str,
    base: &T,
    ours: &T,
    theirs: &T,
    settled: &mut Vec<String>,
) -> T {
    match pick(base, ours, theirs) {
        Pick::Ours => ours.clone(),
        Pick::Theirs => theirs.clone(),
        Pick::Both => {
            let said = |value: &T| serde_json::to_string(value).unwrap_or_default();
            settled.push(format!("{name} was {} and {}: it is {}", said(ours), said(theirs), said(ours)));
            ours.clone()
        }
    }
}

fn maps(
    name: &str,
    base: &Map<String, Value>,
    ours: &Map<String, Value>,
    theirs: &Map<String, Value>,
    settled: &mut Vec<String>,
) -> Map<String, Value> {
    let mut joined = ours.clone();
    let keys: Vec<&String> = ours.keys().chain(theirs.keys().filter(|key| !ours.contains_key(*key))).collect();
    for key in keys {
        let value = three_way(&format!("{name}.{key}"), &base.get(key), &ours.get(key), &theirs.get(key), settled);
        match value.cloned() {
            Some(value) => drop(joined.insert(key.clone(), value)),
            None => drop(joined.shift_remove(key)),
        }
    }
    joined
}

/// The completed activities of `ours`, without those that `theirs` withdrew, followed by those that `theirs` added.
fn completed(base: &Owned, ours: &Owned, theirs: &Owned, twice: &[String]) -> IdList {
    let mut withdrawn = Counts::of(base.completed_activities.iter());
    let added: Vec<&str> = theirs.completed_activities.iter().filter(|id| !withdrawn.take(id)).collect();
    let mut twice = Counts::of(twice.iter().map(String::as_str));
    let mut list = IdList::default();
    let kept = ours.completed_activities.iter().filter(|id| !withdrawn.take(id));
    kept.for_each(|id| list.push(id));
    added.into_iter().filter(|id| !twice.take(id)).for_each(|id| list.push(id));
    list
}

/// How many of each id are left.
struct Counts<'a>(HashMap<&'a str, usize>);

impl<'a> Counts<'a> {
    fn of(ids: impl Iterator<Item = &'a str>) -> Self {
        let mut counts = HashMap::new();
        ids.for_each(|id| *counts.entry(id).or_insert(0) += 1);
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

/// The open activities of the joined run.
fn open(base: &Owned, ours: &Owned, theirs: &Owned) -> IdList {
    let mut list = IdList::default();
    let only_theirs = theirs.open_activities.iter().filter(|id| !ours.open_activities.contains(id));
    for id in ours.open_activities.iter().chain(only_theirs) {
        let is_open = |run: &Owned| run.open_activities.contains(id);
        let open = match pick(&is_open(base), &is_open(ours), &is_open(theirs)) {
            Pick::Theirs => is_open(theirs),
            Pick::Ours | Pick::Both => is_open(ours),
        };
        if open {
            list.push(id);
        }
    }
    list
}

/// The reported steps. If both sides changed a step, a status that means done wins.
fn steps(base: &Owned, ours: &Owned, theirs: &Owned) -> Steps {
    let mut steps = ours.steps.clone();
    for (step, reported) in theirs.steps.iter() {
        let here = ours.steps.get(step);
        let taken = match pick(&base.steps.get(step), &here, &Some(reported)) {
            Pick::Ours => false,
            Pick::Theirs => true,
            Pick::Both => reported.is_done() && !here.is_some_and(crate::model::StepStatus::is_done),
        };
        if taken {
            steps.set(step, reported);
        }
    }
    steps
}

/// The questions that neither side has answered.
fn questions(base: &Owned, ours: &Owned, theirs: &Owned) -> Vec<Question> {
    let answered =
        |run: &Owned, question: &Question| base.questions.contains(question) && !run.questions.contains(question);
    let open = ours.questions.iter().filter(|question| !answered(theirs, question));
    let asked =
        theirs.questions.iter().filter(|question| !ours.questions.contains(question) && !answered(ours, question));
    open.chain(asked).cloned().collect()
}

#[cfg(test)]
mod tests;
