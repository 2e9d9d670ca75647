//! The hosts of agents that flow knows: one table, from which everything that flow says about a host follows.
//!
//! Claude Code 2.1, Codex 0.169, Qwen Code 0.24, Gemini CLI 0.61, Copilot CLI 1.0 and OpenCode 1.18 were tried. What is
//! said of the others comes from their documentation.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::model::named;

named! {
    /// A host with hooks, by its name on the command line.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, JsonSchema)]
    pub enum AgentHost {
        /// Claude Code.
        ClaudeCode = "claude-code",
        /// Codex.
        Codex = "codex",
        /// Qwen Code.
        Qwen = "qwen",
        /// Gemini CLI.
        GeminiCli = "gemini-cli",
        /// Copilot CLI.
        Copilot = "copilot",
        /// OpenCode.
        Opencode = "opencode",
        /// Cursor.
        Cursor = "cursor",
        /// Kiro CLI.
        Kiro = "kiro",
    }
}

/// A host of agents, and how it shows to the commands that it runs.
#[derive(Debug, PartialEq, Eq)]
pub struct Host {
    /// What ids of its sessions begin with where it names none.
    pub name: &'static str,
    /// Variables that only it sets, those with the id of the session first. Any value but an empty one counts.
    pub(super) variables: &'static [&'static str],
    /// How many of them have the id of the session.
    pub(super) ids: usize,
    /// The variable with the number of its process.
    pub(super) pid: Option<&'static str>,
    /// The names of its program.
    pub(super) programs: &'static [&'static str],
    /// Its hooks, if it has any that flow knows.
    pub(super) hooks: Option<Hooks>,
}

/// The hooks of a host.
#[derive(Debug, PartialEq, Eq)]
pub struct Hooks {
    /// The host that runs them.
    pub host: AgentHost,
    /// Its name for people.
    pub title: &'static str,
    /// Whether it was tried; otherwise all of this is from its documentation.
    pub is_tried: bool,
    /// Whether it names the session to its hooks.
    pub names_session: bool,
    /// By what it shows to its hooks.
    pub(super) sign: Sign,
    /// The variable in which it names the project to its hooks.
    pub(super) project: Option<&'static str>,
    /// Where it keeps the user's settings.
    pub home: HostHome,
    /// The file for the user, below [`Self::home`].
    pub user_file: &'static str,
    /// The file in a project.
    pub project_file: &'static str,
    /// The file for one checkout of a project.
    pub local_file: Option<&'static str>,
    /// The settings of an administrator, which no user can change.
    pub managed: &'static [&'static str],
    /// How the file is written.
    pub shape: Shape,
    /// The events that flow answers.
    pub events: &'static [HostEvent],
    /// The event at which a run is continued when that is turned on.
    pub stop: Option<HostEvent>,
    /// What it reads on standard output.
    pub wire: Wire,
    /// The only keys that its file may have, which then may not begin with a byte order mark either.
    pub only_keys: Option<&'static [&'static str]>,
    /// Whether it shows a status line that a program writes.
    pub has_status_line: bool,
    /// What a person has to do before it runs hooks.
    pub trust: Trust,
    /// The rules by which a person lets it call flow without asking.
    pub rules: Rules,
}

/// An event of a host at which it runs a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostEvent {
    /// Its name in the host's settings.
    pub name: &'static str,
    /// The command of `flow hook HOST` that answers it.
    pub answer: &'static str,
}

impl HostEvent {
    const fn new(name: &'static str, answer: &'static str) -> Self {
        Self { name, answer }
    }
}

/// What a person has to do before a host runs hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// Trust the folder of a project. The text says what else there is to know.
    Folder(&'static str),
    /// Trust each hook, at its position in the file.
    Hook,
}

