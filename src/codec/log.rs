//! A whole `events.jsonl`: the events in order, the gaps between them, and the lines that are not events.
//!
//! A line counts if it is whole and verifies; the last one may lack its line break. Everything else is skipped and
//! reported, and never trusted: a torn tail, damage, merge markers, lines of other programs.

use std::collections::HashSet;
use std::hash::{BuildHasher as _, RandomState};

use crate::codec::seal::{bare, is_sealed};
use crate::codec::{LineFault, unseal};
use crate::model::{Event, EventKind, Seq, limits};

/// A sealed line.
#[derive(Debug, Clone, PartialEq)]
pub struct LogLine {
    /// Its number in the file, from 1.
    pub number: usize,
    /// The event in it.
    pub event: Event,
}

/// A line that is not an event.
#[derive(Debug, Clone, PartialEq)]
pub struct FaultyLine {
    /// Its number in the file, from 1.
    pub line: usize,
    /// Why it is not an event.
    pub fault: LineFault,
    /// The first characters of its text.
    pub text: String,
}

/// A whole log.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LogScan {
    /// The sealed lines, sorted by position; if a merge of two branches left two with the same position, by id.
    pub lines: Vec<LogLine>,
    /// The other lines in the order of the file, at most [`limits::SKIPPED`].
    pub skipped: Vec<FaultyLine>,
    /// How many further lines were skipped. Not keeping them bounds the memory for a log of many short lines.
    pub more_skipped: usize,
}

const PREVIEW_CHARS: usize = 200;

impl LogScan {
    /// Reads a whole log. Never fails.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Self {
        let mut whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        if sealed_event(&bytes[whole..]).is_some() {
            // The last line only lacks its line break.
            whole = bytes.len();
        }
        let mut lines = LogLines::default();
        for (at, line) in bytes[..whole].split_inclusive(|&byte| byte == b'\n').enumerate() {
            lines.take(at + 1, line);
        }
        lines.scan.sorted()
    }

    /// The events at the end of a log, without their places in it.
    #[must_use]
    pub(crate) fn of_end(end: LogEnd) -> Self {
        let events = end.at.into_iter().chain(end.newer);
        Self { lines: events.map(|event| LogLine { number: 0, event }).collect(), ..Self::default() }
    }

    /// The lines that are damage, of those that were skipped. Lines of other programs are not.
    pub fn damaged(&self) -> impl Iterator<Item = &FaultyLine> {
        self.skipped.iter().filter(|line| line.fault.is_damage())
    }

    /// Notes a line without an event.
    fn skip(&mut self, number: usize, line: &[u8]) {
        if line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        if self.skipped.len() == limits::SKIPPED {
            self.more_skipped += 1;
        } else {
            self.skipped.push(FaultyLine { line: number, fault: fault_of(line), text: preview(line) });
        }
    }

    /// Adds the scan of the rest of a file, which was counted from its own first line; `before` is how many lines come before
    /// that.
    pub(crate) fn extend(&mut self, rest: Self, before: usize) {
        self.lines.extend(rest.lines.into_iter().map(|line| LogLine { number: before + line.number, ..line }));
        let free = limits::SKIPPED - self.skipped.len();
        self.more_skipped += rest.more_skipped + rest.skipped.len().saturating_sub(free);
        let skipped = rest.skipped.into_iter().take(free);
        self.skipped.extend(skipped.map(|line| FaultyLine { line: before + line.line, ..line }));
    }

    /// The events in order, each once.
    pub(crate) fn sorted(mut self) -> Self {
        self.lines.sort_by(|a, b| (a.event.seq, &a.event.id).cmp(&(b.event.seq, &b.event.id)));
        self.lines.dedup_by(|a, b| a.event == b.event);
        self
    }

    /// The events in order.
    pub fn events(&self) -> impl DoubleEndedIterator<Item = &Event> + Clone {
        self.lines.iter().map(|line| &line.event)
    }

    /// Adds an event that was appended to the log.
    pub(crate) fn push(&mut self, event: Event) {
        let number = self.lines.last().map_or(1, |line| line.number + 1);
        self.lines.push(LogLine { number, event });
    }

    /// The log as it was after the event at position `last`.
    #[must_use]
    pub fn until(&self, last: Seq) -> Self {
        let lines = self.lines.iter().filter(|line| line.event.seq <= last).cloned().collect();
        Self { lines, ..Self::default() }
    }

    /// The highest position; 0 for an empty log.
    #[must_use]
    pub fn last_seq(&self) -> Seq {
        self.events().next_back().map_or(Seq(0), |event| event.seq)
    }

    /// Positions below the last one that no line has, as inclusive ranges: acknowledged events that were lost. Leaves
    /// out positions that a repair declared lost.
    #[must_use]
    pub fn gaps(&self) -> Vec<(Seq, Seq)> {
        let mut named = Vec::new();
        for event in self.events() {
            if let EventKind::LogRepaired(repair) = &event.kind {
                named.extend(repair.lost.iter().map(|range| (range.from, range.to)));
            }
        }
        named.sort_unstable();
        let mut gaps = Vec::new();
        let mut expected = Seq(1);
        for event in self.events() {
            for &(from, to) in &named {
                // A part of the range that a repair declared lost may exist in this log.
                let (from, to) = (from.max(expected), Seq(to.0.min(event.seq.0.saturating_sub(1))));
                if from <= to {
                    if from > expected {
                        gaps.push((expected, Seq(from.0 - 1)));
                    }
                    expected = to.next();
                }
            }
            if event.seq > expected {
                gaps.push((expected, Seq(event.seq.0 - 1)));
            }
            expected = expected.max(event.seq.next());
        }
        gaps
    }

    /// Positions that several lines have.
    #[must_use]
    pub fn doubles(&self) -> Vec<Seq> {
        let mut doubles = Vec::new();
        for two in self.lines.windows(2) {
            if two[0].event.seq == two[1].event.seq {
                doubles.push(two[0].event.seq);
            }
        }
        doubles.dedup();
        doubles
    }
}

