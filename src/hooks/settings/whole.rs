//! For what a host puts all of a settings file out of effect, although it is JSON.
//!
//! `tests/hosts/settings/run` asks Claude Code 2.1.330 for each value here; Codex 0.169.0 was asked with `hooks/list`. Claude
//! Code only skips what is wrong in most events, and rules of permissions that it cannot read, and takes values of any type
//! in `env`. Which words a key with a few known ones may have is not held here, because their number grows.

use serde_json::Value;

use crate::codec::{JsonNode, JsonText};
use crate::hooks::settings::AgentHost;
use crate::hooks::settings::edit::HOOKS;

/// What a host takes.
struct Taken {
    /// Types of keys, those of an object within the settings behind it.
    keys: &'static [(&'static [&'static str], Kind)],
    /// The events in which something wrong counts for the whole file.
    events: &'static [&'static str],
    /// Whether such an event may be null.
    has_null_events: bool,
    /// Whether an entry of an event must have `hooks`.
    needs_hooks: bool,
    matcher: Kind,
    /// The kinds of handlers, and what each must have.
    handlers: &'static [(&'static str, &'static [&'static str])],
    /// Types of other keys of a handler.
    of_handler: &'static [(&'static str, Kind)],
}

/// Claude Code puts everything out of effect rather than to miss a handler that may forbid something.
const CLAUDE: Taken = Taken {
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

const CODEX: Taken = Taken {
    keys: &[(&["description"], MaybeText)],
    events: &[
        "SessionStart",
        "UserPromptSubmit",
        "SessionEnd",
        "PreToolUse",
        "PermissionRequest",
        "PostToolUse",
        "PreCompact",
        "PostCompact",
        "SubagentStart",
        "SubagentStop",
        "Stop",
        "Interrupt",
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
enum Kind {
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

use Kind::{Count, Flag, List, MaybeCount, MaybeText, Object, Seconds, Text, Texts};

/// The keys, those of an object within the settings behind it.
const KEYS: &[(&[&str], Kind)] = &[
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
    let taken = match host {
        AgentHost::ClaudeCode => &CLAUDE,
        AgentHost::Codex => &CODEX,
        _ => return None,
    };
    let judge = Judge { json, taken };
    let root = json.root();
    for (path, kind) in taken.keys {
        let Some(node) = path.iter().try_fold(root, |node, key| node.get(key)) else { continue };
        if let Some(wrong) = judge.of_kind(node, *kind) {
            return Some((node, format!("{:?} {wrong}", path.join("."))));
        }
    }
    judge.events(root).or_else(|| judge.status_line(root)).or_else(|| judge.plugins(root))
}

struct Judge<'j, 't> {
    json: &'j JsonText<'t>,
    taken: &'static Taken,
}

type Found<'n> = Option<(&'n JsonNode, String)>;

impl Judge<'_, '_> {
    /// What is wrong with a value that must be of this kind.
    fn of_kind(&self, node: &JsonNode, kind: Kind) -> Option<&'static str> {
        let value = self.json.value(node);
        let is_texts = || value.as_array().is_some_and(|items| items.iter().all(Value::is_string));
        let (is_right, wrong) = match kind {
            Text => (value.is_string(), "is not a text"),
            MaybeText => (value.is_string() || value.is_null(), "is not a text"),
            Flag => (value.is_boolean(), "is not true or false"),
            Count => (value.as_u64().is_some_and(|count| count > 0), "is not a whole number from 1 on"),
            MaybeCount => (value.is_u64() || value.is_null(), "is not a whole number from 0 on"),
            Seconds => (value.as_f64().is_some_and(|seconds| seconds > 0.0), "is not a number above 0"),
            List => (value.is_array(), "is not an array"),
            Texts => (is_texts(), "is not an array of texts"),
            Object => (value.is_object(), "is not an object"),
        };
        (!is_right).then_some(wrong)
    }

    fn status_line<'n>(&self, root: &'n JsonNode) -> Found<'n> {
        let line = root.get("statusLine")?;
        let is = |key: &str, wanted: &dyn Fn(&Value) -> bool| {
            line.get(key).is_some_and(|node| wanted(&self.json.value(node)))
        };
        if is("type", &|value| value == "command") && is("command", &Value::is_string) {
            return None;
        }
        Some((line, "\"statusLine\" has not the type \"command\" and a command".to_owned()))
    }

    fn plugins<'n>(&self, root: &'n JsonNode) -> Found<'n> {
        for plugin in root.get("enabledPlugins")?.members().unwrap_or_default() {
            let value = self.json.value(&plugin.value);
            if !value.is_boolean() && self.of_kind(&plugin.value, Texts).is_some() {
                let wrong = format!("the plugin {:?} is not true, false or an array of texts", plugin.key);
                return Some((&plugin.value, wrong));
            }
        }
        None
    }

    fn events<'n>(&self, root: &'n JsonNode) -> Found<'n> {
        for event in root.get(HOOKS)?.members().unwrap_or_default() {
            let is_null = self.json.value(&event.value).is_null();
            if !self.taken.events.contains(&event.key.as_str()) || (is_null && self.taken.has_null_events) {
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

    fn entry<'n>(&self, entry: &'n JsonNode) -> Found<'n> {
        if entry.members().is_none() || (self.taken.needs_hooks && entry.get(HOOKS).is_none()) {
            return Some((entry, "an item has no \"hooks\"".to_owned()));
        }
        if let Some(matcher) = entry.get("matcher")
            && self.of_kind(matcher, self.taken.matcher).is_some()
        {
            return Some((matcher, "the matcher is not a text".to_owned()));
        }
        let hooks = entry.get(HOOKS)?;
        let Some(handlers) = hooks.items() else { return Some((hooks, "\"hooks\" is not an array".to_owned())) };
        handlers.iter().find_map(|handler| self.handler(&handler.value))
    }

    fn handler<'n>(&self, handler: &'n JsonNode) -> Found<'n> {
        if handler.members().is_none() {
            return Some((handler, "a handler is not an object".to_owned()));
        }
        let kind = handler.get("type").map(|node| self.json.value(node)).unwrap_or_default();
        let Some((kind, needed)) = self.taken.handlers.iter().find(|(name, _)| kind == *name) else {
            let kinds: Vec<_> = self.taken.handlers.iter().map(|(name, _)| *name).collect();
            return Some((handler, format!("a handler has none of the types {}", kinds.join(", "))));
        };
        for key in *needed {
            if handler.get(key).is_none_or(|node| self.of_kind(node, Text).is_some()) {
                return Some((handler, format!("a handler of the type {kind:?} has no text {key:?}")));
            }
        }
        for (key, kind) in self.taken.of_handler {
            let Some(node) = handler.get(key) else { continue };
            if let Some(wrong) = self.of_kind(node, *kind) {
                return Some((node, format!("{key:?} of a handler {wrong}")));
            }
        }
        None
    }
}
