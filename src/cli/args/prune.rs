//! Arguments of `prune`.

use std::path::PathBuf;

use clap::Args;

use crate::cli::args::values::whole;

// Arguments of `prune`.
#[derive(Debug, Args)]
pub(crate) struct PruneArgs {
    /// Only runs that ended before then: a time (2026-05-20) or an age (90m, 12h, 7d, 2w)
    #[arg(long, value_name = "WHEN", default_value = "90d")]
    pub(crate) older_than: String,
    /// Keep the N runs that ended last, whenever that was
    #[arg(long, value_name = "N", value_parser = whole::<u64>)]
    pub(crate) keep: Option<u64>,
    /// Move them into this directory, which `FLOW_DIR=DIR flow show` reads; made if it is missing
    #[arg(long, value_name = "DIR")]
    pub(crate) to: Option<PathBuf>,
    /// Only show them
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Remove them without asking
    #[arg(long)]
    pub(crate) yes: bool,
}
