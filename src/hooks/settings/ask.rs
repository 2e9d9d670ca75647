//! What only other programs know: which flow a login shell finds, and which hooks Codex trusts.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::host::ProgramQuestion;
use crate::runs::Context;

/// How long a shell or a host may take.
const LIMIT: Duration = Duration::from_secs(10);
/// Stands between what a profile prints and the answer, and behind the answer.
const BEGIN: &str = "-- flow begins --";
const END: &str = "-- flow ends --";

/// The flow that a login shell finds.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LoginFlow {
    /// None.
    Missing,
    /// One of this version; none if it does not say which.
    Version(Option<String>),
}

/// Asks a login shell for flow; `None` if it does not answer. Codex runs hooks and commands in one.
pub(super) fn login_flow(cx: &Context, directory: &Path) -> Option<LoginFlow> {
    let shell = cx.env.shell.clone().unwrap_or_else(|| "/bin/sh".into());
    let script = format!("echo; echo '{BEGIN}'; command -v flow >/dev/null && flow --version; echo '{END}'");
    let arguments: [OsString; 2] = ["-lc".into(), script.into()];
    let question = ProgramQuestion { program: &shell, arguments: &arguments, directory, input: b"", limit: LIMIT };
    // A profile may start programs that keep the output open, so the end of the answer is a line.
    let answer = question.ask(|answer| complete_lines(answer).iter().any(|line| line == END)).ok()?;
    let lines = complete_lines(&answer);
    let begin = lines.iter().position(|line| line == BEGIN)?;
    let line = lines.get(begin + 1)?;
    if line == END {
        return Some(LoginFlow::Missing);
    }
    Some(LoginFlow::Version(line.strip_prefix("flow ").map(|version| version.trim().to_owned())))
}

/// A hook as Codex sees it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CodexHook {
    /// The name under which Codex notes its trust.
    pub(super) key: String,
    pub(super) command: String,
    /// `trusted`, `managed`, `untrusted` or `modified`.
    pub(super) trust: String,
    pub(super) is_on: bool,
}

/// Asks Codex for its hooks in `directory`; `None` if it is not installed or does not answer.
pub(super) fn codex_hooks(directory: &Path) -> Option<Vec<CodexHook>> {
    let version = env!("CARGO_PKG_VERSION");
    let about = json!({ "name": "flow", "title": "flow", "version": version });
    let calls = [
        json!({ "id": 1, "method": "initialize", "params": { "clientInfo": about } }),
        json!({ "method": "initialized" }),
        json!({ "id": 2, "method": "hooks/list", "params": { "cwds": [directory] } }),
    ];
    let input: String = calls.iter().map(|call| format!("{call}\n")).collect();
    let program = OsString::from("codex");
    let arguments = [OsString::from("app-server")];
    let question =
        ProgramQuestion { program: &program, arguments: &arguments, directory, input: input.as_bytes(), limit: LIMIT };
    // The server lives on when it has answered, so its answer decides when to stop reading.
    let answer = question.ask(|answer| answer_to_2(answer).is_some()).ok()?;
    let answer = answer_to_2(&answer)?;
    let lists = answer.pointer("/result/data")?.as_array()?;
    let hooks = lists.iter().filter_map(|list| list["hooks"].as_array()).flatten();
    Some(hooks.filter_map(codex_hook).collect())
}

fn codex_hook(hook: &Value) -> Option<CodexHook> {
    Some(CodexHook {
        key: hook["key"].as_str().unwrap_or_default().to_owned(),
        command: hook["command"].as_str()?.to_owned(),
        trust: hook["trustStatus"].as_str()?.to_owned(),
        is_on: hook["enabled"].as_bool().unwrap_or(true),
    })
}

fn answer_to_2(answer: &[u8]) -> Option<Value> {
    for line in complete_lines(answer) {
        // Codex also sends notifications, and a wrapper may print lines of its own.
        let Ok(value) = serde_json::from_str::<Value>(&line) else { continue };
        if value["id"] == 2 {
            return Some(value);
        }
    }
    None
}

/// The complete lines of an answer: the last one may have come in part.
fn complete_lines(answer: &[u8]) -> Vec<String> {
    let Some(end) = answer.iter().rposition(|byte| *byte == b'\n') else { return Vec::new() };
    String::from_utf8_lossy(&answer[..end]).lines().map(str::to_owned).collect()
}
