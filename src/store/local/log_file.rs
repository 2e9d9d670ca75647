//! A locked log, the only way to append to one.

use std::cell::RefCell;
use std::io;

use crate::codec::{LogScan, sealed_event};
use crate::disk::{Dir, DiskError, DiskFile, Errno, File, NEW_FILE, Open, Operation, Rename, read_exact_at, write_all};
use crate::model::{Event, Seq, Timestamp, limits};
use crate::store::error::{Result, StoreError};
use crate::store::local::layout::{LOG, LOG_TMP, QUARANTINE};
use crate::store::local::lines::LogFault;
use crate::store::local::lock::Lock;
use crate::store::local::log::{LogTail, scan, with_text};
use crate::store::request::WriteRequest;

/// A directory's log, and the lock under which it is written.
#[derive(Debug)]
#[must_use]
pub(crate) struct LockedLog {
    dir: Dir,
    pub(crate) lock: Lock,
    file: File,
    pub(crate) tail: LogTail,
    /// Whether this lock's holder has copied the log to a new file.
    renewed: bool,
    /// Whether others have appended since this lock's holder committed.
    pub(crate) has_moved_on: bool,
    /// Messages about what was moved to quarantine under this lock.
    put_aside: RefCell<Vec<String>>,
}

impl LockedLog {
    /// Locks `dir` and repairs the end of its log: cuts off a torn tail, and copies the log after a failed flush.
    pub(crate) fn take(dir: &Dir, request: &WriteRequest) -> Result<Self> {
        let lock = Lock::take_or_tell(dir, request, || shared(dir))?;
        let file = dir.open_own(LOG, Open::Append { mode: NEW_FILE })?;
        let tail = LogTail::read(&*file, Seq(u64::MAX)).map_err(|fault| unread(dir, fault))?;
        let (renewed, has_moved_on, put_aside) = (false, false, RefCell::default());
        let mut log = Self { dir: dir.clone(), lock, file, tail, renewed, has_moved_on, put_aside };
        if log.tail.unended || log.tail.whole < log.tail.len {
            log.mend_torn_tail(request.writer.since)?;
        }
        if log.lock.is_log_suspect() {
            log.renew()?;
        }
        Ok(log)
    }

    /// Messages about what was moved to quarantine since the last call.
    pub(crate) fn take_notes(&self) -> Vec<String> {
        self.put_aside.take()
    }

    /// Adds to these messages.
    pub(crate) fn tell(&self, told: Vec<String>) {
        self.put_aside.borrow_mut().extend(told);
    }

    pub(crate) fn note(&self, what: &str, quarantine: &Dir, name: &str) {
        let path = quarantine.join(name);
        self.put_aside.borrow_mut().push(format!("{what} was put into {}", path.display()));
    }

    /// Reads the log's end again, with the events after `since`.
    pub(crate) fn reread_tail(&mut self, since: Seq) -> Result<()> {
        self.tail = LogTail::read(&*self.file, since).map_err(|fault| unread(&self.dir, fault))?;
        Ok(())
    }

    /// The whole log.
    pub(crate) fn read(&self) -> Result<LogScan> {
        scan(&*self.file).map_err(|fault| unread(&self.dir, fault))
    }

    /// The lines of the events after `since`, without what other programs wrote between them.
    pub(crate) fn lines_after(&self, since: Seq) -> Result<String> {
        let tail = LogTail::read(&*self.file, since).map_err(|fault| unread(&self.dir, fault))?;
        let places = tail.newer_at..tail.whole;
        let mut bytes = vec![0; usize::try_from(places.end - places.start).unwrap_or(usize::MAX)];
        read_exact_at(&*self.file, &mut bytes, places.start).map_err(|error| self.fault(Operation::Read, error))?;
        let text = String::from_utf8_lossy(&bytes);
        Ok(text.split_inclusive('\n').filter(|line| sealed_event(line.as_bytes()).is_some()).collect())
    }

