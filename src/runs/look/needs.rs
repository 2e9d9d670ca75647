//! What runs need of a person, one call after the other: each change is told once.

use std::collections::BTreeSet;
use std::ffi::OsString;

use crate::host::call;
use crate::runs::context::Context;
use crate::runs::error::Result;
use crate::runs::look::attention::{AttentionReport, AttentionRequest, attention};

/// The runs that need a person, as they were at the last call.
#[derive(Debug, Default)]
pub struct Needs {
    /// What each of them needs, and since which event.
    known: BTreeSet<(String, String)>,
}

impl Needs {
    /// What the runs need now, and the ids of those that need something else than at the last call.
    ///
    /// # Errors
    /// As [`attention`].
    pub fn look(&mut self, cx: &Context) -> Result<(AttentionReport, Vec<String>)> {
        let report = attention(cx, &AttentionRequest::default())?;
        let mut now = BTreeSet::new();
        for card in &report.runs {
            // The need alone is not enough: a run may be asked a second question.
            let need = card.need.map_or("", |need| need.as_str());
            let seq = card.last_seq.unwrap_or_default();
            now.insert((card.run.head.run_id.to_string(), format!("{need} since {seq}")));
        }
        for run in &report.unreadable {
            now.insert((run.run_id.clone(), run.reason.clone()));
        }
        let news = now.difference(&self.known).map(|(run, _)| run.clone()).collect();
        self.known = now;
        Ok((report, news))
    }
}

/// Calls a program of the user's for a run that needs a person, which is in `FLOW_RUN`. Gives a warning if that fails.
#[must_use]
pub fn call_about(run: &str, argv: &[OsString]) -> Option<String> {
    let name = argv.first().cloned().unwrap_or_default();
    let name = name.to_string_lossy();
    match call(argv, &[("FLOW_RUN", run)]) {
        Ok(status) if status.success() => None,
        Ok(status) => Some(format!("{name} for run {run} ended with {status}")),
        Err(error) => Some(format!("{name} cannot be called for run {run}: {error}")),
    }
}
