//! The carrier of a bucket.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::codec::LogScan;
use crate::host::{CloudEnv, HttpClient};
use crate::model::{EventId, EventKind, KeptEvidence, RunId, Seq, Timestamp, sha256_hex};
use crate::remote::names::{key_of, mark_of, run_of};
use crate::remote::s3::address::S3Place;
use crate::remote::s3::credentials::CredentialChain;
use crate::remote::s3::log::{BucketLog, LOGS};
use crate::remote::s3::objects::{Lines, body_of, is_whole};
use crate::remote::s3::requests::{Condition, Requests, Upload, UploadOutcome};
use crate::remote::s3::work::{Markers, TakenBy, run_marked};
use crate::store::shared::{Carrier, LinesBehind, LogFault, NoAnswer, Put, PutAnswer, Tip, left_until};
use crate::store::{Address, RefreshScope, WorkKey};

/// Where the hints of open runs are, and what is said of runs that are over.
const OPEN: &str = "open/";
const OVER: &str = "over/";
/// Where files of evidence are, by their digests.
const EVIDENCE: &str = "evidence/";

/// From this many lost races on, a writer takes it that there are many others.
const FEW_RACES: u32 = 2;
/// How many runs are read at a time.
const RUNS_AT_ONCE: usize = 8;
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Runs in a bucket.
#[derive(Debug)]
pub struct S3Carrier {
    requests: Requests,
    /// The address for messages: `s3://bucket/prefix`.
    called: String,
    /// What is known of objects that were tried to write, by their names.
    tried: Mutex<BTreeMap<String, TriedObject>>,
    races: Mutex<Races>,
    /// The lines of runs that are asked for next: with this mark, from a position on.
    expected: Mutex<BTreeMap<(RunId, String, Seq), String>>,
}

/// The races that were lost since the last one that was won.
#[derive(Debug, Clone, Copy, Default)]
struct Races {
    lost: u32,
    /// When this writer last looked who had won.
    looked: Option<Instant>,
    /// How long it took from a look to the answer to the commit that was decided on it. Another writer who commits in
    /// that time wins.
    took: Duration,
}

impl Races {
    /// How long to wait before looking who won. Each time twice as long, so that many writers get out of each other's way;
    /// and before, not after it, so that what is seen is new.
    fn pause(self) -> Duration {
        let longest = (self.took * (2 << self.lost.min(8))).min(LONGEST_PAUSE);
        let random = RandomState::new().build_hasher().finish() % 1024;
        if self.lost == 0 { Duration::ZERO } else { longest * u32::try_from(random).unwrap_or_default() / 1024 }
    }
}

/// What is known of an object that was tried to write.
#[derive(Debug, Clone)]
enum TriedObject {
    /// A void object with this tag is in its place.
    Void(String),
    /// Its answer was lost. If it is there, its run is over after it, or not.
    Unanswered { body: String, is_over: bool },
}

/// What is said of a run beside its log. It may lag behind.
#[derive(Serialize, Deserialize)]
struct Hint {
    /// The last position.
    seq: Seq,
    /// The event there, and when it happened; none before the first one.
    event: Option<EventId>,
    at: Option<Timestamp>,
}

impl Hint {
    fn of(lines: &str) -> Self {
        let scan = LogScan::parse(lines.as_bytes());
        let last = scan.events().next_back();
        Self { seq: scan.last_seq(), event: last.map(|event| event.id.clone()), at: last.map(|event| event.at) }
    }

    fn to_body(&self) -> String {
        serde_json::to_string(self).expect("BUG: a hint cannot be written as JSON") + "\n"
    }
}

impl S3Carrier {
    /// The carrier for a bucket. `env` has the credentials, or says where they are, and how to get to the network.
    ///
    /// # Errors
    /// A sentence: the server's URL, the proxy's, or the file of certificates is not valid.
    pub fn new(place: &S3Place, env: CloudEnv) -> Result<Self, String> {
        let bucket = place.to_bucket()?;
        let http = HttpClient::new(&env, bucket.base_url().as_str())?;
        let credentials = CredentialChain::new(env, place.region.clone());
        let requests = Requests { bucket, prefix: place.key_prefix(), http, credentials };
        Ok(Self {
            requests,
            called: place.called(),
            tried: Mutex::default(),
            races: Mutex::default(),
            expected: Mutex::default(),
        })
    }

