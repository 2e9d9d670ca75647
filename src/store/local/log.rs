//! Reads `events.jsonl`: writers read its end, some readers all of it. [`crate::codec::LogScan`] parses the lines.

use std::io;

use crate::codec::{LogEnd, LogScan, event_of};
use crate::disk::{DiskFile, read_exact_at, read_up_to};
use crate::model::{Seq, limits};
use crate::store::run_store::Position;

/// Reads a whole log.
///
/// # Errors
/// Errors of reading the file, and `InvalidData` when it is longer than [`limits::LOG_BYTES`].
pub(super) fn scan(file: &dyn DiskFile) -> io::Result<LogScan> {
    let bytes = read_up_to(file, 0, file.stat()?.len, limits::LOG_BYTES)?;
    if bytes.len() > limits::LOG_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the log is too long"));
    }
    Ok(LogScan::parse(&bytes))
}

/// The position that a line claims, read from its first bytes without verifying the seal.
fn said_position(line: &[u8]) -> Option<u64> {
    let digits = line.strip_prefix(b"{\"v\":1,\"seq\":")?;
    let len = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(&digits[..len]).ok()?.parse().ok().filter(|seq| *seq <= limits::COUNTER)
}

/// The whole lines after `position`, which advances past them.
pub(super) fn scan_from(file: &dyn DiskFile, position: &mut Position) -> io::Result<LogScan> {
    let stat = file.stat()?;
    if stat.inode != position.log || position.offset > stat.len {
        *position = Position { log: stat.inode, offset: 0 };
    }
    let bytes = read_up_to(file, position.offset, stat.len - position.offset, limits::LOG_BYTES)?;
    let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    position.offset += whole as u64;
    Ok(LogScan::parse(&bytes[..whole]))
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
}

impl LogTail {
    /// Reads backwards from the end until an event at or before `since` is found.
    ///
    /// # Errors
    /// Errors of reading the file.
    pub fn read(file: &dyn DiskFile, since: Seq) -> io::Result<Self> {
        let len = file.stat()?.len;
        let (whole, unended) = match end_of_last_line(file, len)? {
            end if end < len && is_sealed(file, end, len)? => (len, true),
            end => (end, false),
        };
        let mut whole = whole;
        let mut window = limits::TAIL_BYTES as u64;
        loop {
            let start = whole.saturating_sub(window);
            let mut bytes = vec![0; usize::try_from(whole - start).unwrap_or(usize::MAX)];
            read_exact_at(file, &mut bytes, start)?;
            // Unless the window starts at the beginning of the file, its first line may be cut.
            let lines = if start == 0 {
                &bytes[..]
            } else {
                bytes.iter().position(|&byte| byte == b'\n').map_or(&[][..], |at| &bytes[at + 1..])
            };
            let torn = torn_end(lines);
            if torn > 0 {
                whole -= torn;
                continue;
            }
            let (end, reached) = collect(lines, since);
            let said: Vec<_> = lines.split(|&byte| byte == b'\n').filter_map(said_position).collect();
            // After a merge of two branches the last line is not the latest event, and lines before an older one may be
            // newer. Look at all of them.
            let rises = said.windows(2).all(|two| two[0] < two[1]);
            if !rises || said.last() > Some(&end.last.0) {
                if start > 0 {
                    window = whole;
                    continue;
                }
                let end = LogEnd { ordered: false, ..LogEnd::of(&LogScan::parse(&bytes), since) };
                return Ok(Self { end, whole, unended, len });
            }
            if reached || start == 0 {
                return Ok(Self { end, whole, unended, len });
            }
            window *= 8;
        }
    }
}

/// The events at the end of these lines, and whether `since` was reached.
fn collect(lines: &[u8], since: Seq) -> (LogEnd, bool) {
    let mut end = LogEnd { newer: Vec::new(), at: None, last: Seq(0), ordered: true };
    let mut reached = false;
    for line in lines.split_inclusive(|&byte| byte == b'\n').rev() {
        let Ok(event) = event_of(line.strip_suffix(b"\n").unwrap_or(line)) else {
            continue;
        };
        end.last = end.last.max(event.seq);
        if event.seq > since {
            end.newer.push(event);
        } else {
            reached = true;
            end.at = Some(event);
            break;
        }
    }
    // Back to the order of the file. If two events have the same id, that order decides.
    end.newer.reverse();
    end.newer.sort_by(|a, b| (a.seq, &a.id).cmp(&(b.seq, &b.id)));
    end.newer.dedup();
    (end, reached)
}

/// The length of the last line if it contains zeros: a power cut lost blocks of the line, but not the one with its end.
/// Such a line was never acknowledged.
fn torn_end(lines: &[u8]) -> u64 {
    let body = lines.strip_suffix(b"\n").unwrap_or(lines);
    let begin = body.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    if body[begin..].contains(&0) { (lines.len() - begin) as u64 } else { 0 }
}

/// Whether the bytes from `start` to the end of the file are a sealed line without its line break.
fn is_sealed(file: &dyn DiskFile, start: u64, len: u64) -> io::Result<bool> {
    let torn = usize::try_from(len - start).unwrap_or(usize::MAX);
    if torn > limits::LINE_BYTES {
        return Ok(false);
    }
    let mut bytes = vec![0; torn];
    read_exact_at(file, &mut bytes, start)?;
    Ok(event_of(&bytes).is_ok())
}

/// The offset after the last line break. Uses bounded memory, because a torn tail may be as long as the disk.
fn end_of_last_line(file: &dyn DiskFile, len: u64) -> io::Result<u64> {
    let mut end = len;
    let mut chunk = [0; 4096];
    while end > 0 {
        let start = end.saturating_sub(chunk.len() as u64);
        let part = &mut chunk[..usize::try_from(end - start).unwrap_or(0)];
        read_exact_at(file, part, start)?;
        if let Some(at) = part.iter().rposition(|&byte| byte == b'\n') {
            return Ok(start + at as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}
