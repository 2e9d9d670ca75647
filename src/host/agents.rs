//! By what a process can tell that an agent calls it: variables that hosts of agents set for their commands, and the names of
//! hosts among its ancestors.
//!
//! What is decided wrongly for an agent opens a gate, so in doubt it is an agent. Settings that people export, such as the
//! name of a model, and an editor's terminal with a person in it say nothing. No variable makes a caller a person.

use std::ffi::OsString;

use crate::host::process::ancestor_named;

/// Variables that only a host of agents sets. Any value but an empty one counts.
const VARIABLES: &[&str] = &[
    // Conventions of several hosts.
    "AI_AGENT",
    "AGENT",
    "CLAUDECODE",
    "CLAUDE_CODE",
    "CLAUDE_CODE_SESSION_ID",
    "CODEX_SANDBOX",
    "CODEX_SANDBOX_NETWORK_DISABLED",
    "CODEX_CI",
    "CODEX_SESSION_ID",
    "CODEX_THREAD_ID",
    "COPILOT_CLI",
    "COPILOT_AGENT_SESSION_ID",
    "QWEN_CODE",
    "QWEN_CODE_SESSION_ID",
    "GEMINI_CLI",
    "OPENCODE",
    "CURSOR_AGENT",
    "AMP_CURRENT_THREAD_ID",
    "AUGMENT_AGENT",
    "ANTIGRAVITY_AGENT",
    "ANTIGRAVITY_PROJECT_ID",
    "PI_CODING_AGENT",
    "CRUSH",
    // A driver's commands and sessions of flow belong to agents.
    "FLOW_DRIVEN_RUN",
    "FLOW_SESSION",
    "FLOW_RUN_TOKEN",
];

/// Variables that an editor's terminal has as well, each with another that only its agent sets.
const PAIRS: &[(&str, &str)] = &[("TERM_PROGRAM=zed", "PAGER=cat"), ("TERM_PROGRAM=vscode", "GIT_PAGER=cat")];
const EXACTLY: &[&str] = &["CURSOR_EXTENSION_HOST_ROLE=agent-exec", "REPLIT_MODE=assistant"];
/// Cursor's agent pages through a pipe.
const CURSOR: (&str, &str) = ("CURSOR_TRACE_ID", "PAGER=head -n 10000 | cat");

/// Names of programs that are hosts of agents.
const PROGRAMS: &[&str] = &[
    "claude",
    "codex",
    "gemini",
    "aider",
    "crush",
    "droid",
    "devin",
    "octofriend",
    "opencode",
    "qwen",
    "copilot",
    "cursor-agent",
    "amp",
];

/// The variable by which an agent shows, if there is one.
pub fn variable(lookup: impl Fn(&'static str) -> Option<OsString>) -> Option<String> {
    let is_set = |name: &'static str| lookup(name).is_some_and(|value| !value.is_empty());
    let is = |pair: &'static str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        lookup(name).is_some_and(|given| given == value)
    };
    if let Some(name) = VARIABLES.iter().find(|name| is_set(name)) {
        return Some((*name).to_owned());
    }
    if let Some(pair) = EXACTLY.iter().find(|pair| is(pair)) {
        return Some((*pair).to_owned());
    }
    if let Some((editor, pager)) = PAIRS.iter().find(|(editor, pager)| is(editor) && is(pager)) {
        return Some(format!("{editor} with {pager}"));
    }
    (is_set(CURSOR.0) && is(CURSOR.1)).then(|| CURSOR.0.to_owned())
}

/// The ancestor of this process that is a host of agents, if there is one: its name and number.
#[must_use]
pub fn ancestor() -> Option<String> {
    ancestor_named(PROGRAMS).map(|(name, pid)| format!("{name} (process {pid})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sign(variables: &[(&str, &str)]) -> Option<String> {
        variable(|name| {
            let (_, value) = variables.iter().find(|(variable, _)| *variable == name)?;
            Some(OsString::from(value))
        })
    }

    #[test]
    fn every_host_shows_by_its_own_variable() {
        for name in VARIABLES {
            assert_eq!(sign(&[(name, "1")]).as_deref(), Some(*name));
            assert_eq!(sign(&[(name, "")]), None, "{name}");
        }
        for variables in [
            &[("CURSOR_EXTENSION_HOST_ROLE", "agent-exec")][..],
            &[("CURSOR_TRACE_ID", "x"), ("PAGER", "head -n 10000 | cat")],
            &[("TERM_PROGRAM", "zed"), ("PAGER", "cat")],
            &[("TERM_PROGRAM", "vscode"), ("GIT_PAGER", "cat")],
            &[("REPL_ID", "x"), ("REPLIT_MODE", "assistant")],
        ] {
            assert!(sign(variables).is_some(), "{variables:?}");
        }
    }

    #[test]
    fn settings_of_people_and_terminals_of_editors_say_nothing() {
        for variables in [
            &[][..],
            &[("TERM_PROGRAM", "zed")],
            &[("TERM_PROGRAM", "vscode")],
            &[("PAGER", "cat"), ("GIT_PAGER", "cat")],
            &[("CURSOR_TRACE_ID", "x"), ("PAGER", "less")],
            &[("REPL_ID", "x"), ("REPLIT_MODE", "workspace")],
            &[("COPILOT_MODEL", "x"), ("COPILOT_ALLOW_ALL", "1")],
            &[("ANTHROPIC_API_KEY", "x"), ("OPENAI_API_KEY", "x"), ("FLOW_RUN", "r")],
        ] {
            assert_eq!(sign(variables), None, "{variables:?}");
        }
    }
}
