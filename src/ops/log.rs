//! `log`: what happened to a run, and following it as it happens.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;

use crate::model::{Seq, SessionId};
use crate::ops::error::{Error, Result};
use crate::ops::flow::Flow;
use crate::report::{LogReport, SkippedLine};
use crate::store::{LogScan, RunDir, StoreError};

/// Which events.
#[derive(Debug, Clone, Default)]
pub struct LogRequest {
    /// The run; otherwise the session's or the only active one.
    pub run: Option<String>,
    /// Only events behind this position.
    pub after: Seq,
    /// Who asks.
    pub session: Option<SessionId>,
}

impl Flow {
    /// The events of a run.
    ///
    /// # Errors
    /// [`Error::NoSuchRun`], and [`Error::Store`] when the log cannot be read.
    pub fn log(&self, request: &LogRequest) -> Result<LogReport> {
        Ok(report(&self.logged_run(request)?.read_log()?, request.after))
    }

    /// Begins to follow a run's log.
    ///
    /// # Errors
    /// As [`Self::log`].
    pub fn follow(&self, request: &LogRequest) -> Result<Follow> {
        Ok(Follow { run: self.logged_run(request)?, after: request.after, open: None })
    }

    fn logged_run(&self, request: &LogRequest) -> Result<RunDir> {
        let project = self.project()?;
        let caller = self.caller(request.session.clone(), None)?;
        self.select(&project, request.run.as_deref(), caller.session.as_ref())
    }
}

fn report(scan: &LogScan, after: Seq) -> LogReport {
    LogReport {
        events: scan.events().filter(|event| event.seq > after).map(crate::model::Event::to_object).collect(),
        skipped: scan
            .skipped
            .iter()
            .map(|line| SkippedLine { line: line.line, why: line.fault.as_str().to_owned(), text: line.text.clone() })
            .collect(),
    }
}

/// A log that is followed. Recovery and git put other files in its place, so the path is looked at again each time.
pub struct Follow {
    run: RunDir,
    after: Seq,
    open: Option<Position>,
}

struct Position {
    file: File,
    inode: u64,
    offset: u64,
}

impl Follow {
    /// What came since the last call. Only lines that end in a line break count.
    ///
    /// # Errors
    /// [`Error::Store`] when the log cannot be read.
    pub fn poll(&mut self) -> Result<LogReport> {
        let fault = |run: &RunDir, source| {
            Error::Store(StoreError::Io { action: "read", path: run.file_path(crate::store::layout::LOG), source })
        };
        let Some(file) = self.run.open_log()? else {
            return Ok(report(&LogScan::default(), self.after));
        };
        let meta = file.metadata().map_err(|source| fault(&self.run, source))?;
        let same = self.open.as_ref().is_some_and(|at| at.inode == meta.ino() && at.offset <= meta.len());
        if !same {
            self.open = Some(Position { file, inode: meta.ino(), offset: 0 });
        }
        let Some(position) = &mut self.open else { unreachable!("BUG: just set") };
        let mut bytes = Vec::new();
        read_from(&mut position.file, position.offset, &mut bytes).map_err(|source| fault(&self.run, source))?;
        let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        position.offset += whole as u64;
        let scan = LogScan::parse(&bytes[..whole]);
        let report = report(&scan, self.after);
        self.after = self.after.max(scan.last_seq());
        Ok(report)
    }
}

fn read_from(file: &mut File, offset: u64, bytes: &mut Vec<u8>) -> std::io::Result<()> {
    use std::io::{Seek, SeekFrom};
    file.seek(SeekFrom::Start(offset))?;
    let bound = crate::model::limits::LOG_BYTES as u64;
    Read::take(file, bound).read_to_end(bytes)?;
    Ok(())
}