/// The rules by which a person lets a host call flow without asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rules {
    /// flow knows none.
    Unknown,
    /// A list of commands in JSON, at this place.
    List(&'static str),
    /// A rule about the beginnings of commands, at this place.
    Beginnings(&'static str),
}

/// By what a host shows to its hooks. A host that another one started inherits the other's variables, so one with a session
/// counts only where it is that of the payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    /// By nothing.
    Nothing,
    /// By this variable, which has the id of the session.
    Session(&'static str),
    /// By this variable.
    Variable(&'static str),
}

/// Where a host keeps the user's settings.
#[derive(Debug, PartialEq, Eq)]
pub struct HostHome {
    /// The variable that names the directory, and what is below it.
    pub(super) variable: Option<(&'static str, &'static str)>,
    /// The directory in the user's home where no variable names it.
    pub directory: &'static str,
}

/// How a host's file is written.
#[derive(Debug, PartialEq, Eq)]
pub enum Shape {
    /// An event has a list of groups, each with a list of handlers and perhaps a matcher.
    Groups(Handler),
    /// An event has a list of handlers.
    Flat(Handler),
    /// The file is a script, which flow writes whole.
    Script,
}

/// How a handler is written.
#[derive(Debug, PartialEq, Eq)]
pub struct Handler {
    /// The key of its command line.
    pub command: &'static str,
    /// Whether it says that it is a command.
    pub is_typed: bool,
    /// The key of its time limit.
    pub timeout: &'static str,
    /// Three seconds, which are what Codex allows at most at the end of a session, in the host's unit.
    pub limit: u32,
    /// What a file needs besides the hooks: keys, and their values as JSON.
    pub beside: &'static [(&'static str, &'static str)],
}

/// What a host reads on standard output of a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    /// `hookSpecificOutput`. Where the host goes on after a turn, it is told by the same (Claude Code would show a "block" as a
    /// problem), or by this decision.
    Specific(Option<&'static str>),
    /// `additionalContext` at the top; it goes on by the decision "block".
    Top,
    /// `additional_context`, and `followup_message` to go on.
    Cursor,
    /// Plain text.
    Plain,
}

const fn handler(limit: u32) -> Handler {
    Handler { command: "command", is_typed: true, timeout: "timeout", limit, beside: &[] }
}

const fn host(
    name: &'static str,
    variables: &'static [&'static str],
    ids: usize,
    programs: &'static [&'static str],
) -> Host {
    Host { name, variables, ids, pid: None, programs, hooks: None }
}

const fn home(directory: &'static str) -> HostHome {
    HostHome { variable: None, directory }
}

const START: HostEvent = HostEvent::new("SessionStart", "session-start");
const PROMPT: HostEvent = HostEvent::new("UserPromptSubmit", "user-prompt-submit");
const END: HostEvent = HostEvent::new("SessionEnd", "session-end");
const STOP: HostEvent = HostEvent::new("Stop", "stop");

/// The hosts. Of several that show, because one agent started another, the one whose process is nearest counts. Where none of
/// these processes is visible, the first of them counts: Codex runs commands in a sandbox that shows nothing outside of it.
pub(super) const HOSTS: &[Host] = &[
    Host {
        hooks: Some(CODEX),
        ..host(
            "codex",
            &["CODEX_SESSION_ID", "CODEX_THREAD_ID", "CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_CI"],
            2,
            &["codex", "codex-linux-sandbox"],
        )
    },
    Host { hooks: Some(COPILOT), ..host("copilot", &["COPILOT_AGENT_SESSION_ID", "COPILOT_CLI"], 1, &["copilot"]) },
    Host { hooks: Some(QWEN), ..host("qwen", &["QWEN_CODE_SESSION_ID", "QWEN_CODE"], 1, &["qwen"]) },
    host("amp", &["AMP_CURRENT_THREAD_ID"], 1, &["amp"]),
    Host {
        pid: Some("CLAUDE_PID"),
        hooks: Some(CLAUDE),
        ..host("claude", &["CLAUDE_CODE_SESSION_ID", "CLAUDECODE", "CLAUDE_CODE"], 1, &["claude"])
    },
    Host { hooks: Some(GEMINI), ..host("gemini", &["GEMINI_CLI"], 0, &["gemini"]) },
    Host { pid: Some("OPENCODE_PID"), hooks: Some(OPENCODE), ..host("opencode", &["OPENCODE"], 0, &["opencode"]) },
    Host { hooks: Some(CURSOR), ..host("cursor", &["CURSOR_AGENT"], 0, &["cursor-agent"]) },
    Host { hooks: Some(KIRO), ..host("kiro", &[], 0, &["kiro-cli"]) },
    host("augment", &["AUGMENT_AGENT"], 0, &["auggie"]),
    host("antigravity", &["ANTIGRAVITY_AGENT", "ANTIGRAVITY_PROJECT_ID"], 0, &[]),
    host("pi", &["PI_CODING_AGENT"], 0, &[]),
    host("crush", &["CRUSH"], 0, &["crush"]),
    host("aider", &[], 0, &["aider"]),
    host("droid", &[], 0, &["droid"]),
    host("devin", &[], 0, &["devin"]),
    host("octofriend", &[], 0, &["octofriend"]),
];

