//! The digest by which a text is recognised.

use serde::{Deserialize, Serialize};

/// A short digest of a text: its length in bytes and its CRC-32C, `1042-9f3c2a11`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TextDigest(pub String);
