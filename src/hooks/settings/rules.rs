//! What is left to a person: trust in hooks, and permission to call flow. flow changes neither.

use crate::hooks::settings::AgentHost;
use crate::hooks::settings::host::SettingsScope;

/// Commands that an agent may call without asking, and `resume` besides. `drive` and `interview` run other commands, `hooks` changes settings,
/// and the rest undoes decisions of people.
const HARMLESS: [&str; 13] = [
    "start",
    "record-activity",
    "emit",
    "next",
    "advance",
    "block",
    "complete",
    "fail",
    "list",
    "show",
    "log",
    "validate",
    "verify",
];

/// The ways to resume that take the run from no other session.
const RESUME: [&str; 2] = ["flow resume", "flow resume --claim"];

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
            let project = if scope == SettingsScope::Project { ", and the project as well" } else { "" };
            format!("Codex skips them until you trust them: in the dialog at its next start, or with `/hooks`{project}")
        }
        (host, SettingsScope::User) => format!("{} runs them from its next start on", host.title()),
        (host, _) => format!("{} runs them from its next start on, in a folder that you trust", host.title()),
    }
}

/// Rules for the host's own settings.
pub(super) fn allow(host: AgentHost) -> Vec<String> {
    match host {
        AgentHost::ClaudeCode => {
            let verbs = HARMLESS.iter().map(|verb| format!("Bash(flow {verb}:*)"));
            verbs.chain(RESUME.map(|command| format!("Bash({command})"))).collect()
        }
        // A rule of Codex is about a beginning, so it cannot leave out an option.
        AgentHost::Codex => {
            let verbs: Vec<_> = HARMLESS.into_iter().chain(["resume"]).collect();
            vec![format!("prefix_rule(pattern = [\"flow\", {verbs:?}], decision = \"allow\")")]
        }
        AgentHost::Qwen | AgentHost::GeminiCli | AgentHost::Copilot | AgentHost::Opencode => Vec::new(),
    }
}
