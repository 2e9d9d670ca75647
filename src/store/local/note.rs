//! The note that a writer leaves in the lock.

use serde::{Deserialize, Serialize};

use crate::model::Seq;
use crate::store::request::{WriteRequest, Writer};

/// The note that a writer leaves in `.lock`: who it is; the highest counters, so that none is used twice even if an
/// older log is put back; and what the next writer has to check. Losing the note is not an error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WriterNote {
    /// Who holds the lock, or held it last.
    #[serde(flatten)]
    pub writer: Writer,
    /// The highest event position used so far.
    #[serde(default)]
    pub seq: Seq,
    /// The highest activity number used so far.
    #[serde(default)]
    pub number: u64,
    /// The boot of the machine in which all activity files were last checked; no power cut can have damaged them since.
    #[serde(default)]
    pub boot: String,
    /// Whether a flush of the log failed or its end was repaired, and the log was not copied since: the system may
    /// report parts of it as written that are not on the disk.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub suspect: bool,
    /// The length of the log after the last commit of this checkout, in bytes; 0 if unknown. If the log has another
    /// length, git or another program changed it.
    #[serde(default)]
    pub log_len: u64,
}

impl WriterNote {
    /// The first note, when there is no earlier one.
    pub(super) fn first(request: &WriteRequest) -> Self {
        let (writer, boot) = (request.writer.clone(), request.boot.clone());
        Self { writer, seq: Seq(0), number: 0, boot, suspect: false, log_len: 0 }
    }
}
