//! Errors of stores.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use thiserror::Error;

use crate::disk::DiskError;
use crate::model::{Explain, Help, Kind, Problem, RunId, Seq, Suggestion, Timestamp, quoted};
use crate::store::address::Address;
use crate::store::request::Writer;
use crate::store::work::WorkKey;

/// Why a store could not read or write.
#[derive(Debug, Error)]
pub enum StoreError {
    /// A file or directory cannot be used.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The `.flow` directory belongs to another program.
    #[error("{} belongs to another program: it contains {evidence}, and no run of flow's", path.display())]
    Foreign {
        /// The `.flow` directory.
        path: PathBuf,
        /// A name found in it.
        evidence: String,
    },
    /// `run.yaml` would become too large.
    #[error("run {run} is full: its run.yaml would be larger than {limit} bytes")]
    Full {
        /// The run that would become too large.
        run: RunId,
        /// The limit in bytes.
        limit: usize,
    },
    /// `run.yaml` would become too large, and would not with a shorter text.
    #[error("the text is too long: run.yaml of {run} has room for {room} more bytes")]
    NoRoom {
        /// The run that would become too large.
        run: RunId,
        /// How many bytes it may still grow.
        room: usize,
    },
    /// An event does not fit into one line of the log.
    #[error("the record is larger than {limit} bytes")]
    TooLong {
        /// The bound in bytes.
        limit: usize,
    },
    /// So much of a log is not an event that it is not read any further.
    #[error("{at} cannot be read: its log {} {much} without an event", ends_or_has(*is_end))]
    WithoutEvent {
        /// The directory of the log.
        at: Address,
        /// How much was looked at.
        much: String,
        /// Whether it is the end of the log.
        is_end: bool,
    },
    /// Git LFS has the file, and left a pointer in its place.
    #[error("{at} is a pointer of Git LFS, without its contents")]
    LfsPointer {
        /// The file.
        at: Address,
    },
    /// Another program replaced the log file while flow was writing.
    #[error("another program replaced {at} just now")]
    Replaced {
        /// The log.
        at: Address,
    },
    /// Another writer committed first, so the decision may be out of date. The transaction retries; callers see this
    /// error when every retry conflicted.
    #[error("other processes wrote to {run} first, {races} times in a row")]
    Conflict {
        /// The run that was to be written.
        run: RunId,
        /// How often that happened to this command.
        races: u32,
    },
    /// The copy of a shared run has another last event than the store. It has to be brought up to date first.
    #[error("the copy of {run} differs from the shared run")]
    CopyDiffers {
        /// The run that was to be written.
        run: RunId,
    },
    /// Another open run is about the same work.
    #[error("run {run} is open and also about {about}")]
    WorkTaken {
        /// The run that is open.
        run: RunId,
        /// What both are about, such as `issue 42`.
        about: WorkKey,
    },
    /// A run with this id exists already.
    #[error("{at} exists already")]
    Taken {
        /// The run that has the id, or where it is.
        at: Address,
    },
    /// The run was pruned, so nothing is recorded in it, and no other run gets its id.
    #[error("run {run} was pruned on {}{}", day(*at), whereabouts(to.as_deref()))]
    Pruned {
        /// The run that had the id.
        run: RunId,
        /// When.
        at: Timestamp,
        /// The directory like `.flow` that has it now; none if it was removed.
        to: Option<PathBuf>,
    },
    /// Runs cannot be moved to a directory in one step.
    #[error("{} is on another file system than the runs, so they cannot be moved there in one step", path.display())]
    OtherFileSystem {
        /// The directory.
        path: PathBuf,
    },
    /// No run has this id.
    #[error("{at} does not exist")]
    NoRun {
        /// Where it would be.
        at: Address,
    },
    /// The store that machines share has lost a run, or its end, of which a copy is here.
    #[error("{at} has lost run {run}, or the end of it, of which a copy is here")]
    Lost {
        /// The run that is only here now.
        run: RunId,
        /// The store.
        at: Address,
    },
    /// A move of a run into the store that machines share had stopped, and the store refuses the run.
    #[error("run {run} was being moved into {at}, and stays in this checkout: {why}")]
    NotMoved {
        /// The run that stays here.
        run: RunId,
        /// The store.
        at: Address,
        /// Why it stays.
        why: Box<StoreError>,
    },
    /// A run of this checkout is not shown, since machines share another one of its id.
    #[error("{0}")]
    Hidden(HiddenRun),
    /// Another live process holds the lock.
    #[error("{at} is held by another process{}; waited {:.1} s", described(.holder.as_deref()), waited.as_secs_f64())]
    Held {
        /// What is held.
        at: Address,
        /// Who holds it, if that is known.
        holder: Option<Box<Writer>>,
        /// How long this process waited.
        waited: Duration,
    },
    /// What a store that machines share has of a run was not written by flow.
    #[error("{at} has a line after event {after} that is not an event")]
    NotALog {
        /// The run in the store.
        at: Address,
        /// The last position before it.
        after: Seq,
    },
    /// What a store that machines share has of a run is damaged.
    #[error("the log of {at} is damaged: {why}")]
    Damaged {
        /// The run there.
        at: Address,
        /// The run whose copies can repair it.
        run: RunId,
        /// In what way.
        why: String,
    },
    /// A store that machines share has more than is read of it.
    #[error("{at} has too much to be listed: {why}")]
    TooMuch {
        /// The store.
        at: Address,
        /// What there is too much of.
        why: String,
    },
    /// The log of a run in this checkout is damaged, so that the run cannot be shared.
    #[error("{at} is damaged: {why}")]
    DamagedLog {
        /// The run in this checkout.
        run: RunId,
        /// The log.
        at: Address,
        /// What is wrong with it.
        why: String,
    },
    /// The user has not accepted the store that machines share.
    #[error("{store}")]
    NotAccepted {
        /// Which store it is, and what is known of its place.
        store: UnacceptedStore,
        /// Whether a run was to begin, which it can in this checkout alone as well.
        begins: bool,
    },
    /// The store that machines share did not answer, or answered that it fails, and nothing was written there.
    #[error("{at} {}: {why}", if *has_answered { "failed" } else { "was not reached" })]
    Unreached {
        /// The store.
        at: Address,
        /// What was tried, and why it failed.
        why: String,
        /// Whether it answered that it fails.
        has_answered: bool,
    },
    /// The store that machines share refuses the request, and nothing was written there.
    #[error("{at} refuses the request: {why}")]
    Refused {
        /// The store.
        at: Address,
        /// Its words.
        why: String,
    },
    /// The record may or may not be on stable storage: a flush failed, and a second flush would prove nothing; or a store
    /// that machines share did not answer.
    #[error("the record in {at} could not be confirmed")]
    Unconfirmed {
        /// The log.
        at: Address,
        /// Why not.
        source: io::Error,
    },
}