/// A host that flow does not know otherwise: by a convention of several hosts, or by what an editor's agent sets.
pub(super) const ANY: Host = host("agent", &["AI_AGENT", "AGENT"], 0, &[]);

const CLAUDE: Hooks = Hooks {
    host: AgentHost::ClaudeCode,
    title: "Claude Code",
    is_tried: true,
    names_session: true,
    sign: Sign::Session("CLAUDE_CODE_SESSION_ID"),
    project: Some("CLAUDE_PROJECT_DIR"),
    home: HostHome { variable: Some(("CLAUDE_CONFIG_DIR", "")), directory: ".claude" },
    user_file: "settings.json",
    project_file: ".claude/settings.json",
    local_file: Some(".claude/settings.local.json"),
    managed: &["/etc/claude-code/managed-settings.json"],
    shape: Shape::Groups(handler(3)),
    events: &[START, PROMPT, END, HostEvent::new("PreCompact", "pre-compact")],
    stop: Some(STOP),
    wire: Wire::Specific(None),
    only_keys: None,
    has_status_line: true,
    trust: Trust::Folder("; `/hooks` shows them"),
    rules: Rules::List("permissions.allow"),
};

// Codex and Qwen Code read nothing before a compaction, and the Gemini CLI reports one before every request.
const CODEX: Hooks = Hooks {
    host: AgentHost::Codex,
    title: "Codex",
    sign: Sign::Nothing,
    project: None,
    home: HostHome { variable: Some(("CODEX_HOME", "")), directory: ".codex" },
    user_file: "hooks.json",
    project_file: ".codex/hooks.json",
    local_file: None,
    managed: &["/etc/codex/requirements.toml", "/etc/codex/managed_config.toml"],
    events: &[START, PROMPT, END],
    wire: Wire::Specific(Some("block")),
    only_keys: Some(&["description", "hooks"]),
    has_status_line: false,
    trust: Trust::Hook,
    rules: Rules::Beginnings("a file in ~/.codex/rules"),
    ..CLAUDE
};

const QWEN: Hooks = Hooks {
    host: AgentHost::Qwen,
    title: "Qwen Code",
    sign: Sign::Session("QWEN_CODE_SESSION_ID"),
    project: Some("QWEN_PROJECT_DIR"),
    home: home(".qwen"),
    project_file: ".qwen/settings.json",
    local_file: None,
    managed: &["/etc/qwen-code/settings.json"],
    events: &[START, PROMPT, END],
    has_status_line: false,
    trust: Trust::Folder(""),
    rules: Rules::Unknown,
    ..CLAUDE
};

const GEMINI: Hooks = Hooks {
    host: AgentHost::GeminiCli,
    title: "Gemini CLI",
    sign: Sign::Session("GEMINI_SESSION_ID"),
    project: Some("GEMINI_PROJECT_DIR"),
    home: home(".gemini"),
    project_file: ".gemini/settings.json",
    managed: &["/etc/gemini-cli/settings.json"],
    shape: Shape::Groups(handler(3000)),
    events: &[START, HostEvent::new("BeforeAgent", "user-prompt-submit"), END],
    stop: Some(HostEvent::new("AfterAgent", "stop")),
    wire: Wire::Specific(Some("deny")),
    ..QWEN
};

/// With these names of events, Copilot sends the fields that Claude Code sends.
const COPILOT: Hooks = Hooks {
    host: AgentHost::Copilot,
    title: "Copilot CLI",
    sign: Sign::Variable("COPILOT_CLI"),
    project: Some("COPILOT_PROJECT_DIR"),
    home: HostHome { variable: Some(("COPILOT_HOME", "")), directory: ".copilot" },
    user_file: "hooks/flow.json",
    project_file: ".github/hooks/flow.json",
    managed: &[],
    shape: Shape::Flat(Handler { command: "bash", timeout: "timeoutSec", beside: &[("version", "1")], ..handler(3) }),
    wire: Wire::Top,
    ..QWEN
};

