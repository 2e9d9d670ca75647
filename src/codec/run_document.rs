//! What a FlowRun document says, read from the parser's tree or from that of the cheap reader.

use std::convert::Infallible;
use std::str::FromStr;

use serde_json::{Map, Value};

use crate::codec::plain::{self, Entries};
use crate::codec::reading::id_list;
use crate::codec::yaml::{Node, Tree};
use crate::model::{
    ActivityId, Doing, IdList, Number, Owned, Question, RunDocument, RunStatus, RunSummary, Seq, SessionId, StateName,
    StepStatus, Steps, Timestamp, Unit, limits,
};

/// The pointer to what is wrong, and what that is.
pub(super) type Wrong = (String, String);

/// The document; `completed` is its list of completed activities.
pub(super) fn document(root: &Node, completed: IdList) -> Result<RunDocument, Wrong> {
    if !matches!(root.tree, Tree::Mapping(_)) {
        let message = "the file must hold a mapping with apiVersion, kind, metadata, context and state";
        return Err((String::new(), message.to_owned()));
    }
    head(root)?;
    let [metadata, context, state, limits] =
        ["metadata", "context", "state", "limits"].map(|name| Section::of(root, name));
    let metadata = metadata?;
    Ok(RunDocument {
        id: metadata.required("id")?,
        workflow: metadata.required("workflow")?,
        workflow_version: metadata.number("workflow_version")?.unwrap_or(1),
        goal: metadata.optional("goal")?,
        created_at: metadata.required("created_at")?,
        context: to_map(&context?),
        limits: to_map(&limits?),
        state: owned(&state?, completed)?,
    })
}

/// As [`document`], of what is told about a run among many.
pub(super) fn summary(root: Entries<'_, '_>) -> Option<RunSummary> {
    head(root).ok()?;
    let section = |name| Section::of(root, name).ok();
    let (metadata, state) = (section("metadata")?, section("state")?);
    let context = section("context")?;
    section("limits")?;
    metadata.number("workflow_version").ok()?;
    state.optional::<Text>("current_activity").ok()?;
    state.number("epoch").and(state.number("last_number")).and(state.number("workflow_seq")).ok()?;
    count_ids(&state, "open_activities")?;
    let mut asks = false;
    step_entries(&state, "questions", |key, prompt| {
        asks = true;
        question_of(key, prompt).is_some()
    })?;
    let mut places = names(&state, "other_phases")?;
    let current_phase: Option<StateName> = state.optional("current_phase").ok()?;
    places.extend(current_phase.clone());
    let mut here = Vec::new();
    step_entries(&state, "steps", |step, status| {
        let Some((step, status)) = step_of(step, status) else { return false };
        here.extend(places.contains(&step).then_some(status));
        true
    })?;
    let status = status(&state).ok()?;
    Some(RunSummary {
        id: metadata.required("id").ok()?,
        workflow: metadata.required("workflow").ok()?,
        created_at: metadata.required("created_at").ok()?,
        status,
        current_phase,
        completed_activities: count_ids(&state, "completed_activities")?,
        doing: Doing::of(status, asks, here.into_iter()),
        blocked_reason: state.optional("blocked_reason").ok()?,
        goal: metadata.optional("goal").ok()?,
        issue: context.number("issue").ok()?,
        pr: context.number("pr").ok()?,
        feature: context.optional("feature").ok()?,
        journal: context.optional("journal").ok()?.filter(|journal: &String| !journal.is_empty()),
        session: state.optional("session").ok()?,
        last_seq: state.number("last_seq").ok()?.map(Seq),
        updated_at: state.optional("updated_at").ok()?,
    })
}

/// Any text, which need not be kept.
struct Text;

impl FromStr for Text {
    type Err = Infallible;
    fn from_str(_: &str) -> Result<Self, Infallible> {
        Ok(Self)
    }
}

fn count_ids(state: &Section<Entries<'_, '_>>, key: &str) -> Option<usize> {
    let Some(list) = state.mapping.and_then(|mapping| Some((mapping.get(key)?, mapping.within(key)?))) else {
        return Some(0);
    };
    let is_id = |value: plain::Value<'_>| matches!(value, plain::Value::Text(id) if ActivityId::new(id).is_ok());
    match list {
        (plain::Value::Null, _) => Some(0),
        (plain::Value::List(_), items) => items.values().all(is_id).then(|| items.values().count()),
        _ => None,
    }
}

