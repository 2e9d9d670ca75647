//! Arguments of `hooks`.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};

use crate::hooks::settings;

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
pub(super) fn host_of_agents() -> impl TypedValueParser<Value = settings::AgentHost> {
    // The parser lets no other name through.
    PossibleValuesParser::new(settings::AgentHost::names())
        .map(|name| settings::AgentHost::named(&name).expect("one of these names"))
}

/// A host by its name, or all.
fn host_choice() -> impl TypedValueParser<Value = settings::HostChoice> {
    PossibleValuesParser::new(settings::AgentHost::names().chain(["all"]))
        .map(|name| settings::AgentHost::named(&name).map_or(settings::HostChoice::All, settings::HostChoice::One))
}

value_enum!(
    /// A scope.
    ScopeArg { User, Project, Local } -> settings::SettingsScope
);
