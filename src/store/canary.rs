//! Ways to get the commit wrong on purpose: a test that looks for lost work has to find it here. Only debug builds sing.

use std::str::FromStr;

use crate::codec::seal;
use crate::store::StoreError;
use crate::store::commit::{Batch, Committed};
use crate::store::publish::Merge;
use crate::store::run_dir::LockedRun;

/// A mistake in the commit protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Canary {
    /// Nothing is flushed.
    NoFlush,
    /// The projections are in place before the line is in the log.
    RunFirst,
    /// The projections are in place before the log is flushed.
    PublishBeforeFlush,
    /// A flush that fails counts as one that succeeded.
    UncheckedFlush,
    /// The position is chosen before the lock is held.
    SequenceOutsideLock,
    /// Recovery trusts the log as it is instead of writing it anew.
    ReuseLog,
}

impl FromStr for Canary {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Ok(match name {
            "no-flush" => Self::NoFlush,
            "run-first" => Self::RunFirst,
            "publish-before-flush" => Self::PublishBeforeFlush,
            "unchecked-flush" => Self::UncheckedFlush,
            "sequence-outside-lock" => Self::SequenceOutsideLock,
            "reuse-log" => Self::ReuseLog,
            _ => return Err(format!("{name:?} is no known mistake")),
        })
    }
}

impl LockedRun<'_> {
    /// [`LockedRun::commit`] with the mistake.
    pub(super) fn commit_wrongly(
        &mut self,
        canary: Canary,
        batch: &Batch<'_>,
        merge: Merge<'_>,
    ) -> Result<Committed, StoreError> {
        if canary == Canary::SequenceOutsideLock {
            self.log.lock.again()?;
        }
        let new_run = self.prepare(batch)?;
        let before = self.log.tail.len;
        if canary == Canary::RunFirst {
            self.publish(batch, merge)?;
        }
        self.log.append(&seal(&batch.event.to_object()))?;
        if canary == Canary::PublishBeforeFlush {
            self.publish(batch, merge)?;
        }
        if canary != Canary::NoFlush {
            let flushed = self.log.sync().and_then(|()| new_run.sync_all());
            if let Err(errno) = flushed
                && canary != Canary::UncheckedFlush
            {
                self.discard();
                return Err(self.log.unflushed(before, errno.into()));
            }
        }
        if !matches!(canary, Canary::RunFirst | Canary::PublishBeforeFlush) {
            self.publish(batch, merge)?;
        }
        self.log.tail.advance(batch.event);
        if canary == Canary::SequenceOutsideLock {
            self.log.lock.release()?;
        }
        Ok(Committed { seq: batch.event.seq, lagging: None })
    }
}
