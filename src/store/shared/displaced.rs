//! Events that the carrier had acknowledged and has lost, while it has others in their places.

use std::collections::HashSet;

use crate::codec::{LogScan, unseal};
use crate::store::displaced::DisplacedEvents;
use crate::store::local::RunDir;
use crate::store::run_store::StoredRun as _;
use crate::store::shared::copy::Copies;

impl Copies {
    /// The events of copies that were put into quarantine which the copy of today lacks; those of one such copy at a time. What
    /// cannot be read is not compared.
    pub(super) fn displaced_from(&self, copy: &RunDir) -> Option<DisplacedEvents> {
        let aside = copy.logs_aside().ok()?;
        if aside.is_empty() {
            return None;
        }
        let log = copy.log_bytes().ok()??;
        let scan = LogScan::parse(&log);
        let has_lost_its_end = scan.last_seq() < copy.noted();
        if has_lost_its_end || !scan.skipped.is_empty() || !scan.gaps().is_empty() || !scan.doubles().is_empty() {
            // What a copy lacks that was damaged here says nothing of the store: it is read again first.
            return None;
        }
        let known: HashSet<&[u8]> = log.split(|byte| *byte == b'\n').collect();
        for (file, bytes) in &aside {
            let (mut events, mut records) = (0, Vec::new());
            for line in bytes.split(|byte| *byte == b'\n') {
                // A damaged line was in no log that was acknowledged.
                if known.contains(line) || unseal(line).is_err() {
                    continue;
                }
                events += 1;
                for event in LogScan::parse(line).events() {
                    records.extend(event.kind.records().iter().map(|record| record.id().clone()));
                }
            }
            if events > 0 {
                let (run, at, file) = (copy.id().clone(), self.carrier.address(), file.clone());
                return Some(DisplacedEvents { run, at, events, records, file });
            }
        }
        None
    }
}
