//! The modes on disk: files that people and other programs may read and edit, and a log.
//!
//! The files are authoritative; the log makes a change to several of them atomic. A commit appends one sealed line with
//! the new text of every file (the commit point), and then puts the files into place. The last one is the visible set
//! of the root scope, which holds the position of the log that the files show. It is written when all others are on
//! stable storage, so a reader or the next writer knows which lines of the log the files still lack. `.lock` holds the
//! same position, in case another program replaces the visible set.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::codec::{digest, seal};
use crate::disk::{Dir, DiskError, FileType, NEW_FILE, Rename, flush};
use crate::model::{Event, EventKind, Explain as _, ModeFile, Scope, Seq, SessionId, Timestamp, VISIBLE, limits};
use crate::store::local::layout::{LOG, LOG_TMP, QUARANTINE, SESSIONS, STATE};
use crate::store::local::lock::note_of;
use crate::store::local::log::LogTail;
use crate::store::local::log_file::{LockedLog, unread};
use crate::store::{CommitReceipt, Project, StoreError, WriteRequest};

/// The directory `.flow/state`.
#[derive(Debug)]
pub struct StateDir {
    dir: Dir,
    flow: Dir,
}

/// Mode files by scope and name. A missing file has no entry.
pub type StateFiles = BTreeMap<(Scope, String), StateFile>;

/// What is under the name of a mode's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StateFile {
    /// A file.
    Text(Vec<u8>),
    /// Something that cannot be read, and why; it can still be moved to quarantine.
    Unreadable(String),
}

impl StateFile {
    /// The bytes for a digest. For something that cannot be read, the reason stands in for its content.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Text(bytes) => bytes,
            Self::Unreadable(why) => why.as_bytes(),
        }
    }
}

/// The sessions that have a directory.
#[derive(Debug, Default)]
pub struct Sessions {
    /// Those that can be read.
    pub readable: Vec<SessionId>,
    /// Sessions whose directories cannot be read, with the reasons.
    pub closed: Vec<(SessionId, StoreError)>,
}

/// The permission bit without which a file's owner cannot read it.
const OWNER_READS: u32 = 0o400;

/// How often a reader without the lock starts again because of a writer.
const READ_TRIES: usize = 50;

impl Project {
    /// The directory of the modes; `None` if it does not exist.
    ///
    /// # Errors
    /// [`StoreError`] when it exists but cannot be used.
    pub fn state(&self) -> Result<Option<StateDir>, StoreError> {
        Ok(self.flow.find_dir(STATE)?.map(|dir| StateDir { dir, flow: self.flow.clone() }))
    }

    /// The directory of the modes; created if it does not exist.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be created or used.
    pub fn make_state(&self) -> Result<StateDir, StoreError> {
        Ok(StateDir { dir: self.flow.ensure_dir(STATE)?.0, flow: self.flow.clone() })
    }
}

impl StateDir {
    /// The path of a file, for messages.
    #[must_use]
    pub fn file_path(&self, scope: &Scope, name: &str) -> std::path::PathBuf {
        match scope.session() {
            None => self.dir.join(name),
            Some(session) => self.dir.join(SESSIONS).join(session.as_str()).join(name),
        }
    }

    /// The sessions that have a directory, sorted. Names that are not session ids are ignored.
    ///
    /// # Errors
    /// [`StoreError`] when a directory cannot be read.
    pub fn sessions(&self) -> Result<Sessions, StoreError> {
        let mut sessions = Sessions::default();
        let Some(dir) = self.dir.find_dir(SESSIONS)? else { return Ok(sessions) };
        let names = dir.names()?.into_iter().filter(|name| is_directory(&dir, name));
        let mut all: Vec<SessionId> = names.filter_map(|name| SessionId::new(name).ok()).collect();
        all.sort();
        for session in all {
            // Listed only to learn whether it can be read.
            let own = dir.find_dir(session.as_str());
            match own.and_then(|own| own.map(|own| own.names()).transpose()) {
                Ok(_) => sessions.readable.push(session),
                // One session that is closed to this user must not keep others from their modes.
                Err(why) if why.is_forbidden() => sessions.closed.push((session, why.into())),
                Err(why) => return Err(why.into()),
            }
        }
        Ok(sessions)
    }