    /// The events whose lines have `text` in them, latest first.
    pub(crate) fn with_text(&self, text: &str, enough: &dyn Fn(&Event) -> bool) -> Result<Vec<Event>> {
        with_text(&*self.file, text, enough).map_err(|fault| unread(&self.dir, fault))
    }

    /// Fails with [`StoreError::Replaced`] if another program put its own file in place of the log.
    pub(crate) fn check_place(&self) -> Result<()> {
        if self.dir.is_still(LOG, &self.file)? {
            return Ok(());
        }
        Err(StoreError::Replaced { at: self.dir.join(LOG).into() })
    }

    /// Appends whole lines with one write and flushes the log, then calls `also`, which flushes more. This is the
    /// commit point.
    ///
    /// # Errors
    /// Until the lines are written: any error, and nothing has changed. After that: [`StoreError::Unconfirmed`].
    pub(crate) fn commit(&mut self, lines: &str, also: impl FnOnce() -> Result<(), Errno>) -> Result<()> {
        let before = self.tail.len;
        self.append(lines)?;
        if let Err(errno) = self.file.sync_data().and_then(|()| also()) {
            return Err(self.unflushed(before, errno.into()));
        }
        match self.check_place() {
            // Git or an editor put another file there: the lines went into the old one.
            Err(StoreError::Replaced { .. }) => Err(self.misplaced(before)),
            placed => placed,
        }
    }

    /// Whether other writers wait for the lock, or have released it and flush what they appended. Each of them shares the
    /// log. It is only a hint: nothing is lost whatever the answer is.
    pub(crate) fn is_held(&self) -> bool {
        self.file.is_held().unwrap_or_default()
    }

    /// As [`Self::commit`], but other writers may go on while the log is flushed, and it may be longer afterwards. Before the
    /// lines, those of [`LogTail::end`]'s newer events are written once more in place: their writers may not have
    /// flushed them, and a flush of theirs may have failed since; then only what is written afresh is flushed.
    ///
    /// `prepared` is flushed as well, after the log. Returns whether that succeeded.
    ///
    /// # Errors
    /// As [`Self::commit`]; [`StoreError::Unconfirmed`] also if the lines are flushed and the lock cannot be taken again.
    pub(crate) fn commit_with_others(&mut self, lines: &str, prepared: &File) -> Result<Result<(), Errno>> {
        self.write_newer_again()?;
        self.append(lines)?;
        self.lock.note_len(self.tail.len);
        // Who comes next lets others go on as well.
        let _ = self.file.share();
        self.lock.release();
        prepared.write_soon();
        let flushed = self.file.sync_data();
        let prepared = prepared.sync_all();
        match self.lock.take_again(&self.dir) {
            Ok(true) => {}
            Ok(false) => return Err(self.unconfirmed(io::Error::other("another process holds the lock of the run"))),
            Err(error) => return Err(self.unconfirmed(io::Error::other(error.to_string()))),
        }
        let end = self.tail.len;
        self.tail.len = self.file.stat().map_err(|errno| self.unconfirmed(errno.into()))?.len;
        if let Err(errno) = flushed {
            // Do not take the line back: a retry of this command may have flushed it meanwhile and been acknowledged.
            self.lock.note_suspect(true);
            return Err(self.unconfirmed(errno.into()));
        }
        self.has_moved_on = self.tail.len != end;
        match self.check_place() {
            Err(StoreError::Replaced { .. }) => Err(self.unconfirmed(io::Error::other(REPLACED))),
            Err(error) => Err(error),
            Ok(()) => Ok(prepared),
        }
    }

    /// Flushes the newer events of the end, whose writers may still be about to do so.
    ///
    /// # Errors
    /// [`StoreError::Unconfirmed`].
    pub(crate) fn flush_newer(&mut self) -> Result<()> {
        self.write_newer_again()?;
        match self.file.sync_data() {
            Ok(()) => Ok(()),
            Err(errno) => {
                self.lock.note_suspect(true);
                Err(self.unconfirmed(errno.into()))
            }
        }
    }

