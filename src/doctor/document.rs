//! Checks a `run.yaml`.

use crate::codec::{DocumentKind, RunText, RunTextError, Violation, parse, validate};
use crate::doctor::facts::{FileState, RunFacts};
use crate::doctor::finding::{Findings, RepairStep};
use crate::engine::{Fault, Reconciled, Repair, has_other_line_ends, rebuilt};
use crate::model::{Help, Suggestion};
use crate::store::local::layout::RUN_FILE;

/// Checks `run.yaml`. `read` is the file as it was read; gives it back if commands can use it.
pub(super) fn check(
    facts: &RunFacts,
    run: &Reconciled,
    read: Option<RunText>,
    found: &mut Findings,
) -> Option<RunText> {
    let path = facts.path(RUN_FILE);
    match &facts.text {
        FileState::Here(_) => {}
        FileState::Missing => {
            missing(facts, run, found);
            return None;
        }
        FileState::Unread(why) => {
            found.add("unreadable", &path, why.clone());
            return None;
        }
        // The check of the directory reports a name that is not a regular file.
        FileState::Unusable(why) => {
            if facts.has_file(RUN_FILE) {
                found.add("run_yaml_unreadable", &path, why.clone()).mend(RepairStep::Rebuild);
            }
            return None;
        }
    }
    let before = found.list.len();
    for fault in &run.faults {
        faulty(fault, facts, found);
    }
    if found.list.len() > before {
        return None;
    }
    let read = read?;
    // Other commands skip this check for a text that the log vouches for; the doctor makes it always.
    schema(violations(facts), facts, found);
    if found.list.len() > before {
        return None;
    }
    position(facts, run, &read, found);
    Some(read)
}

/// Reports a fault because of which commands cannot use `run.yaml`.
fn faulty(fault: &Fault, facts: &RunFacts, found: &mut Findings) {
    let path = facts.path(RUN_FILE);
    match fault {
        Fault::ConflictMarkers { line } => {
            let message = "run.yaml has the conflict markers of a merge";
            found.add("run_yaml_conflict", &path, message).on_line(*line).mend(RepairStep::Rebuild);
        }
        Fault::Unreadable(error) => unusable(error, facts, found),
        Fault::Edit { fault, place } => {
            found.add("run_yaml_refused", &path, fault.to_string()).at_place(*place).mend(RepairStep::Rebuild);
        }
        Fault::Schema(violations) => schema(violations.clone(), facts, found),
        _ => {}
    }
}

fn missing(facts: &RunFacts, run: &Reconciled, found: &mut Findings) {
    let path = facts.path(RUN_FILE);
    if let Some(Fault::Unreadable(error)) = run.faults.iter().find(|fault| matches!(fault, Fault::Unreadable(_))) {
        let message = format!(
            "run.yaml is missing, and the one that follows from the log {error}; bring it back with git, or write it by hand"
        );
        found.add("run_yaml_invalid", &path, message);
        return;
    }
    if facts.is_copy && run.faults.contains(&Fault::Empty) {
        let help = Suggestion::flow("remote fetch").value(&facts.id)
            + " brings them if the run is shared; otherwise remove the directory";
        let message = Help::from("the copy has no events, as a process leaves it that was killed; ") + help;
        found.add("run_yaml_missing", &path, message);
        return;
    }
    if !run.faults.contains(&Fault::Empty) {
        let message = "run.yaml is missing; the log rebuilds it";
        found.add("run_yaml_missing", &path, message).mend(RepairStep::Recover);
        return;
    }
    let message = "the run has neither a run.yaml nor a log that could rebuild it; bring one of them back with git, \
                   or move the directory away";
    found.add("run_empty", &facts.dir, message);
}

/// YAML that cannot be parsed, or that is not a valid run document.
fn unusable(error: &RunTextError, facts: &RunFacts, found: &mut Findings) {
    let message = match error {
        RunTextError::Document(violation) => {
            // If the schema can check the text, report all of its violations.
            let all = violations(facts);
            if !all.is_empty() {
                return schema(all, facts, found);
            }
            format!("run.yaml is not a run document: {}", violation.message)
        }
        error => format!("run.yaml {error}"),
    };
    found.add("run_yaml_invalid", &facts.path(RUN_FILE), message).at_place(error.place()).mend(RepairStep::Rebuild);
}

