//! The modes on disk: files that people and other programs read and edit, behind one log.
//!
//! The files are what counts; the log makes changes to several of them one. A commit appends one sealed line with every
//! file's new text (the commit point), and then puts the files into place. The last one, the visible set of the root
//! scope, carries the position that the files show: it is put into place when all others are on stable storage, so a
//! reader or the next writer knows by it which lines of the log the files still lack. `.lock` notes the same position, for
//! the case that another program replaces the visible set.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::codec::{digest, seal};
use crate::disk::{Dir, DiskError, FileType, NEW_FILE, Operation, Rename, flush};
use crate::model::{Event, EventKind, ModeFile, Scope, Seq, SessionId, Timestamp, VISIBLE, limits};
use crate::store::local::layout::{LOG, LOG_TMP, QUARANTINE, SESSIONS, STATE};
use crate::store::local::lock::note_of;
use crate::store::local::log::LogTail;
use crate::store::local::log_file::{LockedLog, log_fault};
use crate::store::{Committed, Project, StoreError, WriteRequest};

/// `.flow/state`.
#[derive(Debug)]
pub struct StateDir {
    dir: Dir,
    flow: Dir,
}

/// Files of modes, by scope and name; those that are missing are not in it.
pub type StateFiles = BTreeMap<(Scope, String), StateFile>;

/// What stands where a file of modes goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StateFile {
    /// A file.
    Text(Vec<u8>),
    /// Something that cannot be read, and why: it can be put aside all the same.
    Odd(String),
}

impl StateFile {
    /// What its digest is made of. A change of what cannot be read is told by the reason.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Text(bytes) => bytes,
            Self::Odd(why) => why.as_bytes(),
        }
    }
}

/// Who has a directory.
#[derive(Debug, Default)]
pub struct Sessions {
    /// Those that can be read.
    pub readable: Vec<SessionId>,
    /// Those that nobody may look at, each with the reason.
    pub closed: Vec<(SessionId, StoreError)>,
}

/// The permission bit without which a file's owner cannot read it.
const OWNER_READS: u32 = 0o400;

/// How often a reader without a lock starts over when somebody writes meanwhile.
const READ_TRIES: usize = 50;

impl Project {
    /// The directory of the modes; `None` when there is none.
    ///
    /// # Errors
    /// [`StoreError`] when there is something that cannot be used.
    pub fn state(&self) -> Result<Option<StateDir>, StoreError> {
        Ok(self.flow.find_dir(STATE)?.map(|dir| StateDir { dir, flow: self.flow.clone() }))
    }

    /// The directory of the modes, made when there is none.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be made or used.
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

    /// The sessions that have a directory, sorted. Other names are not flow's.
    ///
    /// # Errors
    /// [`StoreError`] when there is something that cannot be read.
    pub fn sessions(&self) -> Result<Sessions, StoreError> {
        let mut sessions = Sessions::default();
        let Some(dir) = self.dir.find_dir(SESSIONS)? else { return Ok(sessions) };
        let is_dir = |name: &str| dir.look(name).is_ok_and(|stat| stat.kind == FileType::Directory);
        let names = dir.names()?.into_iter().filter(|name| is_dir(name));
        let mut all: Vec<_> = names.filter_map(|name| SessionId::new(name).ok()).collect();
        all.sort();
        for session in all {
            match dir.find_dir(session.as_str()).and_then(|own| own.map(|own| own.names()).transpose()) {
                Ok(_) => sessions.readable.push(session),
                Err(why) if why.is_forbidden() => sessions.closed.push((session, why.into())),
                Err(why) => return Err(why.into()),
            }
        }
        Ok(sessions)
    }

