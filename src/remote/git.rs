//! The carrier of a git remote.
//!
//! All references are below `refs/flow/`. `open/<key>` names the last commit of a run, `over/<key>` that of one that is over. A
//! commit's message is the sealed lines of one command, so `git log` reads a run. Its only files are the evidence that these
//! lines name, each under its digest. `work/<digest>` names the
//! commit of a marker that says which open run is about something; it is made and deleted in the push that begins and
//! ends the run. Every push says which commits the references name before it (`--force-with-lease`), and is atomic. So of
//! all writers at one position one succeeds.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::codec::LogScan;
use crate::host::{BareRepository, MessageOf, PushOutcome, RefChange};
use crate::model::{KeptEvidence, RunId, Seq};
use crate::remote::names::{WORK, key_of, mark_of, run_of};
use crate::remote::unreadable::{UnreadableRefs, is_about_what_it_has};
use crate::store::shared::{Carrier, LeftMark, LogFault, NoAnswer, Put, PutAnswer, Tip, left_until};
use crate::store::{Address, RefreshScope, WorkKey};

/// Where the references are here, and by default in the remote.
pub(super) const PLACE: &str = "refs/flow/";
/// Below it: runs that are open, and runs that are over.
const OPEN: &str = "open/";
const OVER: &str = "over/";
/// What ends a message where the references are branches, so that no pipeline starts.
const SKIP_CI: &str = "[skip ci]";
/// How many messages are asked for at first; then more each time.
const FEW: usize = 8;
const MANY: usize = 1024;
/// The largest file of evidence, in bytes: everyone who fetches the references gets it.
const EVIDENCE_BYTES: usize = 1 << 20;
/// The longest time for one push, so that there is time left to find out what became of it; more where it is large.
const ONE_PUSH: Duration = Duration::from_secs(20);
/// How many bytes a slow connection takes in a second.
const SLOW: usize = 64 << 10;
/// How long a command waits by default: of sixteen machines that write to one run at once, the last one waited half a minute.
const PATIENCE: Duration = Duration::from_secs(90);
/// How often a fetch is tried while another process of this machine fetches.
const FETCHES: u32 = 5;
/// Of how many runs the histories are read at once, and up to how many are read one by one.
const RUNS_AT_ONCE: usize = 100;
const FEW_RUNS: usize = 2;

/// Runs in a git repository elsewhere.
#[derive(Debug)]
pub struct GitCarrier {
    pub(super) repository: BareRepository,
    /// The address for messages: `git:origin`.
    pub(super) called: String,
    /// Where the references are in the remote: `refs/flow/`, or `refs/heads/flow/` where only branches are taken.
    pub(super) place: String,
    /// The messages of commits that are asked for next, by their ids.
    expected: Mutex<BTreeMap<String, MessageOf>>,
    /// What the remote could not give when it was asked last.
    unreadable: UnreadableRefs,
}

/// Which runs that are over are brought beside all that are open. Nothing else needs them, and there are many.
#[derive(Debug, Clone, Copy)]
pub(super) enum EndedRuns<'a> {
    None,
    /// This one, if it is over.
    One(&'a RunId),
    All,
}

/// The last commit of a run.
#[derive(Debug)]
pub(super) struct LastCommit {
    /// The reference, below the place of all.
    pub(super) name: String,
    pub(super) id: String,
    /// Its last position; 0 if it was not made by flow.
    pub(super) last: Seq,
    /// Another reference of the run, and an earlier commit that it names: it was deleted, and a push from a clone brought it back.
    pub(super) stale: Option<(String, String)>,
}

impl LastCommit {
    pub(super) fn is_over(&self) -> bool {
        self.name.starts_with(OVER)
    }
}

impl GitCarrier {
    /// The carrier for the other repository of `repository`. `called` is the address for messages.
    #[must_use]
    pub fn new(repository: BareRepository, called: String) -> Self {
        Self {
            repository,
            called,
            place: PLACE.to_owned(),
            expected: Mutex::default(),
            unreadable: UnreadableRefs::default(),
        }
    }

    /// The same with its references elsewhere, such as `refs/heads/flow/`.
    #[must_use]
    pub fn with_place(self, place: String) -> Self {
        Self { place, ..self }
    }