    /// The carrier for `s3://bucket/prefix`, as the environment describes it. Sends nothing.
    ///
    /// # Errors
    /// As [`S3Place::from_environment`] and [`Self::new`].
    pub fn from_environment(address: &str, env: CloudEnv) -> Result<Self, String> {
        Self::new(&S3Place::from_environment(address, &env)?, env)
    }

    fn expected(&self) -> MutexGuard<'_, BTreeMap<(RunId, String, Seq), String>> {
        self.expected.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tried(&self) -> MutexGuard<'_, BTreeMap<String, TriedObject>> {
        self.tried.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn log<'a>(&'a self, run: &'a RunId, deadline: Instant) -> BucketLog<'a> {
        BucketLog { requests: &self.requests, run, deadline }
    }

    /// Puts the markers and the lines. An error says why no lines were sent.
    fn try_to_put(&self, put: &Put<'_>, deadline: Instant) -> Result<PutAnswer, NoAnswer> {
        let commit = sha256_hex(body_of(put.earlier, put.lines).as_bytes());
        let Put { run, before, .. } = *put;
        let markers = Markers { requests: &self.requests, run, before, commit: Some(&commit), deadline };
        // An earlier try may still arrive, and rests on its markers.
        let is_in_doubt = self.is_in_doubt(&self.log(run, deadline).name(before));
        for (nth, key) in put.work.taken.iter().enumerate() {
            let other = match markers.take(key) {
                Ok(TakenBy::Own) => continue,
                Ok(TakenBy::Other(run)) => Ok(PutAnswer::WorkTaken { run, about: key.clone() }),
                Err(why) => Err(why),
            };
            if !is_in_doubt {
                put.work.taken[..nth].iter().for_each(|key| markers.remove_own(key));
            }
            return other;
        }
        // Before anything names them.
        let kept = put.evidence.iter().try_for_each(|file| self.put_evidence(file, deadline));
        let announced = kept.and_then(|()| self.announce(put, deadline));
        let answer = match &announced {
            Ok(_) => self.put_lines(put, deadline),
            Err(why) => why.clone().into(),
        };
        if answer == PutAnswer::Taken && announced == Ok(true) {
            self.delist_ended(put.run, deadline);
        }
        match &answer {
            PutAnswer::Not(_) if !is_in_doubt => {
                put.work.taken.iter().for_each(|key| markers.remove_own(key));
            }
            // The marker of a run that is over may be replaced.
            PutAnswer::Done if !put.is_over => put.work.freed.iter().for_each(|key| markers.free(key)),
            // The log says that another commit has the place: the markers no longer count, or they are that one's.
            _ => {}
        }
        Ok(answer)
    }

    /// Whether the lines of an earlier try may still arrive at this object.
    fn is_in_doubt(&self, name: &str) -> bool {
        matches!(self.tried().get(name), Some(TriedObject::Unanswered { .. }))
    }

    /// Puts a file of evidence, if it is not there. An error says why it may not be there.
    fn put_evidence(&self, file: &[u8], deadline: Instant) -> Result<(), NoAnswer> {
        let name = format!("{EVIDENCE}{}", sha256_hex(file));
        let upload = Upload { name: &name, body: file, condition: Condition::New, is_over: None };
        if self.requests.put_again(&upload, deadline)? {
            return Ok(());
        }
        // What a client left that died before it had sent everything has another content.
        let Some(there) = self.requests.get(&name, deadline)? else {
            return Err("a file of evidence is gone".to_owned().into());
        };
        if there.body == file {
            return Ok(());
        }
        // If it is refused, another writer has put the same bytes.
        self.requests.put_again(&Upload { condition: Condition::Tag(&there.tag), ..upload }, deadline).map(drop)
    }

    /// Lists a run as open before it is, so that it is listed even if this process dies between the two. Whether it
    /// was not listed before.
    fn announce(&self, put: &Put<'_>, deadline: Instant) -> Result<bool, NoAnswer> {
        if put.before > Seq(0) {
            let mut reopens = false;
            for event in LogScan::parse(put.lines.as_bytes()).events() {
                reopens |= matches!(event.kind, EventKind::RunReopened(_));
            }
            if !reopens {
                return Ok(false);
            }
        }
        let body = Hint::of(put.earlier).to_body();
        let name = format!("{OPEN}{}", key_of(put.run));
        let upload = Upload { name: &name, body: body.as_bytes(), condition: Condition::New, is_over: None };
        self.requests.put_again(&upload, deadline)
    }