    /// The root's scope and that of every session that can be read.
    ///
    /// # Errors
    /// As [`Self::sessions`].
    pub fn everybody(&self) -> Result<Vec<Scope>, StoreError> {
        let sessions = self.sessions()?.readable.into_iter().map(Scope::Session);
        Ok([Scope::Root].into_iter().chain(sessions).collect())
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

    /// The files called `names` of `scopes`, as of one moment; without scopes, of everybody.
    ///
    /// # Errors
    /// [`StoreError`] when there is something that cannot be read.
    pub fn read(&self, scopes: Option<&[Scope]>, names: &[String]) -> Result<StateFiles, StoreError> {
        let mut tries = READ_TRIES;
        loop {
            let before = self.unshown()?;
            // A session may have begun since anybody asked for all of them.
            let here = match scopes {
                Some(scopes) => scopes.to_vec(),
                None => self.everybody()?,
            };
            let mut files = self.files(&here, names)?;
            let after = self.unshown()?;
            tries -= 1;
            // A commit that began and ended meanwhile leaves its positions alone.
            if before != after && tries > 0 {
                continue;
            }
            let changes = after.newer.iter().filter_map(changes_of).flatten();
            let asked = |file: &&ModeFile| scopes.is_none_or(|scopes| scopes.contains(&file.scope()));
            for file in changes.filter(asked).filter(|file| names.contains(&file.name)) {
                let key = (file.scope(), file.name.clone());
                if !is_to_be_put(file, files.get(&key)) {
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
                if let Some(found) = look(&dir, name)? {
                    files.insert((scope.clone(), name.clone()), found);
                }
            }
        }
        Ok(files)
    }

    /// How far the log is, and what of it the files do not show yet.
    fn unshown(&self) -> Result<Unshown, StoreError> {
        let Some(file) = self.dir.open_read(LOG)? else { return Ok(Unshown::default()) };
        let shown = self.shown()?.max(note_of(&self.dir).map_or(Seq(0), |note| note.seq));
        let tail = LogTail::read(&*file, shown).map_err(|source| log_fault(&self.dir, Operation::Read, source))?;
        Ok(Unshown { shown, last: tail.end.last, newer: unshown_of(tail.end.newer, shown) })
    }

    /// The position that the files show, as far as the visible set says.
    fn shown(&self) -> Result<Seq, DiskError> {
        let Some(StateFile::Text(bytes)) = look(&self.dir, VISIBLE)? else { return Ok(Seq(0)) };
        Ok(serde_json::from_slice::<Marked>(&bytes).map_or(Seq(0), |set| set.flow.seq.min(Seq(limits::COUNTER))))
    }

    fn find_scope(&self, scope: &Scope) -> Result<Option<Dir>, DiskError> {
        let Some(session) = scope.session() else { return Ok(Some(self.dir.clone())) };
        match self.dir.find_dir(SESSIONS)? {
            Some(dir) => dir.find_dir(session.as_str()),
            None => Ok(None),
        }
    }

    fn make_scope(&self, scope: &Scope) -> Result<Dir, DiskError> {
        let Some(session) = scope.session() else { return Ok(self.dir.clone()) };
        Ok(self.dir.ensure_dir(SESSIONS)?.0.ensure_dir(session.as_str())?.0)
    }

    /// Whether a scope has a directory.
    ///
    /// # Errors
    /// [`StoreError`] when there is something that cannot be used.
    pub fn has(&self, scope: &Scope) -> Result<bool, StoreError> {
        Ok(self.find_scope(scope)?.is_some())
    }

    /// Locks the modes for writing, and brings the files up to the log.
    ///
    /// # Errors
    /// As [`crate::store::RunDir::lock`].
    pub fn lock(&self, request: &WriteRequest) -> Result<LockedState<'_>, StoreError> {
        let mut locked = LockedState { state: self, log: LockedLog::take(&self.dir, request)? };
        locked.catch_up(request.writer.since)?;
        Ok(locked)
    }
}

/// How far the log and the files are.
#[derive(Debug, Default, PartialEq)]
struct Unshown {
    shown: Seq,
    last: Seq,
    newer: Vec<Event>,
}

/// Those of the newest events that the files can lack. Whoever commits has put into place what was there before, so
/// without any position it is the last one alone: what an older one says, somebody may have taken back since.
fn unshown_of(mut newer: Vec<Event>, shown: Seq) -> Vec<Event> {
    if shown == Seq(0) { newer.pop().into_iter().collect() } else { newer }
}

/// What flow reads of a visible set.
#[derive(Deserialize)]
struct Marked {
    flow: Position,
}

#[derive(Deserialize)]
struct Position {
    seq: Seq,
}

/// What stands there. Whatever it is can be put aside, and must not keep anybody from doing so.
fn look(dir: &Dir, name: &str) -> Result<Option<StateFile>, DiskError> {
    match dir.read(name, limits::MODE_BYTES) {
        Ok(found) => Ok(found.map(StateFile::Text)),
        Err(DiskError::TooLarge { limit, .. }) => Ok(Some(StateFile::Odd(format!("it is larger than {limit} bytes")))),
        Err(DiskError::Unsafe { hazard, .. }) => Ok(Some(StateFile::Odd(hazard.to_string()))),
        // Whatever else may keep a file from being opened, it may pass.
        Err(DiskError::Io { .. }) if dir.look(name).is_ok_and(|stat| stat.mode & OWNER_READS == 0) => {
            Ok(Some(StateFile::Odd("its permissions do not allow it".to_owned())))
        }
        Err(error) => Err(error),
    }
}

fn changes_of(event: &Event) -> Option<&[ModeFile]> {
    match &event.kind {
        EventKind::ModesChanged(changed) => Some(&changed.files),
        _ => None,
    }
}

/// Whether a committed file has to be put into place over what is there: unless somebody edited that since the commit.
/// Visible sets only show what the other files say, so nobody's edit of one counts.
fn is_to_be_put(file: &ModeFile, found: Option<&StateFile>) -> bool {
    let is = |text: &str| matches!(found, Some(StateFile::Text(bytes)) if bytes == text.as_bytes());
    if file.text.as_deref().map_or(found.is_none(), is) {
        return false;
    }
    let before = || found.is_some_and(|found| file.was.as_ref().is_some_and(|was| was.0 == digest(found.as_bytes())));
    // A file is replaced in one step, so one that was there and is not any more was removed by somebody.
    let never_there = found.is_none() && (file.was.is_none() || file.aside);
    // What is put aside is kept, whoever changed it meanwhile.
    file.name == VISIBLE || never_there || before() || (file.aside && found.is_some())
}

/// The modes under their lock.
#[derive(Debug)]
#[must_use]
pub struct LockedState<'a> {
    state: &'a StateDir,
    log: LockedLog,
}

