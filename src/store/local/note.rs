//! What a writer leaves in the lock.

use serde::{Deserialize, Serialize};

use crate::model::Seq;
use crate::store::request::{WriteRequest, Writer};

/// What a writer leaves in `.lock`: who it is, the highest counters it has seen, so that neither is used again even when
/// somebody puts back an older log, and what the next writer has to look after. A lost note is no error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WriterNote {
    /// Who holds the lock, or held it last.
    #[serde(flatten)]
    pub writer: Writer,
    /// The highest event position given so far.
    #[serde(default)]
    pub seq: Seq,
    /// The highest activity number given so far.
    #[serde(default)]
    pub number: u64,
    /// The boot of the machine since which no power cut can have taken activity files: all were looked at in it.
    #[serde(default)]
    pub boot: String,
    /// Whether a flush of the log failed or its end was mended: what the system holds of it may count as written without
    /// being on the disk.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub suspect: bool,
    /// How long the log is that the last writer here left, in bytes; 0 when that is not known. Another length means that
    /// version control, or another program, was at it.
    #[serde(default)]
    pub log_len: u64,
}

impl WriterNote {
    /// The note of a writer that knows nothing of those before.
    pub(super) fn first(request: &WriteRequest) -> Self {
        let (writer, boot) = (request.writer.clone(), request.boot.clone());
        Self { writer, seq: Seq(0), number: 0, boot, suspect: false, log_len: 0 }
    }
}
