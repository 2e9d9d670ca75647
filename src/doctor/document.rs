//! What is wrong with a `run.yaml`.

use crate::codec::{DocumentKind, RunText, RunTextError, digest, parse, validate};
use crate::doctor::facts::{Content, RunFacts};
use crate::doctor::finding::{Action, Findings};
use crate::engine::{EditFault, RunState, edited};
use crate::model::{Seq, TextDigest};
use crate::runs::checkout::conflict_marker;
use crate::runs::load::{place, superseded};
use crate::runs::pinned::pinned;
use crate::store::layout::RUN_FILE;

/// Checks it, and gives it when commands can use it.
pub(super) fn check(facts: &RunFacts, found: &mut Findings) -> Option<RunText> {
    let path = facts.path(RUN_FILE);
    let text = match &facts.text {
        Content::Here(text) => text,
        Content::Missing => {
            missing(facts, found);
            return None;
        }
        Content::Unread(why) => {
            found.add("unreadable", &path, why.clone());
            return None;
        }
        // An odd kind of file is named by the look at the directory.
        Content::Unusable(why) => {
            if facts.entry(RUN_FILE).is_some_and(|entry| entry.kind == crate::store::inspect::FileKind::File) {
                found.add("run_yaml_unreadable", &path, why.clone()).mend(Action::Rebuild);
            }
            return None;
        }
    };
    let parsed = match RunText::parse(text.as_str()) {
        Ok(parsed) => parsed,
        Err(error) => {
            unusable(text, &error, facts, found);
            return None;
        }
    };
    let before = found.list.len();
    refused(facts, &parsed, found);
    if parsed.document().id == facts.id {
        schema(text, facts, found);
    }
    if found.list.len() > before {
        return None;
    }
    position(facts, &parsed, found);
    Some(parsed)
}

fn missing(facts: &RunFacts, found: &mut Findings) {
    let path = facts.path(RUN_FILE);
    if RunState::fold(facts.scan.events()).is_some() {
        let message = "run.yaml is missing; the log rebuilds it";
        found.add("run_yaml_missing", &path, message).mend(Action::Recover);
        return;
    }
    if facts.leftover {
        let message =
            "the files of the run are not in this checkout: another branch or a stash has them, or they were removed";
        found.add("run_elsewhere", &facts.dir, message);
        return;
    }
    let message = "the run has neither a run.yaml nor a log that could rebuild it; bring one of them back with git, \
                   or remove the directory";
    found.add("run_empty", &facts.dir, message);
}

/// YAML that cannot be read, or that says something that no run can be.
fn unusable(text: &str, error: &RunTextError, facts: &RunFacts, found: &mut Findings) {
    let path = facts.path(RUN_FILE);
    let (code, message) = match error {
        _ if conflict_marker(text).is_some() => {
            ("run_yaml_conflict", "run.yaml has the conflict markers of a merge".to_owned())
        }
        RunTextError::Document(violation) => {
            // All of it, when the schema sees it too.
            let before = found.list.len();
            schema(text, facts, found);
            if found.list.len() > before {
                return;
            }
            ("run_yaml_invalid", format!("run.yaml is no run document: {}", violation.message))
        }
        error => ("run_yaml_invalid", format!("run.yaml {error}")),
    };
    found.add(code, &path, message).at(error.place()).mend(Action::Rebuild);
}

fn schema(text: &str, facts: &RunFacts, found: &mut Findings) {
    let Ok(root) = parse(text) else { return };
    for violation in validate(DocumentKind::Run, &root.to_value(), Some(&root)) {
        let finding = found.add("run_yaml_schema", &facts.path(RUN_FILE), violation.message);
        finding.at(violation.place).mend(Action::Rebuild);
    }
}

/// An edit that no command adopts.
fn refused(facts: &RunFacts, text: &RunText, found: &mut Findings) {
    let document = text.document();
    let fault = if document.id != facts.id {
        Some(EditFault::Id { expected: facts.id.clone(), found: document.id.clone() })
    } else {
        let machine = pinned(facts.scan.events(), &mut Vec::new());
        RunState::fold(facts.scan.events()).and_then(|folded| edited(&folded, document, machine.as_ref()).err())
    };
    if let Some(fault) = fault {
        let finding = found.add("run_yaml_refused", &facts.path(RUN_FILE), fault.to_string());
        finding.at(place(text.text(), fault.pointer())).mend(Action::Rebuild);
    }
}

/// Which event it shows, and whether it is as flow wrote it.
fn position(facts: &RunFacts, text: &RunText, found: &mut Findings) {
    let path = facts.path(RUN_FILE);
    let last = facts.scan.last_seq();
    let Some(shown) = text.document().state.last_seq else {
        if last == Seq(0) {
            let message = "the run was made by another program; the next command that writes it adopts it";
            found.add("run_not_adopted", &path, message);
        } else {
            found.add("run_yaml_edited", &path, "run.yaml was edited by hand: it says no last_seq");
        }
        return;
    };
    let newer: Vec<_> = facts.scan.events().filter(|event| event.seq > shown).cloned().collect();
    if !newer.is_empty() && facts.writer.is_none() {
        let message = match superseded(&newer, text) {
            Ok(Some(_)) => "a repair of the log was interrupted before run.yaml was written".to_owned(),
            _ => format!("run.yaml shows event {shown}, and the log ends at event {last}"),
        };
        found.add("run_yaml_behind", &path, message).mend(Action::Recover);
    }
    let written = facts.scan.events().find(|event| event.seq == shown).and_then(|event| event.run.as_ref());
    let typed = shown > last && is_typed(facts, shown);
    if typed || written.is_some_and(|written| *written != TextDigest(digest(text.text().as_bytes()))) {
        let message = "run.yaml was edited by hand; the next command that writes the run adopts the change";
        found.add("run_yaml_edited", &path, message);
    }
}

/// Whether a position behind the log's end was typed: no writer ever got that far.
pub(super) fn is_typed(facts: &RunFacts, shown: Seq) -> bool {
    let last = facts.scan.last_seq();
    shown > last && last > Seq(0) && facts.note.as_ref().is_some_and(|note| note.seq == last)
}