    /// Removes a run from the list of open runs if another writer has ended it long ago.
    fn delist_ended(&self, run: &RunId, deadline: Instant) {
        let [open, over] = [OPEN, OVER].map(|state| format!("{state}{}", key_of(run)));
        if let Ok(Some(_)) = self.requests.get(&over, deadline) {
            let _ = self.requests.delete(&open, deadline);
        }
    }

    fn put_lines(&self, put: &Put<'_>, deadline: Instant) -> PutAnswer {
        let name = self.log(put.run, deadline).name(put.before);
        let body = body_of(put.earlier, put.lines);
        let void = match self.tried().get(&name) {
            Some(TriedObject::Void(tag)) => Some(tag.clone()),
            _ => None,
        };
        let condition = void.as_deref().map_or(Condition::New, Condition::Tag);
        let upload = Upload { name: &name, body: body.as_bytes(), condition, is_over: Some(put.is_over) };
        let begin = Instant::now();
        let mut uploaded = self.requests.put(&upload, deadline);
        if put.again
            && uploaded == UploadOutcome::Refused
            && let Ok(Some(left)) = self.log(put.run, deadline).object(put.before)
            && !is_whole(&left.body)
        {
            uploaded = self.requests.put(&Upload { condition: Condition::Tag(&left.tag), ..upload }, deadline);
        }
        self.count_race(&uploaded, begin.elapsed());
        if void.is_some() || uploaded == UploadOutcome::Done {
            self.tried().remove(&name);
        }
        match uploaded {
            UploadOutcome::Done => {
                // The hint of a run that begins is there.
                if put.before > Seq(0) || put.is_over {
                    // What is not said is found in the log: it is durable already.
                    let _ = self.tell(put.run, put.lines, put.is_over, deadline);
                }
                PutAnswer::Done
            }
            UploadOutcome::Refused => PutAnswer::Taken,
            UploadOutcome::Not(why) => why.into(),
            UploadOutcome::Unknown(why) => {
                self.tried().insert(name, TriedObject::Unanswered { body, is_over: put.is_over });
                PutAnswer::Unknown(why.why().to_owned())
            }
        }
    }

    fn count_race(&self, uploaded: &UploadOutcome, took: Duration) {
        let mut races = self.races.lock().unwrap_or_else(PoisonError::into_inner);
        match uploaded {
            UploadOutcome::Done => *races = Races::default(),
            UploadOutcome::Refused => {
                let took = races.looked.map_or(took, |looked| looked.elapsed());
                *races = Races { lost: races.lost + 1, looked: None, took };
            }
            UploadOutcome::Unknown(_) | UploadOutcome::Not(_) => {}
        }
    }

    /// Says how far a run is. An error says why it may not be said.
    fn tell(&self, run: &RunId, lines: &str, is_over: bool, deadline: Instant) -> Result<(), NoAnswer> {
        let body = Hint::of(lines).to_body();
        let [open, over] = [OPEN, OVER].map(|state| format!("{state}{}", key_of(run)));
        let name = if is_over { &over } else { &open };
        let upload = Upload { name, body: body.as_bytes(), condition: Condition::Always, is_over: None };
        if self.requests.put_again(&upload, deadline)? && is_over {
            // Not before the other is there: a run that is listed nowhere would be lost.
            self.requests.delete(&open, deadline)?;
        }
        Ok(())
    }

    /// How far a hint says that its run is; `None` without one.
    fn told(&self, hint: &str, deadline: Instant) -> Result<Option<Seq>, NoAnswer> {
        let found = self.requests.get(hint, deadline)?;
        // An unreadable hint is there anyway, for a run of unknown length.
        Ok(found.map(|object| serde_json::from_slice(&object.body).map_or(Seq(0), |hint: Hint| hint.seq)))
    }

    /// How far the hints say that a run is: 0 without one.
    fn told_of(&self, run: &RunId, deadline: Instant) -> Result<Seq, NoAnswer> {
        let mut told = Seq(0);
        for state in [OPEN, OVER] {
            told = told.max(self.told(&format!("{state}{}", key_of(run)), deadline)?.unwrap_or_default());
        }
        Ok(told)
    }

