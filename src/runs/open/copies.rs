//! The `run.yaml` of a copy of a shared run.

use crate::codec::{LogEnd, LogScan};
use crate::engine::{Repair, read_run, reconcile, reconcile_end};
use crate::model::{RunId, Seq};
use crate::store::StoreError;
use crate::store::shared::ShownText;

/// What shows in `run.yaml` the events that another machine has appended; see [`crate::store::shared::Shared::new`].
pub fn show_events(
    run: &RunId,
    text: Option<String>,
    end: &LogEnd,
    log: &dyn Fn() -> Result<LogScan, StoreError>,
) -> Option<ShownText> {
    let file = match read_run(run, text) {
        Ok(Some(text)) => match reconcile_end(text, end, Seq(0)) {
            Ok(found) => return shown_by(found.repairs),
            Err(text) => Ok(Some(*text)),
        },
        file => file,
    };
    shown_by(reconcile(run, file, &log().ok()?, Seq(0)).repairs)
}

fn shown_by(repairs: Vec<Repair>) -> Option<ShownText> {
    for repair in repairs {
        let (text, drops_edit) = match repair {
            Repair::RollForward { text, drops_edit, .. } => (text, drops_edit),
            Repair::Rebuild { text } => (text, false),
            _ => continue,
        };
        return Some(ShownText { text: text.text().to_owned(), drops_edit });
    }
    None
}
