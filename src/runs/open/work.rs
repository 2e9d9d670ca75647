//! The open work of a project, read once for all that one call asks.

use std::time::Instant;

use crate::model::RunId;
use crate::runs::context::Context;
use crate::runs::error::Result;
use crate::runs::open::reading::Runs;
use crate::store::Project;

/// A project and its open runs, as they were read once. A hook asks several things about them while its host waits.
pub(crate) struct OpenWork {
    pub(in crate::runs) project: Project,
    pub(in crate::runs) runs: Runs,
    /// When the reading began.
    pub(in crate::runs) since: Instant,
}

impl OpenWork {
    /// Reads the open runs of the project of this context.
    ///
    /// # Errors
    /// [`NoProject`](crate::runs::Error::NoProject) and others when the project cannot be used.
    pub(crate) fn read(cx: &Context) -> Result<Self> {
        Self::of(cx, cx.project()?)
    }

    /// As [`Self::read`], of this project.
    pub(crate) fn of(cx: &Context, project: Project) -> Result<Self> {
        let since = Instant::now();
        let runs = Runs::read_open(cx, &project)?;
        Ok(Self { project, runs, since })
    }

    /// As [`Self::read`]; `None` without a project.
    ///
    /// # Errors
    /// When the project cannot be used.
    pub(crate) fn find(cx: &Context) -> Result<Option<Self>> {
        cx.project_if_any()?.map(|project| Self::of(cx, project)).transpose()
    }

    /// Reads a run again, which this process may have changed.
    pub(in crate::runs) fn read_again(&mut self, cx: &Context, run: &RunId) -> Result<()> {
        self.runs.read_again(cx, &self.project, run)
    }
}