fn violations(facts: &RunFacts) -> Vec<Violation> {
    let Some(Ok(root)) = facts.text.here().map(|text| parse(text)) else { return Vec::new() };
    validate(DocumentKind::Run, &root.to_value(), Some(&root))
}

fn schema(violations: Vec<Violation>, facts: &RunFacts, found: &mut Findings) {
    for violation in violations {
        let finding = found.add("run_yaml_schema", &facts.path(RUN_FILE), violation.message);
        finding.at_place(violation.place).mend(RepairStep::Rebuild);
    }
}

/// Leaves a `run.yaml` in its place for which the log has nothing better. A repair would end with the same one, or with none.
pub(super) fn leave_unless_better(facts: &RunFacts, found: &mut Findings) {
    if !found.list.iter().any(|finding| finding.repair == Some(RepairStep::Rebuild)) {
        return;
    }
    let why = match rebuilt(facts.scan.events()) {
        Ok(Some(text)) if facts.text.here().is_some_and(|here| here == text.text()) => "the log has it as well",
        Err(_) => "the log gives no other that can be read",
        _ => return,
    };
    let help = format!("; {why}, so correct run.yaml by hand: the next command that writes the run adopts the change");
    for finding in &mut found.list {
        if finding.repair == Some(RepairStep::Rebuild) {
            finding.repair = None;
            finding.message = finding.message.clone() + &*help;
        }
    }
}

/// Why the next event cannot be shown in an edited `run.yaml`, if so: then no writer adopts the edit.
fn cannot_be_written(facts: &RunFacts, run: &Reconciled, read: &RunText) -> Option<RunTextError> {
    let mut next = run.run.as_ref()?.state.document().clone();
    next.state.last_seq = Some(facts.scan.last_seq().next());
    read.with_document(&next).err()
}

/// Checks which event `run.yaml` shows, and whether it is as flow wrote it.
fn position(facts: &RunFacts, run: &Reconciled, read: &RunText, found: &mut Findings) {
    let path = facts.path(RUN_FILE);
    let shown = read.document().state.last_seq;
    for repair in &run.repairs {
        if matches!(repair, Repair::AdoptEdit { .. })
            && let Some(error) = cannot_be_written(facts, run, read)
        {
            found.add("run_yaml_invalid", &path, format!("run.yaml {error}")).mend(RepairStep::Rebuild);
            continue;
        }
        let (code, message) = match repair {
            Repair::AdoptRun => {
                let message = "the run was made by another program; the next command that writes it adopts it";
                ("run_not_adopted", message.to_owned())
            }
            Repair::AdoptEdit { .. } if has_other_line_ends(read, &facts.scan) => {
                let message = "run.yaml has other line ends than flow wrote, as git gives it with core.autocrlf";
                ("line_ends", message.to_owned())
            }
            Repair::AdoptEdit { .. } if shown.is_none() => {
                ("run_yaml_edited", "run.yaml was edited by hand: it has no last_seq".to_owned())
            }
            Repair::AdoptEdit { .. } => {
                let message = "run.yaml was edited by hand; the next command that writes the run adopts the change";
                ("run_yaml_edited", message.to_owned())
            }
            // A writer is at work; it will write `run.yaml` itself.
            Repair::EndRepair { .. } | Repair::RollForward { .. } if facts.writer.is_some() => continue,
            Repair::EndRepair { .. } => {
                ("run_yaml_behind", "a repair of the log was interrupted before run.yaml was written".to_owned())
            }
            Repair::RollForward { since, .. } => {
                let last = facts.scan.last_seq();
                ("run_yaml_behind", format!("run.yaml shows event {since}, and the log ends at event {last}"))
            }
            Repair::Rebuild { .. } => continue,
        };
        let is_behind = code == "run_yaml_behind";
        let finding = found.add(code, &path, message);
        if is_behind {
            finding.mend(RepairStep::Recover);
        }
    }
}
