//! `run.yaml` as text: reads it, and changes flow's own values without touching anything else.
//!
//! A person's comments, key order, quoting and unknown keys survive every change: only the bytes that the parser gives
//! for a value are replaced ([`crate::codec::splice`]). Each change is checked: the new text must read back as the old
//! values plus the change, otherwise it is refused.
//!
//! Reading stays fast with thousands of completed activities: most of a long list of plain lines is cut out before
//! parsing and put back afterwards ([`crate::codec::reading`]).

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::codec::reading::Reading;
use crate::codec::run_document::{document, question_key};
use crate::codec::run_error::RunTextError;
use crate::codec::schema::Violation;
use crate::codec::seal::digest;
use crate::codec::splice::{Field, splice};
use crate::codec::yaml::{emit, parse_run};
use crate::model::{IdList, OwnedState, RunDocument, Seq, StateName, TextDigest};

/// A `run.yaml`: its text and the document in it.
#[derive(Debug, Clone)]
pub struct RunText {
    /// Shared by copies: it can be long, and a copy is kept of most that are shown.
    text: Arc<String>,
    document: RunDocument,
    /// The result of parsing, for the change that usually follows.
    reading: Option<Reading>,
}

impl PartialEq for RunText {
    fn eq(&self, other: &Self) -> bool {
        (&self.text, &self.document) == (&other.text, &other.document)
    }
}

/// Tells editors which schema it has, where the project has it.
const SCHEMA_LINE: &str = "# yaml-language-server: $schema=../../schemas/run.schema.json\n";

const HEADER: &str = "\
# The state of one run. It may be edited: the next flow command checks the change and adopts it.
";

impl RunText {
    /// Reads `text`.
    ///
    /// # Errors
    /// [`RunTextError`] with the place of the first violation. (`codec::validate` finds all of them.)
    pub fn parse(text: impl Into<String>) -> Result<Self, RunTextError> {
        let text = Arc::new(text.into());
        let reading = Reading::read(&text)?;
        let document = document(&reading.root, reading.completed.clone()).map_err(|(pointer, message)| {
            // The nodes that were read may be those of a text with a cut, which has other places.
            let place = parse_run(&text).ok().map(|root| root.nearest(&pointer).place);
            RunTextError::Document(Violation { pointer, message, place })
        })?;
        Ok(Self { text, document, reading: Some(reading) })
    }

    /// The text of a new run's `run.yaml`, in the order of FlowRun's template.
    #[must_use]
    pub fn create(document: &RunDocument) -> Self {
        let mut state = Map::new();
        for (key, field) in state_fields(&document.state) {
            if !matches!(field, Field::Absent) {
                state.insert(key.to_owned(), field.to_value());
            }
        }
        let value = json!({
            "apiVersion": "flow.synapti.ai/v1",
            "kind": "FlowRun",
            "metadata": {
                "id": document.id,
                "workflow": document.workflow,
                "workflow_version": document.workflow_version,
                "goal": document.goal,
                "created_at": document.created_at,
            },
            "context": document.context,
            "state": state,
            "limits": document.limits,
            "events": [{ "at": document.created_at, "type": "run_started" }],
        });
        Self { text: Arc::new(format!("{HEADER}{}", emit(&value))), document: document.clone(), reading: None }
    }

    /// As [`Self::create`], with the line that tells editors which schema it has.
    #[must_use]
    pub fn create_with_schema(document: &RunDocument) -> Self {
        let plain = Self::create(document);
        Self { text: Arc::new(format!("{SCHEMA_LINE}{}", plain.text)), ..plain }
    }

    /// The text of the new run that has this `digest`: with the line for editors or without it.
    #[must_use]
    pub fn create_as_begun(document: &RunDocument, begun: Option<&TextDigest>) -> Self {
        let plain = Self::create(document);
        let with_schema = Self { text: Arc::new(format!("{SCHEMA_LINE}{}", plain.text)), ..plain.clone() };
        let is_that = begun.is_some_and(|begun| begun.0 == digest(with_schema.text.as_bytes()));
        if is_that { with_schema } else { plain }
    }

    /// The position of the last event that a `run.yaml` with this text shows; none if it cannot be read, or shows none.
    #[must_use]
    pub fn shown_in(text: &str) -> Option<Seq> {
        Self::parse(text).ok()?.document().state.last_seq
    }

    /// The whole text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The whole text, to keep: it can be long.
    #[must_use]
    pub fn shared_text(&self) -> Arc<String> {
        Arc::clone(&self.text)
    }

