//! What the page of a run is made of.

use std::collections::BTreeMap;

use crate::engine::EvidenceState;
use crate::machine::Machine;
use crate::model::{Number, Timestamp};
use crate::picture::event::LogFilter;
use crate::picture::page::document::Place;
use crate::runs::{EvidenceItem, LogReport, RunReport, ShownActivity};

/// What the page of a run shows.
#[derive(Debug)]
pub struct RunPage<'a> {
    /// What is known of the run, as its address in JSON gives it.
    pub run: &'a RunReport,
    /// Its activities, the one that changed last first.
    pub activities: &'a [ShownActivity],
    /// How many activities there are.
    pub all_activities: usize,
    /// What it refers to as evidence and artifacts.
    pub evidence: &'a [EvidenceItem],
    /// Whether what was seen of its commands holds, by the number of the record; empty where no one looked at the files.
    pub evidence_states: &'a BTreeMap<Number, EvidenceState>,
    /// A part of its log.
    pub log: LogPart<'a>,
    /// Its workflow; none if it has no state machine.
    pub machine: Option<&'a Machine>,
    /// The address of the page, if it is served.
    pub address: Option<String>,
    /// The time.
    pub now: Timestamp,
    /// Whether the server lets the page act.
    pub actions: bool,
}

impl RunPage<'_> {
    /// Where the page is.
    pub(super) fn place(&self) -> Place {
        if self.address.is_some() { Place::Served } else { Place::Alone }
    }

    /// Whether the commands are those of now. What was to be done at an earlier time may be wrong today.
    pub(super) fn is_live(&self) -> bool {
        self.address.is_some() && self.run.at.is_none()
    }

    /// The time as of which the page speaks.
    pub(super) fn as_of(&self) -> Timestamp {
        if self.run.at.is_some() { self.run.shown_at } else { self.now }
    }

    /// The name of its project.
    pub(super) fn project(&self) -> Option<&str> {
        self.address.as_deref()?.split('/').nth(1)
    }
}

/// A part of the log of a run.
#[derive(Debug, Clone, Copy)]
pub struct LogPart<'a> {
    /// The events.
    pub report: &'a LogReport,
    /// Which events were asked for.
    pub filter: LogFilter,
    /// Only events with this text.
    pub find: Option<&'a str>,
    /// Whether there are earlier ones.
    pub earlier: bool,
}
