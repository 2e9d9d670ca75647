//! Tries whether a carrier keeps its promises.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::thread;
use std::time::{Duration, Instant};

use thiserror::Error;

use crate::codec::{LogScan, seal};
use crate::model::{Event, EventId, EventKind, Explain as _, RunId, RunStatus, Seq, StatusChange, Timestamp};
use crate::store::error::{Result, StoreError};
use crate::store::shared::carrier::{Carrier, NoAnswer, Put, PutAnswer};
use crate::store::shared::settle::{PositionOwner, left_until, settle};
use crate::store::shared_runs::RefreshScope;
use crate::store::work::{WorkChange, WorkKey};

/// How many writers race for one position, and how often they do.
const RACERS: usize = 16;
const ROUNDS: usize = 8;
/// What a trial left that is older, in milliseconds, is removed by the next one.
const LEFT_AFTER: u64 = 60 * 60 * 1000;

/// Why runs cannot be kept with a carrier.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BrokenPromise {
    /// It does not answer.
    #[error("it gives no answer: {}", .0.why())]
    NoAnswer(NoAnswer),
    /// Several writers got one position.
    #[error("{winners} of {RACERS} writers got one position {}, where one may", at(*before))]
    SeveralWinners {
        /// How many.
        winners: usize,
        /// The position before it.
        before: Seq,
    },
    /// It took lines for a position that is taken.
    #[error("it took other lines for a position {} that is taken", at(*before))]
    TakenTwice {
        /// The position before it.
        before: Seq,
    },
    /// It does not give back what it was given.
    #[error("it does not give back the lines that it took")]
    OtherLines,
    /// It does not list a run that it has.
    #[error("it does not list a run that it has")]
    NotListed,
    /// It does not note what a run is about.
    #[error("it does not note what a run is about: {0}")]
    NotMarked(String),
    /// It does not take the beginning of a run.
    #[error("it takes no run: {0}")]
    NotBegun(String),
    /// It does not take the end of a run.
    #[error("it does not take the end of a run: {0}")]
    NotEnded(String),
}

impl From<NoAnswer> for BrokenPromise {
    fn from(why: NoAnswer) -> Self {
        Self::NoAnswer(why)
    }
}

fn at(before: Seq) -> &'static str {
    if before == Seq(0) { "at the beginning of a run" } else { "behind an event" }
}

/// What the ids of runs begin with that are made to try a carrier.
const TRIAL: &str = "flow-probe-";

/// Whether a run was made to try a carrier. Such a run stays if the process that tries it dies.
pub(super) fn is_of_a_trial(run: &RunId) -> bool {
    run.as_str().strip_prefix(TRIAL).is_some_and(|random| u64::from_str_radix(random, 16).is_ok())
}

/// Removes what trials left whose process died, so long ago that none of them still runs.
fn remove_left(carrier: &dyn Carrier, now: Timestamp, deadline: Instant) {
    let Ok(tips) = carrier.tips(RefreshScope::All, left_until(deadline)) else { return };
    for tip in tips.iter().filter(|tip| is_of_a_trial(&tip.run)) {
        let Ok(Some(lines)) = carrier.lines(&tip.run, Seq(1), None, left_until(deadline)) else { continue };
        let since = LogScan::parse(lines.as_bytes()).events().next().map(|event| event.at);
        if since.is_none_or(|since| since.milliseconds_until(now) > LEFT_AFTER) {
            // If it stays, it still does not count as a run.
            let _ = carrier.remove(&tip.run, left_until(deadline));
        }
    }
}

/// Lets writers race for positions of runs that are made for that and removed again: at the beginning of a run and behind
/// its first event, eight times each, and ends one that is about something. It finds gross mistakes only: a store that is right
/// nearly always passes. What an earlier trial left is removed.
///
/// # Errors
/// [`BrokenPromise`].
pub fn probe(carrier: &dyn Carrier, now: Timestamp, wait: Duration) -> Result<(), BrokenPromise> {
    let deadline = Instant::now() + wait;
    remove_left(carrier, now, deadline);
    for round in 0..=ROUNDS {
        let run = RunId::new(format!("{TRIAL}{:016x}", RandomState::new().build_hasher().finish()))
            .expect("BUG: the run of a probe has no valid id");
        let trial = Trial { carrier, run, now, deadline };
        let tried = if round == ROUNDS { trial.try_to_end() } else { trial.try_one() };
        let removed = carrier.remove(&trial.run, left_until(deadline));
        tried?;
        removed?;
    }
    Ok(())
}

/// A run that is made to try a carrier.
struct Trial<'a> {
    carrier: &'a dyn Carrier,
    run: RunId,
    now: Timestamp,
    deadline: Instant,
}

