//! What version control did to a run, and the ways on.

use crate::host::GitRef;
use crate::ops::error::Error;
use crate::ops::problem::new;
use crate::report::{Kind, Problem};

/// Sentences about runs that version control moved.
pub(super) fn moved(error: &Error) -> Problem {
    let message = error.to_string();
    match error {
        Error::Rewound { run, places, .. } => {
            let rest = match places.as_slice() {
                [] => "no branch here has the rest; `git reflog` may show it".to_owned(),
                places => format!("the rest is on {} (`flow resume {run}` says how to get it)", named(places)),
            };
            let help = format!(
                "{rest}; go on with it, or go on from here without it: `flow doctor {run} --repair` notes the gap. Nothing \
                 was written"
            );
            new(Kind::NeedsHuman, "log_rewound", message, Some(help))
        }
        Error::Joined { run, .. } => {
            let help = format!("`flow doctor {run} --repair` makes one history of both and keeps every record");
            new(Kind::Damaged, "run_conflict", message, Some(help))
        }
        Error::Elsewhere { places, .. } => {
            let help = match places.as_slice() {
                [] => "they were removed, or another checkout has them; `flow list` shows the runs that are here"
                    .to_owned(),
                places => format!("they are on {}; `flow list` shows the runs that are here", named(places)),
            };
            new(Kind::NotFound, "run_elsewhere", message, Some(help))
        }
        other => new(Kind::Damaged, "run_conflict", other.to_string(), None),
    }
}

/// The first of these places, and how many more there are.
fn named(places: &[GitRef]) -> String {
    const SHOWN: usize = 3;
    let shown: Vec<_> = places.iter().take(SHOWN).map(ToString::to_string).collect();
    let more = places.len() - shown.len();
    match more {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
