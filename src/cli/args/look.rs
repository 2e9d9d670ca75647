//! Arguments of the commands that show runs.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};

use crate::cli::args::shared::RunArg;
use crate::cli::args::values::{port, seconds, text, whole};
use crate::cli::complete;
use crate::model::{Doing, RunStatus, SessionId};
use crate::runs::{ListStatus, Need};

impl ValueEnum for ListStatus {
    fn value_variants<'a>() -> &'a [Self] {
        &Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let help = match self {
            Self::Run(RunStatus::Active) => "Active",
            Self::Run(RunStatus::Blocked) => "Blocked: waits for a person",
            Self::Doing(Doing::Waiting) => "The run's current step is waiting",
            Self::Doing(_) => "A step or an activity of the run failed",
            Self::Run(RunStatus::Failed) => "The run failed",
            Self::Run(RunStatus::Completed) => "Completed: its work is done",
            Self::Run(RunStatus::Cancelled) => "Cancelled",
            Self::Need(need) => about(*need),
            Self::AtWork => "A session holds it, or the process that began work in it still runs",
            Self::Ready => "The next step is known, and no session holds it",
        };
        let value = PossibleValue::new(self.as_str()).help(help);
        Some(match self {
            // As lists show it.
            Self::AtWork => value.aliases(["at work", "at-work"]),
            // As `doing` has them.
            Self::Need(Need::Question) => value.alias(Doing::Asking.as_str()),
            Self::Need(Need::Joined) => value.alias(Doing::Conflict.as_str()),
            _ => value,
        })
    }
}

/// What a need means, in a list of them.
fn about(need: Need) -> &'static str {
    match need {
        Need::Question => "It asks a question; also `asking`",
        Need::Blocked => "The run or an activity is blocked, or a step or a unit waits",
        Need::Limit => "A limit is reached",
        Need::Failing => "A step or an activity failed",
        Need::Approval => "A gate waits for a person's decision",
        Need::Undone => "It passed over work without a reason",
        Need::Drifted => "The workflow changed at its current phase",
        Need::Damaged => "Events are missing from its log",
        Need::Joined => "A merge joined two histories; also `conflict`",
        Need::Rewound => "An older version was put back",
        Need::Unshared => "The store that machines share does not have it as it is here",
        Need::Begun => "An activity or a step was begun, and its outcome is unknown",
        Need::Units => "A unit of work was begun, and its outcome is unknown",
        Need::Dead => "The process of the session that holds it is gone",
        Need::Ended => "The session that held it has ended",
    }
}

value_enum!(
    /// The order of a list.
    SortArg { Started, Changed } -> crate::runs::ListOrder
);

// Arguments of `show`.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    pub(crate) run: RunArg,
    /// The state as it was after this event
    #[arg(long, value_name = "SEQ", value_parser = whole::<u64>)]
    pub(crate) at: Option<u64>,
}

// Arguments of `evidence`.
#[derive(Debug, Args)]
pub(crate) struct EvidenceArgs {
    #[command(flatten)]
    pub(crate) run: RunArg,
    /// What all runs name, also those that are over
    #[arg(long, conflicts_with_all = ["run", "run_id"])]
    pub(crate) all: bool,
    /// What all runs about this feature name
    #[arg(long, value_name = "NAME", conflicts_with_all = ["run", "run_id"])]
    pub(crate) feature: Option<String>,
    /// The session that asks [env: FLOW_SESSION]
    #[arg(long, value_name = "ID", add = complete::sessions())]
    pub(crate) session: Option<SessionId>,
}

// Arguments of `verify`.
#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    pub(crate) run: RunArg,
    /// Check instead whether what flow saw of commands still holds for the files
    #[arg(long)]
    pub(crate) evidence: bool,
}

// Arguments of `log`.
#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    #[command(flatten)]
    pub(crate) run: RunArg,
    /// Keep printing events as they happen, until the run is over; with --json one object a line
    #[arg(long, short = 'f')]
    pub(crate) follow: bool,
    /// Only events after this one
    #[arg(long, value_name = "SEQ", default_value = "0", value_parser = whole::<u64>)]
    pub(crate) after: u64,
    /// At most this many events; `next` in the answer with --json says where to go on
    #[arg(long, value_name = "N", value_parser = whole::<u64>, conflicts_with = "follow")]
    pub(crate) limit: Option<u64>,
}

