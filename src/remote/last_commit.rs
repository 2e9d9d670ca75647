//! The last commit of a run in a git remote, where another program may have put something in its place.

use crate::codec::LogScan;
use crate::host::NamedObject;
use crate::model::RunId;
use crate::remote::git::{GitCarrier, LastCommit, PLACE, lines_in, refs_of};
use crate::store::shared::{LogFault, NoAnswer};

/// The name of a reference below the place of all, and the commit that it names.
type NamedCommit = (String, String);
/// A reference of a run, and another one if it has two.
type TwoCommits = Option<(NamedCommit, Option<NamedCommit>)>;

impl GitCarrier {
    /// The last commit of a run, as it was brought last. What cannot be read is not free.
    pub(super) fn last_commit(&self, run: &RunId) -> Result<Option<LastCommit>, NoAnswer> {
        let names = refs_of(run).map(|name| format!("{PLACE}{name}"));
        let mut refs = Vec::new();
        for NamedObject { name, id, is_commit } in self.repository.all_refs(&[&names[0], &names[1]])? {
            // A name with more parts is matched as well.
            if !names.contains(&name) {
                continue;
            }
            let name = name.trim_start_matches(PLACE).to_owned();
            if !is_commit {
                return Err(self.damaged(run, format!("{}{name} does not name a commit", self.place)));
            }
            refs.push((name, id));
        }
        let later = refs.pop();
        let Some(((name, id), stale)) = self.longer(run, later, refs.pop())? else { return Ok(None) };
        let messages = self.messages(run, &id, 0, 1)?;
        let lines = messages.first().map(|message| lines_in(message)).unwrap_or_default();
        Ok(Some(LastCommit { name, id, last: LogScan::parse(lines.as_bytes()).last_seq(), stale }))
    }

    /// Of the references of a run the one with the longer log, and then the other one, if there are two.
    fn longer(
        &self,
        run: &RunId,
        one: Option<NamedCommit>,
        other: Option<NamedCommit>,
    ) -> Result<TwoCommits, NoAnswer> {
        let (one, other) = match (one, other) {
            (Some(one), Some(other)) => (one, other),
            (one, other) => return Ok(one.or(other).map(|only| (only, None))),
        };
        if self.repository.is_before(&other.1, &one.1)? {
            return Ok(Some((one, Some(other))));
        }
        if self.repository.is_before(&one.1, &other.1)? {
            return Ok(Some((other, Some(one))));
        }
        let place = &self.place;
        Err(self.damaged(run, format!("{place}{} and {place}{} have different histories", other.0, one.0)))
    }

    /// That another program put something in the place of a run.
    pub(super) fn damaged(&self, run: &RunId, why: String) -> NoAnswer {
        NoAnswer::Damaged { run: run.clone(), fault: LogFault::new(why) }
    }
}