    /// The root scope, and the scopes of all sessions that can be read.
    ///
    /// # Errors
    /// As [`Self::sessions`].
    pub fn all_scopes(&self) -> Result<Vec<Scope>, StoreError> {
        let mut scopes = vec![Scope::Root];
        scopes.extend(self.sessions()?.readable.into_iter().map(Scope::Session));
        Ok(scopes)
    }

    /// The names in the directories of `scopes` that end in `suffix`, sorted.
    ///
    /// # Errors
    /// As [`Self::sessions`].
    pub fn names(&self, scopes: &[Scope], suffix: &str) -> Result<Vec<String>, StoreError> {
        let mut names = BTreeSet::new();
        for scope in scopes {
            let Some(dir) = self.find_scope(scope)? else { continue };
            names.extend(dir.names()?.into_iter().filter(|name| name.ends_with(suffix)));
        }
        Ok(names.into_iter().collect())
    }

    /// A consistent snapshot of the files called `names` in `scopes`; without `scopes`, in all scopes.
    ///
    /// # Errors
    /// [`StoreError`] when something cannot be read.
    pub fn read(&self, scopes: Option<&[Scope]>, names: &[String]) -> Result<StateFiles, StoreError> {
        let mut tries = READ_TRIES;
        loop {
            let before = self.unshown()?;
            // A session may have begun since the previous try.
            let here = match scopes {
                Some(scopes) => scopes.to_vec(),
                None => self.all_scopes()?,
            };
            let mut files = self.files(&here, names)?;
            let after = self.unshown()?;
            tries -= 1;
            // A commit changes the positions, so equal positions mean that no commit happened in between.
            if before != after && tries > 0 {
                continue;
            }
            // What is committed counts, even if its writer has not put it into place yet.
            for file in after.newer.iter().filter_map(changes_of).flatten() {
                let key = (file.scope(), file.name.clone());
                let is_asked = scopes.is_none_or(|scopes| scopes.contains(&key.0));
                if !is_asked || !names.contains(&file.name) || !is_to_be_put(file, files.get(&key)) {
                    continue;
                }
                match &file.text {
                    Some(text) => drop(files.insert(key, StateFile::Text(text.clone().into_bytes()))),
                    None => drop(files.remove(&key)),
                }
            }
            return Ok(files);
        }
    }

    fn files(&self, scopes: &[Scope], names: &[String]) -> Result<StateFiles, DiskError> {
        let mut files = StateFiles::new();
        for scope in scopes {
            let Some(dir) = self.find_scope(scope)? else { continue };
            for name in names {
                if let Some(found) = read_entry(&dir, name)? {
                    files.insert((scope.clone(), name.clone()), found);
                }
            }
        }
        Ok(files)
    }

    /// The positions of the log and of the files, and the events that the files do not show yet.
    fn unshown(&self) -> Result<UnshownEvents, StoreError> {
        let Some(file) = self.dir.open_read(LOG)? else { return Ok(UnshownEvents::default()) };
        // Another program may have replaced the visible set; the lock has the same position.
        let shown = self.shown()?.max(note_of(&self.dir).map_or(Seq(0), |note| note.seq));
        let tail = LogTail::read(&*file, shown).map_err(|fault| unread(&self.dir, fault))?;
        Ok(UnshownEvents { shown, last: tail.end.last, newer: unshown_of(tail.end.newer, shown) })
    }

    /// The position that the files show, according to the visible set.
    fn shown(&self) -> Result<Seq, DiskError> {
        let Some(StateFile::Text(bytes)) = read_entry(&self.dir, VISIBLE)? else { return Ok(Seq(0)) };
        // A person may write any number there; it must not push positions past their limit.
        Ok(serde_json::from_slice::<MarkedSet>(&bytes).map_or(Seq(0), |set| set.flow.seq.min(Seq(limits::COUNTER))))
    }

    fn find_scope(&self, scope: &Scope) -> Result<Option<Dir>, DiskError> {
        let Some(session) = scope.session() else { return Ok(Some(self.dir.clone())) };
        match self.dir.find_dir(SESSIONS)? {
            Some(dir) => dir.find_dir(session.as_str()),
            None => Ok(None),
        }
    }

