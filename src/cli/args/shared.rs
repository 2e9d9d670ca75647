//! Arguments that several commands take.

use clap::Args;

use crate::cli::args::values::whole;
use crate::cli::complete;
use crate::model::SessionId;

// The run that a command is about.
#[derive(Debug, Args)]
pub(crate) struct RunArg {
    /// The run: its id, issue or pull request, the beginning or end of its id, or @latest [default: FLOW_RUN, the
    /// session's, or the only open one of the branch or of all; of several, readers take the one that changed
    /// last, and writers refuse]
    #[arg(add = complete::runs())]
    run: Option<String>,
    /// The same as RUN
    #[arg(long, value_name = "RUN", conflicts_with = "run", add = complete::runs())]
    run_id: Option<String>,
}

impl RunArg {
    /// The run that the command line names, in either way.
    pub(crate) fn name(self) -> Option<String> {
        self.run.or(self.run_id)
    }
}

// The session that calls.
#[derive(Debug, Args)]
pub(crate) struct CallerArgs {
    /// The session that calls [env: FLOW_SESSION]
    #[arg(long, value_name = "ID", add = complete::sessions())]
    pub(crate) session: Option<SessionId>,
    /// The epoch under which the session holds the run [env: FLOW_EPOCH]
    #[arg(long, value_name = "N", value_parser = whole::<u64>)]
    pub(crate) epoch: Option<u64>,
}
