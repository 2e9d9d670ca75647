//! Arguments of the commands that change a run as a whole.

use clap::Args;

use crate::cli::args::shared::{CallerArgs, RunArg};
use crate::cli::args::values::{positive, pull_request, text};
use crate::model::{EventId, Issue, LIMITS, LastSeen};

// Which run is changed, and why.
#[derive(Debug, Args)]
pub(crate) struct ReasonArgs {
    #[command(flatten)]
    pub(crate) run: RunArg,
    /// Why; kept with the run. `block`, `fail`, `reject` and `reopen` need it
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, value_parser = text)]
    pub(crate) reason: Option<String>,
    /// An idempotency key: repeating a command with the same id has no further effect
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<EventId>,
}

// Arguments of the commands that change a status.
#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    pub(crate) why: ReasonArgs,
    /// Change the run only if this is still its last event
    #[arg(long, value_name = "SEQ")]
    pub(crate) seen: Option<LastSeen>,
    #[command(flatten)]
    pub(crate) caller: CallerArgs,
}

// Arguments of `complete`.
#[derive(Debug, Args)]
pub(crate) struct CompleteArgs {
    #[command(flatten)]
    pub(crate) change: StatusArgs,
    /// Why the run may be completed although the work of some phases is not done; logged, and shown from then on
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, value_parser = text)]
    pub(crate) skip_reason: Option<String>,
}

// Arguments of `approve` and `reject`.
#[derive(Debug, Args)]
pub(crate) struct ApproveArgs {
    #[command(flatten)]
    pub(crate) why: ReasonArgs,
    /// Decide without being asked, if this is still the last event: you have seen the run
    #[arg(long, value_name = "SEQ")]
    pub(crate) seen: Option<LastSeen>,
}

// Arguments of `reopen`.
#[derive(Debug, Args)]
pub(crate) struct ReopenArgs {
    #[command(flatten)]
    pub(crate) change: StatusArgs,
    /// Reopen even if another open run is about the same issue or pull request
    #[arg(long)]
    pub(crate) another: bool,
}

// Arguments of `set`.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("what").required(true).multiple(true))]
pub(crate) struct SetArgs {
    #[command(flatten)]
    pub(crate) run: RunArg,
    /// The issue that the run is about: its number, its key (PROJ-123), or its URL
    #[arg(long, value_name = "ISSUE", group = "what")]
    pub(crate) issue: Option<Issue>,
    /// The pull request that the run is about
    #[arg(long, value_name = "N", value_parser = pull_request, group = "what")]
    pub(crate) pr: Option<u64>,
    /// The branch that the run works on
    #[arg(long, value_name = "NAME", group = "what")]
    pub(crate) branch: Option<String>,
    /// The repository
    #[arg(long, value_name = "NAME", group = "what")]
    pub(crate) repo: Option<String>,
    /// The feature that the run is about
    #[arg(long, value_name = "NAME", group = "what")]
    pub(crate) feature: Option<String>,
    /// The goal that the run serves
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, value_parser = text, group = "what")]
    pub(crate) goal: Option<String>,
    /// A limit: max_iterations=20, max_runtime_minutes=90, or max_runtime_minutes=none; may be repeated
    #[arg(long, value_name = "NAME=N", value_parser = limit, group = "what")]
    pub(crate) limit: Vec<(String, Option<u64>)>,
    /// Change it even if another open run is about the same issue or pull request
    #[arg(long)]
    pub(crate) another: bool,
    #[command(flatten)]
    pub(crate) caller: CallerArgs,
}

fn limit(text: &str) -> Result<(String, Option<u64>), String> {
    let Some((name, value)) = text.split_once('=') else {
        return Err("write it as max_iterations=20, max_runtime_minutes=90, or NAME=none".to_owned());
    };
    if !LIMITS.contains(&name) {
        return Err(format!("{name} is not a limit of a run; the limits are {}", LIMITS.join(" and ")));
    }
    if value == "none" {
        return Ok((name.to_owned(), None));
    }
    Ok((name.to_owned(), Some(positive(value).map_err(|why| format!("{value:?} is not a limit: {why}, or none"))?)))
}
