//! How a mode ended, in one vocabulary (RCS, "Terminal lifecycle outcome compatibility").

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::model::Timestamp;
use crate::modes::policy::Mode;
use crate::modes::policy::phase::CLEARED;

/// How a mode ended, for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It finished its work.
    Finished,
    /// It cannot continue.
    Blocked,
    /// It failed.
    Failed,
    /// A person stopped it.
    UserInterlude,
    /// It asked a question, and waits for the answer.
    AskUserQuestion,
}

impl Outcome {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Finished, Self::Blocked, Self::Failed, Self::UserInterlude, Self::AskUserQuestion];

    /// The canonical name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Blocked => "blocked",
            Self::Failed => "failed",
            Self::UserInterlude => "userinterlude",
            Self::AskUserQuestion => "askuserQuestion",
        }
    }

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

impl Serialize for Outcome {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.as_str())
    }
}

impl JsonSchema for Outcome {
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
    Ended(Outcome),
    /// It waits for a person: for an answer if a question is pending, otherwise it is blocked.
    UserWait,
    /// It is not over.
    GoesOn,
}

impl Word {
    /// Parses a word, by the alias tables of RCS and of the fields that it replaces.
    fn parse(text: &str) -> Option<Self> {
        Some(match text.trim().to_lowercase().as_str() {
            "finished" | "finish" | "complete" | "completed" | "done" => Self::Ended(Outcome::Finished),
            "blocked" => Self::Ended(Outcome::Blocked),
            "failed" | "fail" | "error" => Self::Ended(Outcome::Failed),
            "userinterlude" | "user-interlude" | "interrupted" | "interrupt" | "cancelled" | "canceled" | "cancel"
            | "aborted" | "abort" => Self::Ended(Outcome::UserInterlude),
            "askuserquestion" | "ask-user-question" | "askuser" | "question" => Self::Ended(Outcome::AskUserQuestion),
            "blocked_on_user" | "blocked-on-user" => Self::UserWait,
            "progress" | "continue" | "continued" => Self::GoesOn,
            _ => return None,
        })
    }

    /// Whether the word is compatible with `outcome`. Waiting for a person can be a block or a question.
    fn fits(self, outcome: Option<Outcome>) -> bool {
        match self {
            Self::Ended(own) => outcome == Some(own),
            Self::UserWait => matches!(outcome, Some(Outcome::Blocked | Outcome::AskUserQuestion)),
            Self::GoesOn => outcome.is_none(),
        }
    }

    fn outcome(self, question: bool) -> Option<Outcome> {
        match self {
            Self::Ended(outcome) => Some(outcome),
            Self::UserWait if question => Some(Outcome::AskUserQuestion),
            Self::UserWait => Some(Outcome::Blocked),
            Self::GoesOn => None,
        }
    }
}

/// The field that determined the outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeSource {
    /// The canonical field `lifecycle_outcome`.
    LifecycleOutcome,
    /// Its legacy alias `terminal_outcome`.
    TerminalOutcome,
    /// The legacy field `run_outcome`.
    RunOutcome,
    /// The field `current_phase`.
    CurrentPhase,
    /// A pending question.
    QuestionEnforcement,
    /// An error in the file.
    Error,
    /// The field `active`.
    Active,
    /// The field `completed_at`.
    CompletedAt,
}

/// The end of a mode, as its file has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// How the mode ended; none while it is not over.
    pub outcome: Option<Outcome>,
    /// The field that determined that.
    pub source: Option<OutcomeSource>,
    /// Whether the file says that it waits for a person, in words that only older readers use.
    pub user_wait: bool,
    /// Problems in the file: unknown values, fields that contradict each other.
    pub notes: Vec<String>,
}

const CANONICAL: [(&str, OutcomeSource); 3] = [
    ("lifecycle_outcome", OutcomeSource::LifecycleOutcome),
    ("terminal_outcome", OutcomeSource::TerminalOutcome),
    ("run_outcome", OutcomeSource::RunOutcome),
];

