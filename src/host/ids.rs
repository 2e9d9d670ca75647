//! New operation ids.
#![expect(clippy::disallowed_methods, reason = "the seed of tests is read here")]

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sha2::{Digest, Sha256};
use ulid::Ulid;

#[cfg(feature = "serve")]
use crate::model::hex;
use crate::model::{EventId, Timestamp};

/// The variable that makes ids repeatable in tests.
const SEED: &str = "__FLOW_SEED";

/// The source of operation ids. They are ULIDs: the first part is the time, the rest is random.
#[derive(Debug, Clone)]
pub struct Ids {
    seeded: Option<SeededIds>,
}

#[derive(Debug, Clone)]
struct SeededIds {
    seed: Vec<u8>,
    calls: Arc<AtomicU64>,
}

impl Ids {
    /// Random ids.
    #[must_use]
    pub fn random() -> Self {
        Self { seeded: None }
    }

    /// Ids that depend on `seed`, the given time and the number of earlier calls. Two commands with the same seed and
    /// the same fixed time make the same ids, so the second counts as a retry of the first; a test has to change one of
    /// them.
    #[must_use]
    pub fn seeded(seed: impl Into<Vec<u8>>) -> Self {
        Self { seeded: Some(SeededIds { seed: seed.into(), calls: Arc::new(AtomicU64::new(0)) }) }
    }

    /// Random ids, or repeatable ones if `__FLOW_SEED` is set.
    #[must_use]
    pub fn from_env() -> Self {
        std::env::var_os(SEED).map_or_else(Self::random, |seed| Self::seeded(seed.into_encoded_bytes()))
    }

    /// An id for an operation at the time `at`.
    ///
    /// # Panics
    /// Never: a ULID is a valid id.
    #[must_use]
    pub fn next(&self, at: Timestamp) -> EventId {
        let millis = u64::try_from(at.as_datetime().timestamp_millis()).unwrap_or(0);
        let random = match &self.seeded {
            None => random(),
            Some(SeededIds { seed, calls }) => {
                let call = calls.fetch_add(1, Ordering::Relaxed);
                let hash = Sha256::new()
                    .chain_update(millis.to_le_bytes())
                    .chain_update(call.to_le_bytes())
                    .chain_update(seed)
                    .finalize();
                hash.iter().take(10).fold(0, |bits, &byte| bits << 8 | u128::from(byte))
            }
        };
        EventId::new(Ulid::from_parts(millis, random).to_string()).expect("BUG: a ULID that is no operation id")
    }
}

/// Random bits, from the standard library's hasher: the system gives it a random key, so collisions are improbable. A
/// separate generator would need a second seed from the system, which takes as long as reading a run.
fn random() -> u128 {
    let keyed = RandomState::new();
    u128::from(keyed.hash_one(0)) << 64 | u128::from(keyed.hash_one(1))
}

/// The length of a secret in characters.
#[cfg(feature = "serve")]
pub(crate) const SECRET: usize = 64;

/// A new secret: 256 random bits of the system, in hexadecimal.
///
/// # Panics
/// When the system has no randomness. Nothing that should be secret may be made then.
#[cfg(feature = "serve")]
pub(crate) fn secret() -> String {
    let mut bytes = [0_u8; SECRET / 2];
    let filled = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    assert_eq!(filled, Ok(bytes.len()), "the system gives no random numbers");
    hex(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at() -> Timestamp {
        "2026-05-20T14:30:00Z".parse().unwrap()
    }

    #[test]
    fn random_ids_differ_and_begin_with_their_time() {
        let ids = Ids::random();
        let (first, second) = (ids.next(at()), ids.next(at()));
        assert_ne!(first, second);
        assert_eq!(first.as_str()[..10], second.as_str()[..10]);
        assert_eq!(first.as_str().len(), 26);
    }

    #[test]
    fn seeded_ids_repeat_themselves_and_differ_among_each_other() {
        let ids = |seed: &str| {
            let ids = Ids::seeded(seed);
            [ids.next(at()), ids.next(at())]
        };
        assert_eq!(ids("a"), ids("a"));
        assert_ne!(ids("a"), ids("b"));
        assert_ne!(ids("a")[0], ids("a")[1]);
    }

    #[test]
    fn times_before_1970_make_an_id_as_well() {
        assert!(Ids::random().next("1960-01-01T00:00:00Z".parse().unwrap()).as_str().starts_with("0000000000"));
    }
}
