//! Names of runs, and of what they are about, at a carrier.

use crate::model::{RunId, sha256_hex};
use crate::store::WorkKey;

/// The id of a run as a part of a name: git refuses some names with dots, and a URL with a part `..` names something else.
pub(super) fn key_of(run: &RunId) -> String {
    run.as_str().replace('.', "%2E")
}

/// The run that a part of a name stands for; `None` if it was not made by [`key_of`].
pub(super) fn run_of(key: &str) -> Option<RunId> {
    RunId::new(key.replace("%2E", ".")).ok()
}

/// Where the markers are for what runs are about.
pub(super) const WORK: &str = "work/";

/// The name of the marker for what a run is about.
pub(super) fn mark_of(key: &WorkKey) -> String {
    format!("{WORK}{}", sha256_hex(key.0.as_bytes()))
}