    /// Writes the lines of the newer events once more in place, so that the next flush writes them.
    fn write_newer_again(&self) -> Result<()> {
        let places = self.tail.newer_at..self.tail.whole;
        if places.is_empty() {
            return Ok(());
        }
        let mut bytes = vec![0; usize::try_from(places.end - places.start).unwrap_or(usize::MAX)];
        read_exact_at(&*self.file, &mut bytes, places.start).map_err(|error| self.fault(Operation::Append, error))?;
        // What is opened for appending writes at the end alone.
        let file = self.dir.open_own(LOG, Open::Write { mode: NEW_FILE })?;
        match file.write_at(&bytes, places.start) {
            Ok(written) if written == bytes.len() => Ok(()),
            Ok(_) => Err(self.fault(Operation::Append, short_write())),
            Err(errno) => Err(self.fault(Operation::Append, errno)),
        }
    }

    /// Appends with one write, and truncates the log again if the write was short.
    pub(crate) fn append(&mut self, lines: &str) -> Result<()> {
        let before = self.tail.len;
        if let Err(source) = write_once(&*self.file, lines.as_bytes()) {
            self.truncate_to(before);
            return Err(log_fault(&self.dir, Operation::Append, source));
        }
        self.tail.len = before + lines.len() as u64;
        self.tail.whole = self.tail.len;
        Ok(())
    }

    /// Handles a failed flush. The kernel may now report earlier lines as clean too although they never reached the
    /// disk, so the next writer must copy the log. If that cannot be noted in the lock, the unflushed line stays: it
    /// makes the next writer do the same.
    fn unflushed(&mut self, before: u64, source: io::Error) -> StoreError {
        if self.lock.note_suspect(true) {
            self.truncate_to(before);
        }
        self.unconfirmed(source)
    }

    /// Handles an append that went into a file which is no longer the log.
    fn misplaced(&self, before: u64) -> StoreError {
        self.truncate_to(before);
        self.unconfirmed(io::Error::other(REPLACED))
    }

    /// The error of a line that may or may not be on the disk.
    fn unconfirmed(&self, source: io::Error) -> StoreError {
        StoreError::Unconfirmed { at: self.dir.join(LOG).into(), source }
    }

    fn fault(&self, action: Operation, source: impl Into<io::Error>) -> StoreError {
        log_fault(&self.dir, action, source)
    }

    /// Truncates the log to the length before the append.
    fn truncate_to(&self, before: u64) {
        let _ = self.file.set_len(before);
    }

    /// Copies the log to a new file, unless that was done under this lock. After a failed flush the kernel may report
    /// pages as clean that never reached the disk, so only freshly written bytes can be flushed reliably.
    pub(crate) fn renew_once(&mut self) -> Result<()> {
        if self.renewed { Ok(()) } else { self.renew() }
    }

    /// Removes bytes after the last line break. A torn line goes to quarantine. A line that only lacks its line break
    /// gets one: a whole JSON line that was written by hand, or a sealed line whose break an editor cut off.
    fn mend_torn_tail(&mut self, now: Timestamp) -> Result<()> {
        // Have the log copied before the next append. Otherwise a power cut could undo the truncation and keep a later
        // page of the next line, and the two together would look like a whole but damaged line.
        self.lock.note_suspect(true);
        if self.tail.unended || self.is_by_hand().map_err(|error| self.fault(Operation::Repair, error))? {
            write_all(&*self.file, b"\n").map_err(|error| self.fault(Operation::Repair, error))?;
            self.tail.len += 1;
            self.tail.whole = self.tail.len;
            return Ok(());
        }
        let (quarantine, _) = self.dir.ensure_dir(QUARANTINE)?;
        let free = quarantine.free_name(&format!("events-{}", now.compact()), ".jsonl")?;
        // After an error, remove the partial copy: the next writer will make a whole one.
        self.keep_torn_tail(&quarantine, &free).inspect_err(|_| drop(quarantine.remove(&free)))?;
        self.note("a torn end of the log", &quarantine, &free);
        self.file.set_len(self.tail.whole).map_err(|errno| self.fault(Operation::Repair, errno))?;
        self.tail.len = self.tail.whole;
        Ok(())
    }

