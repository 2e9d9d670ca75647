//! Arguments of `mode`.

use clap::{ArgAction, Args, Subcommand, ValueEnum};

use crate::model::SessionId;

// Arguments of `mode`.
#[derive(Debug, Args)]
pub(crate) struct ModeArgs {
    #[command(subcommand)]
    pub(crate) command: ModeCommand,
}

// Whose modes.
#[derive(Debug, Args)]
pub(crate) struct ScopeArgs {
    /// The session whose modes are meant [env: FLOW_SESSION]
    #[arg(long, value_name = "ID", conflicts_with = "root")]
    pub(crate) session: Option<SessionId>,
    /// The modes of no session, which every session sees
    #[arg(long)]
    pub(crate) root: bool,
}

// Commands of `mode`.
#[derive(Debug, Subcommand)]
pub(crate) enum ModeCommand {
    /// Ask for a mode; the policy decides whether it begins
    Request {
        /// The mode, or an alias of it
        mode: String,
        #[command(flatten)]
        scope: ScopeArgs,
        /// What the review of the mode that would hand over found [default: what its file says]
        #[arg(long, value_name = "RESULT")]
        review: Option<ReviewArg>,
        /// The run that the mode works on
        #[arg(long, value_name = "RUN")]
        run_id: Option<String>,
    },
    /// List modes and how they ended
    List {
        #[command(flatten)]
        scope: ScopeArgs,
        /// Those of every session as well
        #[arg(long, conflicts_with_all = ["session", "root"])]
        all: bool,
    },
    /// Show the file of a mode
    Show {
        /// The mode, or an alias of it
        mode: String,
        #[command(flatten)]
        scope: ScopeArgs,
    },
    /// Write fields into the file of a mode; one that becomes active is decided on first
    Write {
        /// The mode, or an alias of it
        mode: String,
        #[command(flatten)]
        scope: ScopeArgs,
        /// Fields as a JSON object, `-` for standard input; null takes a field away
        #[arg(long, value_name = "JSON")]
        data: Option<String>,
        /// Whether it is active
        #[arg(long, value_name = "BOOL", action = ArgAction::Set)]
        active: Option<bool>,
        /// Its phase
        #[arg(long, value_name = "NAME")]
        phase: Option<String>,
        /// Its iteration
        #[arg(long, value_name = "N")]
        iteration: Option<u64>,
        /// How it ended: finished, blocked, failed, userinterlude or askuserQuestion
        #[arg(long, value_name = "WORD")]
        outcome: Option<String>,
        /// The run that the mode works on
        #[arg(long, value_name = "RUN")]
        run_id: Option<String>,
        /// What the review of the mode that would hand over found [default: what its file says]
        #[arg(long, value_name = "RESULT")]
        review: Option<ReviewArg>,
    },
    /// Take the file of a mode away, whatever state it is in; without a name, of all
    Clear {
        /// The mode, or an alias of it
        mode: Option<String>,
        #[command(flatten)]
        scope: ScopeArgs,
        /// Those of every session as well
        #[arg(long, conflicts_with_all = ["session", "root"])]
        all: bool,
    },
    /// Give a mode up and keep its file; without a name, all that are active
    Cancel {
        /// The mode, or an alias of it
        mode: Option<String>,
        #[command(flatten)]
        scope: ScopeArgs,
        /// Those of every session as well
        #[arg(long, conflicts_with_all = ["session", "root"])]
        all: bool,
    },
    /// Say how the mode of a file ended, in one vocabulary
    Outcome {
        /// The file, `-` for standard input
        file: String,
    },
    /// Take up the `$skill` words of a prompt, all of them or none
    Prompt {
        /// The prompt, `-` for standard input [default: standard input, plain or as a hook gets it]
        #[arg(allow_hyphen_values = true)]
        text: Option<String>,
        #[command(flatten)]
        scope: ScopeArgs,
    },
    /// Show which modes go together
    Policy {
        /// Print the whole table
        #[arg(long)]
        table: bool,
    },
}

/// What a review found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReviewArg {
    /// Nothing.
    Clean,
    /// Something.
    Findings,
}

impl ReviewArg {
    pub(crate) fn is_clean(self) -> bool {
        self == Self::Clean
    }
}