/// Whether every entry of a mapping of texts is as it should be.
fn step_entries(
    state: &Section<Entries<'_, '_>>,
    key: &str,
    mut is_right: impl FnMut(&str, &str) -> bool,
) -> Option<()> {
    let Some(value) = state.mapping.and_then(|mapping| mapping.get(key)) else { return Some(()) };
    let plain::Value::Mapping(_) = value else { return (value == plain::Value::Null).then_some(()) };
    let entries = state.mapping?.within(key)?;
    let right = |(key, value)| matches!(value, plain::Value::Text(text) if is_right(key, text));
    entries.named().all(right).then_some(())
}

fn names(state: &Section<Entries<'_, '_>>, key: &str) -> Option<Vec<StateName>> {
    let Some(value) = state.mapping.and_then(|mapping| mapping.get(key)) else { return Some(Vec::new()) };
    let plain::Value::List(_) = value else { return (value == plain::Value::Null).then(Vec::new) };
    let name = |value: plain::Value<'_>| match value {
        plain::Value::Text(name) => StateName::new(name).ok(),
        _ => None,
    };
    state.mapping?.within(key)?.values().map(name).collect()
}

fn step_of(step: &str, status: &str) -> Option<(StateName, StepStatus)> {
    Some((StateName::new(step).ok()?, status.parse().ok()?))
}

/// The key of a question in `run.yaml`: the step that asks, and the unit behind a slash, which no step has in its name.
pub(super) fn question_key(question: &Question) -> String {
    match &question.unit {
        Some(unit) => format!("{}/{unit}", question.step),
        None => question.step.to_string(),
    }
}

fn question_of(key: &str, prompt: &str) -> Option<Question> {
    let (step, unit) = key.split_once('/').map_or((key, None), |(step, unit)| (step, Some(unit)));
    let unit = unit.map(Unit::new).transpose().ok()?;
    Some(Question { step: StateName::new(step).ok()?, unit, prompt: prompt.to_owned() })
}

/// The document is of the kind and version that flow reads.
fn head(root: impl Mapping) -> Result<(), Wrong> {
    let wrong = |pointer: &str, message: &str| Err((pointer.to_owned(), message.to_owned()));
    match root.find("apiVersion") {
        Some(Found::Text("flow.synapti.ai/v1")) => {}
        Some(Found::Text(_)) => return wrong("/apiVersion", "apiVersion is not flow.synapti.ai/v1"),
        _ => return wrong("", "apiVersion is missing"),
    }
    match root.find("kind") {
        Some(Found::Text("FlowRun")) => Ok(()),
        _ => wrong("/kind", "kind is not FlowRun"),
    }
}

fn status(state: &Section<impl Mapping>) -> Result<RunStatus, Wrong> {
    let status = state.required::<String>("status")?;
    RunStatus::from_str(&status).map_err(|()| {
        let known = RunStatus::ALL.map(RunStatus::as_str).join(", ");
        state.wrong("status", format!("status is {status:?}; it can be {known}"))
    })
}

/// A mapping of texts; absent and null are empty.
fn texts<T>(
    state: &Section<&Node>,
    key: &str,
    read: impl Fn(&str, &str) -> Option<T>,
    what: &str,
) -> Result<Vec<T>, Wrong> {
    let entries = match state.mapping.and_then(|mapping| mapping.get(key)).map(|node| &node.tree) {
        None | Some(Tree::Null) => return Ok(Vec::new()),
        Some(Tree::Mapping(entries)) => entries,
        Some(_) => return Err(state.wrong(key, format!("{key} is not a mapping"))),
    };
    let entry = |(key, value): &(Node, Node)| read(key.text()?, value.text()?);
    let read: Option<Vec<T>> = entries.iter().map(entry).collect();
    read.ok_or_else(|| state.wrong(key, format!("{key} has an entry that is not {what}")))
}

fn other_phases(state: &Section<&Node>) -> Result<Vec<StateName>, Wrong> {
    let key = "other_phases";
    let items = match state.mapping.and_then(|mapping| mapping.get(key)).map(|node| &node.tree) {
        None | Some(Tree::Null) => return Ok(Vec::new()),
        Some(Tree::Sequence(items)) => items,
        Some(_) => return Err(state.wrong(key, "other_phases is not a list")),
    };
    let names: Option<Vec<_>> = items.iter().map(|item| StateName::new(item.text()?).ok()).collect();
    names.ok_or_else(|| state.wrong(key, "other_phases has an entry that is not the name of a phase"))
}