    /// Brings what the remote has of all open runs and of what they are about, and these runs that are over. What it cannot give of
    /// one of them is noted, and the others are brought.
    pub(super) fn fetch(&self, over: EndedRuns<'_>, deadline: Instant) -> Result<(), NoAnswer> {
        self.repository.ensure()?;
        let over = match over {
            EndedRuns::None => None,
            // A pattern may match nothing; a whole name would have to be there.
            EndedRuns::One(run) => Some(format!("{OVER}{}*", key_of(run))),
            EndedRuns::All => Some(format!("{OVER}*")),
        };
        let mut names = vec![format!("{OPEN}*"), format!("{WORK}*")];
        names.extend(over);
        let patterns: Vec<_> = names.iter().map(|names| format!("+{}{names}:{PLACE}{names}", self.place)).collect();
        let mut tries = 1;
        loop {
            let left = left_until(deadline);
            match self.repository.fetch(&patterns, left) {
                Err(why) if why.contains("lock") && tries < FETCHES && !left.is_zero() => {
                    thread::sleep(Duration::from_millis(20 << tries));
                    tries += 1;
                }
                Err(why) if is_about_what_it_has(&why) => {
                    return self.unreadable.fetch_others(&self.repository, [&self.place, PLACE], &names, why, deadline);
                }
                Err(why) => return Err(why.into()),
                Ok(()) => {
                    self.unreadable.forget(&names);
                    return Ok(());
                }
            }
        }
    }

    /// That the remote cannot give one of these references, which are named below the place of all.
    pub(super) fn refuse_unreadable(&self, names: &[String]) -> Result<(), NoAnswer> {
        match names.iter().find_map(|name| self.unreadable.why(name)) {
            Some(why) => Err(NoAnswer::Failed(why)),
            None => Ok(()),
        }
    }

    /// Asks, and once more if the repository here was the reason of a failure and could be mended.
    fn ask<T>(
        &self,
        over: EndedRuns<'_>,
        left: Duration,
        ask: impl Fn(Instant) -> Result<T, NoAnswer>,
    ) -> Result<T, NoAnswer> {
        let deadline = Instant::now() + left;
        match ask(deadline) {
            Err(error @ (NoAnswer::Damaged { .. } | NoAnswer::Failed(_))) => Err(error),
            Err(error) if self.repository.mend(error.why()) == Ok(true) => {
                // It may have nothing by now.
                self.fetch(over, deadline)?;
                ask(deadline)
            }
            answer => answer,
        }
    }

    /// Changes references of the remote that are below `place`; `bytes` is about how much goes with them.
    pub(super) fn push(&self, changes: &[RefChange], bytes: usize, deadline: Instant) -> PushOutcome {
        self.repository.push(&below(&self.place, changes), limit_of_push(left_until(deadline), bytes))
    }

    /// Changes references of the remote beside no log. Whether they were as the changes say; otherwise none has changed.
    fn change(&self, changes: &[RefChange], deadline: Instant) -> Result<bool, NoAnswer> {
        match self.push(changes, 0, deadline) {
            PushOutcome::Done => Ok(true),
            PushOutcome::Stale => Ok(false),
            PushOutcome::Refused(why) => Err(NoAnswer::Refused(why)),
            PushOutcome::NotSent(why) | PushOutcome::Unknown(why) => Err(why.into()),
        }
    }

    /// The messages of a run's commits from `commit` back, as [`BareRepository::messages`] has them.
    pub(super) fn messages(
        &self,
        run: &RunId,
        commit: &str,
        skip: usize,
        count: usize,
    ) -> Result<Vec<String>, NoAnswer> {
        let found = self.repository.messages(commit, skip, count)?;
        found.ok_or_else(|| {
            let fault = LogFault::new(format!("the message of a commit near {commit} is too long"));
            NoAnswer::Damaged { run: run.clone(), fault }
        })
    }

