//! The axis of a timeline: points in time as places in a picture. Folds take the same little room, however long they are.

use crate::engine::{Fold, Timeline};
use crate::model::Timestamp;
use crate::picture::text::columns;
use crate::picture::words::{day_and_time, duration, is_same_day, time_of_day};

/// The width of a fold.
const FOLD: f64 = 22.0;
/// The least width of a stretch between two folds, so that a single event is seen.
const STRETCH: f64 = 10.0;
/// The least distance from a mark with a time, and from one with a day as well, to the next one.
const MARK: f64 = 64.0;
const DAY_MARK: f64 = 116.0;
/// The least distance between the labels of two folds, and the width of a letter in them.
const BESIDE: f64 = 8.0;
const LETTER: f64 = 6.5;
/// The distances of round times, in minutes.
const STEPS: [i64; 12] = [1, 2, 5, 10, 15, 30, 60, 120, 240, 720, 1440, 10_080];
/// The most round times of a stretch that are looked at.
const MARKS: usize = 1000;

/// A mapping from time to places.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Axis {
    stretches: Vec<Stretch>,
    pub(super) width: f64,
}

/// Time between two folds.
#[derive(Debug, Clone, PartialEq)]
struct Stretch {
    from: Timestamp,
    to: Timestamp,
    at: f64,
    width: f64,
}

/// A mark on the axis.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Mark {
    pub(super) at: f64,
    pub(super) label: String,
    pub(super) time: Timestamp,
}

impl Mark {
    /// Whether its label names the day.
    pub(super) fn names_day(&self) -> bool {
        // A time of day alone has five characters.
        self.label.len() > 5
    }
}

/// A fold in the picture.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Gap {
    pub(super) at: f64,
    pub(super) width: f64,
    pub(super) fold: Fold,
}

impl Gap {
    /// How long the fold is, in words.
    pub(super) fn length(&self) -> String {
        duration(self.fold.from.milliseconds_until(self.fold.to))
    }
}

#[expect(clippy::cast_precision_loss, reason = "a picture needs no more than 52 bits of a time")]
fn length(from: Timestamp, to: Timestamp) -> f64 {
    from.milliseconds_until(to) as f64
}

#[expect(clippy::cast_precision_loss, reason = "a picture needs no more than 52 bits of a time")]
fn exact(ms: i64) -> f64 {
    ms as f64
}

impl Axis {
    /// An axis of at least this width; many folds make it wider.
    pub(super) fn new(timeline: &Timeline, width: f64) -> Self {
        let mut spans = Vec::with_capacity(timeline.folds.len() + 1);
        let mut from = timeline.from;
        for fold in &timeline.folds {
            spans.push((from, fold.from.max(from)));
            from = fold.to;
        }
        spans.push((from, timeline.to.max(from)));
        #[expect(clippy::cast_precision_loss, reason = "there are at most some dozen folds")]
        let (folded, least) = (FOLD * timeline.folds.len() as f64, STRETCH * spans.len() as f64);
        let total: f64 = spans.iter().map(|(from, to)| length(*from, *to)).sum();
        let free = (width - folded - least).max(0.0);
        let mut at = 0.0;
        let mut stretches = Vec::with_capacity(spans.len());
        for (from, to) in spans {
            let share = if total > 0.0 { free * length(from, to) / total } else { 0.0 };
            let stretch = Stretch { from, to, at, width: STRETCH + share };
            at += stretch.width + FOLD;
            stretches.push(stretch);
        }
        // No fold follows the last stretch.
        Self { stretches, width: (at - FOLD).max(STRETCH) }
    }

    /// The place of a point in time. A point within a fold is at its beginning.
    pub(super) fn place(&self, at: Timestamp) -> f64 {
        // Of a point within a fold, that is the stretch before it, at whose end the fold begins.
        let after = self.stretches.partition_point(|stretch| stretch.from <= at);
        let Some(stretch) = self.stretches.get(after.saturating_sub(1)) else { return 0.0 };
        let whole = length(stretch.from, stretch.to);
        let part = if whole > 0.0 { (length(stretch.from, at) / whole).min(1.0) } else { 0.0 };
        stretch.at + part * stretch.width
    }

    /// The folds.
    pub(super) fn gaps(&self) -> impl Iterator<Item = Gap> {
        self.stretches.windows(2).map(|two| Gap {
            at: two[0].at + two[0].width,
            width: FOLD,
            fold: Fold { from: two[0].to, to: two[1].from },
        })
    }

    /// The places for the labels of the folds, in their order; none for one that another label leaves no room. Those of the
    /// longest folds come first, and a label may stand left or right of the middle of its fold.
    pub(super) fn label_places(&self) -> Vec<Option<f64>> {
        let gaps: Vec<_> = self.gaps().collect();
        let mut longest: Vec<_> = (0..gaps.len()).collect();
        longest.sort_by_key(|at| std::cmp::Reverse(gaps[*at].fold.from.milliseconds_until(gaps[*at].fold.to)));
        let mut taken: Vec<(f64, f64)> = Vec::new();
        let mut places = vec![None; gaps.len()];
        for at in longest {
            let (gap, width) = (&gaps[at], letters(&gaps[at].length()));
            let middle = gap.at + (gap.width - width) / 2.0;
            for x in [middle, gap.at + gap.width - width, gap.at] {
                let is_free = taken.iter().all(|(from, to)| x >= to + BESIDE || x + width + BESIDE <= *from);
                if is_free {
                    taken.push((x, x + width));
                    places[at] = Some(x);
                    break;
                }
            }
        }
        places
    }

