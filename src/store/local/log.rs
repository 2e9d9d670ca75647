//! Reads `events.jsonl`: writers read its end, some readers all of it. [`crate::codec::LogScan`] parses the lines.

use std::io;
use std::ops::Range;
use std::path::Path;

use memchr::{memchr, memmem};

use crate::codec::{LINE_START, LogEnd, LogLines, LogScan, is_lfs_pointer, sealed_event};
use crate::disk::{Disk, DiskFile, FileType, Links, Open, both, read_plain};
use crate::model::{Event, Seq, limits};
use crate::store::local::lines::{BLOCK, Backwards, Gap, LogFault, PassedLines, Read, forwards};
use crate::store::run_store::ReadPosition;

/// Reads a whole log.
///
/// # Errors
/// [`LogFault`]: errors of reading the file, `InvalidData` when it is longer than [`limits::LOG_BYTES`], and too much in
/// a row without an event.
pub(super) fn scan(file: &dyn DiskFile) -> Read<LogScan> {
    let len = file.stat().map_err(io::Error::from)?.len;
    let read = if len > limits::LOG_BYTES as u64 {
        Err(io::Error::new(io::ErrorKind::InvalidData, "the log is too long").into())
    } else {
        scan_until(file, len)
    };
    if read.is_err() {
        // The end may say more of what is wrong.
        LogTail::read(file, Seq(u64::MAX))?;
    }
    read
}

/// From this many bytes on, two threads read a log.
const TWO_THREADS: u64 = 1 << 20;

/// The lines before the place `end`. The last one may lack its line break.
fn scan_until(file: &dyn DiskFile, end: u64) -> Read<LogScan> {
    // A line belongs to one of the parts as a whole.
    let middle = if end < TWO_THREADS { end } else { start_of_line(file, end / 2..end)? };
    if middle == end {
        return Ok(scan_part(file, 0..end)?.scan.sorted());
    }
    let (first, second) = both(|| scan_part(file, 0..middle), || scan_part(file, middle..end));
    let (mut first, second) = (first?, second?);
    // Neither part alone shows how much there is without an event across the middle.
    first.passed.last_gap.pass_into(&second.passed.first_gap)?;
    first.scan.extend(second.scan, first.lines);
    Ok(first.scan.sorted())
}

/// A part of a log.
struct ScannedPart {
    scan: LogScan,
    /// How many lines it has.
    lines: usize,
    passed: PassedLines,
}

/// The lines between two places, with their numbers from there on. The last one may lack its line break.
fn scan_part(file: &dyn DiskFile, places: Range<u64>) -> Read<ScannedPart> {
    let mut taken = LogLines::default();
    let (mut lines, mut is_pointer, begin) = (0, false, places.start);
    let passed = forwards(file, places, |line| {
        lines += 1;
        is_pointer |= begin == 0 && lines == 1 && is_lfs_pointer(line);
        taken.take(lines, line)
    })?;
    if is_pointer {
        return Err(LogFault::LfsPointer);
    }
    if sealed_event(&passed.rest).is_some() {
        taken.take(lines + 1, &passed.rest);
    }
    Ok(ScannedPart { scan: taken.scan, lines, passed })
}

/// The first place between these two where a line begins; the second place if there is none within the length of a block.
fn start_of_line(file: &dyn DiskFile, places: Range<u64>) -> Read<u64> {
    let mut block = vec![0; BLOCK];
    let read = file.read_at(&mut block, places.start).map_err(io::Error::from)?;
    match memchr(b'\n', &block[..read]) {
        Some(at) => Ok(places.end.min(places.start + at as u64 + 1)),
        None => Ok(places.end),
    }
}

/// Checks that a log can be read as a whole.
pub(super) fn check(file: &dyn DiskFile) -> Read<()> {
    let len = file.stat().map_err(io::Error::from)?.len;
    LogTail::read(file, Seq(u64::MAX))?;
    forwards(file, 0..len, |line| sealed_event(line).is_some())?;
    Ok(())
}

