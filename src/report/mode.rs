//! Modes.

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::model::{ModeName, SessionId};
use crate::policy::{DenialKind, Kind, Outcome, Said, Skill};

/// By which rule a request was decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ModeDecision {
    /// Nothing was active.
    Start,
    /// It is active already.
    NoChange,
    /// It began beside the others.
    Overlap,
    /// It began, and others were completed.
    AutoComplete,
    /// It did not begin.
    Deny,
}

impl ModeDecision {
    /// The word in answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::NoChange => "no_change",
            Self::Overlap => "overlap",
            Self::AutoComplete => "auto_complete",
            Self::Deny => "deny",
        }
    }
}

/// The answer of `mode request`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModeRequestReport {
    /// By which rule.
    pub decision: ModeDecision,
    /// Of a denial: which rule.
    pub kind: Option<DenialKind>,
    /// The mode that was asked for.
    pub requested: ModeName,
    /// Modes that were completed.
    pub completed: Vec<ModeName>,
    /// Modes that are active now, in the order in which they began.
    pub active: Vec<ModeName>,
    /// What happened, or why not and what to do.
    pub message: String,
    /// Whose modes.
    pub scope: ScopeReport,
    /// Whether anything was written.
    pub changed: bool,
    /// What is odd.
    pub warnings: Vec<String>,
}

/// Whose modes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScopeReport(pub Option<SessionId>);

impl Serialize for ScopeReport {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            None => to.serialize_str("root"),
            Some(session) => to.collect_str(&format_args!("session {session}")),
        }
    }
}

impl std::fmt::Display for ScopeReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            None => f.pad("root"),
            Some(session) => write!(f, "session {session}"),
        }
    }
}

/// Which file says whether a mode is active, of those that could.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DecidedBy {
    /// Whose file it is.
    pub scope: ScopeReport,
    /// Its path.
    pub path: std::path::PathBuf,
    /// Whether it says that the mode is active; null when it cannot be read.
    pub active: Option<bool>,
    /// Why this one counts.
    pub why: String,
    /// The root's file that it hides.
    pub hides: Option<std::path::PathBuf>,
}

/// A mode in a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ListedMode {
    /// Its name.
    pub mode: ModeName,
    /// Whether it is active.
    pub active: bool,
    /// Its phase.
    pub current_phase: Option<String>,
    /// Whose file says so.
    pub scope: ScopeReport,
    /// How it ended.
    pub outcome: Option<Outcome>,
    /// The run that it works on.
    pub run_id: Option<String>,
    /// Why its file cannot be read.
    pub error: Option<String>,
    /// Which file counts, and why.
    pub decided_by: DecidedBy,
    /// What is odd about it.
    pub notes: Vec<String>,
}

/// The answer of `mode list`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModeListReport {
    /// Who sees them; everybody's are listed, each with its own, for the root scope alone.
    pub scope: ScopeReport,
    /// The active modes, in the order in which they began.
    pub active: Vec<ModeName>,
    /// All modes that have a file.
    pub modes: Vec<ListedMode>,
    /// What is odd.
    pub warnings: Vec<String>,
}

/// The answer of `mode show`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModeShowReport {
    /// The mode.
    pub mode: ModeName,
    /// Whether there is a file.
    pub exists: bool,
    /// Whose file.
    pub scope: ScopeReport,
    /// Its path.
    pub path: Option<std::path::PathBuf>,
    /// What it says.
    pub state: Option<Map<String, Value>>,
    /// How it ended.
    pub outcome: Option<Outcome>,
    /// Which file counts for requests, and why; none when there is none.
    pub decided_by: Option<DecidedBy>,
    /// What is odd about it.
    pub notes: Vec<String>,
}

/// The answer of `mode write`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModeWriteReport {
    /// The mode.
    pub mode: ModeName,
    /// Whose file.
    pub scope: ScopeReport,
    /// Its path.
    pub path: std::path::PathBuf,
    /// What it says now.
    pub state: Map<String, Value>,
    /// How it ended.
    pub outcome: Option<Outcome>,
    /// By which rule it became active; none when it did not.
    pub decision: Option<ModeDecision>,
    /// Modes that were completed.
    pub completed: Vec<ModeName>,
    /// Whether anything was written.
    pub changed: bool,
    /// What is odd.
    pub warnings: Vec<String>,
}

/// The answer of `mode clear` and `mode cancel`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModeEndReport {
    /// The modes whose files changed.
    pub ended: Vec<EndedMode>,
    /// Modes that are active now.
    pub active: Vec<ModeName>,
    /// Whether anything was written.
    pub changed: bool,
    /// What is odd: files in quarantine, runs that go on.
    pub warnings: Vec<String>,
}

/// A mode that was ended.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EndedMode {
    /// The mode.
    pub mode: ModeName,
    /// Whose.
    pub scope: ScopeReport,
}

/// The answer of `mode outcome`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OutcomeReport {
    /// How it ended; null while it goes on.
    pub outcome: Option<Outcome>,
    /// Whether it ended.
    pub terminal: bool,
    /// Which field said so.
    pub source: Option<Said>,
    /// Whether it waits for a person in words that are kept for older readers only.
    pub user_wait: bool,
    /// What is odd about it.
    pub notes: Vec<String>,
}

/// The answer of `mode prompt`.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ModePromptReport {
    /// The skills that the prompt names, each once.
    pub skills: Vec<Skill>,
    /// How each of them was written.
    pub typed: Vec<String>,
    /// Modes that are active now.
    pub active: Vec<ModeName>,
    /// Modes that have to wait.
    pub deferred: Vec<ModeName>,
    /// Modes that were completed by a hand-over.
    pub completed: Vec<ModeName>,
    /// Modes that the prompt ended.
    pub cancelled: Vec<ModeName>,
    /// What to tell the agent.
    pub messages: Vec<String>,
    /// Why nothing changed.
    pub error: Option<PromptError>,
    /// Whether anything was written.
    pub changed: bool,
    /// What is odd.
    pub warnings: Vec<String>,
}

/// Why a prompt changed nothing.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PromptError {
    /// Which rule, or `unreadable_state`.
    pub kind: String,
    /// The mode that could not begin.
    pub mode: ModeName,
    /// Why not, and what to do.
    pub message: String,
}

/// The answer of `mode policy`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PolicyReport {
    /// Its file; none for the shipped one.
    pub path: Option<std::path::PathBuf>,
    /// The modes.
    pub modes: Vec<PolicyMode>,
    /// A row for each active mode, a column for each one that is asked for.
    pub table: Vec<PolicyRow>,
}

/// A mode of a policy.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PolicyMode {
    /// Its name.
    pub mode: ModeName,
    /// What it is like.
    pub kind: Kind,
    /// Other words for it.
    pub aliases: Vec<String>,
}

/// What happens while one mode is active.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PolicyRow {
    /// The active mode.
    pub active: ModeName,
    /// For each mode that is asked for: `no_change`, `overlap`, `auto_complete`, `deny_overlap`, `deny_rollback`, or two
    /// of them joined by `|`, the second one for when the condition holds.
    pub requested: Vec<String>,
}
