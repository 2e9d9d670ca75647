//! For what a host puts all of a settings file out of effect, although it is JSON.
//!
//! `tests/hosts/settings/run` asks Claude Code 2.1.330 for each value here; Codex 0.169.0 was asked with `hooks/list`. Claude
//! Code only skips what is wrong in most events, and rules of permissions that it cannot read, and takes values of any type
//! in `env`. Which words a key with a few known ones may have is not held here, because their number grows.

use serde_json::Value;

use crate::codec::{JsonNode, JsonText};
use crate::hooks::settings::AgentHost;
use crate::hooks::settings::host::{HOOKS, STATUS_LINE};

/// What a host takes.
struct AcceptedSettings {
    /// Types of keys, those of an object within the settings behind it.
    keys: &'static [(&'static [&'static str], ValueType)],
    /// The events in which something wrong counts for the whole file.
    events: &'static [&'static str],
    /// Whether such an event may be null.
    has_null_events: bool,
    /// Whether an entry of an event must have `hooks`.
    needs_hooks: bool,
    matcher: ValueType,
    /// The kinds of handlers, and what each must have.
    handlers: &'static [(&'static str, &'static [&'static str])],
    /// Types of other keys of a handler.
    of_handler: &'static [(&'static str, ValueType)],
}

/// Claude Code puts everything out of effect rather than to miss a handler that may forbid something.
const CLAUDE: AcceptedSettings = AcceptedSettings {
    keys: KEYS,
    events: &["PreToolUse", "PermissionRequest"],
    has_null_events: true,
    needs_hooks: true,
    matcher: Text,
    handlers: &[
        ("command", &["command"]),
        ("prompt", &["prompt"]),
        ("agent", &["prompt"]),
        ("http", &["url"]),
        ("mcp_tool", &["server", "tool"]),
    ],
    of_handler: &[
        ("async", Flag),
        ("asyncRewake", Flag),
        ("once", Flag),
        ("statusMessage", Text),
        ("shell", Text),
        ("if", Text),
        ("args", Texts),
        ("timeout", Seconds),
    ],
};

const CODEX: AcceptedSettings = AcceptedSettings {
    keys: &[(&["description"], MaybeText)],
    events: &[
        "SessionStart", "UserPromptSubmit", "SessionEnd", "PreToolUse", "PermissionRequest", "PostToolUse",
        "PreCompact", "PostCompact", "SubagentStart", "SubagentStop", "Stop", "Interrupt",
    ],
    has_null_events: false,
    needs_hooks: false,
    matcher: MaybeText,
    handlers: &[("command", &["command"]), ("prompt", &[]), ("agent", &[]), ("mcp_tool", &[])],
    of_handler: &[
        ("async", Flag),
        ("statusMessage", MaybeText),
        ("commandWindows", MaybeText),
        ("timeout", MaybeCount),
    ],
};

/// The type that a value must have.
#[derive(Debug, Clone, Copy)]
enum ValueType {
    Text,
    MaybeText,
    Flag,
    /// A whole number above 0.
    Count,
    MaybeCount,
    /// A number above 0.
    Seconds,
    List,
    Texts,
    Object,
}

use ValueType::{Count, Flag, List, MaybeCount, MaybeText, Object, Seconds, Text, Texts};

