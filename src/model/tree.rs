//! The state of the files of a checkout, as evidence names it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the files of a checkout were at one moment: tracked and untracked ones, without ignored ones and without `.flow`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TreeSnapshot {
    /// The digest of all files: their paths, kinds and bytes. Two trees with the same one have the same files.
    pub sha256: String,
    /// How many files it covers.
    pub files: u64,
    /// The commit that was checked out; none before the first one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub commit: Option<String>,
    /// Whether the files were exactly those of the commit, so that another checkout can compare commits.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub clean: bool,
    /// Which checkout on which machine this was, as a digest.
    pub place: String,
    /// What differed from the commit: the beginning of each file's digest, empty for one that was gone.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub changed: BTreeMap<String, String>,
    /// Whether more differed than `changed` names.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub more_changed: bool,
    /// What the digest names and does not cover.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub not_covered: Vec<NotCovered>,
}

/// A path whose content a tree's digest does not cover.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotCovered {
    /// The path, relative to the top of the checkout.
    pub path: String,
    /// Why.
    pub why: String,
}
