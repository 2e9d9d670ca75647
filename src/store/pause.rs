//! Pauses between tries.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::time::Duration;

/// The longest pause.
const LONGEST: Duration = Duration::from_secs(1);

/// How long to wait before the next try, after this many failures. It is random, so that two writers who lost to a third
/// one do not meet again at the same moment.
pub(crate) fn pause_after(tries: u32) -> Duration {
    let longest = Duration::from_millis(1 << tries.min(10)).min(LONGEST);
    let random = RandomState::new().build_hasher().finish();
    let micros = u64::try_from(longest.as_micros()).unwrap_or(u64::MAX);
    Duration::from_micros(1000 + random % micros)
}
