//! What speaks against hooks in a file of settings.

use std::path::PathBuf;

use serde_json::Value;

use crate::codec::{Place, TomlText, parse_json};
use crate::hooks::settings::AgentHost;
use crate::hooks::settings::file::{SettingsFile, text_of};
use crate::hooks::settings::host::SettingsScope;
use crate::model::{Kind, Problem};
use crate::runs::{Context, Result};

/// The file in which Codex keeps everything but hooks.
pub(super) const CONFIG: &str = "config.toml";

/// Refuses to add hooks where the host would run them twice.
pub(super) fn refuse(cx: &Context, settings: &SettingsFile) -> Result<()> {
    if let Some(plugin) = plugin(cx, settings.host) {
        let title = settings.host.title();
        let message = format!(
            "the plugin `{plugin}` is installed in {title}, and brings these hooks: each event would be answered twice"
        );
        return Err(Problem::new(Kind::Refused, "plugin_present", message)
            .help("keep the plugin, or remove it in the host first. Nothing was written")
            .into());
    }
    // Codex reads hooks.json and config.toml, and runs the hooks of both.
    if settings.host == AgentHost::Codex
        && let Some((path, place)) = hooks_in_config(cx, settings)
    {
        let at = path.display();
        let message = format!("{at}:{place}: Codex has hooks here as well as in hooks.json, and reads both");
        return Err(Problem::new(Kind::Refused, "hooks_in_config", message)
            .help("move those hooks into hooks.json, or add flow's to them by hand. Nothing was written")
            .into());
    }
    Ok(())
}

/// Hooks in `config.toml`. What Codex notes there about hooks that a person trusted is not one.
pub(super) fn hooks_in_config(cx: &Context, settings: &SettingsFile) -> Option<(PathBuf, Place)> {
    let (path, text) = settings.beside(cx, CONFIG)?;
    let config = TomlText::parse(&text)?;
    let event = config.keys(&["hooks"]).into_iter().find(|key| key != "state")?;
    Some((path, config.place(&["hooks", &event])?))
}

/// flow's plugin in flow's marketplace. Other marketplaces may have another plugin of this name.
const PLUGIN: &str = "flow@flow";

/// The plugin of flow that the host has, by its name.
pub(super) fn plugin(cx: &Context, host: AgentHost) -> Option<String> {
    let is_on = match host {
        AgentHost::ClaudeCode => is_enabled_in_claude_code(cx),
        AgentHost::Codex => {
            let config = codex_config(cx)?;
            let is_there = config.keys(&["plugins"]).iter().any(|name| name == PLUGIN);
            is_there && config.flag(&["plugins", PLUGIN, "enabled"]) != Some(false)
        }
        _ => false,
    };
    if is_on { Some(PLUGIN.to_owned()) } else { None }
}

fn is_enabled_in_claude_code(cx: &Context) -> bool {
    // The narrowest scope that names the plugin decides.
    for scope in SettingsScope::ALL.into_iter().rev() {
        let Some(settings) = settings(cx, AgentHost::ClaudeCode, scope) else { continue };
        if let Some(on) = settings["enabledPlugins"].get(PLUGIN) {
            // An array of texts turns it on as well.
            return *on != Value::Bool(false);
        }
    }
    false
}

/// The user's configuration of Codex.
pub(super) fn codex_config(cx: &Context) -> Option<TomlText> {
    let path = AgentHost::Codex.home(cx).ok()?.join(CONFIG);
    TomlText::parse(&text_of(cx, &path)?)
}

/// What the settings of a scope say; `None` if they cannot be read.
pub(super) fn settings(cx: &Context, host: AgentHost, scope: SettingsScope) -> Option<Value> {
    let path = host.path(cx, scope).ok()??;
    let text = text_of(cx, &path)?;
    parse_json(text.trim_start_matches('\u{feff}')).ok()
}