/// The bytes of the log at `path`, damaged or not.
///
/// # Errors
/// [`LogFault`]: as [`scan`], and for what is not a regular file.
pub(crate) fn bytes_at(disk: &dyn Disk, path: &Path) -> Read<Vec<u8>> {
    // Asked first, so that nothing is opened that would block.
    if let Ok(stat) = disk.look(path, Links::Refuse)
        && stat.kind == FileType::RegularFile
    {
        check(&*disk.open_file(path, Open::Read, Links::Refuse).map_err(io::Error::from)?)?;
    }
    let bytes = read_plain(disk, path, limits::LOG_BYTES)?;
    if is_lfs_pointer(&bytes) { Err(LogFault::LfsPointer) } else { Ok(bytes) }
}

/// The position that a line claims, read from its first bytes without verifying the seal.
fn claimed_position(line: &[u8]) -> Option<u64> {
    let digits = line.strip_prefix(LINE_START.as_bytes())?;
    let len = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let seq = std::str::from_utf8(&digits[..len]).ok()?.parse().ok()?;
    if seq <= limits::COUNTER { Some(seq) } else { None }
}

/// The whole lines after `position`, which advances past them. At the beginning of an orderly log, those up to the event
/// `after` are left out.
pub(super) fn scan_from(file: &dyn DiskFile, position: &mut ReadPosition, after: Seq) -> Read<LogScan> {
    let stat = file.stat().map_err(io::Error::from)?;
    if *position == ReadPosition::default() && after > Seq(0) {
        // Otherwise events up to `after` may be anywhere in it.
        if let Some(LogTail { end, whole, unended: false, .. }) = LogTail::orderly(file, after)?
            && end.at.is_some()
            && !end.has_others
        {
            *position = ReadPosition { log: stat.inode, offset: whole };
            return Ok(LogScan::of_end(end));
        }
    }
    if stat.inode != position.log || position.offset > stat.len {
        *position = ReadPosition { log: stat.inode, offset: 0 };
    }
    let mut taken = LogLines::default();
    let mut number = 0;
    let passed = forwards(file, position.offset..stat.len, |line| {
        number += 1;
        taken.take(number, line)
    })?;
    position.offset = passed.place;
    Ok(taken.scan.sorted())
}

/// The events whose lines have `text` in them, latest first, searched from the end up to one that is `enough`. The search
/// goes over bytes, and only lines with the text are parsed.
pub(super) fn with_text(file: &dyn DiskFile, text: &str, enough: &dyn Fn(&Event) -> bool) -> Read<Vec<Event>> {
    let len = file.stat().map_err(io::Error::from)?.len;
    let (mut lines, mut gap) = (Backwards::new(file, len), Gap::default());
    let finder = memmem::Finder::new(text);
    let mut found = Vec::new();
    while let Some((_, line)) = lines.next(&gap)? {
        // A claim is enough here: to verify each line would take longer than the search.
        gap.pass(line, claimed_position(line).is_some())?;
        if finder.find(line).is_none() {
            continue;
        }
        let Some(event) = sealed_event(line) else { continue };
        let is_enough = enough(&event);
        found.push(event);
        if is_enough {
            break;
        }
    }
    found.sort_by(|a, b| (b.seq, &b.id).cmp(&(a.seq, &a.id)));
    found.dedup();
    Ok(found)
}

/// The end of a log, and its place in the file.
#[derive(Debug, Clone, PartialEq)]
pub struct LogTail {
    /// The events at the end.
    pub end: LogEnd,
    /// Length up to and including the last line break, or of the whole file if only that break is missing.
    pub whole: u64,
    /// Whether the last line verifies and only lacks its line break. An editor may cut it off.
    pub unended: bool,
    /// Length of the file.
    pub len: u64,
    /// Where the first one of the newer events begins.
    pub newer_at: u64,
}

impl LogTail {
    /// Reads backwards from the end until an event at or before `since` is found.
    ///
    /// # Errors
    /// [`LogFault`]: errors of reading the file, and too much in a row without an event.
    pub(crate) fn read(file: &dyn DiskFile, since: Seq) -> Result<Self, LogFault> {
        let (tail, order) = Self::backwards(file, since, |_, _| false)?;
        // After a merge of two branches the last line is not the latest event, and lines before an older one may be
        // newer. Look at all of them.
        if order.is_broken(&tail.end) {
            let all = LogEnd::of(&scan_until(file, tail.whole)?, since);
            return Ok(Self { end: LogEnd { ordered: false, ..all }, ..tail });
        }
        Ok(tail)
    }