    /// Whether a scope has a directory.
    ///
    /// # Errors
    /// [`StoreError`] when it exists but cannot be used.
    pub fn has(&self, scope: &Scope) -> Result<bool, StoreError> {
        Ok(self.find_scope(scope)?.is_some())
    }

    /// Locks the modes for writing, and brings the files up to date with the log.
    ///
    /// # Errors
    /// As [`crate::store::RunDir::lock`].
    pub fn lock(&self, request: &WriteRequest) -> Result<LockedState<'_>, StoreError> {
        let mut locked = LockedState { state: self, log: LockedLog::take(&self.dir, request)? };
        locked.catch_up(request.writer.since)?;
        Ok(locked)
    }
}

/// The positions of the log and of the files.
#[derive(Debug, Default, PartialEq)]
struct UnshownEvents {
    shown: Seq,
    last: Seq,
    newer: Vec<Event>,
}

/// The newest events that the files may lack. Each writer first brings the files up to date, so if no position is
/// known, only the last event can be missing: an older one may have been undone by hand since.
fn unshown_of(mut newer: Vec<Event>, shown: Seq) -> Vec<Event> {
    if shown == Seq(0) { newer.pop().into_iter().collect() } else { newer }
}

/// The part of a visible set that flow reads.
#[derive(Deserialize)]
struct MarkedSet {
    flow: SetMark,
}

/// The position that flow writes into a visible set.
#[derive(Deserialize)]
struct SetMark {
    seq: Seq,
}

fn is_directory(dir: &Dir, name: &str) -> bool {
    matches!(dir.look(name), Ok(stat) if stat.kind == FileType::Directory)
}

/// Reads what is under a name. What is too large, unsafe or not permitted to be read is `Odd`, not an error, so that it
/// can be moved to quarantine.
fn read_entry(dir: &Dir, name: &str) -> Result<Option<StateFile>, DiskError> {
    let why = match dir.read(name, limits::MODE_BYTES) {
        Ok(found) => return Ok(found.map(StateFile::Text)),
        Err(DiskError::TooLarge { limit, .. }) => format!("it is larger than {limit} bytes"),
        Err(DiskError::Unsafe { hazard, .. }) => hazard.to_string(),
        Err(error @ DiskError::Io { .. }) => match dir.look(name) {
            Ok(stat) if stat.mode & OWNER_READS == 0 => "its permissions do not allow it".to_owned(),
            // Other failures may be temporary.
            _ => return Err(error),
        },
        Err(error) => return Err(error),
    };
    Ok(Some(StateFile::Unreadable(why)))
}

fn changes_of(event: &Event) -> Option<&[ModeFile]> {
    match &event.kind {
        EventKind::ModesChanged(changed) => Some(&changed.files),
        _ => None,
    }
}

/// Whether a committed file has to replace what is there: not if someone has edited the file since the commit. Visible
/// sets follow from the other files, so an edit of one is overwritten.
fn is_to_be_put(file: &ModeFile, found: Option<&StateFile>) -> bool {
    let is_there = match (&file.text, found) {
        (Some(text), Some(StateFile::Text(bytes))) => bytes == text.as_bytes(),
        (Some(_), _) => false,
        (None, found) => found.is_none(),
    };
    if is_there {
        return false;
    }
    // What is moved to quarantine is kept, so an edit of it is not lost.
    if file.name == VISIBLE || file.aside {
        return true;
    }
    match (&file.was, found) {
        (Some(was), Some(found)) => was.0 == digest(found.as_bytes()),
        // Files are replaced atomically, so a file that existed before and is missing now was removed by someone.
        (was, found) => was.is_none() && found.is_none(),
    }
}

/// The modes, locked for writing.
#[derive(Debug)]
#[must_use]
pub struct LockedState<'a> {
    state: &'a StateDir,
    log: LockedLog,
}