impl Trial<'_> {
    /// Begins a run that is about something, and ends it. A server may take references of one kind and refuse others.
    fn try_to_end(&self) -> Result<(), BrokenPromise> {
        let Self { carrier, ref run, now, deadline } = *self;
        let key = WorkKey(run.to_string());
        let begins = WorkChange { taken: vec![key.clone()], freed: Vec::new() };
        let first = line_at(Seq(1), 0, now);
        let (before, work, again) = (Seq(0), &begins, false);
        let put = Put { run, before, earlier: "", lines: &first, is_over: false, evidence: &[], work, again };
        refuse_unless_done(settle(carrier, &put, deadline), BrokenPromise::NotMarked)?;
        match carrier.marked(std::slice::from_ref(&key), left_until(deadline))?.as_slice() {
            [Some(named)] if named == run => {}
            _ => return Err(BrokenPromise::NotMarked("the mark is not there".to_owned())),
        }
        let ends = WorkChange { taken: Vec::new(), freed: vec![key] };
        let last = line_at(Seq(2), 0, now);
        let put = Put { before: Seq(1), earlier: &first, lines: &last, is_over: true, work: &ends, ..put };
        refuse_unless_done(settle(carrier, &put, deadline), BrokenPromise::NotEnded)?;
        let tips = carrier.tips(RefreshScope::All, left_until(deadline))?;
        if tips.iter().any(|tip| tip.run == *run && tip.is_over) { Ok(()) } else { Err(BrokenPromise::NotListed) }
    }

    fn try_one(&self) -> Result<(), BrokenPromise> {
        let mut all = String::new();
        for before in [Seq(0), Seq(1)] {
            self.race(before, &all)?;
            let lines = self.lines()?;
            let known = LogScan::parse(lines.as_bytes()).events().count() as u64;
            if known != before.0 + 1 || !lines.starts_with(&all) {
                return Err(BrokenPromise::OtherLines);
            }
            all = lines;
        }
        let first = all.split_inclusive('\n').next().unwrap_or_default();
        for before in [Seq(0), Seq(1)] {
            let earlier = if before == Seq(0) { "" } else { first };
            if self.put(before, earlier, RACERS) == PutAnswer::Done || self.lines()? != all {
                return Err(BrokenPromise::TakenTwice { before });
            }
        }
        let tips = self.carrier.tips(RefreshScope::Open, left_until(self.deadline))?;
        if tips.iter().any(|tip| tip.run == self.run) { Ok(()) } else { Err(BrokenPromise::NotListed) }
    }

    /// Lets all writers put a line behind `before` at the same moment.
    fn race(&self, before: Seq, earlier: &str) -> Result<(), BrokenPromise> {
        let answers: Vec<_> = thread::scope(|scope| {
            let racers: Vec<_> =
                (0..RACERS).map(|racer| scope.spawn(move || self.put(before, earlier, racer))).collect();
            racers.into_iter().map(|racer| racer.join().expect("BUG: a racer panicked")).collect()
        });
        let winners = answers.iter().filter(|answer| **answer == PutAnswer::Done).count();
        if winners > 1 {
            return Err(BrokenPromise::SeveralWinners { winners, before });
        }
        // One whose answer was lost may have won.
        let mut why = NoAnswer::NotReached("no writer got a position that is free".to_owned());
        for answer in answers {
            match answer {
                PutAnswer::Done | PutAnswer::Unknown(_) => return Ok(()),
                PutAnswer::Not(NoAnswer::Refused(reason)) => return Err(BrokenPromise::NotBegun(reason)),
                PutAnswer::Not(reason) => why = reason,
                PutAnswer::Taken | PutAnswer::WorkTaken { .. } => {}
            }
        }
        Err(why.into())
    }

    fn put(&self, before: Seq, earlier: &str, racer: usize) -> PutAnswer {
        let line = line_at(before.next(), racer, self.now);
        let (run, work) = (&self.run, &WorkChange::default());
        let put = Put { run, before, earlier, lines: &line, is_over: false, evidence: &[], work, again: false };
        self.carrier.put(&put, left_until(self.deadline))
    }

    fn lines(&self) -> Result<String, BrokenPromise> {
        self.carrier.lines(&self.run, Seq(1), None, left_until(self.deadline))?.ok_or(BrokenPromise::OtherLines)
    }
}

/// Refuses a carrier that did not take lines. What it says is the reason, if it was reached.
fn refuse_unless_done(
    settled: Result<PositionOwner>,
    broken: fn(String) -> BrokenPromise,
) -> Result<(), BrokenPromise> {
    match settled {
        Ok(PositionOwner::Ours) => Ok(()),
        Ok(PositionOwner::Theirs(_)) => Err(BrokenPromise::OtherLines),
        Err(StoreError::Unreached { why, has_answered: false, .. }) => Err(NoAnswer::NotReached(why).into()),
        Err(StoreError::Unreached { why, has_answered: true, .. }) => Err(NoAnswer::Failed(why).into()),
        Err(StoreError::Refused { why, .. }) => Err(broken(why)),
        Err(error) => Err(broken(error.one_line())),
    }
}

/// A sealed event of a trial.
fn line_at(seq: Seq, racer: usize, now: Timestamp) -> String {
    let change = StatusChange { from: RunStatus::Active, reason: None, skipped: None, session: None };
    let id = EventId::new(format!("probe-{}-{racer}", seq.0 - 1)).expect("BUG: the event of a probe has no valid id");
    let kind = EventKind::RunBlocked(change);
    seal(&Event { seq, id, at: now, kind, run: None, recap: None })
}
