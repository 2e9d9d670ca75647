//! Reads the log of a run from its objects.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use crate::model::{RunId, Seq};
use crate::remote::names::key_of;
use crate::remote::s3::objects::{Lines, last_of_windows, name_of, position_in};
use crate::remote::s3::requests::{Object, Requests};
use crate::store::shared::{NoAnswer, faults_in, window_of};

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
        let listed = self.requests.list(&self.prefix(), &after, self.deadline)?;
        Ok(listed.iter().filter_map(|object| position_in(&object.name)).collect())
    }

    /// The object of the commit that follows `before`.
    pub(super) fn object(&self, before: Seq) -> Result<Option<Object>, NoAnswer> {
        self.requests.get(&self.name(before), self.deadline)
    }

    /// The lines from the event at `first` on; `None` if there is no such run.
    pub(super) fn lines(&self, first: Seq) -> Result<Option<String>, NoAnswer> {
        let begin = window_of(Seq(first.0.saturating_sub(1)));
        let lines = self.join(&self.positions(begin)?, first)?;
        if lines.is_some() || begin == Seq(0) {
            return Ok(lines);
        }
        // The commit that has `first` begins before its window.
        self.join(&self.positions(Seq(0))?, first)
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
    pub(super) fn faults(&self) -> Result<Vec<String>, NoAnswer> {
        let positions = self.positions(Seq(0))?;
        let Some(last) = positions.last() else { return Ok(Vec::new()) };
        let mut read = last_of_windows(&positions, Seq(1));
        read.pop();
        for at in &positions {
            if window_of(Seq(at - 1)) == window_of(Seq(last - 1)) {
                read.push(*at);
            }
        }
        let objects = self.read_all(&read)?;
        let lines = match self.join(&positions, Seq(1)) {
            Ok(Some(lines)) => lines,
            Ok(None) => return Ok(vec!["its first events are missing".to_owned()]),
            Err(NoAnswer::Refused(why)) => return Ok(vec![why]),
            Err(error) => return Err(error),
        };
        let mut faults = faults_in(&lines);
        for (at, object) in objects {
            // A void object has no lines, and hides none.
            if let Some(object) = object
                && !lines.contains(object.text())
            {
                faults.push(format!("the object at position {at} has other lines than the ones behind it"));
            }
        }
        Ok(faults)
    }

    /// The lines from `first` on, from the objects at these positions; `None` if they do not reach back to it.
    fn join(&self, positions: &[u64], first: Seq) -> Result<Option<String>, NoAnswer> {
        let mut known = self.read_all(&last_of_windows(positions, first))?;
        let (mut parts, mut end) = (Vec::new(), Seq(u64::MAX));
        for at in positions.iter().rev().copied().filter(|at| *at >= 1) {
            if at >= end.0 {
                continue;
            }
            let read = match known.remove(&at) {
                Some(read) => read,
                None => self.read(at)?,
            };
            let Some(lines) = read else { continue };
            let next = lines.last().next();
            if end != Seq(u64::MAX) && positions.binary_search(&next.0).is_err() {
                let why = format!("the object at position {next} of the log of run {} is missing", self.run);
                return Err(NoAnswer::Refused(why));
            }
            parts.push(lines.between(first, end));
            end = lines.first();
            if end <= first {
                parts.reverse();
                return Ok(Some(parts.concat()));
            }
        }
        Ok(None)
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
