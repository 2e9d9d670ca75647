//! A carrier in memory, which loses, delays and repeats what it is told to.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use flowrun::codec::LogScan;
use flowrun::model::{KeptEvidence, RunId, Seq};
use flowrun::store::RefreshScope;
use flowrun::store::shared::{Carrier, NoAnswer, Put, PutAnswer, Tip};
use flowrun::store::{Address, WorkChange, WorkKey};

/// What happens to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// Nothing.
    None,
    /// It is refused before it is sent.
    NotReached,
    /// It never arrives, and the sender does not learn that.
    RequestLost,
    /// It arrives, and its answer does not.
    AnswerLost,
    /// It arrives after the next request of anyone, when its sender has given it up.
    Late,
    /// It arrives twice, and the answer is that to the second one.
    Twice,
}

/// All of them.
pub const TROUBLES: [Trouble; 6] =
    [Trouble::None, Trouble::NotReached, Trouble::RequestLost, Trouble::AnswerLost, Trouble::Late, Trouble::Twice];

/// A carrier that all its clones share.
#[derive(Debug, Clone, Default)]
pub struct MemoryCarrier {
    kept: Arc<Mutex<Kept>>,
}

#[derive(Debug, Clone, Default)]
struct Kept {
    runs: BTreeMap<RunId, String>,
    over: BTreeSet<RunId>,
    evidence: Vec<Vec<u8>>,
    /// Who is about what.
    work: BTreeMap<WorkKey, RunId>,
    /// What happens to the next requests.
    trouble: VecDeque<Trouble>,
    late: Vec<OwnedPut>,
    requests: usize,
    /// A promise that it does not keep.
    broken: Option<Broken>,
    /// Of these runs it gives no lines.
    failing: BTreeSet<RunId>,
}

/// A promise that a carrier does not keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Broken {
    /// It takes whatever comes.
    IgnoresConditions,
    /// It looks whether the position is free, and then stores the lines, without a lock.
    LooksBeforeItStores,
    /// It keeps other lines than it says.
    KeepsTheLastLines,
    /// It lists nothing.
    ListsNothing,
}

#[derive(Debug, Clone)]
struct OwnedPut {
    run: RunId,
    before: Seq,
    lines: String,
    is_over: bool,
    evidence: Vec<Vec<u8>>,
    work: WorkChange,
}

impl Kept {
    fn last(&self, run: &RunId) -> Seq {
        self.runs.get(run).map(|log| LogScan::parse(log.as_bytes()).last_seq()).unwrap_or_default()
    }

    fn put(&mut self, put: &OwnedPut) -> PutAnswer {
        match self.broken {
            Some(Broken::IgnoresConditions) => {}
            Some(Broken::KeepsTheLastLines) if self.last(&put.run) == put.before.next() => {
                self.runs.insert(put.run.clone(), put.lines.clone());
                return PutAnswer::Taken;
            }
            _ if self.last(&put.run) != put.before => return PutAnswer::Taken,
            _ => {}
        }
        for key in &put.work.taken {
            if let Some(run) = self.work.get(key)
                && *run != put.run
            {
                return PutAnswer::WorkTaken { run: run.clone(), about: key.clone() };
            }
        }
        self.work.extend(put.work.taken.iter().map(|key| (key.clone(), put.run.clone())));
        self.work.retain(|key, run| *run != put.run || !put.work.freed.contains(key));
        self.runs.entry(put.run.clone()).or_default().push_str(&put.lines);
        self.evidence.extend(put.evidence.iter().cloned());
        if put.is_over {
            self.over.insert(put.run.clone());
        } else {
            self.over.remove(&put.run);
        }
        PutAnswer::Done
    }

    /// What happens to the next request, after those that were late have arrived.
    fn request(&mut self) -> Trouble {
        self.requests += 1;
        self.trouble.pop_front().unwrap_or(Trouble::None)
    }

    fn deliver(&mut self, late: Vec<OwnedPut>) {
        for put in late {
            self.put(&put);
        }
    }

    /// The answer to a request that only reads.
    fn read<T>(&mut self, read: impl FnOnce(&Self) -> T) -> Result<T, NoAnswer> {
        let late = std::mem::take(&mut self.late);
        let answer = match self.request() {
            Trouble::None | Trouble::Twice | Trouble::Late => Ok(read(self)),
            trouble => Err(NoAnswer::NotReached(format!("{trouble:?}"))),
        };
        self.deliver(late);
        answer
    }
}

impl MemoryCarrier {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Another one that has the same.
    pub fn copy(&self) -> Self {
        Self { kept: Arc::new(Mutex::new(self.kept().clone())) }
    }

    /// This happens to the next requests, one after the other.
    pub fn trouble(&self, next: &[Trouble]) {
        self.kept().trouble = next.iter().copied().collect();
    }