impl LockedState<'_> {
    /// Whose lock it is.
    #[must_use]
    pub fn state(&self) -> &StateDir {
        self.state
    }

    /// The position of the next event.
    #[must_use]
    pub fn next_seq(&self) -> Seq {
        self.log.tail.end.last.max(self.log.lock.high_water().0).next()
    }

    /// As [`StateDir::read`], under the lock.
    ///
    /// # Errors
    /// As there.
    pub fn read(&self, scopes: &[Scope], names: &[String]) -> Result<StateFiles, StoreError> {
        Ok(self.state.files(scopes, names)?)
    }

    /// What went to quarantine since the last call, in words for people.
    #[must_use]
    pub fn take_notes(&self) -> Vec<String> {
        self.log.take_notes()
    }

    /// Puts the files of events into place that a dead writer did not.
    fn catch_up(&mut self, now: Timestamp) -> Result<(), StoreError> {
        let shown = self.state.shown()?;
        let since = shown.max(self.log.lock.high_water().0);
        self.log.reread_tail(since)?;
        // The log may lag behind the files when somebody put back an older one.
        self.log.lock.note_seq(shown);
        let newer = unshown_of(self.log.tail.end.newer.clone(), since);
        let Some(last) = newer.last() else { return Ok(()) };
        // Only what is on stable storage may be shown.
        self.log.renew_once()?;
        for event in &newer {
            let Some(files) = changes_of(event) else { continue };
            let mut missing = Vec::new();
            for file in files {
                // What somebody put in the place of a session is theirs; it must not keep the others.
                let dir = match self.state.find_scope(&file.scope()) {
                    Err(DiskError::Unsafe { .. }) => continue,
                    dir => dir?,
                };
                let found = dir.map(|dir| look(&dir, &file.name)).transpose()?.flatten();
                if is_to_be_put(file, found.as_ref()) {
                    missing.push(file);
                }
            }
            self.prepare(&missing)?;
            self.publish(&missing, now)?;
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
    /// When the event's position is not the next one, or it is about something else: a caller's mistake.
    pub fn commit(&mut self, event: &Event) -> Result<Committed, StoreError> {
        assert!(event.seq == self.next_seq(), "BUG: event {} is not the next one", event.seq);
        let files = changes_of(event).expect("BUG: the event is not about modes");
        let line = seal(&event.to_object());
        if line.len() > limits::LINE_BYTES {
            return Err(StoreError::TooLong { limit: limits::LINE_BYTES });
        }
        for file in files {
            if file.text.as_ref().is_some_and(|text| text.len() > limits::MODE_BYTES) {
                let path = self.state.file_path(&file.scope(), &file.name);
                return Err(DiskError::TooLarge { path, limit: limits::MODE_BYTES }.into());
            }
        }
        self.clear_leftovers(files)?;
        self.log.check_place()?;
        if self.log.tail.end.last <= Seq(1) {
            // Whoever made the directory may have been killed before its name was on stable storage.
            self.state.flow.sync()?;
            self.state.dir.sync()?;
        }
        let prepared: Vec<_> = files.iter().collect();
        self.prepare(&prepared)?;
        self.log.commit(&line, || Ok(())).inspect_err(|_| self.discard(&prepared))?;
        // Acknowledged from here on: nothing below may fail the operation.
        let lagging = self.publish(&prepared, event.at).err().map(StoreError::from);
        if lagging.is_none() {
            self.log.lock.note_seq(event.seq);
        }
        self.log.tail.end.advance(event);
        Ok(Committed { seq: event.seq, lagging: lagging.map(|error| error.in_words()) })
    }

    /// Removes what writers that died left in the scopes of these files.
    fn clear_leftovers(&self, files: &[ModeFile]) -> Result<(), DiskError> {
        let scopes: BTreeSet<Scope> = files.iter().map(ModeFile::scope).collect();
        for dir in scopes.iter().map(|scope| self.state.find_scope(scope)) {
            let Ok(Some(dir)) = dir else { continue };
            let leftover = |name: &&String| {
                (name.starts_with('.') && name.ends_with("-state.json.tmp")) || name.as_str() == LOG_TMP
            };
            for name in dir.names()?.iter().filter(leftover) {
                dir.remove(name)?;
            }
        }
        Ok(())
    }

    /// Writes new files under temporary names, and puts them on stable storage.
    fn prepare(&self, files: &[&ModeFile]) -> Result<(), DiskError> {
        let prepared = files.iter().try_for_each(|file| {
            let Some(text) = &file.text else { return Ok(()) };
            let dir = self.state.make_scope(&file.scope())?;
            let tmp = tmp(&file.name);
            dir.remove(&tmp)?;
            // What could not be read may be so by its permissions.
            let mode = if file.aside { NEW_FILE } else { dir.mode_of(&file.name) | OWNER_READS };
            let made = dir.create(&tmp, text.as_bytes(), mode)?;
            flush(&*made, || dir.join(&tmp))
        });
        prepared.inspect_err(|_| self.discard(files))
    }

    /// Takes back what was prepared.
    fn discard(&self, files: &[&ModeFile]) {
        for file in files.iter().filter(|file| file.text.is_some()) {
            if let Ok(Some(dir)) = self.state.find_scope(&file.scope()) {
                let _ = dir.remove(&tmp(&file.name));
            }
        }
    }

    /// Puts the files into place. All but the last are on stable storage before that one says so.
    fn publish(&self, files: &[&ModeFile], now: Timestamp) -> Result<(), DiskError> {
        let is_last = |file: &ModeFile| file.session.is_none() && file.name == VISIBLE;
        let mut touched = BTreeSet::new();
        for file in files.iter().filter(|file| !is_last(file)) {
            let Some(dir) = self.state.find_scope(&file.scope())? else { continue };
            if file.aside || is_odd(&dir, &file.name) {
                self.set_aside(&dir, &file.name, now)?;
            }
            match &file.text {
                Some(_) => dir.rename(&tmp(&file.name), &file.name, Rename::Replace)?,
                None => dir.remove(&file.name)?,
            }
            touched.insert(file.session.clone());
        }
        // Whoever made a directory may have been killed before its name was on stable storage.
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
            if is_odd(&self.state.dir, VISIBLE) {
                self.set_aside(&self.state.dir, VISIBLE, now)?;
            }
            self.state.dir.rename(&tmp(VISIBLE), VISIBLE, Rename::Replace)?;
        }
        Ok(())
    }

    /// Keeps what nobody could read.
    fn set_aside(&self, dir: &Dir, name: &str, now: Timestamp) -> Result<(), DiskError> {
        if !dir.exists(name)? {
            return Ok(());
        }
        // Where somebody's file stands in the way of the quarantine, it is kept beside it.
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

/// Whether something stands there over which no file can be put.
fn is_odd(dir: &Dir, name: &str) -> bool {
    dir.look(name).is_ok_and(|stat| stat.kind == FileType::Directory)
}

fn tmp(name: &str) -> String {
    format!(".{name}.tmp")
}
