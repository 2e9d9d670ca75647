//! What runs need of a person, one call after the other: each change is reported once.

use std::collections::BTreeSet;
use std::ffi::OsString;

use crate::host::call;
use crate::runs::context::Context;
use crate::runs::error::Result;
use crate::runs::look::attention::{AttentionReport, AttentionRequest, attention};
use crate::runs::look::cause::Need;

/// The runs that need a person, as they were at the last call.
#[derive(Debug, Default)]
pub struct Needs {
    /// What each of them needs, and since which event.
    known: BTreeSet<(String, String)>,
    /// Needs that may pass and were seen at the last call for the first time.
    seen_once: BTreeSet<(String, String)>,
}

impl Needs {
    /// What the runs need now, and the ids of those that need something else than at the last call. A need that may pass
    /// is reported when it is still there at the next call.
    ///
    /// # Errors
    /// As [`attention`].
    pub fn look(&mut self, cx: &Context) -> Result<(AttentionReport, Vec<String>)> {
        let report = attention(cx, &AttentionRequest::default())?;
        let (mut now, mut seen_once) = (BTreeSet::new(), BTreeSet::new());
        let mut needs = Vec::new();
        for card in &report.runs {
            // The need alone is not enough: a run may be asked a second question.
            let need = card.need.map_or("", |need| need.as_str());
            let seq = card.last_seq.unwrap_or_default();
            let may_pass = card.need.is_some_and(Need::may_pass);
            needs.push((card.run.head.run_id.to_string(), format!("{need} since {seq}"), may_pass));
        }
        for run in &report.unreadable {
            needs.push((run.run_id.clone(), run.reason.clone(), true));
        }
        for (run, need, may_pass) in needs {
            let what = (run, need);
            if !may_pass || self.known.contains(&what) || self.seen_once.contains(&what) {
                now.insert(what);
                continue;
            }
            // What the run needed before is not reported again when this was only a moment.
            now.extend(self.known.iter().filter(|(run, _)| *run == what.0).cloned());
            seen_once.insert(what);
        }
        let news = now.difference(&self.known).map(|(run, _)| run.clone()).collect();
        (self.known, self.seen_once) = (now, seen_once);
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
