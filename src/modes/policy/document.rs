//! A policy as it is written.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::modes::policy::{Condition, Kind};

/// `modes.yaml`, behind its schema.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct PolicyDocument {
    /// The modes, in the order of tables.
    pub modes: Vec<ModeEntry>,
    /// Which mode hands over to which.
    #[serde(default)]
    pub handoffs: Vec<HandoffEntry>,
    /// Which modes may be active together; `*` is every other one.
    #[serde(default)]
    pub overlaps: Vec<[String; 2]>,
    /// Prefixes of skills.
    #[serde(default)]
    pub namespaces: Vec<String>,
    /// Skills that are no modes.
    #[serde(default)]
    pub skills: Vec<String>,
}

/// A mode.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ModeEntry {
    /// Its name.
    pub name: String,
    /// What it is like.
    pub kind: Kind,
    /// Other words for it.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// Fields of a file that begins.
    #[serde(default)]
    pub start: Map<String, Value>,
    /// The phases in which it is at work; any, when none are named.
    #[serde(default)]
    pub phases: Vec<String>,
    /// The phases in which it has ended.
    #[serde(default)]
    pub terminal_phases: Vec<String>,
    /// Other words for phases.
    #[serde(default)]
    pub phase_aliases: BTreeMap<String, String>,
}

/// The source is completed when the destination begins.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct HandoffEntry {
    /// The source.
    pub from: String,
    /// The destination.
    pub to: String,
    /// When not.
    #[serde(default)]
    pub unless: Option<Condition>,
}
