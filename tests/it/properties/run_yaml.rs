//! `run.yaml`: a change touches nothing but what it is about.
#![expect(clippy::single_range_in_vec_init, reason = "lists of ranges, of which some have one")]

use std::ops::Range;

use flowrun::codec::{Node, RunText, RunTextError, Tree, parse, parse_value};
use flowrun::model::{IdList, OwnedState, Question, RunStatus, Seq, StateName, StepStatus, Steps, Unit, limits};
use serde_json::Value;

use super::text::{assert_in_order, assert_inside};

/// The input is the text.
pub fn holds(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let run = match RunText::parse(text) {
        Ok(run) => run,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            error.place().into_iter().for_each(|place| assert_inside(text, place, &error.to_string()));
            return;
        }
    };
    assert_eq!(run.text(), text);
    let fresh = RunText::create(run.document());
    assert_eq!(RunText::parse(fresh.text()).as_ref(), Ok(&fresh), "a new file says something else");
    let root = parse(text).expect("it was read");
    for wanted in wishes(&run.document().state) {
        match run.with_state(&wanted) {
            Ok(new) => check(text, &root, &wanted, &new),
            Err(RunTextError::Edit(why)) => assert!(!why.is_empty()),
            Err(error) => panic!("{error}: a text that was read cannot be read"),
        }
    }
}

const REASONS: [&str; 8] =
    ["plain", "a: b # c", "two\nlines\n", " \"quoted\" ", "yes", "- x, y] }", "é\u{1b}\u{85}\u{2028}\r", ""];

/// States that a command may want, from the one that is there.
fn wishes(old: &OwnedState) -> Vec<OwnedState> {
    let mut record = old.clone();
    record.completed_activities.push("next-one");
    record.current_activity = Some("next-one".to_owned());
    record.last_number.0 = (record.last_number.0 + 1).min(limits::COUNTER);
    record.last_seq = Some(Seq(old.last_seq.map_or(1, |seq| (seq.0 + 1).min(limits::COUNTER))));
    let mut blocked = old.clone();
    blocked.status = RunStatus::Blocked;
    blocked.open_activities.push("1e5");
    blocked.blocked_reason = Some(REASONS[old.completed_activities.len() % REASONS.len()].to_owned());
    let mut again = old.clone();
    again.completed_activities = old.completed_activities.iter().skip(1).collect();
    again.open_activities = IdList::default();
    let cleared = OwnedState {
        status: RunStatus::Active,
        current_phase: None,
        current_activity: None,
        completed_activities: IdList::default(),
        blocked_reason: None,
        open_activities: IdList::default(),
        session: None,
        epoch: 0,
        workflow_seq: None,
        steps: Steps::default(),
        other_phases: Vec::new(),
        questions: Vec::new(),
        unsettled: Vec::new(),
        gates: Vec::new(),
        forked_from: None,
        last_number: old.last_number,
        last_seq: None,
        updated_at: None,
    };
    let mut reported = old.clone();
    let name = |name: &str| StateName::new(name).expect("a name");
    for (step, status) in [("plan", StepStatus::Completed), ("123", StepStatus::Running), ("шаг", StepStatus::Waiting)]
    {
        reported.steps.set(&name(step), status);
    }
    reported.other_phases = vec![name("true"), name("plan")];
    let unit = Unit::new("T 1: x").ok();
    let prompt = REASONS[old.open_activities.len() % REASONS.len()].to_owned();
    reported.questions = vec![Question { step: name("plan"), unit, prompt }];
    reported.forked_from = "run-1@7".parse().ok();
    let mut answered = reported.clone();
    answered.steps.set(&name("plan"), StepStatus::Failed);
    answered.other_phases = vec![name("plan")];
    answered.questions = Vec::new();
    vec![old.clone(), record, blocked, again, reported, answered, cleared]
}

fn check(text: &str, root: &Node, wanted: &OwnedState, new: &RunText) {
    assert_eq!(new.document().state, *wanted);
    assert_eq!(RunText::parse(new.text()).as_ref(), Ok(new), "what was written reads differently");
    assert_eq!(others(new.text()), others(text), "another value changed: {}", new.text());
    let once_more = new.with_state(wanted).map(|same| same.text().to_owned());
    assert_eq!(once_more.as_deref(), Ok(new.text()), "saying the same again changes something");
    assert_in_order(new.text(), &untouched(text, root, wanted));
}

/// All values but those that flow keeps.
fn others(text: &str) -> Value {
    let mut value = parse_value(text).expect("it was read");
    let state = value["state"].as_object_mut().expect("a run has a state");
    KEPT.iter().for_each(|key| drop(state.shift_remove(*key)));
    value
}

const KEPT: [&str; 16] = [
    "status",
    "current_phase",
    "current_activity",
    "completed_activities",
    "open_activities",
    "blocked_reason",
    "session",
    "epoch",
    "last_number",
    "last_seq",
    "updated_at",
    "workflow_seq",
    "steps",
    "other_phases",
    "questions",
    "forked_from",
];

/// Keys that come and go with all of their lines.
const RARE: [&str; 5] = ["workflow_seq", "steps", "other_phases", "questions", "forked_from"];