    /// The document in the text.
    #[must_use]
    pub fn document(&self) -> &RunDocument {
        &self.document
    }

    /// Returns the text with `wanted` as its `state`. All other bytes stay as they are.
    ///
    /// # Errors
    /// [`RunTextError::Edit`] if reading the new text back does not give the expected values.
    pub fn with_state(&self, wanted: &OwnedState) -> Result<Self, RunTextError> {
        let mut reading = match &self.reading {
            Some(reading) => Cow::Borrowed(reading),
            None => Cow::Owned(Reading::read(&self.text)?),
        };
        // The marker stands for lines that stay. If one of them goes, all of them have to be there.
        let appends = wanted.completed_activities.after(&reading.completed).is_some();
        if reading.elided.is_some() && !appends {
            reading = Cow::Owned(Reading::whole(&self.text)?);
        }
        let (text, reading) = reading.edit(&self.text, state_fields(wanted), &RARE).map_err(RunTextError::Edit)?;
        let mut document = self.document.clone();
        document.state.clone_from(wanted);
        Ok(Self { text: Arc::new(text), document, reading })
    }

    /// The result of parsing, if it is there.
    pub(super) fn reading(&self) -> Option<&Reading> {
        self.reading.as_ref()
    }

    /// Keeps the result of parsing its own text, for the next change.
    pub(super) fn keep(&mut self, reading: Reading) {
        self.reading = Some(reading);
    }

    /// Returns the text with the values of `wanted`.
    ///
    /// # Errors
    /// [`RunTextError::Edit`] if the text is written in a way that cannot be changed safely.
    pub fn with_document(&self, wanted: &RunDocument) -> Result<Self, RunTextError> {
        let old = &self.document;
        let same = old.goal == wanted.goal && old.context == wanted.context && old.limits == wanted.limits;
        let facts = if same { None } else { Some(self.with_facts(wanted)?) };
        facts.as_ref().unwrap_or(self).with_state(&wanted.state)
    }

    /// Returns the text with the values of `wanted` outside of `state`: the goal, and the values of `context` and
    /// `limits`. All other bytes stay as they are.
    ///
    /// # Errors
    /// [`RunTextError::Edit`] if the text is written in a way that cannot be changed safely.
    pub fn with_facts(&self, wanted: &RunDocument) -> Result<Self, RunTextError> {
        let old = &self.document;
        let mut goal = Vec::new();
        if old.goal != wanted.goal {
            goal.push(("goal", Field::text(wanted.goal.as_ref())));
        }
        let context = changed(&old.context, &wanted.context)?;
        let limits = changed(&old.limits, &wanted.limits)?;
        let mut text = String::clone(&self.text);
        for (section, changes) in [("metadata", goal), ("context", context), ("limits", limits)] {
            if !changes.is_empty() {
                text = with_section(text, section, &changes)?;
            }
        }
        let new = Self::parse(text)?;
        let said = RunDocument { state: wanted.state.clone(), ..new.document.clone() };
        if said != *wanted || new.document.state != old.state {
            return Err(RunTextError::Edit("reading it back does not give what was written".to_owned()));
        }
        Ok(new)
    }
}

/// The values of `new` that differ from those of `old`.
fn changed<'a>(old: &Map<String, Value>, new: &'a Map<String, Value>) -> Result<Vec<(&'a str, Field)>, RunTextError> {
    let mut changes = Vec::new();
    for (key, value) in new {
        if old.get(key) == Some(value) {
            continue;
        }
        let field = match value {
            Value::Null => Field::Null,
            Value::String(text) => Field::Text(text.clone()),
            Value::Number(number) if number.is_u64() => Field::Number(number.as_u64().unwrap_or_default()),
            _ => return Err(RunTextError::Edit(format!("the value of {key} is not a text or a number"))),
        };
        changes.push((key.as_str(), field));
    }
    Ok(changes)
}

/// Returns `text` with these values in one of its sections. Adds the section at the end if it is missing.
fn with_section(text: String, section: &str, changes: &[(&str, Field)]) -> Result<String, RunTextError> {
    let root = parse_run(&text)?;
    match root.get(section) {
        Some(mapping) if !mapping.entries().is_empty() => {
            splice(&text, mapping, changes, &[]).map_err(RunTextError::Edit)
        }
        Some(_) => Err(RunTextError::Edit(format!("`{section}` is empty"))),
        None => {
            let mut values = Map::new();
            for (key, field) in changes {
                values.insert((*key).to_owned(), field.to_value());
            }
            let end = if text.ends_with('\n') { "" } else { "\n" };
            Ok(format!("{text}{end}{}", emit(&json!({ section: values }))))
        }
    }
}

