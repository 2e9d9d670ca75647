//! How a mode ended, in one vocabulary (RCS, "Terminal lifecycle outcome compatibility").

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value};

use crate::model::{Timestamp, named};
use crate::modes::policy::mode::CLEARED;
use crate::modes::policy::{Mode, says_active, says_inactive, text_of};

named! {
    /// How a mode ended, for people.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum ModeOutcome {
        /// It finished its work.
        Finished = "finished",
        /// It cannot continue.
        Blocked = "blocked",
        /// It failed.
        Failed = "failed",
        /// A person stopped it.
        UserInterlude = "userinterlude",
        /// It asked a question, and waits for the answer.
        AskUserQuestion = "askuserQuestion",
    }
}

impl ModeOutcome {
    /// The name in the legacy field `run_outcome`.
    #[must_use]
    pub fn legacy(self) -> &'static str {
        match self {
            Self::Finished => "finish",
            Self::Blocked | Self::AskUserQuestion => "blocked_on_user",
            Self::Failed => "failed",
            Self::UserInterlude => "cancelled",
        }
    }
}

impl JsonSchema for ModeOutcome {
    fn schema_name() -> Cow<'static, str> {
        "Outcome".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let words = Self::ALL.map(Self::as_str);
        json_schema!({ "type": "string", "enum": words, "description": "How a mode ended, for people." })
    }
}

/// The meaning of a word in any of the vocabularies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word {
    Ended(ModeOutcome),
    /// It waits for a person: for an answer if a question is pending, otherwise it is blocked.
    UserWait,
    /// It is not over.
    GoesOn,
}

impl Word {
    /// Parses a word, by the alias tables of RCS and of the fields that it replaces.
    fn parse(text: &str) -> Option<Self> {
        Some(match text.trim().to_lowercase().as_str() {
            "finished" | "finish" | "complete" | "completed" | "done" => Self::Ended(ModeOutcome::Finished),
            "blocked" => Self::Ended(ModeOutcome::Blocked),
            "failed" | "fail" | "error" => Self::Ended(ModeOutcome::Failed),
            "userinterlude" | "user-interlude" | "interrupted" | "interrupt" | "cancelled" | "canceled" | "cancel"
            | "aborted" | "abort" => Self::Ended(ModeOutcome::UserInterlude),
            "askuserquestion" | "ask-user-question" | "askuser" | "question" => {
                Self::Ended(ModeOutcome::AskUserQuestion)
            }
            "blocked_on_user" | "blocked-on-user" => Self::UserWait,
            "progress" | "continue" | "continued" => Self::GoesOn,
            _ => return None,
        })
    }

    /// Whether the word is compatible with `outcome`. Waiting for a person can be a block or a question.
    fn fits(self, outcome: Option<ModeOutcome>) -> bool {
        match self {
            Self::Ended(own) => outcome == Some(own),
            Self::UserWait => matches!(outcome, Some(ModeOutcome::Blocked | ModeOutcome::AskUserQuestion)),
            Self::GoesOn => outcome.is_none(),
        }
    }

    fn outcome(self, question: bool) -> Option<ModeOutcome> {
        match self {
            Self::Ended(outcome) => Some(outcome),
            Self::UserWait if question => Some(ModeOutcome::AskUserQuestion),
            Self::UserWait => Some(ModeOutcome::Blocked),
            Self::GoesOn => None,
        }
    }
}

named! {
    /// The field that determined the outcome.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema)]
    pub enum OutcomeSource {
        /// The canonical field `lifecycle_outcome`.
        LifecycleOutcome = "lifecycle_outcome",
        /// Its legacy alias `terminal_outcome`.
        TerminalOutcome = "terminal_outcome",
        /// The legacy field `run_outcome`.
        RunOutcome = "run_outcome",
        /// The field `current_phase`.
        CurrentPhase = "current_phase",
        /// A pending question.
        QuestionEnforcement = "question_enforcement",
        /// An error in the file.
        Error = "error",
        /// The field `active`.
        Active = "active",
        /// The field `completed_at`.
        CompletedAt = "completed_at",
    }
}

/// The end of a mode, as its file has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// How the mode ended; none while it is not over.
    pub outcome: Option<ModeOutcome>,
    /// The field that determined that.
    pub source: Option<OutcomeSource>,
    /// Whether the file says that it waits for a person, in words that only older readers use.
    pub user_wait: bool,
    /// Problems in the file: unknown values, fields that contradict each other.
    pub notes: Vec<String>,
}

impl Reading {
    /// Whether `active` or `completed_at` decided: they say that the mode ended, and not how.
    pub(super) fn is_bare(&self) -> bool {
        matches!(self.source, Some(OutcomeSource::Active | OutcomeSource::CompletedAt))
    }
}

