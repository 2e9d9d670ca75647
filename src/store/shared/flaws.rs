//! Finds out what is wrong with what a carrier keeps.

use std::time::Instant;

use crate::model::{RunId, Seq};
use crate::store::error::StoreError;
use crate::store::flaw::StoreFlaw;
use crate::store::request::WriteRequest;
use crate::store::shared::carrier::{LeftMark, LogFault};
use crate::store::shared::probe::is_of_a_trial;
use crate::store::shared::settle::left_until;
use crate::store::shared::store::Shared;
use crate::store::shared_runs::{RefreshScope, WorkOf};

impl Shared {
    /// Looks at everything that the carrier has of the open runs, and whether it has all runs of which copies are here.
    /// `work_of` says what an open run is about.
    pub(super) fn all_flaws(&self, work_of: WorkOf<'_>, request: &WriteRequest) -> Result<Vec<StoreFlaw>, StoreError> {
        let deadline = Instant::now() + request.wait;
        let carrier = &*self.copies.carrier;
        let deletions = carrier.deletions(left_until(deadline)).map_err(|error| self.copies.no_answer(error))?;
        let mut flaws: Vec<StoreFlaw> = deletions.into_iter().map(|why| StoreFlaw::Deletes { why }).collect();
        let unlisted = self.unlisted(request)?;
        for run in &unlisted {
            let lost = StoreFlaw::Lost { run: run.clone() };
            // One that cannot be read is listed again anyway.
            let has_lost_its_end =
                self.is_shared(run) && self.flaws_of(run, deadline).is_ok_and(|flaws| flaws.contains(&lost));
            flaws.push(if has_lost_its_end { lost } else { StoreFlaw::Unlisted { run: run.clone() } });
        }
        let tips = self.copies.tips(RefreshScope::All, left_until(deadline))?;
        for run in self.ids_of_copies()? {
            if self.copies.project.pushing(&run).is_some() {
                flaws.push(StoreFlaw::Unfinished { run });
            } else if unlisted.contains(&run) {
                continue;
            } else if tips.iter().all(|tip| tip.run != run) && self.copies.last_of(&run)? > Seq(0) {
                flaws.push(StoreFlaw::Lost { run });
            }
        }
        let left = carrier.marks_left(left_until(deadline)).map_err(|error| self.copies.no_answer(error))?;
        for LeftMark { run, about } in left {
            // A run of which a copy is here is put there again, with its marks.
            if !self.is_shared(&run) && !is_of_a_trial(&run) {
                flaws.push(StoreFlaw::LeftMark { run, about });
            }
        }
        let lost = flaws.iter().filter(|flaw| matches!(flaw, StoreFlaw::Lost { .. })).count();
        if tips.is_empty() && lost > 1 {
            flaws.insert(0, StoreFlaw::Emptied { copies: lost });
        }
        let mut unread = None;
        for tip in tips.iter().filter(|tip| !tip.is_over && self.copies.project.pushing(&tip.run).is_none()) {
            match self.flaws_of_one(&tip.run, work_of, deadline) {
                Ok(found) => flaws.extend(found),
                // One run that it cannot give must not hide what is wrong with others.
                Err(error @ StoreError::Unreached { has_answered: true, .. }) => {
                    flaws.push(StoreFlaw::Unread { run: tip.run.clone(), why: error.to_string() });
                    unread = Some(error);
                }
                Err(error) => return Err(error),
            }
        }
        if let Some(error) = unread {
            self.copies.refuse_if_store_fails(error, request)?;
        }
        Ok(flaws)
    }

    /// The runs that the carrier has and does not list, but those that are being moved there.
    ///
    /// # Errors
    /// [`StoreError::Unreached`] when the store cannot be asked.
    pub fn unlisted(&self, request: &WriteRequest) -> Result<Vec<RunId>, StoreError> {
        let unlisted = self.copies.carrier.unlisted(request.wait);
        let mut runs = unlisted.map_err(|error| self.copies.no_answer(error))?;
        runs.retain(|run| !is_of_a_trial(run) && self.copies.project.pushing(run).is_none());
        Ok(runs)
    }

    /// Looks at the log that the carrier has of a run, and at the marks of what it is about, if it is open.
    pub(super) fn flaws_of_one(
        &self,
        run: &RunId,
        work_of: WorkOf<'_>,
        deadline: Instant,
    ) -> Result<Vec<StoreFlaw>, StoreError> {
        let mut flaws = self.flaws_of(run, deadline)?;
        // A run that is not there is marked when it is put there again.
        if flaws.iter().any(|flaw| !matches!(flaw, StoreFlaw::Behind { .. })) || !self.copies.is_open(run)? {
            return Ok(flaws);
        }
        let (carrier, keys) = (&*self.copies.carrier, work_of(run));
        let marked = carrier.marked(&keys, left_until(deadline)).map_err(|error| self.copies.no_answer(error))?;
        for (about, instead) in keys.into_iter().zip(marked) {
            // Of two that are about the same on purpose, such as a run and its fork, one has the mark.
            let is_of_another = instead.as_ref().is_some_and(|other| other != run && work_of(other).contains(&about));
            if instead.as_ref() != Some(run) && !is_of_another {
                flaws.push(StoreFlaw::Unmarked { run: run.clone(), about, instead });
            }
        }
        Ok(flaws)
    }

    /// Looks at the log that the carrier has of a run.
    fn flaws_of(&self, run: &RunId, deadline: Instant) -> Result<Vec<StoreFlaw>, StoreError> {
        if self.copies.project.pushing(run).is_some() {
            return Ok(vec![StoreFlaw::Unfinished { run: run.clone() }]);
        }
        let carrier = &*self.copies.carrier;
        let faults = carrier.faults_of_log(run, left_until(deadline)).map_err(|error| self.copies.no_answer(error))?;
        if !faults.is_empty() {
            let damaged = |LogFault { why, is_gap }: LogFault| StoreFlaw::Damaged { run: run.clone(), why, is_gap };
            return Ok(faults.into_iter().map(damaged).collect());
        }
        // The copy first: another machine may go on meanwhile.
        let here = self.copies.last_of(run)?;
        let there =
            carrier.lines_behind(run, here, left_until(deadline)).map_err(|error| self.copies.no_answer(error))?;
        let run = run.clone();
        Ok(match there {
            // A directory without a log was never a copy.
            None if here == Seq(0) => Vec::new(),
            None => vec![StoreFlaw::Lost { run }],
            Some(more) if more.lines.is_empty() => Vec::new(),
            Some(more) => vec![StoreFlaw::Behind { run, events: more.lines.lines().count() }],
        })
    }
}
