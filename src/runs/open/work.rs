//! The open work of a project, read once for all that one call asks.

use std::time::Instant;

use crate::model::RunId;
use crate::runs::context::{Context, OpenedProject};
use crate::runs::error::Result;
use crate::runs::open::reading::Runs;
use crate::runs::open::select::heeding_own_run_only;

/// A project and its open runs, as they were read once. A hook asks several things about them while its host waits.
pub(crate) struct OpenWork {
    pub(in crate::runs) project: OpenedProject,
    pub(in crate::runs) runs: Runs,
    /// When the reading began.
    pub(in crate::runs) since: Instant,
}

impl OpenWork {
    /// Reads the open runs of the project of this context, for a hook or another caller whose `FLOW_RUN` may be about another
    /// project.
    ///
    /// # Errors
    /// [`NoProject`](crate::runs::Error::NoProject) and others when the project cannot be used.
    pub(crate) fn read(cx: &Context) -> Result<Self> {
        Self::of(heeding_own_run_only(cx).project()?)
    }

    /// As [`Self::read`]; `None` without a project.
    ///
    /// # Errors
    /// When the project cannot be used.
    pub(crate) fn find(cx: &Context) -> Result<Option<Self>> {
        let Some(project) = heeding_own_run_only(cx).project_if_any()? else { return Ok(None) };
        Ok(Some(Self::of(project)?))
    }

    /// The open runs of this project.
    pub(in crate::runs) fn of(project: OpenedProject) -> Result<Self> {
        let since = Instant::now();
        let runs = Runs::read_open(&project)?;
        Ok(Self { project, runs, since })
    }

    /// Reads a run again, which this process may have changed.
    pub(in crate::runs) fn read_again(&mut self, run: &RunId) -> Result<()> {
        self.runs.read_again(&self.project, run)
    }
}
