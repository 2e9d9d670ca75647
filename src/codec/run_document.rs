//! Reads a FlowRun document from a parsed tree.

use std::str::FromStr;

use serde_json::{Map, Value};

use crate::codec::yaml::{Node, Tree};
use crate::model::{
    ActivityId, Gate, IdList, Number, OwnedState, Question, RunDocument, RunStatus, Seq, SessionId, StateName,
    StepStatus, Steps, Timestamp, Unit, UnsettledActivity, limits,
};

/// What is wrong: the JSON pointer to it, and a message.
pub(super) type Wrong = (String, String);

/// A list of activity ids. A missing list and null are empty.
pub(super) fn id_list(node: Option<&Node>) -> Result<IdList, String> {
    let items = match node.map(|node| &node.tree) {
        None | Some(Tree::Null) => return Ok(IdList::default()),
        Some(Tree::Sequence(items)) => items,
        Some(_) => return Err("must be a list of activity ids".to_owned()),
    };
    for item in items {
        match item.text() {
            Some(text) if ActivityId::new(text).is_ok() => {}
            _ => return Err("has an entry that is not an activity id".to_owned()),
        }
    }
    // Collected, not pushed one by one: copies of the list share what was collected.
    Ok(items.iter().filter_map(Node::text).collect())
}

/// The document in `root`. `completed` is its list of completed activities.
pub(super) fn document(root: &Node, completed: IdList) -> Result<RunDocument, Wrong> {
    if !matches!(root.tree, Tree::Mapping(_)) {
        let message = "the file must hold a mapping with apiVersion, kind, metadata, context and state";
        return Err((String::new(), message.to_owned()));
    }
    head(root)?;
    let metadata = Section::of(root, "metadata")?;
    // In this order: the first problem is the one that is reported.
    Ok(RunDocument {
        id: metadata.required("id")?,
        workflow: metadata.required("workflow")?,
        workflow_version: metadata.number("workflow_version")?.unwrap_or(1),
        goal: metadata.optional("goal")?,
        created_at: metadata.required("created_at")?,
        context: to_map(&Section::of(root, "context")?),
        limits: to_map(&Section::of(root, "limits")?),
        state: owned(&Section::of(root, "state")?, completed)?,
    })
}

fn step_of(step: &str, status: &str) -> Option<(StateName, StepStatus)> {
    Some((StateName::new(step).ok()?, status.parse().ok()?))
}

/// The key of a question in `run.yaml`: the step, and the unit after a slash. Names of steps have no slash.
pub(super) fn question_key(question: &Question) -> String {
    match &question.unit {
        Some(unit) => format!("{}/{unit}", question.step),
        None => question.step.to_string(),
    }
}

fn question_of(key: &str, prompt: &str) -> Option<Question> {
    let (step, unit) = match key.split_once('/') {
        Some((step, unit)) => (step, Some(Unit::new(unit).ok()?)),
        None => (key, None),
    };
    Some(Question { step: StateName::new(step).ok()?, unit, prompt: prompt.to_owned() })
}

fn gate_of(phase: &str, status: &str) -> Option<Gate> {
    Some(Gate { phase: StateName::new(phase).ok()?, status: status.parse().ok()? })
}

/// Checks that the document has the kind and version that flow reads.
fn head(root: &Node) -> Result<(), Wrong> {
    match root.get("apiVersion").and_then(Node::text) {
        Some("flow.synapti.ai/v1") => {}
        Some(_) => return Err(("/apiVersion".to_owned(), "apiVersion is not flow.synapti.ai/v1".to_owned())),
        None => return Err((String::new(), "apiVersion is missing".to_owned())),
    }
    match root.get("kind").and_then(Node::text) {
        Some("FlowRun") => Ok(()),
        _ => Err(("/kind".to_owned(), "kind is not FlowRun".to_owned())),
    }
}

fn status(state: &Section<'_>) -> Result<RunStatus, Wrong> {
    let status = state.required::<String>("status")?;
    RunStatus::from_str(&status).map_err(|()| {
        let known = RunStatus::ALL.map(RunStatus::as_str).join(", ");
        state.wrong("status", format!("status is {status:?}; it can be {known}"))
    })
}