const CANONICAL: [OutcomeSource; 3] =
    [OutcomeSource::LifecycleOutcome, OutcomeSource::TerminalOutcome, OutcomeSource::RunOutcome];

/// Determines how the mode in `state` ended. Fields count in RCS's order of precedence.
#[must_use]
pub fn read_outcome(state: &Map<String, Value>) -> Reading {
    let question = has_question(state);
    let mut notes = Vec::new();
    let decisive = by_outcome_field(state, question, &mut notes).or_else(|| by_phase(state));
    let active = state.get("active").and_then(Value::as_bool);
    let user_wait = matches!(decisive, Some((Word::UserWait, _)));
    let (outcome, source) = match decisive {
        Some((word, source)) => (word.outcome(question), Some(source)),
        None if question => (Some(ModeOutcome::AskUserQuestion), Some(OutcomeSource::QuestionEnforcement)),
        // An active mode may go on after an error.
        None if filled(state, "error").is_some() && active != Some(true) => {
            (Some(ModeOutcome::Failed), Some(OutcomeSource::Error))
        }
        None if active == Some(true) => (None, Some(OutcomeSource::Active)),
        None if active == Some(false) => (Some(ModeOutcome::Finished), Some(OutcomeSource::Active)),
        None if filled(state, "completed_at").is_some() => {
            (Some(ModeOutcome::Finished), Some(OutcomeSource::CompletedAt))
        }
        None => (None, None),
    };
    if let (Some(outcome), Some(source), Some(true)) = (outcome, source, active) {
        let (field, outcome) = (source.as_str(), outcome.as_str());
        notes.push(format!("active is true, though {field} says that it ended ({outcome})"));
    }
    if let Some(active) = state.get("active").filter(|active| !active.is_boolean() && !active.is_null()) {
        let active: String = active.to_string().chars().take(60).collect();
        notes.push(format!("active is {active}, neither true nor false, and does not count"));
    }
    Reading { outcome, source, user_wait, notes }
}

/// The first field for outcomes with a word that counts. Notes words that do not count, and fields that contradict it.
fn by_outcome_field(
    state: &Map<String, Value>,
    question: bool,
    notes: &mut Vec<String>,
) -> Option<(Word, OutcomeSource)> {
    let mut first: Option<(Word, OutcomeSource)> = None;
    for source in CANONICAL {
        let field = source.as_str();
        let text = match state.get(field) {
            None | Some(Value::Null) => continue,
            Some(Value::String(text)) if text.trim().is_empty() => continue,
            Some(Value::String(text)) => text,
            Some(other) => {
                notes.push(format!("{field} is {other}, not a text, and does not count"));
                continue;
            }
        };
        let Some(word) = Word::parse(text) else {
            notes.push(format!("{field} has the unknown value {text:?}, which does not count"));
            continue;
        };
        // Only the oldest field has words for a mode that is not over.
        if word == Word::GoesOn && source != OutcomeSource::RunOutcome {
            notes.push(format!("{field} has the value {text:?}, which is not an outcome and does not count"));
            continue;
        }
        match first {
            Some((first, before)) if !word.fits(first.outcome(question)) => {
                notes.push(format!("{field} says {text:?}, and {} counts before it", before.as_str()));
            }
            Some(_) => {}
            // The phase or a question may still say that it ended.
            None if word == Word::GoesOn => {}
            None => first = Some((word, source)),
        }
    }
    first
}

fn by_phase(state: &Map<String, Value>) -> Option<(Word, OutcomeSource)> {
    let lock = state.get("input_lock");
    let is_aborted = matches!(lock, Some(Value::Object(lock)) if text_of(lock, "exit_reason") == Some("abort"));
    let word = match text_of(state, "current_phase")?.trim() {
        // A person stopped it, so it did not finish.
        CLEARED | "user-stopped" => Word::Ended(ModeOutcome::UserInterlude),
        "completing" if is_aborted => Word::Ended(ModeOutcome::UserInterlude),
        phase => Word::parse(phase)?,
    };
    // A phase such as `progress` is one of work.
    if word == Word::GoesOn { None } else { Some((word, OutcomeSource::CurrentPhase)) }
}

/// Whether the mode has a question that is not answered yet.
fn has_question(state: &Map<String, Value>) -> bool {
    let Some(Value::Object(question)) = state.get("question_enforcement") else { return false };
    let id = text_of(question, "obligation_id").unwrap_or_default();
    !id.is_empty() && text_of(question, "status") == Some("pending")
}

/// The text of a field, if it is more than blanks.
fn filled<'a>(state: &'a Map<String, Value>, field: &str) -> Option<&'a str> {
    let text = text_of(state, field)?;
    if text.trim().is_empty() { None } else { Some(text) }
}