    fn try_to_list(&self, scope: RefreshScope, deadline: Instant) -> Result<Vec<Tip>, NoAnswer> {
        let mut tips = BTreeMap::new();
        // A run that ends between the two is in both: what is said of its end comes first.
        let states = if scope == RefreshScope::All { &[OPEN, OVER][..] } else { &[OPEN] };
        for state in states {
            for listed in self.requests.list(state, "", deadline)? {
                // Other names were not made by flow.
                let Some(run) = run_of(&listed.name).filter(|run| key_of(run) == listed.name) else { continue };
                // What is said of its end stays when a run is reopened.
                let tip = Tip { run: run.clone(), mark: listed.tag, is_over: *state == OVER };
                tips.entry(run).or_insert(tip);
            }
        }
        Ok(tips.into_values().collect())
    }

    /// The lines of the commit behind `before`, and maybe more.
    fn try_behind(&self, run: &RunId, before: Seq, deadline: Instant) -> Result<Option<LinesBehind>, NoAnswer> {
        let log = self.log(run, deadline);
        let races = *self.races.lock().unwrap_or_else(PoisonError::into_inner);
        thread::sleep(races.pause().min(left_until(deadline)));
        if races.lost >= FEW_RACES {
            // Others have gone on meanwhile, more than one commit.
            if let Some(lines) = log.lines(before.next())?.filter(|lines| !lines.is_empty()) {
                return Ok(Some(LinesBehind { at: None, lines }));
            }
        }
        let Some(object) = log.object(before)? else {
            return Ok(LinesBehind::of(before, log.lines(before.max(Seq(1)))?));
        };
        let Some(lines) = Lines::of(&object.body) else {
            // Only behind a whole commit does a hint say that it is there.
            if self.told_of(run, deadline)? > before {
                return Err(log.cut_off(before));
            }
            self.tried().insert(log.name(before), TriedObject::Void(object.tag));
            return Ok((before > Seq(0)).then(|| LinesBehind { at: None, lines: String::new() }));
        };
        let new = lines.between(before.next(), Seq(u64::MAX));
        let tried = self.tried().remove(&log.name(before));
        if let Some(TriedObject::Unanswered { body, is_over }) = tried
            && body.as_bytes() == object.body
        {
            let _ = self.tell(run, &new, is_over, deadline);
        }
        // Lines that are no events of this flow have the position anyway.
        if new.is_empty() {
            return Ok(Some(LinesBehind { at: None, lines: lines.text().to_owned() }));
        }
        let at = lines.between(before, before.next());
        Ok(Some(LinesBehind { at: (!at.is_empty()).then_some(at), lines: new }))
    }

    fn try_to_remove(&self, run: &RunId, deadline: Instant) -> Result<(), NoAnswer> {
        self.requests.delete(&mark_of(&WorkKey(run.to_string())), deadline)?;
        for state in [OPEN, OVER] {
            self.requests.delete(&format!("{state}{}", key_of(run)), deadline)?;
        }
        let log = self.log(run, deadline);
        // The last one first: what is left is a log.
        for at in log.positions(Seq(0))?.into_iter().rev() {
            self.requests.delete(&log.name(Seq(at - 1)), deadline)?;
        }
        Ok(())
    }
}

impl Carrier for S3Carrier {
    fn address(&self) -> Address {
        Address::new(&*self.called)
    }

    fn tips(&self, scope: RefreshScope, left: Duration) -> Result<Vec<Tip>, NoAnswer> {
        self.try_to_list(scope, Instant::now() + left)
    }