    /// The log of a run.
    pub fn log(&self, run: &RunId) -> String {
        self.kept().runs.get(run).cloned().unwrap_or_default()
    }

    /// Puts another log in place, as a person with another program would.
    pub fn put_log(&self, run: &RunId, log: String) {
        self.kept().runs.insert(run.clone(), log);
    }

    /// It answers that it fails when it is asked for lines of this run.
    pub fn fails_at(&self, run: &RunId) {
        self.kept().failing.insert(run.clone());
    }

    /// It does not keep this promise from now on.
    pub fn breaks(&self, promise: Broken) {
        self.kept().broken = Some(promise);
    }

    /// Everything that is late arrives.
    pub fn settle(&self) {
        let mut kept = self.kept();
        let late = std::mem::take(&mut kept.late);
        kept.deliver(late);
    }

    /// How many requests there were since the last time this was asked.
    pub fn requests(&self) -> usize {
        std::mem::take(&mut self.kept().requests)
    }
}

impl Carrier for MemoryCarrier {
    fn address(&self) -> Address {
        Address::new("memory:carrier")
    }

    fn tips(&self, scope: RefreshScope, _: Duration) -> Result<Vec<Tip>, NoAnswer> {
        self.kept().read(|kept| {
            let is_over = |run: &RunId| kept.over.contains(run);
            let tip = |(run, log): (&RunId, &String)| {
                let mark = log.len().to_string();
                Tip { run: run.clone(), mark, is_over: is_over(run) }
            };
            let listed = if kept.broken == Some(Broken::ListsNothing) { 0 } else { usize::MAX };
            let tips = kept.runs.iter().map(tip).take(listed);
            tips.filter(|tip| scope == RefreshScope::All || !tip.is_over).collect()
        })
    }

    fn lines(&self, run: &RunId, first: Seq, _: Option<&str>, _: Duration) -> Result<Option<String>, NoAnswer> {
        self.kept().read(|kept| {
            if kept.failing.contains(run) {
                return Err(NoAnswer::Failed("it answered 500".to_owned()));
            }
            let Some(log) = kept.runs.get(run) else { return Ok(None) };
            let before = LogScan::parse(log.as_bytes()).events().filter(|event| event.seq < first).count();
            Ok(Some(log.split_inclusive('\n').skip(before).collect()))
        })?
    }

    fn evidence(&self, _: &RunId, wanted: &KeptEvidence, _: Duration) -> Result<Option<Vec<u8>>, NoAnswer> {
        self.kept().read(|kept| kept.evidence.iter().find(|file| wanted.is_of(file)).cloned())
    }

    fn marked(&self, keys: &[WorkKey], _: Duration) -> Result<Vec<Option<RunId>>, NoAnswer> {
        self.kept().read(|kept| keys.iter().map(|key| kept.work.get(key).cloned()).collect())
    }

    fn mark_again(&self, run: &RunId, _: Seq, keys: &[WorkKey], _: Duration) -> Result<(), NoAnswer> {
        let mut kept = self.kept();
        for key in keys {
            kept.work.entry(key.clone()).or_insert_with(|| run.clone());
        }
        Ok(())
    }

    fn remove(&self, run: &RunId, _: Duration) -> Result<(), NoAnswer> {
        let mut kept = self.kept();
        kept.runs.remove(run);
        kept.over.remove(run);
        kept.work.retain(|_, about| about != run);
        Ok(())
    }

    fn put(&self, put: &Put<'_>, _: Duration) -> PutAnswer {
        let mut kept = self.kept();
        if kept.broken == Some(Broken::LooksBeforeItStores) && kept.last(put.run) == put.before {
            drop(kept);
            thread::sleep(Duration::from_millis(20));
            self.kept().runs.entry(put.run.clone()).or_default().push_str(put.lines);
            return PutAnswer::Done;
        }
        let late = std::mem::take(&mut kept.late);
        let owned = OwnedPut {
            run: put.run.clone(),
            before: put.before,
            lines: put.lines.to_owned(),
            is_over: put.is_over,
            evidence: put.evidence.to_vec(),
            work: put.work.clone(),
        };
        let answer = match kept.request() {
            Trouble::None => kept.put(&owned),
            Trouble::NotReached => PutAnswer::Not(NoAnswer::NotReached("the network is down".to_owned())),
            Trouble::RequestLost => PutAnswer::Unknown("no answer in time".to_owned()),
            Trouble::AnswerLost => {
                kept.put(&owned);
                PutAnswer::Unknown("the connection was reset".to_owned())
            }
            Trouble::Late => {
                kept.late.push(owned);
                PutAnswer::Unknown("no answer in time".to_owned())
            }
            Trouble::Twice => {
                kept.put(&owned);
                kept.put(&owned)
            }
        };
        kept.deliver(late);
        answer
    }
}