/// Keys of `state` that only some runs have. They follow each other in this order after `updated_at`. A text in which
/// such a key was added and removed equals one that never had it, so that a rebuilt `run.yaml` equals the lost one.
const RARE: [&str; 8] =
    ["updated_at", "workflow_seq", "steps", "other_phases", "questions", "unsettled", "gates", "forked_from"];

/// The keys of `state` that flow writes, in the order of a new file.
fn state_fields(state: &OwnedState) -> Vec<(&'static str, Field)> {
    vec![
        ("status", Field::text(Some(state.status))),
        ("current_phase", Field::text(state.current_phase.as_ref())),
        ("current_activity", Field::text(state.current_activity.as_ref())),
        ("completed_activities", Field::List(state.completed_activities.clone())),
        ("open_activities", Field::List(state.open_activities.clone())),
        ("blocked_reason", Field::text(state.blocked_reason.as_ref())),
        ("session", Field::text(state.session.as_ref())),
        ("epoch", Field::Number(state.epoch)),
        ("last_number", Field::Number(state.last_number.0)),
        ("last_seq", state.last_seq.map_or(Field::Null, |seq| Field::Number(seq.0))),
        ("updated_at", Field::text(state.updated_at)),
        ("workflow_seq", state.workflow_seq.map_or(Field::Absent, |seq| Field::Number(seq.0))),
        ("steps", map(state.steps.iter())),
        ("other_phases", list(state.other_phases.iter().map(StateName::as_str).collect())),
        ("questions", map(state.questions.iter().map(|question| (question_key(question), &question.prompt)))),
        ("unsettled", map(state.unsettled.iter().map(|one| (&one.id, one)))),
        ("gates", map(state.gates.iter().map(|gate| (&gate.phase, &gate.status)))),
        ("forked_from", state.forked_from.as_ref().map_or(Field::Absent, |from| Field::text(Some(from)))),
    ]
}

fn map(entries: impl Iterator<Item = (impl ToString, impl ToString)>) -> Field {
    let entries: Vec<_> = entries.map(|(key, text)| (key.to_string(), text.to_string())).collect();
    if entries.is_empty() { Field::Absent } else { Field::Map(entries) }
}

