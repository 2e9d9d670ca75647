//! The markers that say which open run is about something.
//!
//! The marker and the lines of a commit are two objects, and a bucket changes one at a time. So the marker comes first, and
//! names the one commit that it is for: its run, its position, and the digest of its object. The log decides whether it
//! counts. It may be replaced when that run is over, when another commit has the position, or after the position was
//! taken from a writer that did not come to its lines: an object without lines is put there, and a writer that finds one
//! takes its marker again before anything else. This holds for writers of one run too. Each marker is another object than
//! the one before, so replacing one that has changed meanwhile is refused.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::model::{RunId, Seq, sha256_hex};
use crate::remote::names::mark_of;
use crate::remote::s3::log::BucketLog;
use crate::remote::s3::objects::is_whole;
use crate::remote::s3::requests::{Condition, Requests, Upload, UploadOutcome};
use crate::store::WorkKey;
use crate::store::shared::{NoAnswer, left_until};

/// How long a writer has to put its lines after its marker before it loses its place.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long to wait before looking again.
const PAUSE: Duration = Duration::from_millis(40);

/// The markers in a bucket, as one commit takes and frees them.
#[derive(Debug)]
pub(super) struct Markers<'a> {
    pub(super) requests: &'a Requests,
    pub(super) run: &'a RunId,
    pub(super) before: Seq,
    /// The digest of the object that the commit puts; none for a commit that is there already.
    pub(super) commit: Option<&'a str>,
    pub(super) deadline: Instant,
}

/// Who is about something.
#[derive(Debug, Serialize, Deserialize)]
struct Marker {
    about: String,
    /// The run; none if any may be.
    run: Option<RunId>,
    /// The position of the commit by which it is.
    seq: Seq,
    /// The digest of the object of that commit, if that was known.
    #[serde(default)]
    commit: Option<String>,
    /// Makes each marker another object.
    nonce: String,
}

/// Whose a marker is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TakenBy {
    /// This run's: that of this commit, or of another one that is in its log.
    Own,
    /// Another open run's.
    Other(RunId),
}

/// Whether the commit of a marker is in the log.
enum Owner {
    /// It is in the log, and its run is open.
    Open,
    /// Its run is over, or another commit has its place.
    Over,
    /// The lines of its commit are not there. The tag of a void object at their place, if there is one.
    Pending(Option<String>),
}