/// Determines how the mode in `state` ended. Fields count in RCS's order of precedence.
#[must_use]
pub fn read_outcome(state: &Map<String, Value>) -> Reading {
    let question = has_question(state);
    let mut notes = Vec::new();
    let mut found: Option<(Option<Outcome>, OutcomeSource, Word)> = None;
    for (field, said) in CANONICAL {
        let text = match state.get(field) {
            None | Some(Value::Null) => continue,
            Some(Value::String(text)) if text.trim().is_empty() => continue,
            Some(Value::String(text)) => text,
            Some(other) => {
                notes.push(format!("{field} is {other}, not a text, and does not count"));
                continue;
            }
        };
        match Word::parse(text) {
            None => notes.push(format!("{field} has the unknown value {text:?}, which does not count")),
            Some(Word::GoesOn) if said != OutcomeSource::RunOutcome => {
                notes.push(format!("{field} has the value {text:?}, which is not an outcome and does not count"));
            }
            Some(word) => match found {
                Some((outcome, before, _)) if !word.fits(outcome) => {
                    notes.push(format!("{field} says {text:?}, and {} counts before it", field_of(before)));
                }
                Some(_) => {}
                None if word == Word::GoesOn => {}
                None => found = Some((word.outcome(question), said, word)),
            },
        }
    }
    let found = found.or_else(|| by_phase(state, question));
    let active = state.get("active").and_then(Value::as_bool);
    let text = |field: &str| state.get(field).and_then(Value::as_str).is_some_and(|text| !text.trim().is_empty());
    let user_wait = matches!(found, Some((_, _, Word::UserWait)));
    let (outcome, source) = match found {
        Some((outcome, said, _)) => (outcome, Some(said)),
        None if question => (Some(Outcome::AskUserQuestion), Some(OutcomeSource::QuestionEnforcement)),
        None if text("error") && active != Some(true) => (Some(Outcome::Failed), Some(OutcomeSource::Error)),
        None if active == Some(true) => (None, Some(OutcomeSource::Active)),
        None if active == Some(false) => (Some(Outcome::Finished), Some(OutcomeSource::Active)),
        None if text("completed_at") => (Some(Outcome::Finished), Some(OutcomeSource::CompletedAt)),
        None => (None, None),
    };
    if let (Some(outcome), Some(source), Some(true)) = (outcome, source, active) {
        let (field, outcome) = (field_of(source), outcome.as_str());
        notes.push(format!("active is true, though {field} says that it ended ({outcome})"));
    }
    if let Some(active) = state.get("active").filter(|active| !active.is_boolean() && !active.is_null()) {
        let active: String = active.to_string().chars().take(60).collect();
        notes.push(format!("active is {active}, neither true nor false, and does not count"));
    }
    Reading { outcome, source, user_wait, notes }
}

fn field_of(said: OutcomeSource) -> &'static str {
    match said {
        OutcomeSource::LifecycleOutcome => "lifecycle_outcome",
        OutcomeSource::TerminalOutcome => "terminal_outcome",
        OutcomeSource::RunOutcome => "run_outcome",
        OutcomeSource::CurrentPhase => "current_phase",
        OutcomeSource::QuestionEnforcement => "question_enforcement",
        OutcomeSource::Error => "error",
        OutcomeSource::Active => "active",
        OutcomeSource::CompletedAt => "completed_at",
    }
}

fn by_phase(state: &Map<String, Value>, question: bool) -> Option<(Option<Outcome>, OutcomeSource, Word)> {
    let phase = state.get("current_phase")?.as_str()?;
    let aborted = || state.get("input_lock")?.get("exit_reason")?.as_str();
    let word = match phase.trim() {
        // A person stopped it, so it did not finish.
        CLEARED | "user-stopped" => Word::Ended(Outcome::UserInterlude),
        "completing" if aborted() == Some("abort") => Word::Ended(Outcome::UserInterlude),
        phase => Word::parse(phase).filter(|word| *word != Word::GoesOn)?,
    };
    Some((word.outcome(question), OutcomeSource::CurrentPhase, word))
}

/// Whether the mode has a question that is not answered yet.
fn has_question(state: &Map<String, Value>) -> bool {
    let Some(question) = state.get("question_enforcement") else { return false };
    let text = |field: &str| question.get(field).and_then(Value::as_str).unwrap_or_default();
    !text("obligation_id").is_empty() && text("status") == "pending"
}

