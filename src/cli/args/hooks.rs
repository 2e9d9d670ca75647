//! Arguments of `hooks`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::hooks::settings;

// Arguments of `hooks`.
#[derive(Debug, Args)]
pub(crate) struct HooksArgs {
    #[command(subcommand)]
    pub(crate) command: HooksCommand,
}

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
        /// Claude Code, Codex, or both
        #[arg(long, value_name = "HOST", default_value = "all")]
        host: HostArg,
        /// Only this scope [default: all]
        #[arg(long, value_name = "SCOPE")]
        scope: Option<ScopeArg>,
    },
    /// Find out why hooks do not run, or run twice; exits 1 if anything is wrong
    Doctor {
        /// Claude Code, Codex, or both
        #[arg(long, value_name = "HOST", default_value = "all")]
        host: HostArg,
    },
    /// Write flow's plugin for both hosts: hooks, skills, tools
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
    /// Claude Code, Codex, or both
    #[arg(long, value_name = "HOST", default_value = "all")]
    pub(crate) host: HostArg,
    /// The settings of the user, of the project, or of this checkout of the project (Claude Code only)
    #[arg(long, value_name = "SCOPE", default_value = "user")]
    pub(crate) scope: ScopeArg,
}

value_enum!(
    /// A host.
    HostArg { ClaudeCode, Codex, Qwen, GeminiCli, All } -> settings::HostChoice
);
value_enum!(
    /// A scope.
    ScopeArg { User, Project, Local } -> settings::SettingsScope
);