    /// Copies the torn tail to quarantine and flushes the copy, before it is cut off.
    fn keep_torn_tail(&self, quarantine: &Dir, name: &str) -> Result<()> {
        let kept = quarantine.create(name, b"", NEW_FILE)?;
        let torn = self.tail.whole..self.tail.len;
        copy(&*self.file, torn, &*kept).map_err(|error| self.fault(Operation::Repair, error))?;
        kept.sync_all().map_err(|errno| self.fault(Operation::Repair, errno))?;
        Ok(quarantine.sync()?)
    }

    /// Whether the last line, which lacks its line break, is a whole JSON object without a seal: another program wrote
    /// it.
    fn is_by_hand(&self) -> io::Result<bool> {
        let torn = usize::try_from(self.tail.len - self.tail.whole).unwrap_or(usize::MAX);
        if torn > limits::LINE_BYTES {
            return Ok(false);
        }
        let mut bytes = vec![0; torn];
        read_exact_at(&*self.file, &mut bytes, self.tail.whole)?;
        Ok(crate::codec::is_of_another_program(&bytes))
    }

    fn renew(&mut self) -> Result<()> {
        let dir = &self.dir;
        dir.remove(LOG_TMP)?;
        let renewed = dir.create(LOG_TMP, b"", dir.mode_of(LOG))?;
        copy(&*self.file, 0..self.tail.whole, &*renewed).map_err(|error| self.fault(Operation::Repair, error))?;
        renewed.sync_all().map_err(|errno| self.fault(Operation::Repair, errno))?;
        self.check_place()?;
        dir.rename(LOG_TMP, LOG, Rename::Replace)?;
        dir.sync()?;
        self.file = dir.open_own(LOG, Open::Append { mode: NEW_FILE })?;
        if self.lock.is_log_suspect() {
            self.lock.note_suspect(false);
        }
        self.renewed = true;
        self.reread_tail(Seq(u64::MAX))
    }
}

const REPLACED: &str = "another program replaced the log meanwhile";

/// The log of `dir`, shared: a sign that a writer waits for the lock.
fn shared(dir: &Dir) -> Option<File> {
    let file = dir.open_read(LOG).ok()??;
    file.share().ok()?;
    Some(file)
}

pub(crate) fn log_fault(dir: &Dir, action: Operation, source: impl Into<io::Error>) -> StoreError {
    DiskError::io(action, dir.join(LOG), source).into()
}

/// Why the log of `dir` could not be read.
pub(crate) fn unread(dir: &Dir, fault: LogFault) -> StoreError {
    match fault {
        LogFault::Io(source) => log_fault(dir, Operation::Read, source),
        LogFault::WithoutEvent { much, is_end } => StoreError::WithoutEvent { at: dir.path().into(), much, is_end },
        LogFault::LfsPointer => StoreError::LfsPointer { at: dir.join(LOG).into() },
    }
}

fn write_once(file: &dyn DiskFile, bytes: &[u8]) -> io::Result<()> {
    // A short write is cut off again, so that nothing has happened.
    match file.append(bytes)? {
        len if len == bytes.len() => Ok(()),
        _ => Err(short_write()),
    }
}

fn short_write() -> io::Error {
    io::Error::new(io::ErrorKind::WriteZero, "only a part was written")
}

/// Copies a range of bytes in bounded memory.
fn copy(from: &dyn DiskFile, range: std::ops::Range<u64>, to: &dyn DiskFile) -> io::Result<()> {
    let mut chunk = vec![0; 64 << 10];
    let mut at = range.start;
    while at < range.end {
        let want = usize::try_from(range.end - at).unwrap_or(usize::MAX).min(chunk.len());
        read_exact_at(from, &mut chunk[..want], at)?;
        write_all(to, &chunk[..want])?;
        at += want as u64;
    }
    Ok(())
}
