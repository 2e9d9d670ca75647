//! Activities as people see them: one for each id in a phase, with its tries and all that was recorded of each.

use std::collections::{BTreeSet, HashMap};

use crate::engine::Attempt;
use crate::model::{
    ActivityRecorded, ActivityStatus, ActivityType, Confidence, Event, EventKind, Number, SessionId, StateName,
    Timestamp,
};

/// How many tries of an activity are shown; of earlier ones only the number is.
const TRIES: usize = 20;

/// An activity: what was recorded under an id in a phase.
#[derive(Debug, Clone, PartialEq)]
pub struct ShownActivity {
    /// The id that all its attempts have.
    pub id: String,
    /// The phase of the latest attempt.
    pub phase: Option<StateName>,
    /// Its tries, the latest first.
    pub tries: Vec<Try>,
    /// How many earlier ones there are.
    pub earlier: usize,
}

/// One try of an activity: its beginning, if that was recorded, and its outcome, if that is known.
#[derive(Debug, Clone, PartialEq)]
pub struct Try {
    /// The latest record of it.
    pub last: Attempt,
    /// The record of its beginning, if it has another one for its outcome.
    pub begun: Option<Attempt>,
    /// What kind of work it was.
    pub kind: Option<ActivityType>,
    /// How sure the author is of the result.
    pub confidence: Option<Confidence>,
    /// The files that it changed.
    pub files: Vec<String>,
    /// The end of the output, as it was recorded.
    pub output: Option<String>,
    /// The session that recorded it.
    pub session: Option<SessionId>,
    /// When it began, if that is known.
    pub from: Option<Timestamp>,
    /// When it ended.
    pub to: Option<Timestamp>,
}

impl Try {
    fn new(last: &Attempt) -> Self {
        Self {
            last: last.clone(),
            begun: None,
            kind: None,
            confidence: None,
            files: Vec::new(),
            output: None,
            session: None,
            from: None,
            to: None,
        }
    }

    /// What came out of it; while it goes on, what it is about.
    #[must_use]
    pub fn summary(&self) -> Option<&str> {
        let begun = self.begun.as_ref().and_then(|begun| begun.summary.as_deref());
        self.last.summary.as_deref().or(begun)
    }

    /// How long it took, in milliseconds.
    #[must_use]
    pub fn took_ms(&self) -> Option<u64> {
        Some(self.from?.milliseconds_until(self.to?))
    }

    /// Takes what only the log has.
    fn complete(&mut self, records: &HashMap<Number, (&Event, &ActivityRecorded)>) {
        self.to = self.last.at.filter(|_| self.last.status.is_settled());
        if let Some(begun) = &self.begun {
            self.from = begun.at;
            self.take_beginning(records.get(&begun.number).copied());
        }
        let Some((event, record)) = records.get(&self.last.number).copied() else { return };
        self.take_beginning(Some((event, record)));
        let activity = &record.activity;
        self.kind = activity.kind();
        self.confidence = activity.confidence();
        self.files = activity.files().map(str::to_owned).collect();
        self.output = activity.output().map(str::to_owned);
        self.session = record.session.clone();
        if let Some(completed) = activity.completed_at() {
            self.to = Some(completed);
        }
        if let Some(exec) = &record.exec {
            self.to = exec.end.as_ref().map(|end| end.at);
        }
    }

    fn take_beginning(&mut self, record: Option<(&Event, &ActivityRecorded)>) {
        let Some((event, record)) = record else { return };
        let began = match &record.exec {
            Some(exec) => Some(exec.started_at),
            None => record.activity.started_at(),
        };
        if began.is_some() {
            self.from = began;
        }
        if self.from.is_none() && record.activity.status() == ActivityStatus::Running {
            self.from = Some(event.at);
        }
    }
}

/// The activities of a run by these records of it, which are in the order of their numbers: the one that changed last comes
/// first, and at most `limit` are shown. The log has what the records lack.
pub fn shown_activities<'e>(
    attempts: &[Attempt],
    log: impl Iterator<Item = &'e Event>,
    limit: usize,
) -> (Vec<ShownActivity>, usize) {
    let mut activities: Vec<Vec<(Option<&Attempt>, &Attempt)>> = Vec::new();
    let mut places = HashMap::new();
    for attempt in attempts {
        let place = *places.entry((&attempt.id, &attempt.phase)).or_insert_with(|| {
            activities.push(Vec::new());
            activities.len() - 1
        });
        match activities[place].last_mut() {
            Some(last) if goes_on(last.1, attempt) => *last = (Some(last.0.unwrap_or(last.1)), attempt),
            _ => activities[place].push((None, attempt)),
        }
    }
    let total = activities.len();
    activities.sort_by_key(|tries| std::cmp::Reverse(tries.last().map(|(_, last)| last.number)));
    activities.truncate(limit);
    let mut shown = Vec::with_capacity(activities.len());
    for tries in activities {
        shown.extend(activity_of(&tries));
    }
    complete(&mut shown, log);
    (shown, total)
}

/// Whether a record says how the work went on that an earlier one began or planned.
fn goes_on(earlier: &Attempt, later: &Attempt) -> bool {
    match earlier.status {
        ActivityStatus::Pending => true,
        ActivityStatus::Running => later.status != ActivityStatus::Running,
        _ => false,
    }
}

fn activity_of(tries: &[(Option<&Attempt>, &Attempt)]) -> Option<ShownActivity> {
    let (_, last) = tries.last()?;
    let mut shown = Vec::new();
    for (begun, last) in tries.iter().rev().take(TRIES) {
        shown.push(Try { begun: begun.cloned(), ..Try::new(last) });
    }
    let earlier = tries.len() - shown.len();
    Some(ShownActivity { id: last.id.clone(), phase: last.phase.clone(), tries: shown, earlier })
}

/// Reads the records that are shown once more from the log, which has all of them.
fn complete<'e>(shown: &mut [ShownActivity], log: impl Iterator<Item = &'e Event>) {
    let mut numbers = BTreeSet::new();
    for one in shown.iter().flat_map(|activity| &activity.tries) {
        numbers.insert(one.last.number);
        numbers.extend(one.begun.as_ref().map(|begun| begun.number));
    }
    let mut records = HashMap::new();
    for event in log {
        if let EventKind::ActivityRecorded(record) = &event.kind
            && numbers.contains(&record.number)
        {
            records.insert(record.number, (event, &**record));
        }
    }
    for one in shown.iter_mut().flat_map(|activity| &mut activity.tries) {
        one.complete(&records);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(number: u64, id: &str, status: ActivityStatus) -> Attempt {
        let json = serde_json::json!({ "number": format!("{number:03}"), "id": id, "phase": "code", "status": status,
            "exit_code": null, "summary": null, "at": null, "seq": null });
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn a_beginning_and_its_outcome_are_one_try() {
        use ActivityStatus::{Failed, Passed, Running};
        let records = [
            attempt(1, "tests", Running),
            attempt(2, "tests", Failed),
            attempt(3, "docs", Passed),
            attempt(4, "tests", Running),
            attempt(5, "tests", Running),
            attempt(6, "tests", Passed),
        ];
        let (shown, total) = shown_activities(&records, std::iter::empty(), 1);
        let tries = shown[0].tries.iter();
        let tries: Vec<_> =
            tries.map(|one| (one.begun.as_ref().map(|begun| begun.number.0), one.last.number.0)).collect();
        assert_eq!((shown.len(), total, tries), (1, 2, vec![(Some(5), 6), (None, 4), (Some(1), 2)]));
    }
}