impl Markers<'_> {
    /// Marks this run as being about `key`.
    ///
    /// # Errors
    /// Why that is not known. Nothing but a marker was written.
    pub(super) fn take(&self, key: &WorkKey) -> Result<TakenBy, NoAnswer> {
        // The marker that is waited for, and since when.
        let mut waited: Option<(String, Instant)> = None;
        if self.write(key, Some(self.run), Condition::New)? {
            return Ok(TakenBy::Own);
        }
        loop {
            let Some(found) = self.requests.get(&mark_of(key), self.deadline)? else {
                if self.write(key, Some(self.run), Condition::New)? {
                    return Ok(TakenBy::Own);
                }
                continue;
            };
            let marker = serde_json::from_slice::<Marker>(&found.body).ok();
            let may_replace = match marker.as_ref().and_then(|marker| Some((marker, marker.run.as_ref()?))) {
                Some((marker, run)) if !self.may_take_again(marker) => match self.owner(run, marker)? {
                    Owner::Open if run == self.run => return Ok(TakenBy::Own),
                    Owner::Open => return Ok(TakenBy::Other(run.clone())),
                    Owner::Over => true,
                    Owner::Pending(void) => {
                        let since = match &waited {
                            Some((tag, since)) if *tag == found.tag => *since,
                            _ => waited.insert((found.tag.clone(), Instant::now())).1,
                        };
                        since.elapsed() > PATIENCE && self.take_place(run, marker.seq, void.as_deref())?
                    }
                },
                _ => true,
            };
            if may_replace && self.write(key, Some(self.run), Condition::Tag(&found.tag))? {
                return Ok(TakenBy::Own);
            }
            if left_until(self.deadline).is_zero() {
                return Err("the time is up".to_owned().into());
            }
            thread::sleep(PAUSE);
        }
    }

    /// Whether a marker is that of this commit, or of an earlier one of this run: this commit was decided on behind that one.
    fn may_take_again(&self, marker: &Marker) -> bool {
        marker.run.as_ref() == Some(self.run) && (marker.seq <= self.before || self.is_own(marker))
    }

    fn is_own(&self, marker: &Marker) -> bool {
        self.commit.is_some() && marker.commit.as_deref() == self.commit
    }

    /// Takes the marker of this commit away, which will never be in the log. That of another commit stays.
    pub(super) fn remove_own(&self, key: &WorkKey) {
        self.free_if(key, |marker| self.is_own(marker));
    }

    /// Frees the marker of `key` that this run took before this commit. One that is not freed stays until the run is over.
    pub(super) fn free(&self, key: &WorkKey) {
        self.free_if(key, |marker| marker.seq <= self.before);
    }

    fn free_if(&self, key: &WorkKey, may_free: impl Fn(&Marker) -> bool) {
        let Ok(Some(found)) = self.requests.get(&mark_of(key), self.deadline) else { return };
        let marker = serde_json::from_slice::<Marker>(&found.body).ok();
        if marker.is_some_and(|marker| marker.run.as_ref() == Some(self.run) && may_free(&marker)) {
            let _ = self.write(key, None, Condition::Tag(&found.tag));
        }
    }

    /// Writes a marker. Returns whether its condition holds.
    fn write(&self, key: &WorkKey, run: Option<&RunId>, condition: Condition<'_>) -> Result<bool, NoAnswer> {
        let (seq, commit) = (self.before.next(), self.commit.map(str::to_owned));
        let marker = Marker { about: key.0.clone(), run: run.cloned(), seq, commit, nonce: nonce() };
        let body = serde_json::to_string(&marker).expect("BUG: a marker cannot be written as JSON") + "\n";
        self.put(&mark_of(key), body.as_bytes(), condition)
    }

    fn put(&self, name: &str, body: &[u8], condition: Condition<'_>) -> Result<bool, NoAnswer> {
        match self.requests.put(&Upload { name, body, condition, is_over: None }, self.deadline) {
            UploadOutcome::Done => Ok(true),
            // Without an answer it is read again: even this process's own marker is replaced then.
            UploadOutcome::Refused | UploadOutcome::Unknown(_) => Ok(false),
            UploadOutcome::Not(why) => Err(why),
        }
    }

    /// Whether the commit of a marker of `run` is in the log.
    fn owner(&self, run: &RunId, marker: &Marker) -> Result<Owner, NoAnswer> {
        let log = BucketLog { requests: self.requests, run, deadline: self.deadline };
        let end = log.end()?;
        let has_position = end.as_ref().is_some_and(|end| end.last >= marker.seq);
        match &end {
            Some(end) if end.is_over && has_position => return Ok(Owner::Over),
            // Nothing says of which commit it is.
            Some(end) if !end.is_over && marker.commit.is_none() => return Ok(Owner::Open),
            _ => {}
        }
        Ok(match log.object(Seq(marker.seq.0.saturating_sub(1)))? {
            // What has its position came with the commit before, when the log was put there again.
            None if has_position => Owner::Open,
            None => Owner::Pending(None),
            Some(object) if !is_whole(&object.body) => Owner::Pending(Some(object.tag)),
            Some(object) if marker.commit.as_ref().is_some_and(|commit| *commit != sha256_hex(&object.body)) => {
                Owner::Over
            }
            Some(_) => Owner::Open,
        })
    }

    /// Takes the position `seq` of a run from a writer that has not come to it. Returns whether that is done.
    fn take_place(&self, run: &RunId, seq: Seq, void: Option<&str>) -> Result<bool, NoAnswer> {
        let log = BucketLog { requests: self.requests, run, deadline: self.deadline };
        let name = log.name(Seq(seq.0.saturating_sub(1)));
        self.put(&name, format!("void {}\n", nonce()).as_bytes(), void.map_or(Condition::New, Condition::Tag))
    }
}

/// The run that is marked as being about `key`.
pub(super) fn run_marked(requests: &Requests, key: &WorkKey, deadline: Instant) -> Result<Option<RunId>, NoAnswer> {
    let found = requests.get(&mark_of(key), deadline)?;
    let marker = found.and_then(|object| serde_json::from_slice::<Marker>(&object.body).ok());
    Ok(marker.and_then(|marker| marker.run))
}

fn nonce() -> String {
    format!("{:016x}", RandomState::new().build_hasher().finish())
}
