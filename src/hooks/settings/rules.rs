//! What is left to a person: trust in hooks, and permission to call flow. flow changes neither.

use crate::hooks::settings::AgentHost;
use crate::hooks::settings::host::SettingsScope;

/// Commands that an agent may call without asking. `drive` and `interview` run other commands, `hooks` changes settings,
/// and the rest undoes decisions of people.
const HARMLESS: [&str; 16] = [
    "start",
    "record-activity",
    "emit",
    "next",
    "advance",
    "block",
    "unblock",
    "complete",
    "fail",
    "resume",
    "list",
    "show",
    "log",
    "validate",
    "verify",
    "mode",
];

/// What a person has to do before the host runs the hooks.
pub(super) fn trust(host: AgentHost, scope: SettingsScope) -> String {
    match (host, scope) {
        (AgentHost::ClaudeCode, SettingsScope::User) => {
            "Claude Code runs them from its next start on; `/hooks` shows them".to_owned()
        }
        (AgentHost::ClaudeCode, _) => {
            "Claude Code runs them from its next start on, in a folder that you trust; `/hooks` shows them".to_owned()
        }
        (AgentHost::Codex, scope) => {
            let project = if scope == SettingsScope::Project { ", in a project that you trust" } else { "" };
            format!("Codex runs them when you trusted them: in the dialog at its next start, or with `/hooks`{project}")
        }
    }
}

/// Rules for the host's own settings.
pub(super) fn allow(host: AgentHost) -> Vec<String> {
    match host {
        AgentHost::ClaudeCode => HARMLESS.iter().map(|verb| format!("Bash(flow {verb}:*)")).collect(),
        AgentHost::Codex => vec![format!("prefix_rule(pattern = [\"flow\", {HARMLESS:?}], decision = \"allow\")")],
    }
}
