//! Tries whether a carrier keeps its promises.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::thread;
use std::time::{Duration, Instant};

use thiserror::Error;

use crate::codec::{LogScan, seal};
use crate::model::{Event, EventId, EventKind, RunId, RunStatus, Seq, StatusChange, Timestamp};
use crate::store::run_store::RefreshScope;
use crate::store::shared::carrier::{Carrier, NotReached, Put, PutAnswer};
use crate::store::shared::settle::left_until;
use crate::store::work::WorkChange;

/// How many writers race for one position, and how often they do.
const RACERS: usize = 16;
const ROUNDS: usize = 8;

/// Why runs cannot be kept with a carrier.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BrokenPromise {
    /// It does not answer.
    #[error("it was not reached: {0}")]
    NotReached(String),
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

/// Lets writers race for positions of runs that are made for that and removed again: at the beginning of a run and behind
/// its first event, eight times each. It finds gross mistakes only: a store that is right nearly always passes.
///
/// # Errors
/// [`BrokenPromise`].
pub fn probe(carrier: &dyn Carrier, now: Timestamp, wait: Duration) -> Result<(), BrokenPromise> {
    let deadline = Instant::now() + wait;
    for _ in 0..ROUNDS {
        let run = RunId::new(format!("{TRIAL}{:016x}", RandomState::new().build_hasher().finish()))
            .expect("BUG: the run of a probe has no valid id");
        let tried = try_one(carrier, &run, now, deadline);
        let removed = carrier.remove(&run, left_until(deadline));
        tried?;
        removed.map_err(|NotReached(why)| BrokenPromise::NotReached(why))?;
    }
    Ok(())
}

fn try_one(carrier: &dyn Carrier, run: &RunId, now: Timestamp, deadline: Instant) -> Result<(), BrokenPromise> {
    let mut all = String::new();
    for before in [Seq(0), Seq(1)] {
        race(carrier, run, before, &all, now, deadline)?;
        let lines = lines_of(carrier, run, deadline)?;
        let known = LogScan::parse(lines.as_bytes()).events().count() as u64;
        if known != before.0 + 1 || !lines.starts_with(&all) {
            return Err(BrokenPromise::OtherLines);
        }
        all = lines;
    }
    let first = all.split_inclusive('\n').next().unwrap_or_default();
    for before in [Seq(0), Seq(1)] {
        let earlier = if before == Seq(0) { "" } else { first };
        if put(carrier, run, before, earlier, RACERS, now, deadline) == PutAnswer::Done
            || lines_of(carrier, run, deadline)? != all
        {
            return Err(BrokenPromise::TakenTwice { before });
        }
    }
    let tips = carrier
        .tips(RefreshScope::Open, left_until(deadline))
        .map_err(|NotReached(why)| BrokenPromise::NotReached(why))?;
    if tips.iter().any(|tip| tip.run == *run) { Ok(()) } else { Err(BrokenPromise::NotListed) }
}

/// Lets all writers put a line behind `before` at the same moment.
fn race(
    carrier: &dyn Carrier,
    run: &RunId,
    before: Seq,
    earlier: &str,
    now: Timestamp,
    deadline: Instant,
) -> Result<(), BrokenPromise> {
    let answers: Vec<_> = thread::scope(|scope| {
        let racers: Vec<_> = (0..RACERS)
            .map(|racer| scope.spawn(move || put(carrier, run, before, earlier, racer, now, deadline)))
            .collect();
        racers.into_iter().map(|racer| racer.join().expect("BUG: a racer panicked")).collect()
    });
    let winners = answers.iter().filter(|answer| **answer == PutAnswer::Done).count();
    if winners > 1 {
        return Err(BrokenPromise::SeveralWinners { winners, before });
    }
    // One whose answer was lost may have won.
    let mut why = "no writer got a position that is free".to_owned();
    for answer in answers {
        match answer {
            PutAnswer::Done | PutAnswer::Unknown(_) => return Ok(()),
            PutAnswer::NotReached(reason) => why = reason,
            PutAnswer::Taken | PutAnswer::WorkTaken { .. } => {}
        }
    }
    Err(BrokenPromise::NotReached(why))
}

fn put(
    carrier: &dyn Carrier,
    run: &RunId,
    before: Seq,
    earlier: &str,
    racer: usize,
    now: Timestamp,
    deadline: Instant,
) -> PutAnswer {
    let change = StatusChange { from: RunStatus::Active, reason: None, skipped: None, session: None };
    let id = EventId::new(format!("probe-{before}-{racer}")).expect("BUG: the event of a probe has no valid id");
    let kind = EventKind::RunBlocked(change);
    let line = seal(&Event { seq: before.next(), id, at: now, kind, run: None, recap: None });
    let put = Put { run, before, earlier, lines: &line, is_over: false, evidence: &[], work: &WorkChange::default() };
    carrier.put(&put, left_until(deadline))
}

fn lines_of(carrier: &dyn Carrier, run: &RunId, deadline: Instant) -> Result<String, BrokenPromise> {
    match carrier.lines(run, Seq(1), None, left_until(deadline)) {
        Ok(lines) => lines.ok_or(BrokenPromise::OtherLines),
        Err(NotReached(why)) => Err(BrokenPromise::NotReached(why)),
    }
}
