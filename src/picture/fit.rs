//! Columns of a table that fit a width: which of them give way, and in which order.

use crate::picture::text::{columns, cut, cut_front};

/// The gap between columns.
const GAP: usize = 2;

/// What happens to a column for which a line has no room.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shrink {
    /// It loses its end, down to this width.
    End(usize),
    /// It loses its front, down to this width: ids differ at their ends.
    Front(usize),
    /// It loses the end of what stands before its last word, down to this width: the place of a phase is its last word.
    BeforeLast(usize),
    /// It is left out.
    Whole,
}

/// Where the columns of a run stand in the rows of a list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunColumns {
    pub(crate) title: usize,
    pub(crate) name: usize,
    pub(crate) phase: usize,
    pub(crate) age: usize,
    pub(crate) reason: usize,
}

impl RunColumns {
    /// The steps in which these columns give way, in every list of runs: the phase before the age; the title and what a run waits
    /// for say most, and without its name it cannot be named.
    pub(crate) fn steps(self) -> [(usize, Shrink); 19] {
        let Self { title, name, phase, age, reason } = self;
        [
            (title, Shrink::End(48)),
            (reason, Shrink::End(48)),
            (title, Shrink::End(30)),
            (reason, Shrink::End(32)),
            (name, Shrink::Front(16)),
            (title, Shrink::End(24)),
            (reason, Shrink::End(24)),
            (phase, Shrink::BeforeLast(9)),
            (title, Shrink::End(16)),
            (name, Shrink::Front(10)),
            (reason, Shrink::End(16)),
            (phase, Shrink::Whole),
            (title, Shrink::End(12)),
            (reason, Shrink::End(12)),
            (age, Shrink::Whole),
            // Its title and its name say which run it is.
            (reason, Shrink::Whole),
            (title, Shrink::End(6)),
            (name, Shrink::Front(6)),
            (title, Shrink::Whole),
        ]
    }
}

/// The widths that the columns of a table get; 0 for one that is left out.
#[derive(Debug)]
pub(crate) struct FittedColumns<const N: usize> {
    widths: [usize; N],
    how: [Shrink; N],
}

impl<const N: usize> FittedColumns<N> {
    /// Narrows the columns of these rows in these steps, as far as `room` asks for, behind `indent`.
    pub(crate) fn of<'r>(
        rows: impl IntoIterator<Item = &'r [String; N]>,
        steps: &[(usize, Shrink)],
        indent: usize,
        room: usize,
    ) -> Self {
        let mut natural = [0; N];
        for row in rows {
            for (widest, cell) in natural.iter_mut().zip(row) {
                *widest = (*widest).max(columns(cell));
            }
        }
        let (mut widths, mut how) = (natural, [Shrink::Whole; N]);
        for (column, shrink) in steps {
            if !matches!(shrink, Shrink::Whole) {
                how[*column] = *shrink;
            }
            let over = taken(&widths, indent).saturating_sub(room);
            if over == 0 {
                continue;
            }
            widths[*column] = match shrink {
                Shrink::End(least) | Shrink::Front(least) | Shrink::BeforeLast(least) => {
                    widths[*column].min((*least).max(widths[*column].saturating_sub(over)))
                }
                Shrink::Whole => 0,
            };
        }
        let freed = room.saturating_sub(taken(&widths, indent));
        give_back(&mut widths, &natural, steps, freed);
        Self { widths, how }
    }

    /// The cells of a row that are shown, each with its place and its width.
    pub(crate) fn cells(&self, row: &[String; N]) -> Vec<(usize, String, usize)> {
        let mut shown = Vec::new();
        for (at, text) in row.iter().enumerate() {
            let width = self.widths[at];
            if width > 0 {
                shown.push((at, self.how[at].narrowed(text, width), width));
            }
        }
        shown
    }
}

impl Shrink {
    fn narrowed(self, text: &str, width: usize) -> String {
        match self {
            _ if columns(text) <= width => text.to_owned(),
            Self::Front(_) => cut_front(text, width),
            Self::BeforeLast(_) => match text.rsplit_once(' ') {
                Some((before, last)) if columns(last) + 2 < width => {
                    format!("{} {last}", cut(before, width - columns(last) - 1))
                }
                _ => cut(text, width),
            },
            Self::End(_) | Self::Whole => cut(text, width),
        }
    }
}

/// How much of a line these columns take.
fn taken(widths: &[usize], indent: usize) -> usize {
    let shown = widths.iter().filter(|width| **width > 0).count();
    indent + widths.iter().sum::<usize>() + GAP * shown.saturating_sub(1)
}

/// Lets the columns that lost something grow again into the room that one which was left out has freed.
fn give_back(widths: &mut [usize], natural: &[usize], steps: &[(usize, Shrink)], mut room: usize) {
    let mut grows = true;
    while grows {
        grows = false;
        for (column, _) in steps {
            if room > 0 && widths[*column] > 0 && widths[*column] < natural[*column] {
                widths[*column] += 1;
                room -= 1;
                grows = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: RunColumns = RunColumns { title: 1, name: 2, phase: 3, age: 4, reason: 5 };

    fn shown(room: usize) -> String {
        let row = [
            "question",
            "Reports to read offline",
            "slow-reports",
            "requirements 1/6",
            "2 min",
            "Drop the old table, or keep it for a release?",
        ]
        .map(str::to_owned);
        let fitted = FittedColumns::of([&row], &COLUMNS.steps(), 2, room);
        let cells: Vec<_> = fitted.cells(&row).into_iter().map(|(_, text, _)| text).collect();
        cells.join("  ")
    }

    #[test]
    fn the_phase_gives_way_before_the_age_and_the_title_and_the_name_stay() {
        assert_eq!(
            [120, 110, 80, 60, 40].map(shown),
            [
                "question  Reports to read offline  slow-reports  requirements 1/6  2 min  Drop the old table, or keep it for a releas…",
                "question  Reports to read offline  slow-reports  requirements 1/6  2 min  Drop the old table, or keep it fo…",
                "question  Reports to read…  …w-reports  requ… 1/6  2 min  Drop the old table,…",
                "question  Reports to…  …w-reports  2 min  Drop the old t…",
                "question  Reports to rea…  …ow-reports",
            ]
        );
    }
}
