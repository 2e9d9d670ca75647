//! Arguments of `show`, `evidence`, `log` and `export`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::cli::args::shared::RunArg;
use crate::cli::args::values::{seconds, whole};
use crate::model::SessionId;

// Arguments of `show`.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    pub(crate) run: RunArg,
    /// The state as it was after this event
    #[arg(long, value_name = "SEQ", value_parser = whole)]
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
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<SessionId>,
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
    #[arg(long, value_name = "SEQ", default_value = "0", value_parser = whole)]
    pub(crate) after: u64,
    /// At most this many events; `next` in the answer with --json says where to go on
    #[arg(long, value_name = "N", value_parser = whole, conflicts_with = "follow")]
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
}

// Arguments of `export`.
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    pub(crate) run: RunArg,
    /// mermaid: the workflow with the run's position; gantt: the steps over time, for Mermaid; svg: the same as a picture;
    /// html: a page in one file; chrome-trace: for Perfetto; cloudevents: all events; otlp-json: for OpenTelemetry
    #[arg(long, value_name = "FORMAT", hide_possible_values = true)]
    pub(crate) format: FormatArg,
    /// The run as it was after this event
    #[arg(long, value_name = "SEQ", value_parser = whole)]
    pub(crate) at: Option<u64>,
    /// Write to this file, outside of .flow; a text that is there is replaced in one step [default: standard output]
    #[arg(long, short = 'o', value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

value_enum!(
    /// A format of an export.
    FormatArg { Mermaid, Gantt, Svg, Html, ChromeTrace, Cloudevents, OtlpJson } -> crate::runs::ExportFormat
);
