//! A policy as its file has it.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::modes::policy::{Condition, ModeKind};

/// The content of `modes.yaml`, after its schema was checked.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct PolicyDocument {
    /// The modes, in the order of tables.
    pub modes: Vec<ModeEntry>,
    /// The hand-overs between modes.
    #[serde(default)]
    pub handoffs: Vec<HandoffEntry>,
    /// Pairs of modes that may be active together; `*` stands for every other mode.
    #[serde(default)]
    pub overlaps: Vec<[String; 2]>,
    /// Prefixes that a skill in a prompt may have, such as `rcs` in `$rcs:team`.
    #[serde(default)]
    pub namespaces: Vec<String>,
    /// Skills that are not modes.
    #[serde(default)]
    pub skills: Vec<String>,
}

/// A mode.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ModeEntry {
    /// Its name.
    pub name: String,
    /// Planning or execution.
    pub kind: ModeKind,
    /// Other names.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// Fields of the file when the mode begins.
    #[serde(default)]
    pub start: Map<String, Value>,
    /// The phases of the active mode; if none are named, any.
    #[serde(default)]
    pub phases: Vec<String>,
    /// The phases in which the mode has ended.
    #[serde(default)]
    pub terminal_phases: Vec<String>,
    /// Other names for phases.
    #[serde(default)]
    pub phase_aliases: BTreeMap<String, String>,
}

/// A hand-over: the source is completed when the destination begins.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct HandoffEntry {
    /// The source.
    pub from: String,
    /// The destination.
    pub to: String,
    /// The condition under which the hand-over is closed.
    pub unless: Option<Condition>,
}
