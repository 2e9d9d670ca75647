//! What each host is given, and in which files.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::hooks::settings::AgentHost;
use crate::hooks::settings::error::Result;
use crate::hooks::settings::host::{SettingsScope, project_root};
use crate::hooks::settings::plugin::skills_in;
use crate::hooks::settings::rules;
use crate::hooks::settings::setup::entries::{Entries, EntryList};
use crate::hooks::settings::setup::piece::{Content, Piece, SetupPart};
use crate::runs::{self, Context};

/// The key of flow's server among those of a host.
const SERVER: &str = "flow";

/// The pieces for `host`, each with its file.
pub(super) fn pieces(cx: &Context, host: AgentHost, scope: SettingsScope) -> Result<Vec<(PathBuf, Piece)>> {
    let top = top(cx, scope)?;
    let directory = host.directory(cx, scope)?;
    let mut pieces = Vec::new();
    if let Some(file) = host.path(cx, scope)? {
        let content = Content::Handlers(host);
        pieces.push((file, Piece { part: SetupPart::Hooks, content }));
    }
    let (file, content) = server(host, scope, &top, &directory);
    pieces.push((file, Piece { part: SetupPart::Tools, content }));
    let rules = rules::allow(host);
    match host {
        AgentHost::ClaudeCode => {
            let path = &["permissions", "allow"];
            let content = Content::Entries(Entries { host, path, entries: EntryList::Items(rules) });
            pieces.push((directory.join("settings.json"), Piece { part: SetupPart::Permissions, content }));
        }
        AgentHost::Codex => {
            let content = Content::File(format!("{}\n", rules.join("\n")));
            pieces.push((directory.join("rules/flow.rules"), Piece { part: SetupPart::Permissions, content }));
        }
        // Their rules were not looked at yet.
        _ => {}
    }
    for (path, text) in skills_in(&skills(host, scope, &top, &directory).to_string_lossy()) {
        pieces.push((path, Piece { part: SetupPart::Skills, content: Content::File(text) }));
    }
    Ok(pieces)
}

/// The directory below which all files of the scope are: the project's, or the user's home directory.
pub(super) fn top(cx: &Context, scope: SettingsScope) -> Result<PathBuf> {
    match (scope, &cx.env.home) {
        (SettingsScope::User, Some(home)) => Ok(home.clone()),
        (SettingsScope::User, None) => {
            Err(runs::Error::Usage("HOME is not set, so the user's settings cannot be found".to_owned()).into())
        }
        _ => Ok(project_root(cx)?),
    }
}

/// Where the host looks for skills.
fn skills(host: AgentHost, scope: SettingsScope, top: &Path, directory: &Path) -> PathBuf {
    match (host, scope) {
        (AgentHost::ClaudeCode | AgentHost::Qwen, _) => directory.join("skills"),
        _ => top.join(".agents/skills"),
    }
}

/// Where the host has its servers for tools, and the entry of `flow mcp` there.
fn server(host: AgentHost, scope: SettingsScope, top: &Path, directory: &Path) -> (PathBuf, Content) {
    let is_user = scope == SettingsScope::User;
    let entry = json!({ "command": "flow", "args": ["mcp"] });
    let member = |path: &'static [&'static str], value: Value| {
        Content::Entries(Entries { host, path, entries: EntryList::Member(SERVER, value) })
    };
    match host {
        AgentHost::Codex => (directory.join("config.toml"), Content::TomlServer),
        AgentHost::ClaudeCode if is_user => {
            // It lies beside the directory, and in it if the directory is one that the user chose.
            let default = directory == top.join(".claude");
            let file = if default { top.join(".claude.json") } else { directory.join(".claude.json") };
            (file, member(&["mcpServers"], entry))
        }
        AgentHost::Copilot if is_user => {
            let entry = json!({ "type": "local", "command": "flow", "args": ["mcp"], "tools": ["*"] });
            (directory.join("mcp-config.json"), member(&["mcpServers"], entry))
        }
        AgentHost::ClaudeCode | AgentHost::Copilot => (top.join(".mcp.json"), member(&["mcpServers"], entry)),
        AgentHost::Qwen | AgentHost::GeminiCli => (directory.join("settings.json"), member(&["mcpServers"], entry)),
        AgentHost::Opencode => {
            let entry = json!({ "type": "local", "command": ["flow", "mcp"], "enabled": true });
            let directory = if is_user { directory } else { top };
            (directory.join("opencode.json"), member(&["mcp"], entry))
        }
        AgentHost::Cursor => (directory.join("mcp.json"), member(&["mcpServers"], entry)),
        AgentHost::Kiro => (directory.join("settings/mcp.json"), member(&["mcpServers"], entry)),
    }
}