/// The lines of an entry, without those that only hold a comment.
fn coming_and_going(text: &str, name: &Node, value: &Node) -> Vec<Range<usize>> {
    fn spans(value: &Node, all: &mut Vec<Range<usize>>) {
        match &value.tree {
            Tree::Sequence(items) => items.iter().for_each(|item| spans(item, all)),
            Tree::Mapping(entries) => entries.iter().for_each(|(key, value)| {
                all.push(key.span.clone());
                spans(value, all);
            }),
            _ => all.push(value.span.clone()),
        }
    }
    let mut all = vec![name.span.clone()];
    spans(value, &mut all);
    let line = |span: Range<usize>| {
        let start = text[..span.start].rfind('\n').map_or(0, |newline| newline + 1);
        start..text[span.end..].find('\n').map_or(text.len(), |newline| span.end + newline)
    };
    let opens = text[value.span.start..].chars().next().filter(|_| !value.span.is_empty());
    match opens.and_then(|bracket| [('{', '}'), ('[', ']')].into_iter().find(|(open, _)| *open == bracket)) {
        Some((_, close)) => {
            let from = all.iter().map(|span| span.end).max().unwrap_or_default().max(value.span.start);
            let end = text[from..].find(close).map_or(text.len(), |at| from + at + 1);
            vec![line(name.span.start..end)]
        }
        None => all.into_iter().map(line).collect(),
    }
}

/// The pieces of a text that a change may not touch. Something may be put between any two of them.
fn untouched<'a>(text: &'a str, root: &Node, wanted: &OwnedState) -> Vec<&'a str> {
    let state = root.get("state").expect("a run has a state");
    let wanted = serde_json::to_value(wanted).unwrap_or_default();
    let mut gone = Vec::new();
    // In braces, new keys come before the first one.
    gone.extend(state.entries().first().map(|(name, _)| name.span.start..name.span.start));
    for (name, value) in state.entries() {
        let key = name.text().unwrap_or_default();
        if RARE.contains(&key) {
            gone.extend(coming_and_going(text, name, value));
        } else if KEPT.contains(&key) && value.to_value() != wanted[key] {
            gone.extend(replaced(text, name, value, &wanted[key]));
        }
    }
    gone.sort_by_key(|range| (range.start, range.end));
    let mut pieces = Vec::new();
    let mut at = 0;
    for range in gone {
        pieces.extend(lines(&text[at..range.start.max(at)]));
        at = range.end.max(at);
    }
    pieces.extend(lines(&text[at..]));
    pieces
}

/// Lines without blanks at their end, and the empty piece that allows a text to go on behind the last one.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive('\n').map(str::trim_end).chain([""])
}

/// What of an entry may go: its value, and never a comment between it and its key.
fn replaced(text: &str, name: &Node, value: &Node, wanted: &Value) -> Vec<Range<usize>> {
    let colon = name.span.end + text[name.span.end..].find(':').expect("a colon follows a key") + 1;
    match &value.tree {
        Tree::Sequence(items) => list(text, colon, items, value, wanted),
        _ if value.span.is_empty() => vec![colon..colon],
        _ => {
            // The parser counts the blank lines and the indentation below a block of lines to it.
            let end = value.span.start + text[value.span.clone()].trim_end().len();
            around_comments(text, colon..end, value.span.start)
        }
    }
}

fn list(text: &str, colon: usize, items: &[Node], value: &Node, wanted: &Value) -> Vec<Range<usize>> {
    let wanted: Vec<_> = wanted.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let ids: Vec<_> = items.iter().filter_map(Node::text).collect();
    let last = items.last().map_or(value.span.start, |last| last.span.end);
    if !ids.is_empty() && wanted.starts_with(&ids) {
        return vec![last..last];
    }
    if ids.is_empty() || text[value.span.start..].starts_with('[') && !value.span.is_empty() {
        let end = text[last..].find(']').map_or(last, |at| last + at + 1);
        return around_comments(text, colon..end, value.span.start);
    }
    // One line for each entry; it takes the comment that stands on it along.
    let line = |item: &Node| {
        let start = text[..item.span.start].rfind('\n').map_or(0, |newline| newline + 1);
        start..text[item.span.end..].find('\n').map_or(text.len(), |newline| item.span.end + newline)
    };
    let kept: Vec<_> = ids.iter().filter(|id| wanted.contains(id)).copied().collect();
    let gone = items.iter().filter(|item| kept != wanted || !item.text().is_some_and(|id| wanted.contains(&id)));
    gone.map(line).chain([colon..colon]).collect()
}

/// The bytes of `range` without the comment that begins before `value`.
fn around_comments(text: &str, range: Range<usize>, value: usize) -> Vec<Range<usize>> {
    let gap = &text[range.start..value.max(range.start)];
    match gap.find(" #") {
        None => vec![range],
        Some(comment) => {
            let end = gap[comment..].find('\n').map_or(gap.len(), |at| comment + at);
            vec![range.start..range.start + comment, range.start + end..range.end]
        }
    }
}
