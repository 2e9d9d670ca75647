//! What several checks ask of the lines of a log, and of texts.

use crate::codec::LogLine;
use crate::model::{Event, EventKind, Number, Seq};
use crate::store::LogScan;

/// The numbers of the activities that an event records.
pub(super) fn numbers_of(event: &Event) -> impl Iterator<Item = Number> {
    event.kind.records().iter().map(|record| record.number)
}

/// The highest number that was given to an activity before the log began, by another program or in the run of which this
/// one is a fork.
pub(super) fn earlier_number<'e>(events: impl IntoIterator<Item = &'e Event>) -> Option<Number> {
    events.into_iter().find_map(|event| match &event.kind {
        EventKind::RunForked(forked) => Some(forked.document.state.last_number),
        EventKind::RunAdopted(adopted) => Some(adopted.document.state.last_number),
        _ => None,
    })
}

/// The number of the first line with an event after `seq`.
pub(super) fn line_after(scan: &LogScan, seq: Seq) -> Option<usize> {
    Some(scan.lines.iter().find(|line| line.event.seq > seq)?.number)
}

/// The number of the last line with the event `seq`: the one that repeats the position.
pub(super) fn last_line_with(scan: &LogScan, seq: Seq) -> Option<usize> {
    Some(scan.lines.iter().rfind(|line| line.event.seq == seq)?.number)
}

/// The first pair of events in the wrong order.
pub(super) fn out_of_order(scan: &LogScan) -> Option<(&LogLine, &LogLine)> {
    // The scan sorts events by their positions, and each keeps the number of its line.
    for two in scan.lines.windows(2) {
        if two[0].number > two[1].number && two[0].event.seq < two[1].event.seq {
            return Some((&two[0], &two[1]));
        }
    }
    None
}

/// The bytes after the last line break, and the number of their line; none if the text ends with a whole line.
pub(super) fn open_end(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let end = match bytes.iter().rposition(|&byte| byte == b'\n') {
        Some(at) => &bytes[at + 1..],
        None => bytes,
    };
    if end.is_empty() {
        return None;
    }
    let line = bytes.iter().filter(|&&byte| byte == b'\n').count() + 1;
    Some((line, end))
}

/// Whether a file has the text that flow wrote. git may have given it other line ends.
pub(super) fn is_same_text(found: &str, written: &str) -> bool {
    found == written || found.replace("\r\n", "\n") == written
}