fn owned(state: &Section<&Node>, completed_activities: IdList) -> Result<Owned, Wrong> {
    let open = state.mapping.and_then(|mapping| mapping.get("open_activities"));
    Ok(Owned {
        status: status(state)?,
        current_phase: state.optional::<StateName>("current_phase")?,
        current_activity: state.optional("current_activity")?,
        completed_activities,
        blocked_reason: state.optional("blocked_reason")?,
        open_activities: id_list(open)
            .map_err(|message| state.wrong("open_activities", format!("open_activities {message}")))?,
        session: state.optional::<SessionId>("session")?,
        epoch: state.number("epoch")?.unwrap_or(0),
        last_number: Number(state.number("last_number")?.unwrap_or(0)),
        workflow_seq: state.number("workflow_seq")?.map(Seq),
        steps: Steps::from_iter(texts(state, "steps", step_of, "a step with its status")?),
        other_phases: other_phases(state)?,
        questions: texts(state, "questions", question_of, "a question of a step")?,
        last_seq: state.number("last_seq")?.map(Seq),
        updated_at: state.optional::<Timestamp>("updated_at")?,
    })
}

fn to_map(section: &Section<&Node>) -> Map<String, Value> {
    let entries = section.mapping.map_or(&[][..], Node::entries);
    entries.iter().map(|(key, value)| (key.text().unwrap_or_default().to_owned(), value.to_value())).collect()
}

/// A mapping, by the parser or by the cheap reader.
trait Mapping: Copy {
    /// The value of `key`.
    fn find(&self, key: &str) -> Option<Found<'_>>;
    /// The mapping that is the value of `key`.
    fn inner(&self, key: &str) -> Option<Self>;
}

/// A value that was looked for.
enum Found<'a> {
    Null,
    Text(&'a str),
    /// A whole number from 0 on.
    Number(u64),
    Mapping,
    Other,
}

impl Mapping for &Node {
    fn find(&self, key: &str) -> Option<Found<'_>> {
        Some(match &self.get(key)?.tree {
            Tree::Null => Found::Null,
            Tree::Text(text) => Found::Text(text),
            Tree::Number(number) => number.as_u64().map_or(Found::Other, Found::Number),
            Tree::Mapping(_) => Found::Mapping,
            Tree::Bool(_) | Tree::Sequence(_) => Found::Other,
        })
    }

    fn inner(&self, key: &str) -> Option<Self> {
        self.get(key)
    }
}

impl Mapping for Entries<'_, '_> {
    fn find(&self, key: &str) -> Option<Found<'_>> {
        Some(match self.get(key)? {
            plain::Value::Null => Found::Null,
            plain::Value::Text(text) => Found::Text(text),
            plain::Value::Number(number) => Found::Number(number),
            plain::Value::Mapping(_) => Found::Mapping,
            plain::Value::Bool(_) | plain::Value::List(_) => Found::Other,
        })
    }

    fn inner(&self, key: &str) -> Option<Self> {
        self.within(key)
    }
}

/// A mapping of the document, for reading single keys with good errors.
struct Section<M> {
    name: &'static str,
    /// `None` when it is absent or null, which is an empty mapping.
    mapping: Option<M>,
}

impl<M: Mapping> Section<M> {
    fn of(root: M, name: &'static str) -> Result<Self, Wrong> {
        match root.find(name) {
            None | Some(Found::Null) => Ok(Self { name, mapping: None }),
            Some(Found::Mapping) => Ok(Self { name, mapping: root.inner(name) }),
            Some(_) => Err((format!("/{name}"), format!("{name} is not a mapping"))),
        }
    }

    fn find(&self, key: &str) -> Option<Found<'_>> {
        self.mapping.as_ref().and_then(|mapping| mapping.find(key))
    }

    fn wrong(&self, key: &str, message: impl Into<String>) -> Wrong {
        (format!("/{}/{key}", self.name), message.into())
    }

    fn optional<T: FromStr<Err: ToString>>(&self, key: &str) -> Result<Option<T>, Wrong> {
        match self.find(key) {
            None | Some(Found::Null) => Ok(None),
            Some(Found::Text(text)) => {
                text.parse().map(Some).map_err(|error: T::Err| self.wrong(key, format!("{key}: {}", error.to_string())))
            }
            Some(_) => Err(self.wrong(key, format!("{key} is not text"))),
        }
    }

    fn required<T: FromStr<Err: ToString>>(&self, key: &str) -> Result<T, Wrong> {
        self.optional(key)?.ok_or_else(|| self.wrong(key, format!("{key} is missing")))
    }

    fn number(&self, key: &str) -> Result<Option<u64>, Wrong> {
        match self.find(key) {
            None | Some(Found::Null) => Ok(None),
            Some(Found::Number(number)) if number <= limits::COUNTER => Ok(Some(number)),
            Some(Found::Number(_)) => Err(self.wrong(key, format!("{key} is larger than any run can count"))),
            Some(_) => Err(self.wrong(key, format!("{key} is not a whole number from 0 on"))),
        }
    }
}