/// The lines of a file, taken one after the other.
#[derive(Debug, Default)]
pub(crate) struct LogLines {
    /// What they say. After the last line comes [`LogScan::sorted`].
    pub(crate) scan: LogScan,
    highest: Seq,
    /// The lines that stood behind a later event. A file may repeat them without end, so none is kept a third time.
    behind: HashSet<u64>,
    hashes: RandomState,
}

impl LogLines {
    /// Takes the next line. Returns whether it is an event that the file does not repeat again and again.
    pub(crate) fn take(&mut self, number: usize, line: &[u8]) -> bool {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let Some(event) = sealed_event(line) else {
            self.scan.skip(number, line);
            return false;
        };
        if event.seq <= self.highest && !self.behind.insert(self.hashes.hash_one(line)) {
            return false;
        }
        self.highest = self.highest.max(event.seq);
        self.scan.lines.push(LogLine { number, event });
        true
    }
}

/// The end of a log: what a writer needs to know, without reading all of a long log.
#[derive(Debug, Clone, PartialEq)]
pub struct LogEnd {
    /// The sealed events after the requested position, in order.
    pub newer: Vec<Event>,
    /// The last sealed event at or before the requested position.
    pub at: Option<Event>,
    /// The highest sealed position seen; 0 if there is none.
    pub last: Seq,
    /// Whether positions rise from line to line in the part that was read. After a merge of two branches they start
    /// over.
    pub ordered: bool,
    /// Whether other lines than events were met in the part that was read.
    pub has_others: bool,
}

impl LogEnd {
    /// The end of a whole log, with the events after `since`.
    #[must_use]
    pub fn of(scan: &LogScan, since: Seq) -> Self {
        let newer = scan.events().filter(|event| event.seq > since).cloned().collect();
        let at = scan.events().rfind(|event| event.seq <= since).cloned();
        // The scan is sorted, so what the file itself looks like shows in the numbers of the lines.
        let ordered =
            scan.lines.windows(2).all(|two| two[0].number < two[1].number && two[0].event.seq < two[1].event.seq);
        Self { newer, at, last: scan.last_seq(), ordered, has_others: !scan.skipped.is_empty() }
    }

    /// The end with the events after `since` only, which is not before the position of this one.
    #[must_use]
    pub(crate) fn after(&self, since: Seq) -> Self {
        let (mut at, mut newer) = (self.at.as_ref(), Vec::new());
        for event in &self.newer {
            if event.seq <= since {
                at = Some(event);
            } else {
                newer.push(event.clone());
            }
        }
        Self { at: at.cloned(), newer, ..*self }
    }

    /// Whether a `run.yaml` with this digest was written with the event at position `shown`.
    #[must_use]
    pub fn proves(&self, shown: Seq, digest: &str) -> bool {
        let Some(Event { seq, run: Some(written), .. }) = &self.at else { return false };
        *seq == shown && written.0 == digest
    }

    /// Moves the end past an event that was just appended.
    pub fn advance(&mut self, event: &Event) {
        self.last = event.seq;
        self.newer.clear();
        self.at = Some(event.clone());
    }
}

/// Whether a text is what Git LFS leaves of a file whose contents it did not fetch, or two of these after a merge.
pub(crate) fn is_lfs_pointer(text: &[u8]) -> bool {
    text.starts_with(b"version https://git-lfs.github.com/spec/v1\n")
}

/// The event in a line with or without its line break, if it is one.
pub(crate) fn sealed_event(line: &[u8]) -> Option<Event> {
    let line = bare(line.strip_suffix(b"\n").unwrap_or(line));
    // The checksum first: it is far faster than parsing, and refuses everything that is not flow's.
    if is_sealed(line) { Event::of_line(line).ok() } else { None }
}

/// Why a line without its line break is not an event. Takes far longer than to find that it is none.
fn fault_of(line: &[u8]) -> LineFault {
    unseal(line).err().unwrap_or(LineFault::NotAnEvent)
}

fn preview(line: &[u8]) -> String {
    String::from_utf8_lossy(&line[..line.len().min(4 * PREVIEW_CHARS)]).chars().take(PREVIEW_CHARS).collect()
}
