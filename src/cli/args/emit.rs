//! Arguments of `emit`.

use clap::Args;

use crate::cli::args::shared::CallerArgs;
use crate::cli::args::values::text;
use crate::cli::complete;
use crate::model::{EventId, LastSeen};

// Arguments of `emit`. Missing ones are reported later, in the words that callers of rp1 know.
#[derive(Debug, Args)]
pub(crate) struct EmitArgs {
    /// The workflow
    #[arg(long, value_name = "NAME", add = complete::workflows())]
    pub(crate) workflow: Option<String>,
    /// The run; this report creates it if it does not exist
    #[arg(long, value_name = "ID", add = complete::runs())]
    pub(crate) run_id: Option<String>,
    /// What is reported: status_change, artifact_registered, annotation_updated, waiting_for_user, user_answered,
    /// btw_update or subflow_registered
    #[arg(long = "type", value_name = "TYPE", add = complete::report_types())]
    pub(crate) kind: Option<String>,
    /// The step: a state of the workflow, or agent:state of a sub-agent
    #[arg(long, value_name = "STEP", add = complete::phases())]
    pub(crate) step: Option<String>,
    /// The unit of work in the step, such as a task
    #[arg(long, value_name = "UNIT")]
    pub(crate) unit: Option<String>,
    /// The content of the report, a JSON object: '{"status": "running"}'
    #[arg(long, value_name = "JSON")]
    pub(crate) data: Option<String>,
    /// Many reports in one commit: a file with a JSON array of objects with type, step, unit and data, or one such object
    /// in each line; `-` reads standard input. The JSON itself may be given as well
    #[arg(long, value_name = "FILE", conflicts_with_all = ["kind", "step", "unit", "data"])]
    pub(crate) batch: Option<String>,
    /// An idempotency key: repeating a command with the same id has no further effect
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<EventId>,
    /// Report only if this is still the run's last event
    #[arg(long, value_name = "SEQ")]
    pub(crate) seen: Option<LastSeen>,
    /// The goal of a run that this report creates
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, value_parser = text)]
    pub(crate) name: Option<String>,
    /// Create the run in this checkout alone, where the project shares its runs
    #[arg(long)]
    pub(crate) local: bool,
    #[command(flatten)]
    pub(crate) caller: CallerArgs,
}
