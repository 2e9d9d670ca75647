//! A writer, and how it wants to write.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::model::Timestamp;

/// How long a command waits by default for another writer.
pub const LOCK_WAIT: Duration = Duration::from_secs(30);

/// Who wants to write, and how long to wait for another writer.
#[derive(Debug, Clone, PartialEq)]
pub struct WriteRequest {
    /// How long to wait at most.
    pub wait: Duration,
    /// Who writes, shown to those who wait for the lock.
    pub writer: Writer,
    /// Identifies the current boot of the machine; empty if unknown.
    pub boot: String,
}

/// Who writes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Writer {
    /// Process id.
    pub pid: u32,
    /// The command that it runs, such as `flow record-activity`.
    pub command: String,
    /// When it took the lock.
    pub since: Timestamp,
}
