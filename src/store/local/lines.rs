//! The lines of a log, from its beginning or its end, in bounded memory. What cannot be a log is an error early: see [`Gap`].

use std::io;
use std::ops::Range;

use memchr::{memchr_iter, memrchr};

use crate::disk::{DiskFile, read_exact_at};
use crate::model::limits;

/// How much of a file is read at a time. It stays in the processor's cache.
pub(super) const BLOCK: usize = 64 << 10;

const LINE_BREAK: usize = 1;

/// Why a log cannot be read.
#[derive(Debug)]
pub(crate) enum LogFault {
    /// A system call failed.
    Io(io::Error),
    /// There is so much in a row without an event that nothing is looked for any further.
    WithoutEvent {
        /// How much, in words.
        much: String,
        /// Whether it is the end of the log.
        is_end: bool,
    },
    /// Git LFS has it, and left a pointer in its place.
    LfsPointer,
}

impl From<io::Error> for LogFault {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

pub(crate) type Read<T> = Result<T, LogFault>;

/// What was passed since the last event. Torn lines, notes of other programs and damaged lines are part of a log, but not
/// without end: every reader looks for events, also a hook in a repository that someone else made.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Gap {
    bytes: usize,
    lines: usize,
    /// The longest one of the lines, in bytes. It may be a torn line, and these may be long.
    longest: usize,
    is_after_event: bool,
}

impl Gap {
    /// Passes a line; `is_event` is whether it is an event.
    pub(super) fn pass(&mut self, line: &[u8], is_event: bool) -> Read<()> {
        if is_event {
            *self = Self { is_after_event: true, ..Self::default() };
            return Ok(());
        }
        self.add_lines(1, line.len(), line.len())
    }

    /// Passes what follows in another part of the log, as far as it has no event.
    pub(super) fn pass_into(mut self, next: &Self) -> Read<()> {
        self.add_lines(next.lines, next.bytes, next.longest)
    }

    fn add_lines(&mut self, lines: usize, bytes: usize, longest: usize) -> Read<()> {
        self.lines += lines;
        self.bytes += bytes;
        self.longest = self.longest.max(longest);
        if self.lines > limits::GAP_LINES {
            return Err(self.fault(format!("{} lines", limits::GAP_LINES)));
        }
        self.check_length(0)
    }

    /// Whether it is not too long yet, with so many bytes of a line whose other end was not found.
    fn check_length(&self, more: usize) -> Read<()> {
        let longest = self.longest.max(more);
        let most = if longest > limits::LINE_BYTES + LINE_BREAK {
            limits::LINE_BYTES
        } else if self.bytes + more - longest > limits::GAP_BYTES {
            limits::GAP_BYTES
        } else {
            return Ok(());
        };
        Err(self.fault(format!("{} MB", most >> 20)))
    }

    fn fault(&self, much: String) -> LogFault {
        LogFault::WithoutEvent { much, is_end: !self.is_after_event }
    }
}

/// The lines of a file from its end on.
#[derive(Debug)]
pub(super) struct Backwards<'f> {
    file: &'f dyn DiskFile,
    /// Where `bytes` begin in the file.
    start: u64,
    bytes: Vec<u8>,
    /// How many of `bytes` were not given out yet.
    left: usize,
    /// How much to read next.
    block: usize,
}

impl<'f> Backwards<'f> {
    pub(super) fn new(file: &'f dyn DiskFile, len: u64) -> Self {
        Self { file, start: len, bytes: Vec::new(), left: 0, block: limits::TAIL_BYTES }
    }

    /// The line before the last one that was given out, with its line break if it has one, and its place in the file.
    pub(super) fn next(&mut self, gap: &Gap) -> Read<Option<(u64, &[u8])>> {
        // How much of what is left has no other line break.
        let mut searched = 0;
        let begin = loop {
            let ends = self.bytes[..self.left].ends_with(b"\n");
            if let Some(before) = memrchr(b'\n', &self.bytes[..self.left - searched.max(usize::from(ends))]) {
                break before + 1;
            }
            searched = self.left;
            if self.start == 0 {
                break 0;
            }
            gap.check_length(self.left)?;
            self.read_more()?;
        };
        if self.left == 0 {
            return Ok(None);
        }
        let line = begin..self.left;
        self.left = begin;
        Ok(Some((self.start + begin as u64, &self.bytes[line])))
    }

    /// Reads what is before, as much as is left of the last time: a long line would be moved too often otherwise. Of a line that is
    /// too long, no more is read than shows that.
    fn read_more(&mut self) -> io::Result<()> {
        let most = (limits::LINE_BYTES + BLOCK).saturating_sub(self.left);
        let more = (self.left.min(most).max(self.block) as u64).min(self.start);
        self.block = BLOCK;
        self.start -= more;
        let more = usize::try_from(more).unwrap_or(BLOCK);
        let mut bytes = Vec::with_capacity(more + self.left);
        bytes.resize(more, 0);
        read_exact_at(self.file, &mut bytes, self.start)?;
        bytes.extend_from_slice(&self.bytes[..self.left]);
        self.left = bytes.len();
        self.bytes = bytes;
        Ok(())
    }
}

/// What [`forwards`] has passed.
pub(super) struct PassedLines {
    /// The bytes after the last line break.
    pub(super) rest: Vec<u8>,
    pub(super) place: u64,
    /// What came before the first event.
    pub(super) first_gap: Gap,
    /// What came after the last one.
    pub(super) last_gap: Gap,
}

/// Calls `is_event` with the whole lines between two places of a file.
pub(super) fn forwards(
    file: &dyn DiskFile,
    places: Range<u64>,
    mut is_event: impl FnMut(&[u8]) -> bool,
) -> Read<PassedLines> {
    let mut rest: Vec<u8> = Vec::new();
    let (mut place, mut gap) = (places.start, Gap { is_after_event: true, ..Gap::default() });
    let mut first_gap = None;
    loop {
        let known = rest.len();
        let to_come = places.end.saturating_sub(place + known as u64);
        if to_come == 0 {
            return Ok(PassedLines { rest, place, first_gap: first_gap.unwrap_or(gap), last_gap: gap });
        }
        rest.resize(known + usize::try_from(to_come).unwrap_or(BLOCK).min(known.max(BLOCK)), 0);
        let read = file.read_at(&mut rest[known..], place + known as u64).map_err(io::Error::from)?;
        rest.truncate(known + read);
        if read == 0 {
            // The file was truncated just now.
            return Ok(PassedLines { rest, place, first_gap: first_gap.unwrap_or(gap), last_gap: gap });
        }
        let mut begin = 0;
        for at in memchr_iter(b'\n', &rest[known..]) {
            let line = &rest[begin..=known + at];
            begin = known + at + 1;
            let is_event = is_event(line);
            // Another thread may have read what is before, and joins its last gap with this one.
            if is_event {
                first_gap.get_or_insert(gap);
            }
            gap.pass(line, is_event)?;
        }
        gap.check_length(rest.len() - begin)?;
        rest.drain(..begin);
        place += begin as u64;
    }
}
