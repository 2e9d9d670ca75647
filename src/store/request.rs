//! Who writes, as those see it who wait.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::model::Timestamp;

/// Who wants to write, and how long it waits for another writer.
#[derive(Debug, Clone, PartialEq)]
pub struct WriteRequest {
    /// At most so long.
    pub wait: Duration,
    /// For those who wait then.
    pub writer: Writer,
    /// Which boot of the machine this is; empty where that cannot be told.
    pub boot: String,
}

/// Who writes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Writer {
    /// Process id.
    pub pid: u32,
    /// What it runs: `flow record-activity`.
    pub command: String,
    /// Since when.
    pub since: Timestamp,
}
