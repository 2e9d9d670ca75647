//! Statements of in-toto about commands of which flow saw the end, with the predicate `test-result`.

use serde_json::{Value, json};

use crate::model::{ActivityRecorded, Execution, ExecutionEnd, TreeSnapshot, command_line, sha256_hex};
use crate::runs::WholeRun;

/// The form of a statement.
const STATEMENT: &str = "https://in-toto.io/Statement/v1";
/// What the statements say.
const TEST_RESULT: &str = "https://in-toto.io/attestation/test-result/v0.1";
/// What a digest of flow is of.
const WORKTREE: &str = "worktree";

/// The statements, each in a line of its own, so that each can be signed.
pub(super) fn lines(whole: &WholeRun) -> String {
    let lines: Vec<_> = statements(whole).iter().map(|statement| format!("{statement}\n")).collect();
    lines.concat()
}

/// One statement for each command, in the order of the log. A command that ran on files which are not known is about nothing,
/// so that it has none.
fn statements(whole: &WholeRun) -> Vec<Value> {
    let mut statements = Vec::new();
    for event in &whole.log.events {
        for record in event.kind.records() {
            statements.extend(statement(whole, record));
        }
    }
    statements
}

fn statement(whole: &WholeRun, record: &ActivityRecorded) -> Option<Value> {
    let exec = record.exec.as_deref()?;
    let (end, before) = (exec.end.as_ref()?, exec.before.as_ref().filter(|before| !before.is_of_nothing())?);
    let is_good = record.activity.status().is_completed();
    let name = exec.name.clone().unwrap_or_else(|| record.id().to_string());
    let (passed, failed) = if is_good { (vec![name], Vec::new()) } else { (Vec::new(), vec![name]) };
    Some(json!({
        "_type": STATEMENT,
        "subject": [subject(before)],
        "predicateType": TEST_RESULT,
        "predicate": {
            "result": if is_good { "PASSED" } else { "FAILED" },
            "configuration": [configuration(whole, record, exec, end)],
            "passedTests": passed,
            "warnedTests": [],
            "failedTests": failed,
        },
    }))
}

/// What the command ran on: the commit if the files were exactly those of it, so that others can look at them.
fn subject(before: &TreeSnapshot) -> Value {
    match &before.commit {
        Some(commit) if before.clean => json!({ "digest": { "gitCommit": commit } }),
        _ => json!({ "name": WORKTREE, "digest": { "sha256": before.sha256 } }),
    }
}

/// The command, and where flow has it.
fn configuration(whole: &WholeRun, record: &ActivityRecorded, exec: &Execution, end: &ExecutionEnd) -> Value {
    let mut about = json!({
        "name": command_line(&exec.argv),
        "digest": { "sha256": sha256_hex(json!(exec.argv).to_string().as_bytes()) },
        "annotations": {
            "argv": exec.argv,
            "dir": exec.dir,
            "phase": record.phase,
            "run": whole.run.card.run.head.run_id,
            "activity": record.id().as_str(),
            "number": record.number,
            "startedOn": exec.started_at,
            "finishedOn": end.at,
            "exitCode": end.exit_code(),
            "stdoutSha256": end.stdout_sha256,
            "stderrSha256": end.stderr_sha256,
        },
    });
    if exec.masked {
        // So that no one takes the words for the command that ran.
        about["annotations"]["masked"] = json!(true);
    }
    let not_covered = exec.before.as_ref().map(|before| before.not_covered.as_slice()).unwrap_or_default();
    if !not_covered.is_empty() {
        about["annotations"]["notCovered"] = json!(not_covered);
    }
    if exec.saw_changes() {
        about["annotations"]["changedWhileItRan"] = json!(end.changed);
    } else if end.after.is_none() {
        about["annotations"]["filesAfter"] = json!("unknown");
    }
    if !exec.inputs.is_empty() {
        about["annotations"]["inputs"] = json!(exec.inputs);
    }
    about
}
