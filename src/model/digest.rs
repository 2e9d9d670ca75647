//! The digests by which texts and files are recognised.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::model::hex;

/// A short digest of a text: its length in bytes and its CRC-32C, `1042-9f3c2a11`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TextDigest(pub String);

/// How much of a digest tells the requests of one run apart, in digits.
const BEGINNING: usize = 16;

impl TextDigest {
    /// As much of it as tells the requests of one run apart.
    pub(crate) fn beginning(&self) -> Self {
        Self(self.0.chars().take(BEGINNING).collect())
    }

    /// Whether it is `whole`, or its beginning.
    pub(crate) fn begins(&self, whole: &Self) -> bool {
        self == whole || self.0.len() == BEGINNING && whole.0.starts_with(&self.0)
    }
}

/// The SHA-256 of these bytes, in hexadecimal digits.
pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}
