//! Arguments of `mode`.

use clap::{ArgAction, Args, Subcommand, ValueEnum};

use crate::cli::args::values::whole;
use crate::cli::complete;
use crate::model::SessionId;

// The session whose modes a command is about.
#[derive(Debug, Args)]
pub(crate) struct ScopeArgs {
    /// The session whose modes are meant [env: FLOW_SESSION]
    #[arg(long, value_name = "ID", conflicts_with = "root", add = complete::sessions())]
    pub(crate) session: Option<SessionId>,
    /// The project's own modes, which every session sees
    #[arg(long)]
    pub(crate) root: bool,
}

// Commands of `mode`.
#[derive(Debug, Subcommand)]
pub(crate) enum ModeCommand {
    /// Ask for a mode; the policy decides whether it begins
    Request {
        /// The mode, or an alias of it
        #[arg(add = complete::modes())]
        mode: String,
        #[command(flatten)]
        scope: ScopeArgs,
        /// The result of the review of the mode that would hand over [default: what its file says]
        #[arg(long, value_name = "RESULT")]
        review: Option<ReviewArg>,
        /// The run that the mode works on
        #[arg(long, value_name = "RUN", add = complete::runs())]
        run_id: Option<String>,
    },
    /// List modes and how they ended
    List {
        #[command(flatten)]
        scope: ScopeArgs,
        /// Include the modes of every session
        #[arg(long, conflicts_with_all = ["session", "root"])]
        all: bool,
    },
    /// Show the file of a mode
    Show {
        /// The mode, or an alias of it
        #[arg(add = complete::modes())]
        mode: String,
        #[command(flatten)]
        scope: ScopeArgs,
    },
    /// Change fields of a mode; it becomes active only if the policy allows it
    Write {
        /// The mode, or an alias of it
        #[arg(add = complete::modes())]
        mode: String,
        #[command(flatten)]
        scope: ScopeArgs,
        /// Fields as a JSON object, `-` for standard input; null removes a field
        #[arg(long, value_name = "JSON")]
        data: Option<String>,
        /// Whether the mode is active
        #[arg(long, value_name = "BOOL", action = ArgAction::Set)]
        active: Option<bool>,
        /// The phase of the mode
        #[arg(long, value_name = "NAME")]
        phase: Option<String>,
        /// The iteration of the mode
        #[arg(long, value_name = "N", value_parser = whole::<u64>)]
        iteration: Option<u64>,
        /// How it ended: finished, blocked, failed, userinterlude or askuserQuestion
        #[arg(long, value_name = "WORD")]
        outcome: Option<String>,
        /// The run that the mode works on
        #[arg(long, value_name = "RUN", add = complete::runs())]
        run_id: Option<String>,
        /// The result of the review of the mode that would hand over [default: what its file says]
        #[arg(long, value_name = "RESULT")]
        review: Option<ReviewArg>,
    },
    /// Remove the file of a mode, whatever its state; without a name, the files of all modes
    Clear {
        /// The mode, or an alias of it
        #[arg(add = complete::modes())]
        mode: Option<String>,
        #[command(flatten)]
        scope: ScopeArgs,
        /// Include the modes of every session
        #[arg(long, conflicts_with_all = ["session", "root"])]
        all: bool,
    },
    /// Cancel a mode and keep its file; without a name, all active modes
    Cancel {
        /// The mode, or an alias of it
        #[arg(add = complete::modes())]
        mode: Option<String>,
        #[command(flatten)]
        scope: ScopeArgs,
        /// Include the modes of every session
        #[arg(long, conflicts_with_all = ["session", "root"])]
        all: bool,
    },
    /// Show how a mode ended, as its file says, in flow's own words
    Outcome {
        /// The file, `-` for standard input
        file: String,
    },
    /// Request the modes that the `$skill` words of a prompt name, all of them or none
    Prompt {
        /// The prompt, `-` for standard input [default: standard input, plain or as a hook gets it]
        #[arg(allow_hyphen_values = true)]
        text: Option<String>,
        #[command(flatten)]
        scope: ScopeArgs,
    },
    /// Show which modes may be active together
    Policy {
        /// Print the whole table
        #[arg(long)]
        table: bool,
    },
}

/// The result of a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReviewArg {
    /// No findings.
    Clean,
    /// Findings.
    Findings,
}

impl ReviewArg {
    pub(crate) fn is_clean(self) -> bool {
        self == Self::Clean
    }
}