    fn expect(&self, wanted: &[(Tip, Seq)], left: Duration) {
        let deadline = Instant::now() + left;
        self.expected().clear();
        let next = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..wanted.len().min(RUNS_AT_ONCE) {
                scope.spawn(|| {
                    while let Some((tip, first)) = wanted.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let Ok(Some(lines)) = self.log(&tip.run, deadline).lines(*first) else { continue };
                        self.expected().insert((tip.run.clone(), tip.mark.clone(), *first), lines);
                    }
                });
            }
        });
    }

    fn lines(&self, run: &RunId, first: Seq, mark: Option<&str>, left: Duration) -> Result<Option<String>, NoAnswer> {
        // Without a mark the newest ones are asked for.
        if let Some(mark) = mark
            && let Some(lines) = self.expected().remove(&(run.clone(), mark.to_owned(), first))
        {
            return Ok(Some(lines));
        }
        self.log(run, Instant::now() + left).lines(first)
    }

    fn lines_behind(&self, run: &RunId, before: Seq, left: Duration) -> Result<Option<LinesBehind>, NoAnswer> {
        let lines = self.try_behind(run, before, Instant::now() + left);
        self.races.lock().unwrap_or_else(PoisonError::into_inner).looked = Some(Instant::now());
        lines
    }

    fn faults_of_log(&self, run: &RunId, left: Duration) -> Result<Vec<LogFault>, NoAnswer> {
        let (deadline, mut faults) = (Instant::now() + left, self.log(run, Instant::now() + left).faults()?);
        if faults.is_empty()
            && let Some(end) = self.log(run, deadline).end()?
            && self.told_of(run, deadline)? > end.last
        {
            faults.push(LogFault { why: format!("its end behind event {} is missing", end.last), is_gap: true });
        }
        Ok(faults)
    }

    fn fill_gaps(&self, run: &RunId, lines: &str, left: Duration) -> Result<(), NoAnswer> {
        self.log(run, Instant::now() + left).fill_gaps(lines)
    }

    fn marked(&self, keys: &[WorkKey], left: Duration) -> Result<Vec<Option<RunId>>, NoAnswer> {
        let deadline = Instant::now() + left;
        keys.iter().map(|key| run_marked(&self.requests, key, deadline)).collect()
    }

    fn mark_again(&self, run: &RunId, last: Seq, keys: &[WorkKey], left: Duration) -> Result<(), NoAnswer> {
        let before = Seq(last.0.saturating_sub(1));
        let deadline = Instant::now() + left;
        let markers = Markers { requests: &self.requests, run, before, commit: None, deadline };
        for key in keys {
            // Another open run may have it.
            markers.take(key)?;
        }
        Ok(())
    }

    fn unlisted(&self, left: Duration) -> Result<Vec<RunId>, NoAnswer> {
        let deadline = Instant::now() + left;
        // Before the hints: a run is listed before it has lines.
        let folders = self.requests.folders(LOGS, deadline)?;
        let listed: BTreeSet<_> =
            self.try_to_list(RefreshScope::All, deadline)?.into_iter().map(|tip| tip.run).collect();
        let mut unlisted = Vec::new();
        for key in folders {
            let Some(run) = run_of(&key).filter(|run| key_of(run) == key && !listed.contains(run)) else { continue };
            match self.log(&run, deadline).end() {
                // A run that never began may have a void object.
                Ok(None) => {}
                // Nor must one that the bucket cannot give now hide others.
                Ok(Some(_)) | Err(NoAnswer::Damaged { .. } | NoAnswer::Failed(_)) => unlisted.push(run),
                Err(error) => return Err(error),
            }
        }
        Ok(unlisted)
    }

    fn has_unlisted(&self, run: &RunId, left: Duration) -> Result<bool, NoAnswer> {
        Ok(self.log(run, Instant::now() + left).end()?.is_some())
    }

    fn deletions(&self, left: Duration) -> Result<Vec<String>, NoAnswer> {
        self.requests.deletions(Instant::now() + left)
    }

    fn evidence(&self, _: &RunId, kept: &KeptEvidence, left: Duration) -> Result<Option<Vec<u8>>, NoAnswer> {
        let found = self.requests.get(&format!("{EVIDENCE}{}", kept.sha256), Instant::now() + left);
        Ok(found?.map(|object| object.body))
    }

    fn put(&self, put: &Put<'_>, left: Duration) -> PutAnswer {
        self.try_to_put(put, Instant::now() + left).unwrap_or_else(PutAnswer::from)
    }

    fn list_again(&self, run: &RunId, lines: &str, is_over: bool, left: Duration) -> Result<(), NoAnswer> {
        let deadline = Instant::now() + left;
        let last = Hint::of(lines).seq;
        let [open, over] = [OPEN, OVER].map(|state| format!("{state}{}", key_of(run)));
        // Who goes on with the run says how far it is.
        let is_passed = self.log(run, deadline).object(last)?.is_some_and(|object| is_whole(&object.body));
        let is_told = self.told(if is_over { &over } else { &open }, deadline)?.is_some_and(|told| told >= last);
        if is_passed || is_told && !is_over {
            return Ok(());
        }
        if is_told && self.told(&open, deadline)?.is_none() {
            return Ok(());
        }
        self.tell(run, lines, is_over, deadline)
    }

    fn remove(&self, run: &RunId, left: Duration) -> Result<(), NoAnswer> {
        self.try_to_remove(run, Instant::now() + left)
    }
}