/// A mapping of texts. A missing mapping and null are empty.
fn texts<T>(
    state: &Section<'_>,
    key: &str,
    read: impl Fn(&str, &str) -> Option<T>,
    what: &str,
) -> Result<Vec<T>, Wrong> {
    let entries = match state.value(key) {
        None | Some(Tree::Null) => return Ok(Vec::new()),
        Some(Tree::Mapping(entries)) => entries,
        Some(_) => return Err(state.wrong(key, format!("{key} is not a mapping"))),
    };
    let mut all = Vec::with_capacity(entries.len());
    for (name, value) in entries {
        let Some(one) = name.text().zip(value.text()).and_then(|(name, text)| read(name, text)) else {
            return Err(state.wrong(key, format!("{key} has an entry that is not {what}")));
        };
        all.push(one);
    }
    Ok(all)
}

fn other_phases(state: &Section<'_>) -> Result<Vec<StateName>, Wrong> {
    let key = "other_phases";
    let items = match state.value(key) {
        None | Some(Tree::Null) => return Ok(Vec::new()),
        Some(Tree::Sequence(items)) => items,
        Some(_) => return Err(state.wrong(key, "other_phases is not a list")),
    };
    let names: Option<_> = items.iter().map(|item| StateName::new(item.text()?).ok()).collect();
    names.ok_or_else(|| state.wrong(key, "other_phases has an entry that is not the name of a phase"))
}

fn owned(state: &Section<'_>, completed_activities: IdList) -> Result<OwnedState, Wrong> {
    let open = state.mapping.and_then(|mapping| mapping.get("open_activities"));
    // Every key may be missing, as in a file that an older flow or FlowRun wrote; only `status` may not.
    Ok(OwnedState {
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
        unsettled: texts(state, "unsettled", UnsettledActivity::parse, "an activity that failed or is blocked")?,
        gates: texts(state, "gates", gate_of, "a gate with its status")?,
        forked_from: state.optional("forked_from")?,
        last_seq: state.number("last_seq")?.map(Seq),
        updated_at: state.optional::<Timestamp>("updated_at")?,
    })
}

fn to_map(section: &Section<'_>) -> Map<String, Value> {
    let mut map = Map::new();
    for (key, value) in section.mapping.map_or(&[][..], Node::entries) {
        map.insert(key.text().unwrap_or_default().to_owned(), value.to_value());
    }
    map
}

/// A section of the document, for reading single keys with good errors.
struct Section<'a> {
    name: &'static str,
    /// `None` if the section is missing or null; both count as empty.
    mapping: Option<&'a Node>,
}

impl<'a> Section<'a> {
    fn of(root: &'a Node, name: &'static str) -> Result<Self, Wrong> {
        let value = root.get(name);
        match value.map(|value| &value.tree) {
            None | Some(Tree::Null) => Ok(Self { name, mapping: None }),
            Some(Tree::Mapping(_)) => Ok(Self { name, mapping: value }),
            Some(_) => Err((format!("/{name}"), format!("{name} is not a mapping"))),
        }
    }

    fn value(&self, key: &str) -> Option<&'a Tree> {
        Some(&self.mapping?.get(key)?.tree)
    }

    fn wrong(&self, key: &str, message: impl Into<String>) -> Wrong {
        (format!("/{}/{key}", self.name), message.into())
    }

    fn optional<T: FromStr<Err: ToString>>(&self, key: &str) -> Result<Option<T>, Wrong> {
        match self.value(key) {
            None | Some(Tree::Null) => Ok(None),
            Some(Tree::Text(text)) => match text.parse() {
                Ok(value) => Ok(Some(value)),
                Err(error) => Err(self.wrong(key, format!("{key}: {}", error.to_string()))),
            },
            Some(_) => Err(self.wrong(key, format!("{key} is not text"))),
        }
    }

    fn required<T: FromStr<Err: ToString>>(&self, key: &str) -> Result<T, Wrong> {
        self.optional(key)?.ok_or_else(|| self.wrong(key, format!("{key} is missing")))
    }

    fn number(&self, key: &str) -> Result<Option<u64>, Wrong> {
        let whole = match self.value(key) {
            None | Some(Tree::Null) => return Ok(None),
            Some(Tree::Number(number)) => number.as_u64(),
            Some(_) => None,
        };
        match whole {
            // Not every JSON reader represents a larger one exactly.
            Some(number) if number <= limits::COUNTER => Ok(Some(number)),
            Some(_) => Err(self.wrong(key, format!("{key} is larger than any run can count"))),
            None => Err(self.wrong(key, format!("{key} is not a whole number from 0 on"))),
        }
    }
}