/// The result of a store.
pub type Result<T, E = StoreError> = std::result::Result<T, E>;

/// A store that the project names and the user has not accepted on this machine.
#[derive(Debug, Clone, PartialEq)]
pub struct UnacceptedStore {
    /// What the project calls it: `git:origin`.
    pub at: Address,
    /// Where it is, without what logs in; or why that cannot be found out.
    pub place: Result<String, Box<Problem>>,
    /// Whether the user accepted another place under this name.
    pub has_moved: bool,
}

impl UnacceptedStore {
    /// Where it is, if that is a directory of this machine.
    #[must_use]
    pub fn directory(&self) -> Option<PathBuf> {
        let place = self.place.as_ref().ok()?;
        if place.starts_with('/') { Some(PathBuf::from(place)) } else { None }
    }

    /// What makes its runs seen.
    #[must_use]
    pub fn help(&self) -> Help {
        match &self.place {
            Ok(_) => Suggestion::flow("remote use").value(&self.at) + " accepts it",
            Err(problem) => {
                let known = problem.help.clone().unwrap_or_default();
                let change = "correct that, or `store` in .flow/config.yaml";
                if known.is_empty() { change.into() } else { known + "; " + change }
            }
        }
    }

    /// The same for a command that was refused, which may have been about to begin a run.
    fn help_before_a_run(&self, begins: bool) -> Help {
        let instead = if begins { "; or begin a run of this checkout alone with --local" } else { "" };
        match &self.place {
            Err(_) => self.help() + instead,
            Ok(_) => {
                let accept = Suggestion::flow("remote use").value(&self.at);
                Help::from("look who can read it, then ") + accept + instead
            }
        }
    }
}

