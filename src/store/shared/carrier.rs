//! What keeps the logs of shared runs: a git remote, or a bucket.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::codec::LogScan;
use crate::model::{KeptEvidence, RunId, Seq, limits};
use crate::store::address::Address;
use crate::store::error::StoreError;
use crate::store::request::LOCK_WAIT;
use crate::store::shared_runs::RefreshScope;
use crate::store::work::{WorkChange, WorkKey};

/// Keeps the logs of runs for several machines. Of all writers that put lines behind the same position of a run, one
/// succeeds.
pub trait Carrier: fmt::Debug + Send + Sync {
    /// Its address, for messages: `git:origin`.
    fn address(&self) -> Address;

    /// Where it is, if that is a directory of this machine.
    fn directory(&self) -> Option<PathBuf> {
        None
    }

    /// How long a command waits for it by default.
    fn patience(&self) -> Duration {
        LOCK_WAIT
    }

    /// The runs of `scope`, each with a mark that changes with its log. A mark may lag behind a commit whose writer died.
    /// Takes at most `left`.
    ///
    /// # Errors
    /// [`NoAnswer`].
    fn tips(&self, scope: RefreshScope, left: Duration) -> Result<Vec<Tip>, NoAnswer>;

    /// The lines of these runs are asked for next, each from this position on. A carrier may bring them all at once, and
    /// keep them until then. Takes at most `left`. What does not succeed is found out when they are asked for.
    fn expect(&self, _wanted: &[(Tip, Seq)], _left: Duration) {}

    /// The lines of a run from the event at `first` on; `None` if there is no such run. With the `mark` of a tip, lines that
    /// were added after that tip was read may be missing. Takes at most `left`.
    ///
    /// # Errors
    /// [`NoAnswer`].
    fn lines(&self, run: &RunId, first: Seq, mark: Option<&str>, left: Duration) -> Result<Option<String>, NoAnswer>;

    /// The lines behind the position `before`, at least those of the commit that has the next one; `None` if there is no
    /// such run, or if it ends before that position. Takes at most `left`.
    ///
    /// # Errors
    /// [`NoAnswer`].
    fn lines_behind(&self, run: &RunId, before: Seq, left: Duration) -> Result<Option<LinesBehind>, NoAnswer> {
        Ok(LinesBehind::of(before, self.lines(run, before.max(Seq(1)), None, left)?))
    }

    /// What is wrong with the log of a run, in words. Takes at most `left`.
    ///
    /// # Errors
    /// [`NoAnswer`].
    fn faults_of_log(&self, run: &RunId, left: Duration) -> Result<Vec<LogFault>, NoAnswer> {
        LogFault::of_log(self.lines(run, Seq(1), None, left))
    }

    /// Puts there again what is missing in the middle of the log of a run. `lines` are the whole log of a copy: what it does
    /// not prove, and where the log has anything else, nothing is put. Takes at most `left`. A carrier that cannot lose a part
    /// of a log has none to put.
    ///
    /// # Errors
    /// [`NoAnswer`].
    fn fill_gaps(&self, _run: &RunId, _lines: &str, _left: Duration) -> Result<(), NoAnswer> {
        Ok(())
    }

    /// Which run is marked as being about each of these. Takes at most `left`.
    ///
    /// # Errors
    /// [`NoAnswer`].
    fn marked(&self, keys: &[WorkKey], left: Duration) -> Result<Vec<Option<RunId>>, NoAnswer>;

    /// Marks an open run, whose last position is `last`, as being about these, where no other one is: marks may have been deleted.
    /// Takes at most `left`.
    ///
    /// # Errors
    /// [`NoAnswer`].
    fn mark_again(&self, run: &RunId, last: Seq, keys: &[WorkKey], left: Duration) -> Result<(), NoAnswer>;

    /// The marks of runs that are not there, and keep no other run away. Takes at most `left`. A carrier that cannot tell has none.
    ///
    /// # Errors
    /// [`NoAnswer`].
    fn marks_left(&self, _left: Duration) -> Result<Vec<LeftMark>, NoAnswer> {
        Ok(Vec::new())
    }

    /// The runs of which it has lines and that [`Self::tips`] does not name, because what lists them was deleted. Takes at most
    /// `left`. A carrier that lists what it has has none.
    ///
    /// # Errors
    /// [`NoAnswer`].
    fn unlisted(&self, _left: Duration) -> Result<Vec<RunId>, NoAnswer> {
        Ok(Vec::new())
    }