    /// Times to write on the axis: the beginning of every stretch, and round times within long ones, as far as there is
    /// room.
    pub(super) fn marks(&self) -> Vec<Mark> {
        let mut marks: Vec<Mark> = Vec::new();
        let mut last: Option<Timestamp> = None;
        for at in self.stretches.iter().flat_map(Stretch::times) {
            let place = self.place(at);
            let label = match last {
                Some(last) if is_same_day(last, at) => time_of_day(at),
                _ => day_and_time(at),
            };
            if let Some(mark) = marks.last() {
                let room = if mark.names_day() { DAY_MARK } else { MARK };
                if place - mark.at < room || mark.label == label {
                    continue;
                }
            }
            marks.push(Mark { at: place, label, time: at });
            last = Some(at);
        }
        marks
    }
}

/// About how wide a label is.
#[expect(clippy::cast_precision_loss, reason = "a label has at most some dozen letters")]
fn letters(label: &str) -> f64 {
    LETTER * columns(label) as f64
}

impl Stretch {
    /// Its beginning, and the round times in it that are far enough apart.
    fn times(&self) -> impl Iterator<Item = Timestamp> + use<> {
        let minute = 60_000;
        let parts = (self.width / MARK).floor().max(1.0);
        let least = length(self.from, self.to) / parts;
        let minutes = STEPS.into_iter().find(|&minutes| exact(minutes * minute) >= least);
        let step = minutes.unwrap_or(STEPS[STEPS.len() - 1]) * minute;
        let begun = self.from.as_datetime().timestamp_millis();
        // Round by the clock in UTC, not by the beginning of the run.
        let first = step - begun.rem_euclid(step);
        let (from, to) = (self.from, self.to);
        let round = (0..).map(move |n| from.later(first + n * step)).take_while(move |at| *at < to);
        std::iter::once(self.from).chain(round.take(MARKS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        format!("2026-05-{text}:00Z").parse().unwrap()
    }

    fn timeline(folds: &[(&str, &str)]) -> Timeline {
        let folds = folds.iter().map(|(from, to)| Fold { from: at(from), to: at(to) }).collect();
        let (from, to) = (at("20T10:00"), at("22T10:00"));
        Timeline { from, to, worked_ms: 0, lanes: Vec::new(), sessions: Vec::new(), folds }
    }

    #[test]
    fn places_rise_with_time_and_folds_are_short() {
        let axis = Axis::new(&timeline(&[("20T11:00", "21T09:00"), ("21T10:00", "22T09:00")]), 800.0);
        let times = ["20T10:00", "20T10:30", "20T11:00", "21T09:00", "21T10:00", "22T09:00", "22T10:00"];
        let places: Vec<_> = times.iter().map(|time| axis.place(at(time)).round()).collect();
        assert_eq!(places, [0.0, 126.0, 252.0, 274.0, 526.0, 548.0, 800.0]);
        assert_eq!(axis.place(at("21T01:00")), axis.place(at("20T11:00")));
        assert_eq!(axis.gaps().map(|gap| gap.at.round()).collect::<Vec<_>>(), [252.0, 526.0]);
    }

    #[test]
    fn labels_of_folds_that_are_close_do_not_overlap() {
        let folds =
            [("20T10:05", "20T11:15"), ("20T11:16", "20T14:31"), ("20T14:32", "20T15:40"), ("20T15:41", "21T09:00")];
        let axis = Axis::new(&timeline(&folds), 400.0);
        let mut shown = Vec::new();
        for (gap, place) in axis.gaps().zip(axis.label_places()) {
            shown.extend(place.map(|at| (at, at + letters(&gap.length()), gap.length())));
        }
        assert!(shown.windows(2).all(|two| two[0].1 <= two[1].0), "{shown:?}");
        let labels: Vec<_> = shown.into_iter().map(|(.., label)| label).collect();
        assert_eq!(labels, ["3 h 15 min", "17 h"], "the longest ones have labels");
    }

    #[test]
    fn marks_name_the_day_where_it_changes() {
        let axis = Axis::new(&timeline(&[("20T11:00", "21T09:00"), ("21T10:00", "22T09:00")]), 800.0);
        let labels: Vec<_> = axis.marks().into_iter().map(|mark| mark.label).collect();
        assert_eq!(labels, ["Wed 20 May 10:00", "10:30", "Thu 21 May 09:00", "09:30", "Fri 22 May 09:00", "09:30"]);
    }

    #[test]
    fn a_run_of_one_moment_has_an_axis() {
        let moment = Timeline { to: at("20T10:00"), ..timeline(&[]) };
        let axis = Axis::new(&moment, 800.0);
        assert_eq!((axis.place(at("20T10:00")), axis.marks().len()), (0.0, 1));
        assert!(axis.width > 0.0);
    }
}