/// Why a state must not be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LifecycleFault {
    /// A word that is not in any vocabulary.
    UnknownOutcome {
        /// The field that has the word.
        field: &'static str,
        /// The word.
        value: String,
    },
    /// The mode has ended, but is active.
    EndedButActive {
        /// How it ended.
        outcome: ModeOutcome,
        /// The field that says so.
        source: &'static str,
    },
    /// The mode is not over, but is not active.
    GoesOnInactive,
}

/// Makes the fields of `state` about the end consistent: the canonical outcome counts, and the legacy fields follow.
/// Gives warnings.
///
/// # Errors
/// [`LifecycleFault`]; then the caller must discard `state`.
pub fn settle(state: &mut Map<String, Value>, now: Timestamp) -> Result<Vec<String>, LifecycleFault> {
    for source in CANONICAL {
        let field = source.as_str();
        let Some(text) = filled(state, field) else { continue };
        let is_valid = match Word::parse(text) {
            Some(Word::GoesOn) => source == OutcomeSource::RunOutcome,
            Some(_) => true,
            None => false,
        };
        if !is_valid {
            return Err(LifecycleFault::UnknownOutcome { field, value: text.to_owned() });
        }
    }
    let active = state.get("active").and_then(Value::as_bool);
    let reading = read_outcome(state);
    let is_explained = reading.outcome.is_some() && !reading.is_bare();
    if goes_on(state) && active == Some(false) && !is_explained {
        return Err(LifecycleFault::GoesOnInactive);
    }
    let mut warnings = reading.notes;
    state.shift_remove("terminal_outcome");
    match reading.outcome {
        Some(outcome) => {
            if active == Some(true) {
                let source = reading.source.map_or("it", OutcomeSource::as_str);
                return Err(LifecycleFault::EndedButActive { outcome, source });
            }
            if let Some(said) = text_of(state, "lifecycle_outcome").filter(|said| *said != outcome.as_str()) {
                warnings.push(format!("lifecycle_outcome {said:?} was written as {:?}", outcome.as_str()));
            }
            state.insert("active".into(), false.into());
            state.insert("lifecycle_outcome".into(), outcome.as_str().into());
            state.insert("run_outcome".into(), outcome.legacy().into());
            // A time that is there is that of the end; a second write does not move it.
            if text_of(state, "completed_at").unwrap_or_default().is_empty() {
                state.insert("completed_at".into(), now.to_string().into());
            }
        }
        None => {
            state.insert("active".into(), true.into());
            state.shift_remove("lifecycle_outcome");
            state.shift_remove("completed_at");
            let said = text_of(state, "run_outcome").unwrap_or_default();
            let is_progress = said.trim().eq_ignore_ascii_case("progress");
            let word = if is_progress { "progress" } else { "continue" };
            state.insert("run_outcome".into(), word.into());
        }
    }
    Ok(warnings)
}

/// Whether the oldest field says that the mode is not over.
fn goes_on(state: &Map<String, Value>) -> bool {
    text_of(state, "run_outcome").and_then(Word::parse) == Some(Word::GoesOn)
}

/// Fields about a hand-over, which are stale when the mode begins again.
const AUDIT: [&str; 4] = ["auto_completed_reason", "completion_note", "transition_source", "transition_target_mode"];

/// Before `given` is merged into the `state` of `mode`, removes fields that become stale: an outcome is dropped with
/// the phase that it belongs to, a mode that is said to have ended is no longer active, and a mode that begins again
/// has no end.
pub fn drop_stale(mode: &Mode, state: &mut Map<String, Value>, given: &Map<String, Value>) {
    let reading = read_outcome(given);
    let tells_how = reading.source == Some(OutcomeSource::CurrentPhase)
        || CANONICAL.iter().any(|source| reading.source == Some(*source));
    if tells_how && !given.contains_key("active") {
        state.shift_remove("active");
    }
    let begins = says_active(given);
    let tells = CANONICAL.iter().any(|source| !matches!(given.get(source.as_str()), None | Some(Value::Null)));
    // A new phase that is not an end does not change how an ended mode ended.
    let ends =
        reading.outcome.is_some() || matches!(text_of(given, "current_phase"), Some(phase) if mode.ends_in(phase));
    if begins || tells || (given.contains_key("current_phase") && (!says_inactive(state) || ends)) {
        for field in CANONICAL.map(OutcomeSource::as_str) {
            state.shift_remove(field);
        }
    }
    if goes_on(state) && given.contains_key("active") {
        state.shift_remove("run_outcome");
    }
    if begins && !says_active(state) {
        clear_audit(state);
        state.shift_remove("completed_at");
        state.shift_remove("error");
    }
}

/// Removes the fields about an earlier hand-over.
pub fn clear_audit(state: &mut Map<String, Value>) {
    for field in AUDIT {
        state.shift_remove(field);
    }
}