    /// As [`Self::read`], of a log whose end is in order. `None` if only all of the log tells: no more is read then than shows
    /// that.
    pub(crate) fn orderly(file: &dyn DiskFile, since: Seq) -> Result<Option<Self>, LogFault> {
        let (tail, order) = Self::backwards(file, since, Order::is_broken)?;
        if order.is_broken(&tail.end) { Ok(None) } else { Ok(Some(tail)) }
    }

    /// Reads backwards, at most until `gives_up` says so behind an event or a line that claims to be one.
    fn backwards(
        file: &dyn DiskFile,
        since: Seq,
        gives_up: impl Fn(&Order, &LogEnd) -> bool,
    ) -> Result<(Self, Order), LogFault> {
        let len = file.stat().map_err(io::Error::from)?.len;
        let end = LogEnd { newer: Vec::new(), at: None, last: Seq(0), ordered: true, has_others: false };
        let mut tail = Self { end, whole: len, unended: false, len, newer_at: len };
        let (mut lines, mut gap, mut order) = (Backwards::new(file, len), Gap::default(), Order::default());
        // How much of the end to look at, at least.
        let mut window = limits::TAIL_BYTES as u64;
        let mut is_whole = false;
        while let Some((place, line)) = lines.next(&gap)? {
            if place == 0 && is_lfs_pointer(line) {
                return Err(LogFault::LfsPointer);
            }
            is_whole = is_whole || !tail.is_torn(line);
            if !is_whole {
                gap.pass(line, false)?;
                tail.end.has_others = true;
                tail.whole = place;
                continue;
            }
            let from_end = tail.whole - place;
            // Before the first event of all there is only what a log may have beside events.
            let is_before_first = tail.end.at.as_ref().is_some_and(|at| at.seq == Seq(1));
            if is_before_first {
                gap.pass(line, false)?;
            } else if tail.end.at.is_some() && from_end > window {
                break;
            }
            order.look_at(line);
            if !order.rises {
                break;
            }
            // The rest of the window is only looked at for its order.
            if tail.end.at.is_some() {
                continue;
            }
            let event = sealed_event(line);
            gap.pass(line, event.is_some())?;
            let Some(event) = event else {
                tail.end.has_others = true;
                if gives_up(&order, &tail.end) {
                    break;
                }
                continue;
            };
            tail.end.last = tail.end.last.max(event.seq);
            if event.seq > since {
                tail.end.newer.push(event);
                tail.newer_at = place;
                continue;
            }
            tail.end.at = Some(event);
            while window < from_end {
                window *= 8;
            }
        }
        // Back to the order of the file. If two events have the same id, that order decides.
        let newer = &mut tail.end.newer;
        newer.reverse();
        newer.sort_by(|a, b| (a.seq, &a.id).cmp(&(b.seq, &b.id)));
        newer.dedup();
        Ok((tail, order))
    }

    /// Whether a line after which everything is torn is torn as well. Without a line break, only a whole event is not;
    /// `unended` then says so. With one, a power cut lost blocks of the line but not the one with its end, if there are
    /// zeros in it. Such lines were never acknowledged.
    fn is_torn(&mut self, line: &[u8]) -> bool {
        match line.strip_suffix(b"\n") {
            Some(body) => body.contains(&0),
            None => {
                self.unended = sealed_event(line).is_some();
                !self.unended
            }
        }
    }
}

/// Whether the positions that lines claim rise, seen from the end.
#[derive(Debug)]
struct Order {
    rises: bool,
    /// The position of the last line, and of the first one that was seen.
    last: Option<u64>,
    first: Option<u64>,
}

impl Default for Order {
    fn default() -> Self {
        Self { rises: true, last: None, first: None }
    }
}

impl Order {
    /// Whether the events of `end`, which were read so far, may not be the latest ones.
    fn is_broken(&self, end: &LogEnd) -> bool {
        !self.rises || self.last > Some(end.last.0)
    }

    fn look_at(&mut self, line: &[u8]) {
        let Some(said) = claimed_position(line) else { return };
        self.rises = self.first.is_none_or(|first| said < first);
        self.last = self.last.or(Some(said));
        self.first = Some(said);
    }
}
