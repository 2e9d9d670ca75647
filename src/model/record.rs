//! A recorded piece of work, as the events that record one have it.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::{
    Activity, ActivityId, Approval, Execution, Number, SessionId, StateName, StepStatus, TextDigest, sha256_hex,
};

/// A recorded piece of work, and where it moved the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ActivityRecorded {
    /// Its number in the run.
    pub number: Number,
    /// The phase of the work. The run is in it or moves to it, unless `late` is set.
    pub phase: StateName,
    /// The phase to which the run moved after the record (`--advance`).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub advanced_to: Option<StateName>,
    /// Other phases that the run is in after the record: parallel branches.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub beside: Vec<StateName>,
    /// Whether the work belongs to a phase that the run had left. Such a record does not move the run.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub late: bool,
    /// The phases that the run left with this record although their work was not done.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub skipped: Option<Skip>,
    /// Ids of failed or blocked activities of the phase that this record settles.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub settles: Vec<ActivityId>,
    /// How the step of the phase stands after the record, in a run whose steps are reported. Events of earlier versions lack
    /// it: there work that began always began the step.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub step: Option<StepStatus>,
    /// How a person decided at the gate of the phase; the status of the activity says what.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub approval: Option<Approval>,
    /// The session that recorded it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub session: Option<SessionId>,
    /// If work begins without a session: the processes whose life shows that it goes on, as holders.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub by: Vec<String>,
    /// The digest of the caller's request before flow filled in defaults. It distinguishes a retry from another record.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub request: Option<TextDigest>,
    /// The files of the run's evidence that it refers to, as they were.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub evidence: Vec<KeptEvidence>,
    /// The command that the work was, if flow ran it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub exec: Option<Box<Execution>>,
    /// The number of the record whose command flow ran once more, if the work was to compare that.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub replay: Option<Number>,
    /// The activity document.
    pub activity: Activity,
}

/// A file among a run's evidence, as it was when an activity that refers to it was recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeptEvidence {
    /// Its name in `evidence/`.
    pub name: String,
    /// The SHA-256 of its bytes, in hexadecimal digits.
    pub sha256: String,
    /// Its length in bytes.
    pub bytes: u64,
}

impl KeptEvidence {
    /// What is kept of a file with these bytes.
    #[must_use]
    pub fn of(name: &str, bytes: &[u8]) -> Self {
        Self { name: name.to_owned(), sha256: sha256_hex(bytes), bytes: bytes.len() as u64 }
    }

    /// Whether a file with these bytes is the one that was recorded.
    #[must_use]
    pub fn is_of(&self, bytes: &[u8]) -> bool {
        self.bytes == bytes.len() as u64 && self.sha256 == sha256_hex(bytes)
    }

    /// Whether a file with these bytes differs from the one that was recorded in its line ends alone, as a checkout with
    /// `core.autocrlf` gives it.
    #[must_use]
    pub fn is_but_for_line_ends(&self, bytes: &[u8]) -> bool {
        let mut own = Vec::with_capacity(bytes.len());
        for line in bytes.split_inclusive(|&byte| byte == b'\n') {
            match line.strip_suffix(b"\r\n") {
                Some(text) => own.extend([text, b"\n"].concat()),
                None => own.extend(line),
            }
        }
        self.is_of(&own)
    }
}

impl ActivityRecorded {
    /// A record of `activity` in `phase` that does not move the run.
    #[must_use]
    pub fn new(number: Number, phase: StateName, activity: Activity) -> Self {
        Self {
            number,
            phase,
            advanced_to: None,
            beside: Vec::new(),
            late: false,
            skipped: None,
            settles: Vec::new(),
            step: None,
            approval: None,
            session: None,
            by: Vec::new(),
            request: None,
            evidence: Vec::new(),
            exec: None,
            replay: None,
            activity,
        }
    }

    /// The activity's id.
    #[must_use]
    pub fn id(&self) -> ActivityId {
        self.activity.id()
    }
}

/// Phases that were left, or completed with their run, although their work was not done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skip {
    /// The phases that were left, in order.
    pub phases: Vec<StateName>,
    /// The reason that the caller gave.
    pub reason: String,
    /// What phases that were left require and the run could not show.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub unproved: Vec<MissingProof>,
}

/// A command that a phase requires, and that was not seen to pass on the present files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MissingProof {
    /// The phase.
    pub phase: StateName,
    /// The command, as the project names it.
    pub exec: String,
    /// What is missing.
    pub why: String,
    /// Whether the run is past the phase. Known while it is decided, and not recorded, as is what follows.
    #[serde(skip)]
    pub is_behind: bool,
    /// Whether a command has to name the phase, since it would be recorded in another one.
    #[serde(skip)]
    pub is_elsewhere: bool,
    /// The last time that the run ran it: the next time it is asked for in the same way.
    #[serde(skip)]
    pub last: Option<Box<Execution>>,
    /// The files that changed while it ran in the phase and passed: the next time they may change as well.
    #[serde(skip)]
    pub wrote: Vec<String>,
    /// Whether it has to hold for the present files.
    #[serde(skip)]
    pub asks_files: bool,
    /// How the run goes on without it.
    #[serde(skip)]
    pub way_around: WayAround,
    /// Why running it once more shows nothing.
    #[serde(skip)]
    pub obstacle: Option<Obstacle>,
}

/// How a run goes on without what a phase requires.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum WayAround {
    /// With no reason: a person decides there.
    #[default]
    None,
    /// With none either: the run would only begin.
    Begin,
    /// The next phase is begun for a reason.
    Enter(StateName),
    /// The run is completed for a reason.
    Complete,
}

/// What keeps a required command from being a proof, as a part of a sentence that says what a person changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    /// It was not accepted on this machine.
    NotAccepted(String),
    /// The configuration does not name it, or not as a command that can be recorded.
    Configuration(String),
    /// It changes the files on which it runs.
    WritesFiles(String),
    /// git does not know the files, and it names none.
    NoFiles(String),
    /// Which files it ran on cannot be told.
    UnknownFiles(String),
    /// The run does not exist yet, or is in no phase yet.
    NoRun(String),
}

impl Obstacle {
    /// What is to be changed.
    #[must_use]
    pub fn what(&self) -> &str {
        match self {
            Self::NotAccepted(what)
            | Self::Configuration(what)
            | Self::WritesFiles(what)
            | Self::NoFiles(what)
            | Self::UnknownFiles(what)
            | Self::NoRun(what) => what,
        }
    }
}

impl fmt::Display for MissingProof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` requires that `{}` was seen to pass: {}", self.phase, self.exec, self.why)
    }
}
