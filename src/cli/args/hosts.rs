//! Arguments of the commands for agents' hosts.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};

use crate::cli::args::values::text;
use crate::cli::complete;
use crate::hooks::settings::{self, AgentHost};
use crate::model::SessionId;

// Commands of `hooks`.
#[derive(Debug, Subcommand)]
pub(crate) enum HooksCommand {
    /// Add flow's hooks to the settings of hosts, or update them; the rest of the files stays
    Install {
        #[command(flatten)]
        place: PlaceArgs,
        /// Show the change, and write nothing
        #[arg(long)]
        dry_run: bool,
        /// When a turn ends, let the agent go on if the next phase is known (once after a prompt, three times in a session)
        #[arg(long = "continue")]
        continues: bool,
        /// When a turn ends, send the agent to run what its phase requires, if that was not seen to pass (once after a prompt)
        #[arg(long = "gate")]
        gates: bool,
        /// Show the run in Claude Code's status line, unless another program writes it
        #[arg(long = "statusline")]
        status_line: bool,
    },
    /// Remove flow's hooks and restore the files
    Uninstall {
        #[command(flatten)]
        place: PlaceArgs,
        /// Show the change, and write nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Show which hooks are installed where
    Status {
        /// The host, or all that are there
        #[arg(long, value_name = "HOST", default_value = "all", value_parser = host_choice())]
        host: settings::HostChoice,
        /// Only this scope [default: all]
        #[arg(long, value_name = "SCOPE")]
        scope: Option<ScopeArg>,
    },
    /// Find out why hooks do not run, or run twice; exits 1 if anything is wrong
    Doctor {
        /// The host, or all that are there
        #[arg(long, value_name = "HOST", default_value = "all", value_parser = host_choice())]
        host: settings::HostChoice,
    },
    /// Write flow's plugin for Claude Code, Codex, Copilot CLI and Qwen Code: hooks, skills, tools
    Plugin {
        /// The directory
        dir: PathBuf,
        /// Overwrite files that differ
        #[arg(long)]
        replace: bool,
    },
    /// Write flow's skills into .claude/skills and .agents/skills
    Skill {
        /// The directory with .claude and .agents [default: the project's]
        dir: Option<PathBuf>,
        /// Overwrite files that differ
        #[arg(long)]
        replace: bool,
    },
}

// Which settings.
#[derive(Debug, Args)]
pub(crate) struct PlaceArgs {
    /// The host, or all that are there
    #[arg(long, value_name = "HOST", default_value = "all", value_parser = host_choice())]
    pub(crate) host: settings::HostChoice,
    /// The settings of the user, of the project, or of this checkout of the project (Claude Code only)
    #[arg(long, value_name = "SCOPE", default_value = "user")]
    pub(crate) scope: ScopeArg,
}

/// A host by its name.
fn host_of_agents() -> impl TypedValueParser<Value = AgentHost> {
    // The parser lets no other name through.
    PossibleValuesParser::new(AgentHost::names()).map(|name| AgentHost::named(&name).expect("one of these names"))
}

/// A host by its name, or all.
fn host_choice() -> impl TypedValueParser<Value = settings::HostChoice> {
    PossibleValuesParser::new(AgentHost::names().chain(["all"]))
        .map(|name| AgentHost::named(&name).map_or(settings::HostChoice::All, settings::HostChoice::One))
}

value_enum!(
    /// A scope.
    ScopeArg { User, Project, Local } -> settings::SettingsScope
);

/// What the help of `hook` says behind the options.
pub(super) const HOOK_TIMES: &str = "\
Times:
  A hook waits 0.1 s for another writer, 1 s for the modes that a prompt asks for, unless --lock-timeout says otherwise,
  and reads runs for 0.5 s at most.";

// Arguments of `hook`.
#[derive(Debug, Args)]
pub(crate) struct HookArgs {
    /// claude-code, codex, qwen, gemini-cli, copilot, opencode, cursor, kiro, or auto: the one that shows, else Codex
    #[arg(value_name = "HOST", add = complete::calling_hosts())]
    pub(crate) host: String,
    /// session-start, user-prompt-submit, pre-compact, stop, subagent-start, subagent-stop or session-end
    #[arg(value_name = "EVENT", add = complete::hook_events())]
    pub(crate) event: String,
    /// At stop: let the session go on once after each prompt, if its run can go on
    #[arg(long = "continue")]
    pub(crate) may_go_on: bool,
    /// At stop: send the session to run what its phase requires, once after each prompt
    #[arg(long = "gate")]
    pub(crate) gates: bool,
}

// Arguments of `hud`.
#[derive(Debug, Args)]
pub(crate) struct HudArgs {
    /// The session [default: the session_id on standard input, else FLOW_SESSION]
    #[arg(long, value_name = "ID", add = complete::sessions())]
    pub(crate) session: Option<SessionId>,
    /// The line, with {title}, {run}, {name}, {workflow}, {status}, {phase}, {place}, {branch}, {state}, {verdict}, {waits},
    /// {undone}, {age}, {modes}, {unreadable}, {elsewhere}, {store} and {others}
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, value_parser = text)]
    pub(crate) format: Option<String>,
    /// Print the line again whenever it changes
    #[arg(long)]
    pub(crate) watch: bool,
}

// Arguments of `session-end`.
#[derive(Debug, Args)]
pub(crate) struct SessionEndArgs {
    /// The session that ends [default: the hook's session_id on standard input, else FLOW_SESSION or the host's variable]
    #[arg(long, value_name = "ID", add = complete::sessions())]
    pub(crate) session: Option<SessionId>,
    /// Without a session, mark the runs without a holder; so does standard input from a terminal or /dev/null
    #[arg(long)]
    pub(crate) unowned: bool,
}

// Arguments of `setup`.
#[derive(Debug, Args)]
pub(crate) struct SetupArgs {
    /// The hosts [default: those that are on this machine]
    #[arg(value_name = "HOST", value_parser = host_of_agents())]
    pub(crate) hosts: Vec<AgentHost>,
    /// Use your own settings, for all projects, instead of this project's
    #[arg(long)]
    pub(crate) user: bool,
    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,
    /// Take out what an earlier setup put in
    #[arg(long, conflicts_with = "hosts")]
    pub(crate) undo: bool,
}

// Arguments of `mcp`.
#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    /// Which tools to offer; core are the eight that most runs need
    #[arg(long, value_name = "WHICH", default_value = "all")]
    pub(crate) tools: ToolsArg,
    /// Offer only what writes nothing
    #[arg(long)]
    pub(crate) read_only: bool,
}

/// Which tools the server offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ToolsArg {
    Core,
    All,
}