/// The keys, those of an object within the settings behind it.
const KEYS: &[(&[&str], ValueType)] = &[
    (&["$schema"], Text),
    (&["agent"], Text),
    (&["allowManagedHooksOnly"], Flag),
    (&["allowedHttpHookUrls"], Texts),
    (&["alwaysThinkingEnabled"], Flag),
    (&["apiKeyHelper"], Text),
    (&["attribution"], Object),
    (&["attribution", "commit"], Text),
    (&["attribution", "pr"], Text),
    (&["autoCompactEnabled"], Flag),
    (&["autoMemoryDirectory"], Text),
    (&["autoMemoryEnabled"], Flag),
    (&["autoUpdatesChannel"], Text),
    (&["availableModels"], Texts),
    (&["awaySummaryEnabled"], Flag),
    (&["awsAuthRefresh"], Text),
    (&["awsCredentialExport"], Text),
    (&["blockedMarketplaces"], List),
    (&["channelsEnabled"], Flag),
    (&["claudeMdExcludes"], Texts),
    (&["cleanupPeriodDays"], Count),
    (&["companyAnnouncements"], Texts),
    (&["disableAllHooks"], Flag),
    (&["disableSkillShellExecution"], Flag),
    (&["enableAllProjectMcpServers"], Flag),
    (&["enabledPlugins"], Object),
    (&["env"], Object),
    (&["fastMode"], Flag),
    (&["fileSuggestion"], Object),
    (&["httpHookAllowedEnvVars"], Texts),
    (&["includeCoAuthoredBy"], Flag),
    (&["includeGitInstructions"], Flag),
    (&["language"], Text),
    (&["minimumVersion"], Text),
    (&["model"], Text),
    (&["modelOverrides"], Object),
    (&["otelHeadersHelper"], Text),
    (&["outputStyle"], Text),
    (&["permissions"], Object),
    (&["permissions", "additionalDirectories"], Texts),
    (&["permissions", "allow"], List),
    (&["permissions", "ask"], List),
    (&["permissions", "defaultMode"], Text),
    (&["permissions", "deny"], List),
    (&["permissions", "disableBypassPermissionsMode"], Text),
    (&["plansDirectory"], Text),
    (&["pluginConfigs"], Object),
    (&["prefersReducedMotion"], Flag),
    (&["respectGitignore"], Flag),
    (&["sandbox"], Object),
    (&["sandbox", "enabled"], Flag),
    (&["sandbox", "network"], Object),
    (&["showThinkingSummaries"], Flag),
    (&["showTurnDuration"], Flag),
    (&["skillOverrides"], Object),
    (&["skipDangerousModePermissionPrompt"], Flag),
    (&["skipWebFetchPreflight"], Flag),
    (&["spinnerTipsEnabled"], Flag),
    (&["spinnerVerbs"], Object),
    (&["statusLine"], Object),
    (&["strictKnownMarketplaces"], List),
    (&["syntaxHighlightingDisabled"], Flag),
    (&["terminalTitleFromRename"], Flag),
    (&["useAutoModeDuringPlan"], Flag),
    (&["verbose"], Flag),
    (&["voice"], Object),
    (&["worktree"], Object),
];

/// The first value for which the host ignores the whole file, and what is wrong with it.
pub(super) fn fault<'n>(host: AgentHost, json: &'n JsonText<'_>) -> Option<(&'n JsonNode, String)> {
    let accepted = match host {
        AgentHost::ClaudeCode => &CLAUDE,
        AgentHost::Codex => &CODEX,
        // What the others do with such a file was not tried.
        _ => return None,
    };
    let check = Check { json, accepted };
    let root = json.root();
    for (path, kind) in accepted.keys {
        let Some(node) = path.iter().try_fold(root, |node, key| node.get(key)) else { continue };
        if let Some(wrong) = check.type_fault(node, *kind) {
            return Some((node, format!("{:?} {wrong}", path.join("."))));
        }
    }
    check.events(root).or_else(|| check.status_line(root)).or_else(|| check.plugins(root))
}

struct Check<'j, 't> {
    json: &'j JsonText<'t>,
    accepted: &'static AcceptedSettings,
}

/// A value that puts the file out of effect, and what is wrong with it.
type WrongValue<'n> = Option<(&'n JsonNode, String)>;