    /// Puts the lines. An error says why nothing was sent.
    fn try_to_put(&self, put: &Put<'_>, deadline: Instant) -> Result<PutAnswer, NoAnswer> {
        self.repository.ensure()?;
        let is_about_work = !put.work.taken.is_empty() || !put.work.freed.is_empty();
        let mut last = self.last_commit(put.run)?;
        // A run that is over may have the id of one that begins.
        let begins = put.before == Seq(0);
        if is_about_work || begins || last.as_ref().map(|last| last.last).unwrap_or_default() < put.before {
            self.fetch(EndedRuns::One(put.run), deadline)?;
            self.refuse_unreadable(&refs_of(put.run))?;
            last = self.last_commit(put.run)?;
        }
        if let Some(last) = &last
            && (begins && last.last == Seq(0))
        {
            let why = format!("{}{} names a commit that flow did not make", self.place, last.name);
            return Err(self.damaged(put.run, why));
        }
        if last.as_ref().map(|last| last.last).unwrap_or_default() != put.before {
            return Ok(PutAnswer::Taken);
        }
        let at =
            LogScan::parse(put.lines.as_bytes()).events().next().map_or(0, |event| event.at.as_datetime().timestamp());
        let parent = last.as_ref().map(|last| &*last.id);
        let commit = self.repository.commit(parent, put.evidence, &self.message(put.lines), at)?;
        let mut changes = self.moves(put, last, commit);
        for key in &put.work.taken {
            if let Some(run) = self.take_mark(put.run, key, &mut changes, deadline)? {
                return Ok(PutAnswer::WorkTaken { run, about: key.clone() });
            }
        }
        for key in &put.work.freed {
            self.free_mark(put.run, key, &mut changes, deadline)?;
        }
        let bytes = put.lines.len() + put.evidence.iter().map(Vec::len).sum::<usize>();
        Ok(match self.push(&changes, bytes, deadline) {
            PushOutcome::Done => {
                // Otherwise the next fetch brings them.
                let _ = self.repository.set_refs(&below(PLACE, &changes));
                PutAnswer::Done
            }
            PushOutcome::Stale => PutAnswer::Taken,
            PushOutcome::Refused(why) => NoAnswer::Refused(why).into(),
            PushOutcome::NotSent(why) => NoAnswer::NotReached(why).into(),
            PushOutcome::Unknown(why) => PutAnswer::Unknown(why),
        })
    }

    /// How the references of a run change: its last commit is another one, and they say whether it is over.
    fn moves(&self, put: &Put<'_>, last: Option<LastCommit>, commit: String) -> Vec<RefChange> {
        let state = if put.is_over { OVER } else { OPEN };
        let mut changes = vec![RefChange { name: format!("{state}{}", key_of(put.run)), from: None, to: Some(commit) }];
        let Some(LastCommit { name, id, stale, .. }) = last else { return changes };
        for (name, id) in [(name, id)].into_iter().chain(stale) {
            if name == changes[0].name {
                changes[0].from = Some(id);
            } else {
                changes.push(RefChange { name, from: Some(id), to: None });
            }
        }
        changes
    }

    /// The lines from `first` on up to the commit `tip`, if all of them were expected.
    fn expected_lines(&self, tip: &str, first: Seq) -> Option<String> {
        let mut expected = self.expected.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut later, mut next) = (Vec::new(), Some(tip.to_owned()));
        while let Some(id) = next {
            let one = expected.remove(&id)?;
            let lines = lines_in(&one.message).to_owned();
            next = if reaches(&lines, first) { None } else { one.parent };
            later.push(lines);
        }
        Some(lines_from(first, later))
    }

    /// The runs of a scope, as the remote has them.
    fn try_tips(&self, scope: RefreshScope, deadline: Instant) -> Result<Vec<Tip>, NoAnswer> {
        let [open, over] = [OPEN, OVER].map(|state| format!("{PLACE}{state}"));
        let mut places = vec![&*open];
        match scope {
            RefreshScope::Open => self.fetch(EndedRuns::None, deadline)?,
            RefreshScope::All => {
                self.fetch(EndedRuns::All, deadline)?;
                places.push(&over);
            }
        }
        // Another process may do so at the same time, or the next call does.
        let _ = self.repository.pack_refs(&over);
        let mut found: BTreeMap<_, _> = self.repository.refs(&places)?.into_iter().collect();
        // They are there anyway, and who asks for their lines learns why they do not come.
        for (name, id) in self.unreadable.ids() {
            found.insert(format!("{PLACE}{name}"), id);
        }
        let mut tips = Vec::new();
        for (name, mark) in &found {
            let key = name.strip_prefix(&over).or_else(|| name.strip_prefix(&open));
            // Other names were not made by flow.
            let Some(run) = key.and_then(run_of).filter(|run| Some(&*key_of(run)) == key) else { continue };
            let is_over = name.starts_with(&over);
            let other = format!("{}{}", if is_over { &open } else { &over }, key_of(&run));
            let mut mark = mark.clone();
            if found.contains_key(&other) {
                // Named once, and as open, so that the doctor looks at it.
                if is_over {
                    continue;
                }
                // Who asks for its lines learns why they do not come.
                if let Ok(Some(last)) = self.last_commit(&run) {
                    mark = last.id;
                }
            }
            tips.push(Tip { run, mark, is_over });
        }
        Ok(tips)
    }

    /// The lines of a run from `first` on.
    fn try_lines(
        &self,
        run: &RunId,
        first: Seq,
        mark: Option<&str>,
        deadline: Instant,
    ) -> Result<Option<String>, NoAnswer> {
        if mark.is_none() {
            self.fetch(EndedRuns::One(run), deadline)?;
        }
        self.refuse_unreadable(&refs_of(run))?;
        let commit = if let Some(mark) = mark {
            mark.to_owned()
        } else {
            match self.last_commit(run)? {
                Some(last) => last.id,
                None => return Ok(None),
            }
        };
        let (mut later, mut skip, mut count) = (Vec::new(), 0, FEW);
        loop {
            let messages = self.messages(run, &commit, skip, count)?;
            skip += messages.len();
            let is_end = messages.is_empty();
            let mut is_found = false;
            for message in messages {
                let lines = lines_in(&message).to_owned();
                is_found = reaches(&lines, first);
                later.push(lines);
                if is_found {
                    break;
                }
            }
            if is_found || is_end {
                break;
            }
            count = (count * 4).min(MANY);
        }
        Ok(Some(lines_from(first, later)))
    }

    pub(super) fn message(&self, lines: &str) -> String {
        if self.place.starts_with("refs/heads/") { format!("{lines}\n{SKIP_CI}\n") } else { lines.to_owned() }
    }
}

