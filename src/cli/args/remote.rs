//! Arguments of `remote`.

use clap::Subcommand;

use crate::cli::complete;

// Commands of `remote`.
#[derive(Debug, Subcommand)]
pub(crate) enum RemoteCommand {
    /// Keep the project's new runs in a store that other machines reach: tries it, accepts its address on this machine, and
    /// names it in .flow/config.yaml
    Use {
        /// The store: git:origin for the git remote origin, git:origin#refs/heads/flow/ where a host takes only branches, or
        /// s3://bucket/prefix
        store: String,
    },
    /// Show what is shared, and as of when
    Status,
    /// Try whether a store keeps what it is given, with writers that race
    Probe {
        /// The store [default: the one that the project uses]
        store: Option<String>,
    },
    /// Move a run of this checkout into the store, or put a shared run there again that the store has lost
    Push {
        /// The run
        #[arg(value_name = "RUN", add = complete::runs())]
        run: String,
        /// Move it even if another open run there is about the same issue or pull request
        #[arg(long)]
        another: bool,
    },
    /// Bring the copy of a shared run up to date
    Fetch {
        /// The run
        #[arg(value_name = "RUN", add = complete::runs())]
        run: String,
    },
}
