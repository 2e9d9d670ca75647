//! Reads the log of a run from its objects.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use crate::model::{RunId, Seq};
use crate::remote::names::key_of;
use crate::remote::s3::objects::{Lines, body_of, is_whole, last_of_windows, name_of, position_in};
use crate::remote::s3::requests::{Condition, Object, Requests, Upload};
use crate::store::shared::{LogFault, NoAnswer, window_of};

/// How many objects are read at a time.
const AT_ONCE: usize = 8;
/// Where the logs are, each in a folder of its own.
pub(super) const LOGS: &str = "logs/";

/// The log of a run in a bucket.
#[derive(Debug)]
pub(super) struct BucketLog<'a> {
    pub(super) requests: &'a Requests,
    pub(super) run: &'a RunId,
    pub(super) deadline: Instant,
}

/// What the objects of a log say together.
#[derive(Debug)]
enum JoinedLines {
    /// No object is whole.
    Nothing,
    /// They do not reach back to the first event that was asked for.
    TooLate,
    Whole(String),
}

/// The end of a log.
#[derive(Debug)]
pub(super) struct LogObject {
    pub(super) last: Seq,
    /// Whether the run is over after it.
    pub(super) is_over: bool,
}

impl BucketLog<'_> {
    /// The name of the object of a commit that follows `before`.
    pub(super) fn name(&self, before: Seq) -> String {
        format!("{}{}", self.prefix(), name_of(before))
    }

    fn prefix(&self) -> String {
        format!("{LOGS}{}/", key_of(self.run))
    }

    /// The positions in the names of the objects after the one of position `after`, in order.
    pub(super) fn positions(&self, after: Seq) -> Result<Vec<u64>, NoAnswer> {
        let after = format!("{:010}", after.0);
        let listed = match self.requests.list(&self.prefix(), &after, self.deadline) {
            Err(NoAnswer::TooMuch(why)) => return Err(self.damaged(LogFault::new(why))),
            listed => listed?,
        };
        Ok(listed.iter().filter_map(|object| position_in(&object.name)).collect())
    }

    /// The object of the commit that follows `before`. One that is too long is damage, and never a free position.
    pub(super) fn object(&self, before: Seq) -> Result<Option<Object>, NoAnswer> {
        match self.requests.get(&self.name(before), self.deadline)? {
            Some(object) if object.is_too_long => {
                Err(self.damaged(LogFault::new(format!("the object at position {} is too long", before.next()))))
            }
            found => Ok(found),
        }
    }

    /// That the object of the commit that follows `before` is not whole, although the commit was.
    pub(super) fn cut_off(&self, before: Seq) -> NoAnswer {
        let why = format!("the object at position {} is cut off", before.next());
        self.damaged(LogFault { why, is_gap: true })
    }

    /// That the log cannot be read.
    fn damaged(&self, fault: LogFault) -> NoAnswer {
        NoAnswer::Damaged { run: self.run.clone(), fault }
    }

    /// The lines from the event at `first` on; `None` if there is no such run.
    pub(super) fn lines(&self, first: Seq) -> Result<Option<String>, NoAnswer> {
        let begin = window_of(Seq(first.0.saturating_sub(1)));
        let mut joined = self.join(&self.positions(begin)?, first)?;
        if begin > Seq(0) && !matches!(joined, JoinedLines::Whole(_)) {
            // The commit that has `first` begins before its window.
            joined = self.join(&self.positions(Seq(0))?, first)?;
        }
        match joined {
            JoinedLines::Whole(lines) => Ok(Some(lines)),
            JoinedLines::TooLate => Err(self.damaged(missing(Seq(1)))),
            JoinedLines::Nothing => Ok(None),
        }
    }

    /// The end of the log; `None` if there is no such run.
    pub(super) fn end(&self) -> Result<Option<LogObject>, NoAnswer> {
        for at in self.positions(Seq(0))?.into_iter().rev() {
            let Some(object) = self.object(Seq(at - 1))? else { continue };
            if let Some(lines) = Lines::of(&object.body) {
                return Ok(Some(LogObject { last: lines.last(), is_over: object.is_over }));
            }
        }
        Ok(None)
    }

    /// What is wrong with the log, in words. Of the windows that are full it reads the object that readers read, of the
    /// last one all.
    pub(super) fn faults(&self) -> Result<Vec<LogFault>, NoAnswer> {
        let positions = self.positions(Seq(0))?;
        let Some(last) = positions.last() else { return Ok(Vec::new()) };
        let mut read = last_of_windows(&positions, Seq(1));
        read.pop();
        for at in &positions {
            if window_of(Seq(at - 1)) == window_of(Seq(last - 1)) {
                read.push(*at);
            }
        }
        let looked = self.read_all(&read).and_then(|objects| Ok((objects, self.join(&positions, Seq(1))?)));
        let (objects, lines) = match looked {
            Ok((objects, JoinedLines::Whole(lines))) => (objects, lines),
            Ok((_, JoinedLines::TooLate)) => return Ok(vec![missing(Seq(1))]),
            Ok((_, JoinedLines::Nothing)) => return Ok(vec![LogFault::new("its first events are missing")]),
            Err(NoAnswer::Damaged { fault, .. }) => return Ok(vec![fault]),
            Err(error) => return Err(error),
        };
        let mut faults = LogFault::all_in(&lines);
        for (at, object) in objects {
            // A void object has no lines, and hides none.
            if let Some(object) = object
                && !lines.contains(object.text())
            {
                faults.push(LogFault::new(format!(
                    "the object at position {at} has other lines than the ones behind it"
                )));
            }
        }
        Ok(faults)
    }

    /// Puts there what is missing between other objects, from the whole log of a copy, and replaces nothing. Each object
    /// that is there must have the lines of the copy: otherwise the copy proves nothing.
    pub(super) fn fill_gaps(&self, copy: &str) -> Result<(), NoAnswer> {
        let Some(copy) = Lines::of(copy.as_bytes()) else { return Ok(()) };
        let (mut gaps, mut end) = (Vec::new(), Seq(u64::MAX));
        for at in self.positions(Seq(0))?.into_iter().rev() {
            if at >= end.0 {
                continue;
            }
            let Some(lines) = self.read(at)? else { continue };
            let (first, next) = (lines.first(), lines.last().next());
            if !lines.text().starts_with(&copy.between(first, next)) {
                return Ok(());
            }
            if end != Seq(u64::MAX) && next < end {
                gaps.push((next, end));
            }
            end = first;
        }
        if end != Seq(u64::MAX) && end > Seq(1) {
            gaps.push((Seq(1), end));
        }
        // A copy that ends before the end of a gap may lack some of it.
        gaps.retain(|(_, end)| copy.last() >= *end);
        gaps.into_iter().try_for_each(|(first, end)| self.fill(&copy, first, end))
    }

    /// Puts the lines from `first` up to `end` there again. The first object has all of them, as it had if one commit is
    /// missing; the others are there so that no writer that is late takes their positions.
    fn fill(&self, copy: &Lines, first: Seq, end: Seq) -> Result<(), NoAnswer> {
        let mut before = Seq(first.0 - 1);
        for at in copy.positions_between(first, end) {
            let last = if before.next() == first { end } else { at.next() };
            let earlier = copy.between(window_of(before).next(), before.next());
            let body = body_of(&earlier, &copy.between(before.next(), last));
            let name = self.name(before);
            let new = Upload { name: &name, body: body.as_bytes(), condition: Condition::New, is_over: Some(false) };
            if !self.requests.put_again(&new, self.deadline)?
                && let Some(void) = self.object(before)?.filter(|object| !is_whole(&object.body))
            {
                self.requests.put_again(&Upload { condition: Condition::Tag(&void.tag), ..new }, self.deadline)?;
            }
            before = at;
        }
        Ok(())
    }

    /// The lines from `first` on, from the objects at these positions.
    fn join(&self, positions: &[u64], first: Seq) -> Result<JoinedLines, NoAnswer> {
        let mut known = self.read_all(&last_of_windows(positions, first))?;
        let (mut parts, mut end) = (Vec::new(), Seq(u64::MAX));
        let mut void = Vec::new();
        for at in positions.iter().rev().copied().filter(|at| *at >= 1) {
            if at >= end.0 {
                continue;
            }
            let read = match known.remove(&at) {
                Some(read) => read,
                None => self.read(at)?,
            };
            let Some(lines) = read else {
                void.push(at);
                continue;
            };
            let next = lines.last().next();
            let is_missing = positions.binary_search(&next.0).is_err() || void.contains(&next.0);
            if end != Seq(u64::MAX) && is_missing {
                return Err(self.damaged(missing(next)));
            }
            parts.push(lines.between(first, end));
            end = lines.first();
            if end <= first {
                parts.reverse();
                return Ok(JoinedLines::Whole(parts.concat()));
            }
        }
        Ok(if parts.is_empty() { JoinedLines::Nothing } else { JoinedLines::TooLate })
    }

    /// The objects at these positions; `None` for one that is void.
    fn read_all(&self, positions: &[u64]) -> Result<BTreeMap<u64, Option<Lines>>, NoAnswer> {
        let next = AtomicUsize::new(0);
        let read_some = || {
            let mut read = Vec::new();
            while let Some(at) = positions.get(next.fetch_add(1, Ordering::Relaxed)) {
                read.push((*at, self.read(*at)?));
            }
            Ok::<_, NoAnswer>(read)
        };
        if positions.len() <= 1 {
            return Ok(read_some()?.into_iter().collect());
        }
        let mut all = BTreeMap::new();
        thread::scope(|scope| {
            let threads: Vec<_> = (0..positions.len().min(AT_ONCE)).map(|_| scope.spawn(read_some)).collect();
            for thread in threads {
                all.extend(thread.join().expect("BUG: a reader panicked")?);
            }
            Ok(all)
        })
    }

    fn read(&self, at: u64) -> Result<Option<Lines>, NoAnswer> {
        Ok(self.object(Seq(at - 1))?.and_then(|object| Lines::of(&object.body)))
    }
}

fn missing(at: Seq) -> LogFault {
    LogFault { why: format!("the object at position {at} is missing"), is_gap: true }
}