impl Carrier for GitCarrier {
    fn address(&self) -> Address {
        Address::new(&*self.called)
    }

    fn directory(&self) -> Option<PathBuf> {
        self.repository.directory()
    }

    fn patience(&self) -> Duration {
        PATIENCE
    }

    fn tips(&self, scope: RefreshScope, left: Duration) -> Result<Vec<Tip>, NoAnswer> {
        let over = if scope == RefreshScope::All { EndedRuns::All } else { EndedRuns::None };
        self.ask(over, left, |deadline| self.try_tips(scope, deadline))
    }

    fn expect(&self, wanted: &[(Tip, Seq)], _: Duration) {
        self.expected.lock().unwrap_or_else(PoisonError::into_inner).clear();
        // One or two are asked for as fast.
        if wanted.len() <= FEW_RUNS {
            return;
        }
        for part in wanted.chunks(RUNS_AT_ONCE) {
            let tips: Vec<_> = part.iter().map(|(tip, _)| &*tip.mark).collect();
            let Ok(found) = self.repository.histories(&tips) else { continue };
            let mut expected = self.expected.lock().unwrap_or_else(PoisonError::into_inner);
            expected.extend(found.into_iter().map(|one| (one.id.clone(), one)));
        }
    }

    fn lines(&self, run: &RunId, first: Seq, mark: Option<&str>, left: Duration) -> Result<Option<String>, NoAnswer> {
        if let Some(lines) = mark.and_then(|mark| self.expected_lines(mark, first)) {
            return Ok(Some(lines));
        }
        self.ask(EndedRuns::One(run), left, |deadline| self.try_lines(run, first, mark, deadline))
    }

    fn faults_of_log(&self, run: &RunId, left: Duration) -> Result<Vec<LogFault>, NoAnswer> {
        let mut faults = LogFault::of_log(self.lines(run, Seq(1), None, left))?;
        if faults.is_empty()
            && let Some(LastCommit { name, stale: Some((stale, _)), .. }) = self.last_commit(run)?
        {
            let place = &self.place;
            let why = format!("{place}{stale} has come back, and {place}{name} has the events behind it");
            faults.push(LogFault { why, is_gap: true });
        }
        Ok(faults)
    }

    fn marked(&self, keys: &[WorkKey], left: Duration) -> Result<Vec<Option<RunId>>, NoAnswer> {
        self.ask(EndedRuns::None, left, |deadline| {
            self.fetch(EndedRuns::None, deadline)?;
            let mut runs = Vec::new();
            for key in keys {
                let named = self.run_marked(key)?;
                runs.push(named.and_then(|(_, named)| RunId::new(named).ok()));
            }
            Ok(runs)
        })
    }

    fn mark_again(&self, run: &RunId, _: Seq, keys: &[WorkKey], left: Duration) -> Result<(), NoAnswer> {
        let own = EndedRuns::One(run);
        self.ask(own, left, |deadline| {
            self.fetch(own, deadline)?;
            let changes = self.missing_marks(run, keys, deadline)?;
            // Otherwise another run was faster, or this one.
            if changes.is_empty() || !self.change(&changes, deadline)? {
                return Ok(());
            }
            self.fetch(own, deadline)?;
            if self.last_commit(run)?.is_none_or(|last| last.is_over()) {
                // It has ended meanwhile, and must not be in the way of others.
                let back: Vec<_> = changes
                    .into_iter()
                    .map(|change| RefChange { name: change.name, from: change.to, to: None })
                    .collect();
                let _ = self.push(&back, 0, deadline);
            }
            Ok(())
        })
    }

