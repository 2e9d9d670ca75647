//! What is left to a person: trust in hooks, and permission to call flow. flow changes neither.

use crate::hooks::settings::AgentHost;
use crate::hooks::settings::host::SettingsScope;
use crate::host::{Rules, Trust};

/// Commands that an agent may call without asking, and `resume` besides. `drive` and `interview` run other commands,
/// `hooks` changes settings, and the rest undoes decisions of people.
const HARMLESS: [&str; 13] = [
    "start", "record-activity", "emit", "next", "advance", "block", "complete", "fail", "list", "show", "log",
    "validate", "verify",
];

/// The ways to resume that take the run from no other session.
const RESUME: [&str; 2] = ["flow resume", "flow resume --claim"];

/// What a person has to do before the host runs the hooks.
pub(super) fn trust(host: AgentHost, scope: SettingsScope) -> String {
    let (title, is_project) = (host.title(), scope != SettingsScope::User);
    let trust = match host.hooks().trust {
        Trust::Hook => {
            let project = if is_project { ", and the project as well" } else { "" };
            format!(
                "{title} skips them until you trust them: in the dialog at its next start, or with `/hooks`{project}; it \
                 asks again after each change of them"
            )
        }
        Trust::Folder(more) => {
            let project = if is_project { ", in a folder that you trust" } else { "" };
            format!("{title} runs them from its next start on{project}{more}")
        }
    };
    if host.hooks().is_tried {
        trust
    } else {
        format!("{trust}; flow has this from its documentation, and it was not tried")
    }
}

/// Rules for the host's own settings.
pub(super) fn allow(host: AgentHost) -> Vec<String> {
    match host.hooks().rules {
        Rules::List(_) => {
            let mut rules = HARMLESS.map(|verb| format!("Bash(flow {verb}:*)")).to_vec();
            // Whole commands: `--take-over` takes a run from another session.
            rules.extend(RESUME.map(|command| format!("Bash({command})")));
            rules
        }
        // A rule about a beginning cannot leave out an option.
        Rules::Beginnings(_) => {
            let mut verbs = HARMLESS.to_vec();
            verbs.push("resume");
            vec![format!("prefix_rule(pattern = [\"flow\", {verbs:?}], decision = \"allow\")")]
        }
        Rules::Unknown => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_rule_allows_an_agent_to_run_other_commands_to_prune_or_to_decide_for_a_person() {
        let mut allowed = 0;
        for host in AgentHost::ALL {
            let rules = allow(host).join("\n");
            allowed += usize::from(rules.contains("record-activity"));
            for verb in ["exec", "replay", "prune", "trust", "remote", "approve", "reject", "drive"] {
                assert!(!rules.contains(verb), "{host:?} allows {verb}: {rules}");
            }
        }
        assert!(allowed > 1, "no host has rules");
    }
}