impl Check<'_, '_> {
    /// What is wrong with a value that must have this type.
    fn type_fault(&self, node: &JsonNode, wanted: ValueType) -> Option<&'static str> {
        let value = self.json.value(node);
        let (is_right, wrong) = match wanted {
            Text => (value.is_string(), "is not a text"),
            MaybeText => (value.is_string() || value.is_null(), "is not a text"),
            Flag => (value.is_boolean(), "is not true or false"),
            Count => (value.is_u64() && value != 0, "is not a whole number from 1 on"),
            MaybeCount => (value.is_u64() || value.is_null(), "is not a whole number from 0 on"),
            Seconds => (matches!(value.as_f64(), Some(seconds) if seconds > 0.0), "is not a number above 0"),
            List => (value.is_array(), "is not an array"),
            Texts => (is_texts(&value), "is not an array of texts"),
            Object => (value.is_object(), "is not an object"),
        };
        if is_right { None } else { Some(wrong) }
    }

    fn status_line<'n>(&self, root: &'n JsonNode) -> WrongValue<'n> {
        let line = root.get(STATUS_LINE)?;
        let value = self.json.value(line);
        if value["type"] == "command" && value["command"].is_string() {
            return None;
        }
        Some((line, "\"statusLine\" has not the type \"command\" and a command".to_owned()))
    }

    fn plugins<'n>(&self, root: &'n JsonNode) -> WrongValue<'n> {
        for plugin in root.get("enabledPlugins")?.members().unwrap_or_default() {
            let value = self.json.value(&plugin.value);
            if !value.is_boolean() && !is_texts(&value) {
                let wrong = format!("the plugin {:?} is not true, false or an array of texts", plugin.key);
                return Some((&plugin.value, wrong));
            }
        }
        None
    }

    fn events<'n>(&self, root: &'n JsonNode) -> WrongValue<'n> {
        for event in root.get(HOOKS)?.members().unwrap_or_default() {
            // In other events the host only skips what is wrong.
            if !self.accepted.events.contains(&event.key.as_str()) {
                continue;
            }
            if self.accepted.has_null_events && self.json.value(&event.value).is_null() {
                continue;
            }
            let Some(entries) = event.value.items() else {
                return Some((&event.value, format!("in {:?}, the value is not an array", event.key)));
            };
            for entry in entries {
                if let Some((node, wrong)) = self.entry(&entry.value) {
                    return Some((node, format!("in {:?}, {wrong}", event.key)));
                }
            }
        }
        None
    }

    fn entry<'n>(&self, entry: &'n JsonNode) -> WrongValue<'n> {
        if entry.members().is_none() || (self.accepted.needs_hooks && entry.get(HOOKS).is_none()) {
            return Some((entry, "an item has no \"hooks\"".to_owned()));
        }
        if let Some(matcher) = entry.get("matcher")
            && self.type_fault(matcher, self.accepted.matcher).is_some()
        {
            return Some((matcher, "the matcher is not a text".to_owned()));
        }
        let hooks = entry.get(HOOKS)?;
        let Some(handlers) = hooks.items() else { return Some((hooks, "\"hooks\" is not an array".to_owned())) };
        handlers.iter().find_map(|handler| self.handler(&handler.value))
    }

    fn handler<'n>(&self, handler: &'n JsonNode) -> WrongValue<'n> {
        if handler.members().is_none() {
            return Some((handler, "a handler is not an object".to_owned()));
        }
        let value = self.json.value(handler);
        let kind = &value["type"];
        let Some((kind, needed)) = self.accepted.handlers.iter().find(|(name, _)| kind == *name) else {
            let kinds: Vec<_> = self.accepted.handlers.iter().map(|(name, _)| *name).collect();
            return Some((handler, format!("a handler has none of the types {}", kinds.join(", "))));
        };
        for key in *needed {
            if !value[key].is_string() {
                return Some((handler, format!("a handler of the type {kind:?} has no text {key:?}")));
            }
        }
        for (key, wanted) in self.accepted.of_handler {
            let Some(node) = handler.get(key) else { continue };
            if let Some(wrong) = self.type_fault(node, *wanted) {
                return Some((node, format!("{key:?} of a handler {wrong}")));
            }
        }
        None
    }
}

fn is_texts(value: &Value) -> bool {
    matches!(value, Value::Array(items) if items.iter().all(Value::is_string))
}