    /// Whether it has lines of a run that [`Self::tips`] did not name. Takes at most `left`.
    ///
    /// # Errors
    /// [`NoAnswer`].
    fn has_unlisted(&self, _run: &RunId, _left: Duration) -> Result<bool, NoAnswer> {
        Ok(false)
    }

    /// What deletes parts of it after a time, in words. Takes at most `left`.
    ///
    /// # Errors
    /// [`NoAnswer`].
    fn deletions(&self, _left: Duration) -> Result<Vec<String>, NoAnswer> {
        Ok(Vec::new())
    }

    /// The largest file of evidence that it keeps, in bytes.
    fn evidence_limit(&self) -> usize {
        limits::EVIDENCE_BYTES
    }

    /// The bytes of a file that a commit of the run brought with it; `None` if it does not have them. Takes at most `left`.
    ///
    /// # Errors
    /// [`NoAnswer`].
    fn evidence(&self, run: &RunId, kept: &KeptEvidence, left: Duration) -> Result<Option<Vec<u8>>, NoAnswer>;

    /// Puts lines behind the last ones of a run, all or none, and the files that they name before them. Takes at most `left`.
    fn put(&self, put: &Put<'_>, left: Duration) -> PutAnswer;

    /// Lists a run whose lines are there, so that [`Self::tips`] names it as far as it is: what lists it may have been deleted, or the
    /// writer of the last lines may have died before it said so. `lines` are its last ones. Takes at most `left`. A carrier
    /// that lists what it has does nothing.
    ///
    /// # Errors
    /// [`NoAnswer`].
    fn list_again(&self, _run: &RunId, _lines: &str, _is_over: bool, _left: Duration) -> Result<(), NoAnswer> {
        Ok(())
    }

    /// Removes a run that was made to try the carrier, and the mark for what has its id as a name. Takes at most `left`.
    ///
    /// # Errors
    /// [`NoAnswer`].
    fn remove(&self, run: &RunId, left: Duration) -> Result<(), NoAnswer>;
}

/// How far a run is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tip {
    /// The run that it is the end of.
    pub run: RunId,
    /// A text that changes whenever its log does.
    pub mark: String,
    /// Whether it is listed as over.
    pub is_over: bool,
}

/// A mark of a run that is not there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeftMark {
    /// The run that it names.
    pub run: RunId,
    /// What that was about.
    pub about: WorkKey,
}

/// A carrier may keep lines together in windows of so many positions, to read many of them at once.
pub const WINDOW: u64 = 64;

/// The last position before the window that the position behind `before` is in.
#[must_use]
pub fn window_of(before: Seq) -> Seq {
    Seq(before.0 / WINDOW * WINDOW)
}

/// The lines behind a position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinesBehind {
    /// The line at the position itself, where the carrier has read it with the others.
    pub at: Option<String>,
    /// Those behind it; empty if nothing is there.
    pub lines: String,
}

impl LinesBehind {
    /// Of the lines from the position `before` on; `None` if there is none at that position.
    pub(crate) fn of(before: Seq, lines: Option<String>) -> Option<Self> {
        let lines = lines?;
        if before == Seq(0) {
            return Some(Self { at: None, lines });
        }
        let end = lines.find('\n')? + 1;
        Some(Self { at: Some(lines[..end].to_owned()), lines: lines[end..].to_owned() })
    }
}

/// The lines of one commit.
#[derive(Debug, Clone, Copy)]
pub struct Put<'a> {
    /// The run whose log grows.
    pub run: &'a RunId,
    /// The last position before these lines; 0 to begin the run.
    pub before: Seq,
    /// The lines of the run before these that are in the same window: those after [`window_of`] `before`.
    pub earlier: &'a str,
    /// Whole sealed lines. They are kept as they are, byte for byte.
    pub lines: &'a str,
    /// Whether the run is over after them.
    pub is_over: bool,
    /// The files of evidence that these lines name.
    pub evidence: &'a [Vec<u8>],
    /// What the run is about from now on, and what it is no longer about. It is decided together with the lines.
    pub work: &'a WorkChange,
    /// Whether they may have been there before: then they take the place of what is left of them.
    pub again: bool,
}

