//! What each host is given, and in which files.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::hooks::settings::AgentHost;
use crate::hooks::settings::host::SettingsScope;
use crate::hooks::settings::plugin::skills_in;
use crate::hooks::settings::rules;
use crate::hooks::settings::setup::entries::{Entries, EntryList};
use crate::hooks::settings::setup::piece::{Piece, PieceContent, SetupPart};
use crate::runs::{Context, Error, Result};

/// The key of flow's server among those of a host.
const SERVER: &str = "flow";

/// The pieces for `host`, each with its file.
pub(super) fn pieces(cx: &Context, host: AgentHost, scope: SettingsScope) -> Result<Vec<(PathBuf, Piece)>> {
    let top = top(cx, scope)?;
    let directory = host.directory(cx, scope)?;
    let mut pieces = Vec::new();
    if let Some(file) = host.path(cx, scope)? {
        pieces.push((file, Piece { part: SetupPart::Hooks, content: PieceContent::Handlers(host) }));
    }
    let (file, content) = server(host, scope, &top, &directory);
    pieces.push((file, Piece { part: SetupPart::Tools, content }));
    let rules = rules::allow(host);
    match host {
        AgentHost::ClaudeCode => {
            let path = &["permissions", "allow"];
            let content = PieceContent::Entries(Entries { host, path, entries: EntryList::Items(rules) });
            pieces.push((directory.join("settings.json"), Piece { part: SetupPart::Permissions, content }));
        }
        AgentHost::Codex => {
            let content = PieceContent::File(format!("{}\n", rules.join("\n")));
            pieces.push((directory.join("rules/flow.rules"), Piece { part: SetupPart::Permissions, content }));
        }
        // Their rules were not looked at yet.
        _ => {}
    }
    for (path, text) in skills_in(&skills(host, scope, &top, &directory).to_string_lossy()) {
        pieces.push((path, Piece { part: SetupPart::Skills, content: PieceContent::File(text) }));
    }
    Ok(pieces)
}

/// The directory below which all files of the scope are: the project's, or the user's home directory.
pub(super) fn top(cx: &Context, scope: SettingsScope) -> Result<PathBuf> {
    match (scope, &cx.env.home) {
        (SettingsScope::User, Some(home)) => Ok(home.clone()),
        (SettingsScope::User, None) => {
            Err(Error::Usage("HOME is not set, so the user's settings cannot be found".to_owned()))
        }
        _ => cx.root(),
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
fn server(host: AgentHost, scope: SettingsScope, top: &Path, directory: &Path) -> (PathBuf, PieceContent) {
    let is_user = scope == SettingsScope::User;
    let mut path: &[&str] = &["mcpServers"];
    let mut entry = json!({ "command": "flow", "args": ["mcp"] });
    let file = match host {
        AgentHost::Codex => return (directory.join("config.toml"), PieceContent::TomlServer),
        // It lies beside the directory, and in it if the directory is one that the user chose.
        AgentHost::ClaudeCode if is_user && directory == top.join(".claude") => top.join(".claude.json"),
        AgentHost::ClaudeCode if is_user => directory.join(".claude.json"),
        AgentHost::Copilot if is_user => {
            entry = json!({ "type": "local", "command": "flow", "args": ["mcp"], "tools": ["*"] });
            directory.join("mcp-config.json")
        }
        AgentHost::ClaudeCode | AgentHost::Copilot => top.join(".mcp.json"),
        AgentHost::Qwen | AgentHost::GeminiCli => directory.join("settings.json"),
        AgentHost::Opencode => {
            path = &["mcp"];
            entry = json!({ "type": "local", "command": ["flow", "mcp"], "enabled": true });
            if is_user { directory.join("opencode.json") } else { top.join("opencode.json") }
        }
        AgentHost::Cursor => directory.join("mcp.json"),
        AgentHost::Kiro => directory.join("settings/mcp.json"),
    };
    (file, PieceContent::Entries(Entries { host, path, entries: EntryList::Member(SERVER, entry) }))
}
