//! The marks in a git remote that say which open run is about something.
//!
//! A mark comes with the push that begins its run, and goes with the one that ends it. So a mark whose run is not there is what
//! another program left that deleted the references of the run. It keeps no run away, and the next one about the same takes its place.

use std::collections::BTreeSet;
use std::time::Instant;

use crate::host::{NamedObject, RefChange};
use crate::model::RunId;
use crate::remote::git::{EndedRuns, GitCarrier, LastCommit, PLACE, refs_of};
use crate::remote::names::{WORK, mark_of};
use crate::store::WorkKey;
use crate::store::shared::{LeftMark, NoAnswer};

/// Who is marked as being about something.
#[derive(Debug)]
enum Marker {
    /// No open run: the commit of the marker that one left which is over or gone, and that of this run's marker.
    Free(Option<String>, String),
    /// This run: the commit of its marker.
    Own(String),
    Other(RunId),
}

impl GitCarrier {
    /// Adds the change that marks `run` as being about `key`. Returns the run that is marked instead, if that is open.
    pub(super) fn take_mark(
        &self,
        run: &RunId,
        key: &WorkKey,
        changes: &mut Vec<RefChange>,
        deadline: Instant,
    ) -> Result<Option<RunId>, NoAnswer> {
        match self.marker(run, key, deadline)? {
            Marker::Own(_) => {}
            Marker::Free(mark, own) => changes.push(RefChange { name: mark_of(key), from: mark, to: Some(own) }),
            Marker::Other(run) => return Ok(Some(run)),
        }
        Ok(None)
    }

    /// Adds the change that deletes the mark of `run` for `key`, if it has that.
    pub(super) fn free_mark(
        &self,
        run: &RunId,
        key: &WorkKey,
        changes: &mut Vec<RefChange>,
        deadline: Instant,
    ) -> Result<(), NoAnswer> {
        if let Marker::Own(own) = self.marker(run, key, deadline)? {
            changes.push(RefChange { name: mark_of(key), from: Some(own), to: None });
        }
        Ok(())
    }

    /// Which run is marked as being about `key`, as it was brought last.
    fn marker(&self, run: &RunId, key: &WorkKey, deadline: Instant) -> Result<Marker, NoAnswer> {
        self.refuse_unreadable(&[mark_of(key)])?;
        let own = self.repository.commit(None, &[], &self.message(&format!("{run}\n{key}\n")), 0)?;
        let Some((id, named)) = self.run_marked(key)? else { return Ok(Marker::Free(None, own)) };
        if id == own {
            return Ok(Marker::Own(own));
        }
        let Ok(other) = RunId::new(named) else { return Err(self.no_mark(key)) };
        self.refuse_unreadable(&refs_of(&other))?;
        let mut last = self.last_commit(&other)?;
        if last.as_ref().is_none_or(LastCommit::is_over) {
            // The run may have begun while the references were listed: then a second list has it, or another mark.
            self.fetch(EndedRuns::One(&other), deadline)?;
            self.refuse_unreadable(&refs_of(&other))?;
            last = self.last_commit(&other)?;
        }
        match last {
            Some(last) if !last.is_over() => Ok(Marker::Other(other)),
            _ => Ok(Marker::Free(Some(id), own)),
        }
    }

    /// The marks that an open run lacks, and no other one has, as they were brought last.
    pub(super) fn missing_marks(
        &self,
        run: &RunId,
        keys: &[WorkKey],
        deadline: Instant,
    ) -> Result<Vec<RefChange>, NoAnswer> {
        let mut changes = Vec::new();
        if self.last_commit(run)?.is_none_or(|last| last.is_over()) {
            return Ok(changes);
        }
        for key in keys {
            if let Marker::Free(mark, own) = self.marker(run, key, deadline)? {
                changes.push(RefChange { name: mark_of(key), from: mark, to: Some(own) });
            }
        }
        Ok(changes)
    }

    /// The commit of the marker for `key`, as it was brought last, and the run that it names.
    pub(super) fn run_marked(&self, key: &WorkKey) -> Result<Option<(String, String)>, NoAnswer> {
        let found = self.repository.all_refs(&[&format!("{PLACE}{}", mark_of(key))])?;
        let Some(NamedObject { id, is_commit, .. }) = found.into_iter().next() else { return Ok(None) };
        if !is_commit {
            return Err(self.no_mark(key));
        }
        // One that is too long names no run.
        let messages = self.repository.messages(&id, 0, 1)?.unwrap_or_default();
        let named = messages.first().and_then(|message| message.lines().next()).unwrap_or_default().to_owned();
        Ok(Some((id, named)))
    }

    /// The marks whose runs are not there.
    pub(super) fn try_marks_left(&self, deadline: Instant) -> Result<Vec<LeftMark>, NoAnswer> {
        let mut left = self.look_for_left(deadline)?;
        if !left.is_empty() {
            // A run may have begun while the references were listed.
            let again = self.look_for_left(deadline)?;
            left.retain(|mark| again.contains(mark));
        }
        Ok(left)
    }

    fn look_for_left(&self, deadline: Instant) -> Result<Vec<LeftMark>, NoAnswer> {
        self.fetch(EndedRuns::All, deadline)?;
        let (mut names, mut marks) = (BTreeSet::new(), Vec::new());
        for NamedObject { name, id, is_commit } in self.repository.all_refs(&[PLACE])? {
            let name = name.trim_start_matches(PLACE).to_owned();
            if is_commit && name.starts_with(WORK) {
                marks.push(id);
            }
            names.insert(name);
        }
        let marks: Vec<_> = marks.iter().map(String::as_str).collect();
        let mut left = Vec::new();
        for mark in if marks.is_empty() { Vec::new() } else { self.repository.histories(&marks)? } {
            let mut lines = mark.message.lines();
            let run = lines.next().and_then(|run| RunId::new(run).ok());
            let about = lines.next().map(|about| WorkKey(about.to_owned()));
            // Other ones were not made by flow, or are not those of their names.
            let (Some(run), Some(about)) = (run, about) else { continue };
            let is_there = refs_of(&run).iter().any(|name| names.contains(name));
            if names.contains(&mark_of(&about)) && !is_there && self.refuse_unreadable(&refs_of(&run)).is_ok() {
                left.push(LeftMark { run, about });
            }
        }
        left.sort();
        Ok(left)
    }

    /// That another program put something in the place of a mark.
    fn no_mark(&self, key: &WorkKey) -> NoAnswer {
        NoAnswer::Refused(format!("{}{} is not a mark that flow made: delete it there", self.place, mark_of(key)))
    }
}