/// The outcome of [`Carrier::put`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PutAnswer {
    /// The lines are there, and stay.
    Done,
    /// Other lines follow that position, or these ones do already.
    Taken,
    /// Another open run is about the same; nothing was written.
    WorkTaken {
        /// The run that has the work.
        run: RunId,
        /// What both are about.
        about: WorkKey,
    },
    /// They may be there, or arrive later. The text says why that is not known.
    Unknown(String),
    /// Nothing was written, and nothing will arrive later.
    Not(NoAnswer),
}

/// Why a carrier gave no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoAnswer {
    /// It was not reached; the text says what was tried and why that failed. A later try may succeed.
    NotReached(String),
    /// It answered that it fails; the text has its answer. A later try may succeed.
    Failed(String),
    /// It refuses the request, and would refuse it again; the text has its words.
    Refused(String),
    /// What it has of a run is damaged. Nothing is wrong with other runs.
    Damaged {
        /// The run whose log it is.
        run: RunId,
        /// In what way.
        fault: LogFault,
    },
    /// It has more than is read of it; the text says of what.
    TooMuch(String),
}

impl NoAnswer {
    /// The reason alone.
    #[must_use]
    pub fn why(&self) -> &str {
        match self {
            Self::NotReached(why) | Self::Failed(why) | Self::Refused(why) | Self::TooMuch(why) => why,
            Self::Damaged { fault, .. } => &fault.why,
        }
    }

    /// The error of the store at this address.
    #[must_use]
    pub fn at(self, at: Address) -> StoreError {
        match self {
            Self::NotReached(why) => StoreError::Unreached { at, why, has_answered: false },
            Self::Failed(why) => StoreError::Unreached { at, why, has_answered: true },
            Self::Refused(why) => StoreError::Refused { at, why },
            Self::Damaged { run, fault } => StoreError::Damaged { at: at.of_run(&run), run, why: fault.why },
            Self::TooMuch(why) => StoreError::TooMuch { at, why },
        }
    }
}

/// Something that is wrong with the log that a carrier has of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFault {
    /// What, in words.
    pub why: String,
    /// Whether a repair mends it: a whole copy has what is missing in the middle of it ([`Carrier::fill_gaps`]), or an older reference
    /// beside it is to go ([`Carrier::list_again`]).
    pub is_gap: bool,
}

impl LogFault {
    /// A fault that no copy mends.
    pub(crate) fn new(why: impl Into<String>) -> Self {
        Self { why: why.into(), is_gap: false }
    }

    /// What is wrong with a whole log, whose lines were asked for.
    pub(crate) fn of_log(lines: Result<Option<String>, NoAnswer>) -> Result<Vec<Self>, NoAnswer> {
        match lines {
            Ok(lines) => Ok(lines.map(|lines| Self::all_in(&lines)).unwrap_or_default()),
            Err(NoAnswer::Damaged { fault, .. }) => Ok(vec![fault]),
            Err(error) => Err(error),
        }
    }

    /// What is wrong with the lines of a whole log.
    pub(crate) fn all_in(lines: &str) -> Vec<Self> {
        let mut faults = faults_in(lines);
        if !lines.is_empty() && !lines.ends_with('\n') {
            faults.push("its last line is not whole".to_owned());
        }
        faults.into_iter().map(Self::new).collect()
    }
}

/// What goes wrong on this side of the network.
impl From<String> for NoAnswer {
    fn from(why: String) -> Self {
        Self::NotReached(why)
    }
}

impl From<NoAnswer> for PutAnswer {
    fn from(answer: NoAnswer) -> Self {
        Self::Not(answer)
    }
}

/// What is wrong with the lines of a whole log, in words.
pub(crate) fn faults_in(lines: &str) -> Vec<String> {
    let scan = LogScan::parse(lines.as_bytes());
    let mut faults = Vec::new();
    for skipped in &scan.skipped {
        faults.push(format!("line {} is not a sealed event", skipped.line));
    }
    let (mut before, gaps) = (Seq(0), scan.gaps());
    for event in scan.events() {
        // What a repair of the log has declared lost is not a gap.
        let has_gap = gaps.iter().any(|(from, to)| *to > before && *from < event.seq);
        if has_gap || event.seq <= before {
            faults.push(format!("event {} follows event {before}", event.seq));
        }
        before = event.seq;
    }
    faults
}