const OPENCODE: Hooks = Hooks {
    host: AgentHost::Opencode,
    title: "OpenCode",
    sign: Sign::Nothing,
    project: None,
    home: HostHome { variable: Some(("XDG_CONFIG_HOME", "opencode")), directory: ".config/opencode" },
    user_file: "plugins/flow.js",
    project_file: ".opencode/plugins/flow.js",
    managed: &[],
    shape: Shape::Script,
    events: &[],
    stop: None,
    wire: Wire::Plain,
    ..QWEN
};

const CURSOR: Hooks = Hooks {
    host: AgentHost::Cursor,
    title: "Cursor",
    is_tried: false,
    sign: Sign::Variable("CURSOR_VERSION"),
    project: Some("CURSOR_PROJECT_DIR"),
    home: home(".cursor"),
    user_file: "hooks.json",
    project_file: ".cursor/hooks.json",
    managed: &[],
    shape: Shape::Flat(Handler { is_typed: false, beside: &[("version", "1")], ..handler(3) }),
    events: &[
        HostEvent::new("sessionStart", "session-start"),
        HostEvent::new("beforeSubmitPrompt", "user-prompt-submit"),
        HostEvent::new("sessionEnd", "session-end"),
    ],
    stop: Some(HostEvent::new("stop", "stop")),
    wire: Wire::Cursor,
    ..QWEN
};

/// Kiro names no session to its hooks, and has them in an agent's file: this is an agent of flow's own.
const KIRO: Hooks = Hooks {
    host: AgentHost::Kiro,
    title: "Kiro CLI",
    names_session: false,
    sign: Sign::Nothing,
    project: None,
    home: home(".kiro"),
    user_file: "agents/flow.json",
    project_file: ".kiro/agents/flow.json",
    shape: Shape::Flat(Handler {
        is_typed: false,
        timeout: "timeout_ms",
        beside: &[
            ("name", "\"flow\""),
            ("description", "\"Knows where the run of flow stands\""),
            ("tools", "[\"*\"]"),
        ],
        ..handler(3000)
    }),
    events: &[HostEvent::new("agentSpawn", "session-start")],
    stop: None,
    wire: Wire::Plain,
    trust: Trust::Folder(", where you begin it with `kiro-cli chat --agent flow`"),
    ..CURSOR
};

/// The hooks of all hosts that have some.
pub(super) fn all_hooks() -> impl Iterator<Item = &'static Hooks> {
    HOSTS.iter().filter_map(|host| host.hooks.as_ref())
}

impl AgentHost {
    /// The names on the command line.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Self::ALL.into_iter().map(Self::as_str)
    }

    /// The host with this name on the command line.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        name.parse().ok()
    }

    /// The host and its hooks.
    fn row(self) -> (&'static Host, &'static Hooks) {
        let mut rows = HOSTS.iter().filter_map(|host| Some((host, host.hooks.as_ref()?)));
        rows.find(|(_, hooks)| hooks.host == self).expect("each has a row, which a test holds")
    }

    /// What flow knows of its hooks.
    #[must_use]
    pub fn hooks(self) -> &'static Hooks {
        self.row().1
    }

    /// The name for people.
    #[must_use]
    pub fn title(self) -> &'static str {
        self.hooks().title
    }

    /// The name of its program, as that of a host of agents.
    pub(crate) fn program(self) -> &'static str {
        self.row().0.name
    }

    /// The names of its program's file.
    pub(crate) fn programs(self) -> &'static [&'static str] {
        self.row().0.programs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_host_with_hooks_has_one_row_and_its_name_is_that_of_documents() {
        let rows = HOSTS.iter().filter(|host| host.hooks.is_some()).count();
        assert_eq!(rows, AgentHost::ALL.len());
        for host in AgentHost::ALL {
            assert_eq!(host.hooks().host, host);
            assert_eq!(serde_json::to_value(host).unwrap(), host.as_str());
            assert!(!host.programs().is_empty(), "{host:?}");
            if let Shape::Groups(handler) | Shape::Flat(handler) = &host.hooks().shape {
                for (_, value) in handler.beside {
                    serde_json::from_str::<serde_json::Value>(value).unwrap();
                }
            }
        }
    }
}
