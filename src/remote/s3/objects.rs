//! The objects of a run's log.
//!
//! The object of a commit is named after the position behind the one that it follows. It has the lines of that commit, and
//! before them those of the run since the last multiple of 64. So the last object of each window has all lines of the
//! window, and nothing is ever compacted.

use crate::codec::{LogScan, unseal};
use crate::model::Seq;
use crate::store::shared::window_of;

/// How many digits a position has in a name.
const DIGITS: usize = 10;
/// The longest object that repeats earlier lines, in bytes. What is longer has the lines of its commit alone.
const REPEATED_BYTES: usize = 256 << 10;

/// The name of the object of a commit that follows `before`.
pub(super) fn name_of(before: Seq) -> String {
    format!("{:0DIGITS$}", before.next())
}

/// The position that a name stands for; `None` if flow did not make it.
pub(super) fn position_in(name: &str) -> Option<u64> {
    let is_one = name.len() == DIGITS && name.bytes().all(|byte| byte.is_ascii_digit());
    if is_one { name.parse().ok().filter(|at| *at > 0) } else { None }
}

/// The body of the object of a commit.
pub(super) fn body_of(earlier: &str, lines: &str) -> String {
    if earlier.len() + lines.len() > REPEATED_BYTES { lines.to_owned() } else { [earlier, lines].concat() }
}

/// Whether a body is a whole sealed commit. A server may keep an empty object when a client dies before its body is sent. It
/// stands for nothing, and may be replaced.
pub(super) fn is_whole(body: &[u8]) -> bool {
    body.ends_with(b"\n")
        && body.split_inclusive(|byte| *byte == b'\n').all(|line| unseal(&line[..line.len() - 1]).is_ok())
}

/// The lines of a body.
#[derive(Debug, Clone)]
pub(super) struct Lines {
    text: String,
    /// The position of each line.
    positions: Vec<Seq>,
}

impl Lines {
    /// `None` for a body that is no whole commit.
    pub(super) fn of(body: &[u8]) -> Option<Self> {
        if !is_whole(body) {
            return None;
        }
        let text = std::str::from_utf8(body).ok()?.to_owned();
        let lines = text.split_inclusive('\n');
        let positions = lines.map(|line| LogScan::parse(line.as_bytes()).last_seq()).collect();
        Some(Self { text, positions })
    }

    /// All of them.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The position of the first line.
    pub(super) fn first(&self) -> Seq {
        self.positions.first().copied().unwrap_or_default()
    }

    /// The position of the last line.
    pub(super) fn last(&self) -> Seq {
        self.positions.last().copied().unwrap_or_default()
    }

    /// The positions from `first` on, as far as they are before `end`.
    pub(super) fn positions_between(&self, first: Seq, end: Seq) -> impl Iterator<Item = Seq> {
        self.positions.iter().copied().filter(move |at| first <= *at && *at < end)
    }

    /// The lines from `first` on, as far as they are before `end`.
    pub(super) fn between(&self, first: Seq, end: Seq) -> String {
        let lines = self.text.split_inclusive('\n').zip(&self.positions);
        lines.filter(|(_, at)| first <= **at && **at < end).map(|(line, _)| line).collect()
    }
}

/// Of the positions in the names of a run's objects, in order, the last one of each window from that of `first` on.
pub(super) fn last_of_windows(positions: &[u64], first: Seq) -> Vec<u64> {
    let window = |at: u64| window_of(Seq(at.saturating_sub(1)));
    let mut last = Vec::new();
    for (nth, at) in positions.iter().copied().enumerate() {
        let is_last = positions.get(nth + 1).is_none_or(|next| window(*next) != window(at));
        if is_last && window(at) >= window(first.0) {
            last.push(at);
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_positions_of_ten_digits() {
        assert_eq!(name_of(Seq(0)), "0000000001");
        assert_eq!(position_in(&name_of(Seq(9999))), Some(10_000));
        for other in ["", "1", "0000000000", "00000000001", "000000000a", "0000000001.jsonl"] {
            assert_eq!(position_in(other), None, "{other}");
        }
    }

    #[test]
    fn the_last_object_of_each_window_has_all_its_lines() {
        let all: Vec<u64> = (1..=200).collect();
        assert_eq!(last_of_windows(&all, Seq(1)), [64, 128, 192, 200]);
        assert_eq!(last_of_windows(&all, Seq(129)), [192, 200]);
        assert_eq!(last_of_windows(&all, Seq(128)), [128, 192, 200]);
        // Commits of many events.
        assert_eq!(last_of_windows(&[1, 60, 70, 200], Seq(66)), [70, 200]);
        assert_eq!(last_of_windows(&[], Seq(1)), [0_u64; 0]);
    }

    #[test]
    fn what_is_cut_off_or_unsealed_is_void() {
        let line = crate::codec::seal(&serde_json::json!({ "v": 1 }));
        assert!(is_whole(line.as_bytes()) && is_whole(line.repeat(2).as_bytes()));
        for void in ["", "\n", "{}\n", &line[..line.len() - 1], &line[1..], &format!("{line}x")] {
            assert!(!is_whole(void.as_bytes()), "{void:?}");
        }
    }

    #[test]
    fn what_is_long_repeats_nothing() {
        assert_eq!(body_of("a\n", "b\n"), "a\nb\n");
        let long = "x".repeat(REPEATED_BYTES);
        assert_eq!(body_of("a\n", &long), long);
    }
}