    fn marks_left(&self, left: Duration) -> Result<Vec<LeftMark>, NoAnswer> {
        self.ask(EndedRuns::All, left, |deadline| self.try_marks_left(deadline))
    }

    fn evidence_limit(&self) -> usize {
        EVIDENCE_BYTES
    }

    fn evidence(&self, run: &RunId, kept: &KeptEvidence, left: Duration) -> Result<Option<Vec<u8>>, NoAnswer> {
        let own = EndedRuns::One(run);
        self.ask(own, left, |deadline| {
            self.fetch(own, deadline)?;
            let Some(last) = self.last_commit(run)? else { return Ok(None) };
            Ok(self.repository.file(&last.id, &kept.sha256)?)
        })
    }

    fn put(&self, put: &Put<'_>, left: Duration) -> PutAnswer {
        let deadline = Instant::now() + left;
        let answer = self.try_to_put(put, deadline).unwrap_or_else(PutAnswer::from);
        match &answer {
            // Nothing was sent yet, and damage in the local repository is no reason to refuse.
            PutAnswer::Not(NoAnswer::NotReached(why)) if self.repository.mend(why) == Ok(true) => {
                self.try_to_put(put, deadline).unwrap_or_else(PutAnswer::from)
            }
            _ => answer,
        }
    }

    fn list_again(&self, run: &RunId, _: &str, _: bool, left: Duration) -> Result<(), NoAnswer> {
        let Some(LastCommit { stale: Some((name, id)), .. }) = self.last_commit(run)? else { return Ok(()) };
        let gone = [RefChange { name, from: Some(id), to: None }];
        // Otherwise another process has removed it.
        if self.change(&gone, Instant::now() + left)? {
            self.repository.set_refs(&below(PLACE, &gone))?;
        }
        Ok(())
    }

    fn remove(&self, run: &RunId, left: Duration) -> Result<(), NoAnswer> {
        let deadline = Instant::now() + left;
        self.fetch(EndedRuns::One(run), deadline)?;
        let Some(last) = self.last_commit(run)? else { return Ok(()) };
        let mut gone = Vec::new();
        for (name, id) in [(last.name, last.id)].into_iter().chain(last.stale) {
            gone.push(RefChange { name, from: Some(id), to: None });
        }
        let key = WorkKey(run.to_string());
        if let Some((mark, _)) = self.run_marked(&key)? {
            gone.push(RefChange { name: mark_of(&key), from: Some(mark), to: None });
        }
        if !self.change(&gone, deadline)? {
            return Err("another process changes the run".to_owned().into());
        }
        Ok(self.repository.set_refs(&below(PLACE, &gone))?)
    }
}

/// The same changes of the references below `place`.
fn below(place: &str, changes: &[RefChange]) -> Vec<RefChange> {
    let mut named = changes.to_vec();
    for change in &mut named {
        change.name.insert_str(0, place);
    }
    named
}

/// The references that a run may have, below the place of all.
pub(super) fn refs_of(run: &RunId) -> [String; 2] {
    [OPEN, OVER].map(|state| format!("{state}{}", key_of(run)))
}

/// The lines from `first` on, of messages with the latest one first.
fn lines_from(first: Seq, mut later: Vec<String>) -> String {
    later.reverse();
    let lines = later.concat();
    let before = LogScan::parse(lines.as_bytes()).events().filter(|event| event.seq < first).count();
    lines.split_inclusive('\n').skip(before).collect()
}

/// Whether the lines of a commit reach back to the event at `first`.
fn reaches(lines: &str, first: Seq) -> bool {
    LogScan::parse(lines.as_bytes()).events().next().is_some_and(|event| event.seq <= first)
}

/// The lines in a message.
pub(super) fn lines_in(message: &str) -> &str {
    match message.strip_suffix(&format!("\n{SKIP_CI}\n")) {
        Some(lines) => lines,
        None => message,
    }
}

/// How long one push with about so many bytes may take of the time that is left: some stays to find out what became of it.
fn limit_of_push(left: Duration, bytes: usize) -> Duration {
    let longest = ONE_PUSH + Duration::from_secs((bytes / SLOW) as u64);
    (left / 2).max(Duration::from_secs(1)).min(left).min(longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_push_leaves_time_to_find_out_what_became_of_it() {
        let seconds = |left, bytes| limit_of_push(Duration::from_secs(left), bytes).as_secs_f32();
        assert_eq!([seconds(90, 0), seconds(10, 0), seconds(1, 0)], [20.0, 5.0, 1.0]);
        assert_eq!(seconds(90, 10 * SLOW), 30.0);
        assert_eq!(limit_of_push(Duration::from_millis(200), 0), Duration::from_millis(200));
    }
}