impl LockedState<'_> {
    /// The directory that is locked.
    #[must_use]
    pub fn state(&self) -> &StateDir {
        self.state
    }

    /// The position of the next event.
    #[must_use]
    pub fn next_seq(&self) -> Seq {
        self.log.tail.end.last.max(self.log.lock.noted().seq).next()
    }

    /// As [`StateDir::read`], under the lock.
    ///
    /// # Errors
    /// As there.
    pub fn read(&self, scopes: &[Scope], names: &[String]) -> Result<StateFiles, StoreError> {
        Ok(self.state.files(scopes, names)?)
    }

    /// What was moved to quarantine since the last call, in words for people.
    #[must_use]
    pub fn take_notes(&self) -> Vec<String> {
        self.log.take_notes()
    }

    /// Puts files into place that a writer committed before it died.
    fn catch_up(&mut self, now: Timestamp) -> Result<(), StoreError> {
        let shown = self.state.shown()?;
        let since = shown.max(self.log.lock.noted().seq);
        self.log.reread_tail(since)?;
        // The log can be older than the files, if someone restored an old log.
        self.log.lock.note_seq(shown);
        let newer = unshown_of(self.log.tail.end.newer.clone(), since);
        let Some(last) = newer.last() else { return Ok(()) };
        // Only events on stable storage may be shown.
        self.log.renew_once()?;
        for event in &newer {
            let Some(files) = changes_of(event) else { continue };
            let (mut missing, mut dirs) = (Vec::new(), BTreeSet::new());
            for file in files {
                // If a person put something else in the place of a session, leave it alone and continue with the
                // others.
                let dir = match self.state.find_scope(&file.scope()) {
                    Err(DiskError::Unsafe { .. }) => continue,
                    dir => dir?,
                };
                // The writer may have been killed between putting a file into place and flushing the directory.
                dirs.insert(file.session.clone());
                let found = dir.map(|dir| read_entry(&dir, &file.name)).transpose()?.flatten();
                if is_to_be_put(file, found.as_ref()) {
                    missing.push(file);
                }
            }
            self.prepare(&missing)?;
            self.publish(&missing, dirs, now)?;
            self.clear_leftovers(files)?;
        }
        self.log.lock.note_seq(last.seq);
        Ok(())
    }

    /// Commits an event about modes.
    ///
    /// # Errors
    /// As [`crate::store::LockedRun::commit`].
    ///
    /// # Panics
    /// When the event's position is not the next one, or when it is not about modes.
    pub fn commit(&mut self, event: &Event) -> Result<CommitReceipt, StoreError> {
        assert!(event.seq == self.next_seq(), "BUG: event {} is not the next one", event.seq);
        let files = changes_of(event).expect("BUG: the event is not about modes");
        let line = seal(event);
        if line.len() > limits::LINE_BYTES {
            return Err(StoreError::TooLong { limit: limits::LINE_BYTES });
        }
        for file in files {
            // Readers would take a larger file for one that cannot be read.
            if file.text.as_ref().is_some_and(|text| text.len() > limits::MODE_BYTES) {
                let path = self.state.file_path(&file.scope(), &file.name);
                return Err(DiskError::TooLarge { path, limit: limits::MODE_BYTES }.into());
            }
        }
        self.clear_leftovers(files)?;
        self.log.check_place()?;
        if self.log.tail.end.last <= Seq(1) {
            // The process that created the directory may have been killed before its name was on stable storage.
            self.state.flow.sync()?;
            self.state.dir.sync()?;
        }
        let prepared: Vec<_> = files.iter().collect();
        self.prepare(&prepared)?;
        self.log.commit(&line, || Ok(())).inspect_err(|_| self.discard(&prepared))?;
        // The event is acknowledged from here on: no later failure may fail the commit.
        let lagging = self.publish(&prepared, BTreeSet::new(), event.at).err().map(StoreError::from);
        if lagging.is_none() {
            self.log.lock.note_seq(event.seq);
        }
        self.log.tail.end.advance(event);
        Ok(CommitReceipt { seq: event.seq, lagging: lagging.map(|error| error.one_line()) })
    }

    /// Removes temporary files that dead writers left in the scopes of these files.
    fn clear_leftovers(&self, files: &[ModeFile]) -> Result<(), DiskError> {
        let scopes: BTreeSet<Scope> = files.iter().map(ModeFile::scope).collect();
        for scope in &scopes {
            let Ok(Some(dir)) = self.state.find_scope(scope) else { continue };
            for name in dir.names()? {
                if name == LOG_TMP || (name.starts_with('.') && name.ends_with("-state.json.tmp")) {
                    dir.remove(&name)?;
                }
            }
        }
        Ok(())
    }

    /// Writes new files under temporary names, and flushes them to stable storage.
    fn prepare(&self, files: &[&ModeFile]) -> Result<(), DiskError> {
        for file in files {
            // Nothing is left of a commit that failed before its line was in the log.
            self.prepare_one(file).inspect_err(|_| self.discard(files))?;
        }
        Ok(())
    }

    fn prepare_one(&self, file: &ModeFile) -> Result<(), DiskError> {
        let Some(text) = &file.text else { return Ok(()) };
        let dir = match &file.session {
            Some(session) => self.state.dir.ensure_dir(SESSIONS)?.0.ensure_dir(session.as_str())?.0,
            None => self.state.dir.clone(),
        };
        let tmp = tmp(&file.name);
        dir.remove(&tmp)?;
        // If a file could not be read, its permissions may be the reason, so do not copy them.
        let mode = if file.aside { NEW_FILE } else { dir.mode_of(&file.name) | OWNER_READS };
        let made = dir.create(&tmp, text.as_bytes(), mode)?;
        flush(&*made, || dir.join(&tmp))
    }

    /// Removes the temporary files.
    fn discard(&self, files: &[&ModeFile]) {
        for file in files.iter().filter(|file| file.text.is_some()) {
            if let Ok(Some(dir)) = self.state.find_scope(&file.scope()) {
                let _ = dir.remove(&tmp(&file.name));
            }
        }
    }

    /// Puts the files into place. All others, and the directories of the sessions that were `touched` before, are on stable
    /// storage before the last one is written.
    fn publish(
        &self,
        files: &[&ModeFile],
        mut touched: BTreeSet<Option<SessionId>>,
        now: Timestamp,
    ) -> Result<(), DiskError> {
        for file in files.iter().filter(|file| !is_last(file)) {
            let Some(dir) = self.state.find_scope(&file.scope())? else { continue };
            // A file cannot replace a directory.
            if file.aside || is_directory(&dir, &file.name) {
                self.set_aside(&dir, &file.name, now)?;
            }
            match &file.text {
                Some(_) => dir.rename(&tmp(&file.name), &file.name, Rename::Replace)?,
                None => dir.remove(&file.name)?,
            }
            touched.insert(file.session.clone());
        }
        // The process that created a directory may have been killed before its name was on stable storage.
        if touched.iter().any(Option::is_some)
            && let Some(dir) = self.state.dir.find_dir(SESSIONS)?
        {
            dir.sync()?;
        }
        touched.insert(None);
        for session in touched {
            if let Some(dir) = self.state.find_scope(&Scope::of(session))? {
                dir.sync()?;
            }
        }
        if files.last().is_some_and(|file| is_last(file) && file.text.is_some()) {
            if is_directory(&self.state.dir, VISIBLE) {
                self.set_aside(&self.state.dir, VISIBLE, now)?;
            }
            self.state.dir.rename(&tmp(VISIBLE), VISIBLE, Rename::Replace)?;
        }
        Ok(())
    }

    /// Moves a file to quarantine.
    fn set_aside(&self, dir: &Dir, name: &str, now: Timestamp) -> Result<(), DiskError> {
        if !dir.exists(name)? {
            return Ok(());
        }
        // If a file has the name of the quarantine directory, keep the old file beside it.
        let (quarantine, made) = match dir.ensure_dir(QUARANTINE) {
            Err(DiskError::Unsafe { .. }) => (dir.clone(), false),
            quarantine => quarantine?,
        };
        let stem = name.strip_suffix(".json").unwrap_or(name);
        let free = quarantine.free_name(&format!("{stem}-{}", now.compact()), ".json")?;
        dir.rename_into(name, &quarantine, &free, Rename::NoReplace)?;
        quarantine.sync()?;
        if made {
            dir.sync()?;
        }
        self.log.note(&format!("the old {name}"), &quarantine, &free);
        Ok(())
    }
}

/// Whether it is the file of a commit that is put into place last: the visible set of the root scope.
fn is_last(file: &ModeFile) -> bool {
    file.session.is_none() && file.name == VISIBLE
}

fn tmp(name: &str) -> String {
    format!(".{name}.tmp")
}