// Arguments of `wait`.
#[derive(Debug, Args)]
pub(crate) struct WaitArgs {
    #[command(flatten)]
    pub(crate) run: RunArg,
    /// Give up after so many seconds [default: never]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
    /// Wait only until no command that `flow exec` began still runs, whatever else the run needs
    #[arg(long)]
    pub(crate) commands: bool,
}

// Arguments of `export`.
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    pub(crate) run: RunArg,
    /// mermaid: the workflow with the run's position; gantt: the steps over time, for Mermaid; svg: the same as a
    /// picture; html: a page in one file; chrome-trace: for Perfetto; cloudevents: all events; otlp-json: for
    /// OpenTelemetry; in-toto: statements
    #[arg(long, value_name = "FORMAT", hide_possible_values = true)]
    pub(crate) format: FormatArg,
    /// The run as it was after this event
    #[arg(long, value_name = "SEQ", value_parser = whole::<u64>)]
    pub(crate) at: Option<u64>,
    /// Write to this file, outside of .flow; a text that is there is replaced in one step [default: standard output]
    #[arg(long, short = 'o', value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

value_enum!(
    /// A format of an export.
    FormatArg { Mermaid, Gantt, Svg, Html, ChromeTrace, Cloudevents, OtlpJson, InToto } -> crate::runs::ExportFormat
);

// Arguments of `report`.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    #[command(flatten)]
    pub(crate) run: RunArg,
    /// md: Markdown of at most 200 lines; json: the same as data
    #[arg(long, value_name = "FORMAT", default_value = "md", hide_possible_values = true)]
    pub(crate) format: ReportFormatArg,
}

/// A format of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ReportFormatArg {
    /// Markdown.
    Md,
    /// JSON.
    Json,
}

// Arguments of `serve`.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Directories of projects to show together [default: the project of the working directory]
    #[arg(value_name = "DIR")]
    pub(crate) dirs: Vec<PathBuf>,
    /// The port to listen on [default: the one of last time, otherwise one that is free]
    #[arg(long, value_name = "PORT", value_parser = port)]
    pub(crate) port: Option<u16>,
    /// The address to listen on
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    pub(crate) listen: IpAddr,
    /// Listen on an address that other machines reach; what they see is protected by the token alone
    #[arg(long)]
    pub(crate) allow_remote: bool,
    /// Another host and port under which browsers reach this server, such as localhost:8080 for a forwarded port
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) allow_host: Vec<String>,
    /// Make a new token, so that links that were given out before are refused
    #[arg(long)]
    pub(crate) new_token: bool,
    /// Let pages answer questions, unblock and cancel runs, and decide at gates; otherwise they only show
    #[arg(long)]
    pub(crate) allow_actions: bool,
    /// Open the pages in your browser ($BROWSER, otherwise the one of the system)
    #[arg(long)]
    pub(crate) open: bool,
    /// Look at the files at fixed intervals, where the system does not tell of changes (network file systems)
    #[arg(long)]
    pub(crate) poll: bool,
}

// Arguments of `watch`.
#[derive(Debug, Args)]
pub(crate) struct WatchArgs {
    /// A directory of the project [default: the working directory]
    #[arg(value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Only this run: its id, issue or pull request, the beginning or end of its id, or @latest
    #[arg(long, value_name = "RUN", add = complete::runs())]
    pub(crate) run_id: Option<String>,
    /// Print the runs as they are, and end; with --json, the first line alone
    #[arg(long)]
    pub(crate) once: bool,
    /// Only runs with this text in their id, workflow, phase, goal, feature or reason, or about this issue ('#42')
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, value_parser = text)]
    pub(crate) search: Option<String>,
    /// Only runs of this workflow
    #[arg(long, value_name = "NAME", add = complete::workflows())]
    pub(crate) workflow: Option<String>,
    /// Look at the files at fixed intervals, where the system does not tell of changes (network file systems)
    #[arg(long)]
    pub(crate) poll: bool,
    /// Ring the terminal's bell and send a notification (OSC 9) when a run begins to need a person
    #[arg(long, conflicts_with = "once")]
    pub(crate) notify: bool,
}