impl fmt::Display for UnacceptedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the runs of this project are shared in {}", self.at)?;
        match (&self.place, self.has_moved) {
            (Ok(place), true) => {
                write!(f, ", which is {place} now, and another address of it was accepted on this machine")
            }
            (Ok(place), false) => write!(f, " ({place}), which was not accepted on this machine"),
            (Err(problem), _) => write!(f, ", and {problem}"),
        }
    }
}

/// A run of this checkout that is not shown, since machines share another one of its id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HiddenRun {
    /// The id that both have.
    pub run: RunId,
    /// The store of the other one.
    pub at: Address,
    /// Its directory.
    pub here: Address,
    /// Whether its log goes on after the end of the other one.
    pub goes_on: bool,
}

impl HiddenRun {
    /// What to do now.
    #[must_use]
    pub fn help(&self) -> Help {
        let id = &self.run;
        if self.goes_on {
            return Suggestion::flow("remote push").value(id) + " puts there what it lacks";
        }
        let show = Suggestion::flow("show").value(id);
        Help::from("move this directory to ") + format!("OTHER/runs/{id}, and `FLOW_DIR=OTHER {show}` shows it")
    }
}

impl fmt::Display for HiddenRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { run, at, here, goes_on } = self;
        if *goes_on {
            return write!(f, "{at} has run {run} without its last events, which are in {here}");
        }
        write!(f, "{at} has another run {run}, which is shown instead of the one in {here}")
    }
}

impl StoreError {
    /// Whether the error means that the file or run does not exist.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        match self {
            Self::Disk(error) => error.is_not_found(),
            other => matches!(other, Self::NoRun { .. }),
        }
    }

    /// Whether flow must not touch the file: it is not flow's, or permissions forbid it.
    #[must_use]
    pub fn is_forbidden(&self) -> bool {
        matches!(self, Self::Disk(error) if error.is_forbidden())
    }

    /// Whether a system call failed: the file may exist anyway.
    #[must_use]
    pub fn is_io(&self) -> bool {
        matches!(self, Self::Disk(DiskError::Io { .. } | DiskError::NotOurs { .. }))
    }
}

/// What brings a file that Git LFS has.
const PULL: &str = "bring the contents with `git lfs pull`; if two pointers were merged, take the file of one side first; nothing was written";

