//! Why a text of settings cannot be edited.

use thiserror::Error;

use crate::codec::Place;
use crate::model::Suggestion;

/// A text that cannot be edited: where, and why.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{reason}")]
pub(super) struct SettingsFault {
    pub(super) place: Place,
    pub(super) reason: String,
    pub(super) help: &'static str,
}

impl SettingsFault {
    /// A fault of the file as a whole.
    pub(super) fn of_file(reason: impl Into<String>, help: &'static str) -> Self {
        Self { place: Place { line: 1, column: 1 }, reason: reason.into(), help }
    }
}

/// What to do about a text that is not JSON.
pub(super) const STRICT: &str = "correct it; hosts read strict JSON without comments and repeated keys";
/// What to do about hooks that are something else.
pub(super) const SHAPE: &str = "correct it; an event is a list of objects with `hooks`";
/// What to do about a value that the host does not take.
pub(super) const WHOLE: &str = "correct it";

/// `flow hooks VERB`.
pub(super) fn suggest(verb: &str) -> Suggestion {
    Suggestion::flow(format!("hooks {verb}"))
}