fn list(entries: IdList) -> Field {
    if entries.is_empty() { Field::Absent } else { Field::List(entries) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{RunStatus, Seq, UnsettledActivity};

    fn sample(state: &str) -> String {
        format!(
            "apiVersion: flow.synapti.ai/v1\nkind: FlowRun\nmetadata:\n  id: run-1\n  workflow: debug\n  \
             created_at: 2026-05-20T14:30:00Z # when\ncontext:\n  repo: r\n  branch: b\n{state}"
        )
    }

    fn record(text: &RunText, id: &str) -> OwnedState {
        let mut state = text.document().state.clone();
        state.completed_activities.push(id);
        state.current_activity = Some(id.to_owned());
        state.last_seq = Some(Seq(18));
        state.last_number = state.last_number.next();
        state
    }

    /// Every line of `old`, without what stands behind a key of `state`, is still there in the same order.
    fn keeps_lines(old: &str, new: &str) {
        let mut lines = new.lines();
        for line in old.lines().filter(|line| line.contains('#') || line.contains("custom")) {
            let comment = line.split_once('#').map_or(line, |(_, comment)| comment);
            assert!(lines.any(|new| new.contains(comment)), "lost {line:?} in\n{new}");
        }
    }

    #[test]
    fn entries_stand_in_the_same_order_whether_written_one_by_one_or_at_once() {
        let failed = |id: &str| UnsettledActivity { id: id.to_owned(), phase: "fix".parse().unwrap(), blocked: false };
        let one = RunText::parse(sample("state:\n  status: active\n")).unwrap();
        let with = |text: &RunText, ids: &[&str]| {
            let unsettled = ids.iter().copied().map(failed).collect();
            text.with_state(&OwnedState { unsettled, ..text.document().state.clone() }).unwrap()
        };
        let b = with(&one, &["b"]);
        let step_by_step = with(&with(&b, &["c"]), &["c", "b"]);
        assert_eq!(with(&b, &["c", "b"]).text(), step_by_step.text());
        assert_eq!(with(&with(&one, &["a", "b", "c"]), &["a", "c", "b"]).text(), with(&one, &["a", "c", "b"]).text());
    }

    #[test]
    fn a_record_changes_only_its_own_keys_whatever_the_style() {
        let styles = [
            "state:\n  # why\n  status: active   # st\n  current_phase: fix # ph\n  current_activity: null\n  completed_activities: []\n  blocked_reason: null\n  last_seq: 7 # do not touch\n",
            "state:\n  status: active\n  completed_activities:\n  - a\n  - b # note\n  # trailing\n\n  last_seq: 7\n  custom: 1\n",
            "state:\n  status: active\n  completed_activities:\n      - a\n      - b\n  custom: [x, y]\n",
            "state:\n  status: active\n  completed_activities: [a, \"b\"]\n  last_seq: 7\n",
            "state: {status: active, completed_activities: [a, b], last_seq: 7}\n",
            "state:\n  status: active\n  completed_activities:\n  last_seq: 7\n",
            "state:\n  completed_activities: ~\n  status: active\n",
            "state:\n  status: active\n",
            "state:\n  custom: |\n    foo # not a comment\n    bar\n\n  status: active\n  completed_activities:\n    - a\n",
            "state:\n    status: active\n    completed_activities: [\n      a,\n      b  # c\n    ]\n    'last_seq': 7",
            "state:\n  status: \"active\"\n  completed_activities:\n    - a\n# the end",
        ];
        for style in styles {
            for text in [sample(style), sample(style).replace('\n', "\r\n"), format!("\u{feff}{}", sample(style))] {
                let old = RunText::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
                let mut run = old.clone();
                for id in ["new-one", "123", "1e5", "null", "true", "no", "a"] {
                    let wanted = record(&run, id);
                    run = run.with_state(&wanted).unwrap_or_else(|error| panic!("{id}: {error}\n{text}"));
                    assert_eq!(RunText::parse(run.text()).unwrap(), run, "{text}");
                    assert_eq!(run.document().state, wanted);
                }
                keeps_lines(&text, run.text());
                assert_eq!(text.contains('\r'), run.text().contains('\r'));
                assert_eq!(run.text().matches('\n').count(), run.text().replace("\r\n", "\n").matches('\n').count());
            }
        }
    }

    #[test]
    fn saying_the_same_again_changes_no_byte() {
        let text = RunText::parse(sample("state:\n  status: active\n  completed_activities: [a]\n")).unwrap();
        let once = text.with_state(&record(&text, "b")).unwrap();
        let state = once.document().state.clone();
        assert_eq!(once.with_state(&state).unwrap().text(), once.text());
    }

    #[test]
    fn reasons_of_any_shape_are_read_back_as_they_were() {
        let text = RunText::parse(sample("state:\n  status: active\n  blocked_reason: null # because\n")).unwrap();
        for reason in
            ["plain", "a: b # c", "two\nlines", " \"quoted\" ", "yes", "- x", "é\u{1b}[31m", "'", "{", "%", "@"]
        {
            let mut state = text.document().state.clone();
            state.blocked_reason = Some(reason.to_owned());
            let new = text.with_state(&state).unwrap_or_else(|error| panic!("{reason:?}: {error}"));
            assert_eq!(RunText::parse(new.text()).unwrap().document().state.blocked_reason.as_deref(), Some(reason));
            keeps_lines(text.text(), new.text());
        }
    }

    #[test]
    fn what_a_person_noted_between_a_key_and_its_value_stays() {
        let below = "state:\n  status: # st\n    active\n  blocked_reason: | # why\n    two\n    lines\n\n  last_seq:\n    # do not touch\n    7\n";
        let text = RunText::parse(sample(below)).unwrap();
        let mut state = record(&text, "a");
        state.status = RunStatus::Completed;
        state.blocked_reason = None;
        let new = text.with_state(&state).unwrap();
        assert_eq!(RunText::parse(new.text()).unwrap(), new);
        keeps_lines(text.text(), new.text());
        assert!(new.text().contains("  status: # st\n    completed\n"), "{}", new.text());
        assert!(new.text().contains("  blocked_reason: null # why\n\n  last_seq"), "{}", new.text());
        assert!(new.text().contains("    # do not touch\n    18\n"), "{}", new.text());
    }

    #[test]
    fn an_entry_that_leaves_a_list_takes_no_other_line_with_it() {
        let list = "state:\n  status: active\n  open_activities: # in doubt\n    # Ann\n    - a # x\n    # Bob\n    - b\n    # Cy\n    - c\n  # end\n";
        let text = RunText::parse(sample(list)).unwrap();
        for (gone, left) in [
            (vec!["a"], "open_activities: # in doubt\n    # Ann\n    # Bob\n    - b\n    # Cy\n    - c\n"),
            (vec!["b"], "open_activities: # in doubt\n    # Ann\n    - a # x\n    # Bob\n    # Cy\n    - c\n"),
            (vec!["c"], "open_activities: # in doubt\n    # Ann\n    - a # x\n    # Bob\n    - b\n    # Cy\n"),
            (vec!["a", "b", "c"], "open_activities: [] # in doubt\n    # Ann\n    # Bob\n    # Cy\n"),
        ] {
            let mut state = text.document().state.clone();
            gone.iter().for_each(|id| state.open_activities.remove(id));
            let new = text.with_state(&state).unwrap_or_else(|error| panic!("{gone:?}: {error}"));
            assert_eq!(RunText::parse(new.text()).unwrap(), new);
            assert!(new.text().contains(left), "{gone:?}: {}", new.text());
        }
    }

    #[test]
    fn a_long_list_reads_and_grows_as_if_it_were_not_cut() {
        let ids: Vec<_> = (0..500).map(|n| if n % 7 == 0 { format!("\"{n}\"") } else { format!("step-{n}") }).collect();
        let lines: String = ids.iter().map(|id| format!("    - {id}\n")).collect();
        let text = sample(&format!("state:\n  status: active\n  completed_activities:\n{lines}  last_seq: 7 # keep\n"));
        let read = Reading::read(&text).unwrap();
        assert!(read.elided.is_some() && read.text.len() < 400);
        assert_eq!(read.completed, Reading::whole(&text).unwrap().completed);
        let run = RunText::parse(&text).unwrap();
        let new = run.with_state(&record(&run, "last-one")).unwrap();
        assert_eq!(RunText::parse(new.text()).unwrap(), new);
        assert!(new.text().contains("    - step-499\n    - last-one\n  last_seq: 18 # keep\n"), "{}", new.text());
        let mut shorter = run.document().state.clone();
        shorter.completed_activities.remove("step-3");
        let new = run.with_state(&shorter).unwrap();
        assert_eq!(RunText::parse(new.text()).unwrap().document().state.completed_activities.len(), 499);
    }

    #[test]
    fn a_long_list_elsewhere_is_not_mistaken_for_the_activities() {
        let lines: String = (0..100).map(|n| format!("    - step-{n}\n")).collect();
        let literal = sample(&format!("state:\n  status: active\n  note: |\n{lines}  completed_activities: [a]\n"));
        let other = sample(&format!("state:\n  status: active\n  other:\n{lines}  completed_activities: [a]\n"));
        for text in [literal, other] {
            let run = RunText::parse(&text).unwrap();
            assert_eq!(run.document().state.completed_activities.iter().collect::<Vec<_>>(), ["a"]);
            let new = run.with_state(&record(&run, "b")).unwrap();
            assert!(new.text().contains("- step-99\n"));
        }
    }

    #[test]
    fn what_is_wrong_has_a_line_and_a_column() {
        for (state, place, message) in [
            ("state:\n  status: Active\n", Some((11, 11)), "completed, failed, cancelled"),
            ("state:\n  status: active\n  completed_activities: 3\n", Some((12, 25)), "list of activity ids"),
            ("state:\n  status: active\n  last_seq: 1.5\n", Some((12, 13)), "whole number"),
            ("state:\n  status: active\n  last_seq: 18446744073709551615\n", Some((12, 13)), "larger than any run"),
            ("state:\n  status: active\n  current_phase: a/b\n", Some((12, 18)), "phase"),
            ("state:\n  status: active\n  status: blocked\n", Some((12, 3)), "duplicate"),
            ("state:\n  status: active\n<<<<<<< HEAD\n", Some((12, 1)), "conflict markers"),
            ("state: []\n", Some((10, 8)), "mapping"),
        ] {
            let error = RunText::parse(sample(state)).unwrap_err();
            assert_eq!(error.place().map(|at| (at.line, at.column)), place, "{state}{error}");
            assert!(error.to_string().contains(message), "{error}");
        }
    }
}