/// Why a state must not be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LifecycleFault {
    /// A word that is not in any vocabulary.
    UnknownOutcome {
        /// The field.
        field: &'static str,
        /// The word.
        value: String,
    },
    /// The mode has ended, but is active.
    EndedButActive {
        /// How it ended.
        outcome: Outcome,
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
    for (field, said) in CANONICAL {
        let Some(text) = state.get(field).and_then(Value::as_str).filter(|text| !text.trim().is_empty()) else {
            continue;
        };
        let known = Word::parse(text).is_some_and(|word| word != Word::GoesOn || said == OutcomeSource::RunOutcome);
        if !known {
            return Err(LifecycleFault::UnknownOutcome { field, value: text.to_owned() });
        }
    }
    let active = state.get("active").and_then(Value::as_bool);
    let reading = read_outcome(state);
    let word = state.get("run_outcome").and_then(Value::as_str).and_then(Word::parse);
    let ended =
        |source: Option<OutcomeSource>| !matches!(source, Some(OutcomeSource::Active | OutcomeSource::CompletedAt));
    if word == Some(Word::GoesOn) && active == Some(false) && !(reading.outcome.is_some() && ended(reading.source)) {
        return Err(LifecycleFault::GoesOnInactive);
    }
    let mut warnings = reading.notes;
    state.shift_remove("terminal_outcome");
    match reading.outcome {
        Some(outcome) => {
            if active == Some(true) {
                let source = reading.source.map_or("it", field_of);
                return Err(LifecycleFault::EndedButActive { outcome, source });
            }
            let said = state.get("lifecycle_outcome").and_then(Value::as_str);
            if let Some(said) = said.filter(|said| *said != outcome.as_str()) {
                warnings.push(format!("lifecycle_outcome {said:?} was written as {:?}", outcome.as_str()));
            }
            state.insert("active".into(), false.into());
            state.insert("lifecycle_outcome".into(), outcome.as_str().into());
            state.insert("run_outcome".into(), outcome.legacy().into());
            let stamped = state.get("completed_at").and_then(Value::as_str).is_some_and(|at| !at.is_empty());
            if !stamped {
                state.insert("completed_at".into(), now.to_string().into());
            }
        }
        None => {
            state.insert("active".into(), true.into());
            state.shift_remove("lifecycle_outcome");
            state.shift_remove("completed_at");
            let word = if said_progress(state) { "progress" } else { "continue" };
            state.insert("run_outcome".into(), word.into());
        }
    }
    Ok(warnings)
}

fn said_progress(state: &Map<String, Value>) -> bool {
    state.get("run_outcome").and_then(Value::as_str).is_some_and(|word| word.trim().eq_ignore_ascii_case("progress"))
}

/// Fields about a hand-over, which are stale when the mode begins again.
const AUDIT: [&str; 4] = ["auto_completed_reason", "completion_note", "transition_source", "transition_target_mode"];

/// Before `given` is merged into the `state` of `mode`, removes fields that become stale: an outcome is dropped with
/// the phase that it belongs to, a mode that is said to have ended is no longer active, and a mode that begins again
/// has no end.
pub fn drop_stale(mode: &Mode, state: &mut Map<String, Value>, given: &Map<String, Value>) {
    let told = [
        OutcomeSource::LifecycleOutcome,
        OutcomeSource::TerminalOutcome,
        OutcomeSource::RunOutcome,
        OutcomeSource::CurrentPhase,
    ]
    .map(Some);
    if told.contains(&read_outcome(given).source) && !given.contains_key("active") {
        state.shift_remove("active");
    }
    let begins = given.get("active") == Some(&Value::Bool(true));
    let tells = CANONICAL.iter().any(|(field, _)| given.get(*field).is_some_and(|value| !value.is_null()));
    // A new phase that is not an end does not change how an ended mode ended.
    let phase = given.get("current_phase").and_then(Value::as_str);
    let ends = read_outcome(given).outcome.is_some() || phase.is_some_and(|phase| mode.ends_in(phase));
    let goes_on = state.get("active") != Some(&Value::Bool(false));
    if begins || tells || (given.contains_key("current_phase") && (goes_on || ends)) {
        CANONICAL.iter().for_each(|(field, _)| drop(state.shift_remove(*field)));
    }
    let goes_on = state.get("run_outcome").and_then(Value::as_str).and_then(Word::parse) == Some(Word::GoesOn);
    if goes_on && given.contains_key("active") {
        state.shift_remove("run_outcome");
    }
    if begins && state.get("active") != Some(&Value::Bool(true)) {
        clear_audit(state);
        state.shift_remove("completed_at");
        state.shift_remove("error");
    }
}

/// Removes the fields about an earlier hand-over.
pub fn clear_audit(state: &mut Map<String, Value>) {
    AUDIT.iter().for_each(|field| drop(state.shift_remove(*field)));
}
