//! The page of a run in one file, without scripts and without a server.

use std::collections::BTreeMap;

use crate::picture::event::LogFilter;
use crate::picture::page::{LogPart, Place, RunPage, document, run_page};
use crate::runs::{LogReport, WholeRun, shown_activities};

/// The most events on the page: the latest ones.
const EVENTS: usize = 5_000;

/// The page with all activities, and the log up to a bound.
pub(super) fn write(whole: &WholeRun) -> String {
    let run = &whole.run;
    let (activities, all_activities) = shown_activities(&whole.activities, whole.log.events.iter(), usize::MAX);
    let log = latest(&whole.log);
    let earlier = log.events.len() < whole.log.events.len();
    let view = RunPage {
        run,
        evidence: &whole.evidence,
        evidence_states: &BTreeMap::new(),
        activities: &activities,
        all_activities,
        log: LogPart { report: &log, filter: LogFilter::All, find: None, earlier },
        machine: whole.machine.as_ref(),
        address: None,
        now: whole.now,
        actions: false,
    };
    format!("{}\n", document(&run_page(&view), Place::Alone).into_string())
}

fn latest(log: &LogReport) -> LogReport {
    let events = log.events[log.events.len().saturating_sub(EVENTS)..].to_vec();
    LogReport { events, ..log.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Event, EventId, EventKind, Seq, SessionEnded};

    #[test]
    fn of_a_long_log_the_latest_events_are_shown() {
        let log = |last: usize| {
            let events = (1..=last).map(|seq| Event {
                seq: Seq(seq as u64),
                id: EventId::new("x").unwrap(),
                at: "2026-05-20T14:30:00Z".parse().unwrap(),
                kind: EventKind::SessionEnded(SessionEnded { session: None, reason: None }),
                run: None,
                recap: None,
            });
            LogReport {
                events: events.collect(),
                next: None,
                skipped: Vec::new(),
                more_skipped: 0,
                warnings: Vec::new(),
            }
        };
        let first = |last: usize| latest(&log(last)).events[0].seq;
        assert_eq!([first(3), first(EVENTS), first(EVENTS + 3)], [Seq(1), Seq(1), Seq(4)]);
    }
}