impl Explain for StoreError {
    fn problem(&self) -> Problem {
        let new = |kind, code| Problem::new(kind, code, self);
        match self {
            Self::Disk(error) => error.problem(),
            Self::Foreign { .. } => new(Kind::Unsafe, "foreign_flow_directory").help(
                "make another directory with `FLOW_DIR=DIR flow init` and keep FLOW_DIR set, or move that one away; nothing was written into it",
            ),
            Self::Full { run, .. } => new(Kind::Refused, "run_full").help(
                Help::from("end the run, and start another one for the rest of the work: ")
                    + Suggestion::flow("complete").value(run),
            ),
            Self::NoRoom { .. } => new(Kind::Refused, "run_full").help("give a shorter text; nothing was written"),
            Self::TooLong { .. } => new(Kind::Refused, "record_too_large")
                .help("put long texts into a file and refer to it as evidence; nothing was written"),
            Self::WithoutEvent { .. } => new(Kind::Damaged, "log_without_events").help(
                "bring an earlier version of events.jsonl back, with git for instance, or cut off what flow did not write; until then nothing is written there",
            ),
            Self::LfsPointer { .. } => new(Kind::Damaged, "lfs_pointer").help(PULL),
            Self::Conflict { .. } | Self::CopyDiffers { .. } => new(Kind::Held, "conflict").help("try again; nothing was written"),
            Self::WorkTaken { .. } => new(Kind::Refused, "run_open").help("go on with that run; nothing was written"),
            Self::Taken { .. } => new(Kind::Refused, "run_exists").help("use another id, or go on with that run"),
            Self::NoRun { .. } => new(Kind::NotFound, "not_found"),
            Self::Pruned { run, to: Some(to), .. } => new(Kind::NotFound, "run_pruned").help(format!(
                "`FLOW_DIR={} flow show {run}` shows it; another run needs another id",
                quoted(&to.to_string_lossy())
            )),
            Self::Pruned { to: None, .. } => {
                new(Kind::NotFound, "run_pruned")
                    .help(Suggestion::flow("list") + " shows the runs that are here; another run needs another id")
            }
            Self::OtherFileSystem { .. } => new(Kind::Refused, "other_file_system").help(
                "name a directory on the file system of the project, then move that one as a whole; nothing was moved",
            ),
            Self::Lost { run, .. } => new(Kind::NotFound, "run_lost").help(
                Suggestion::flow("remote push").value(run) + " puts it there again, or remove the copy; nothing was written",
            ),
            Self::NotMoved { .. } => new(Kind::Refused, "run_not_moved").help(
                "try again: from now on it is written here, as it was before the move; nothing was written",
            ),
            Self::Hidden(hidden) => new(Kind::Refused, "run_hidden").help(hidden.help() + "; nothing was written"),
            Self::Replaced { .. } => new(Kind::Held, "log_replaced").help("try again; nothing was written"),
            Self::Held { .. } => new(Kind::Held, "lock_timeout")
                .help("try again, or wait longer with --lock-timeout SECONDS; nothing was written"),
            Self::NotALog { .. } => new(Kind::Damaged, "shared_log_damaged")
                .help("remove what was put there with another program; until then nothing is written there"),
            Self::Damaged { run, .. } => new(Kind::Damaged, "shared_log_damaged").help(
                Suggestion::flow("remote push").value(run)
                    + " on a machine with a whole copy puts there again what is missing; what another program put there has to be removed",
            ),
            Self::TooMuch { .. } => new(Kind::Refused, "store_too_large")
                .help("share new runs in another place, such as another prefix of the bucket, or remove there what flow did not write"),
            Self::DamagedLog { run, .. } => new(Kind::Damaged, "log_damaged").help(
                Suggestion::flow("doctor").value(run).flag("repair")
                    + " notes in it what is lost, and then it can be shared; nothing was sent",
            ),
            Self::NotAccepted { store, begins } => {
                let (kind, code) = match &store.place {
                    Err(problem) => (problem.kind, problem.code),
                    Ok(_) => (Kind::Refused, "store_not_accepted"),
                };
                new(kind, code).help(store.help_before_a_run(*begins))
            }
            Self::Unreached { .. } => new(Kind::Io, "store_not_reached")
                .help("repeat the command once that is put right, or wait longer with --lock-timeout SECONDS; nothing was written"),
            Self::Refused { .. } => new(Kind::Refused, "store_refused").help(
                "it would refuse the same again: do what it says, or look at your rights there, and at the hooks and protected references of a git remote; nothing was written",
            ),
            Self::Unconfirmed { source, .. } => new(Kind::Io, "unconfirmed")
                .help("try again; a record with the same --id is recorded once, whatever happened")
                .caused_by(source),
        }
    }
}

/// The day of a point in time, in UTC.
fn day(at: Timestamp) -> String {
    at.as_datetime().format("%Y-%m-%d").to_string()
}

/// Where a pruned run is, as the end of a sentence.
fn whereabouts(to: Option<&Path>) -> String {
    match to {
        Some(to) => format!(", and is in {} now", to.display()),
        None => " and removed".to_owned(),
    }
}

fn ends_or_has(is_end: bool) -> &'static str {
    if is_end { "ends in" } else { "has in a row" }
}

/// Who holds a lock, from the note that the process left in it.
fn described(holder: Option<&Writer>) -> String {
    match holder {
        Some(note) => format!(" (process {}, `{}`, since {})", note.pid, note.command, note.since),
        None => ", which flow does not know".to_owned(),
    }
}
