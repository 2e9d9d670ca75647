//! Every crash point, every legal state, every promise.

use std::any::Any;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use super::check::{Survived, check};
use super::disk::Operation;
use super::history::History;
use super::materialise::{State, States, lost, reboot, scratch};
use super::model::{Effort, Model, survivors};
use super::recorded::{Recorded, acknowledged};
use super::reference::Reference;

/// A state in which a promise is broken.
#[derive(Debug, Clone)]
pub struct Violation {
    /// Which promise.
    pub what: String,
    /// The operation after which it crashed.
    pub after: String,
    /// Operations before it that did not reach the disk.
    pub lost: Vec<String>,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; crash after operation {}; lost: {}", self.what, self.after, self.lost.join(", "))
    }
}

/// What an enumeration found.
#[derive(Debug, Clone, Default)]
pub struct Row {
    /// What was enumerated.
    pub what: String,
    /// States that a crash could leave.
    pub states: usize,
    /// Different ones among them.
    pub distinct: usize,
    /// Those of them that were looked at.
    pub checked: usize,
    /// States in which a promise is broken.
    pub broken: usize,
    /// The first of them for each promise.
    pub violations: Vec<String>,
}

impl Row {
    /// Fails when a promise was broken.
    #[track_caller]
    pub fn assert_clean(&self) {
        assert!(self.violations.is_empty(), "{}: {} broken\n{}", self.what, self.broken, self.violations.join("\n"));
    }

    /// Adds the numbers of another enumeration.
    pub fn add(&mut self, other: Self) {
        self.states += other.states;
        self.distinct += other.distinct;
        self.checked += other.checked;
        self.broken += other.broken;
        self.violations.extend(other.violations);
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, states, distinct, checked, broken, .. } = self;
        write!(f, "{what}: {states} states, {distinct} different, {checked} checked, {broken} broken")
    }
}

/// Looks at every state that a crash in `history` can leave under each of `models`. `look` gets the directory of the files
/// and whether a command was acknowledged by then.
pub fn look_at_all(
    name: &str,
    history: &History,
    models: &[Model],
    effort: &Effort,
    mut look: impl FnMut(&Path, bool) -> Result<(), String>,
) -> Vec<Row> {
    let mut states = States::of(history);
    let home = scratch();
    let mut looked_at = HashMap::new();
    let mut rows = Vec::new();
    for &model in models {
        let (crashes, count) = crashes(&mut states, &history.operations, model, effort);
        let what = format!("{name}, {}", model.name());
        let mut row = Row { what, states: count, distinct: crashes.len(), ..Row::default() };
        for crash in sample(&crashes, effort.states) {
            let cut = model != Model::Kill;
            let acked = crash.acked > 0;
            let seen = looked_at.entry((crash.state, acked, cut)).or_insert_with(|| {
                states.write(home.path(), crash.state);
                if cut {
                    reboot(home.path());
                }
                look(home.path(), acked)
            });
            row.checked += 1;
            if let Err(what) = seen {
                row.broken += 1;
                let after = crash.until.checked_sub(1).map_or_else(|| "none".to_owned(), |at| history.tell(at));
                let lost = lost(history, crash.until, &crash.survivors);
                row.violations.push(Violation { what: what.clone(), after, lost }.to_string());
            }
        }
        rows.push(row);
    }
    rows
}

/// A state, and the crash that is the hardest to excuse.
pub struct Crash {
    /// The files.
    pub state: State,
    /// How many commands had begun at least.
    pub begun: usize,
    /// How many commands had been acknowledged at most.
    pub acked: usize,
    /// Before which operation.
    pub until: usize,
    /// The operations that reached the disk.
    pub survivors: Vec<usize>,
}

/// All different states of a history under a model, and how many there were with repetitions.
pub fn crashes(
    states: &mut States<'_>,
    operations: &[Operation],
    model: Model,
    effort: &Effort,
) -> (Vec<Crash>, usize) {
    let mut known: HashMap<(State, usize), usize> = HashMap::new();
    let mut found: Vec<Crash> = Vec::new();
    let mut count = 0;
    for until in 0..=operations.len() {
        let begun = operations[..until].iter().filter(|operation| matches!(operation, Operation::Begin)).count();
        let acked = acknowledged(&operations[..until]);
        survivors(operations, until, model, effort, &mut |survivors| {
            count += 1;
            let state = states.state(survivors);
            let crash = || Crash { state, begun, acked, until, survivors: survivors.to_vec() };
            match known.get(&(state, begun)) {
                None => {
                    known.insert((state, begun), found.len());
                    found.push(crash());
                }
                // The same files, but more was promised.
                Some(&at) if found[at].acked < acked => found[at] = crash(),
                Some(_) => {}
            }
        });
    }
    (found, count)
}

/// So many different violations are told.
const SHOWN: usize = 20;

/// At most so many of them: the first, which lost the most, and others at equal distances.
pub fn sample<T>(all: &[T], most: usize) -> impl Iterator<Item = &T> {
    let (first, rest) = all.split_at(all.len().min(most.div_ceil(4)));
    let step = rest.len().div_ceil((most - first.len()).max(1)).max(1);
    first.iter().chain(rest.iter().step_by(step))
}

/// Checks the states of a recorded case under each model. A state that several of them allow is looked at once.
pub fn enumerate(what: &str, recorded: &Recorded, models: &[Model], effort: &Effort) -> Vec<Row> {
    let mut states = States::of(&recorded.history);
    let home = scratch();
    let mut looked_at = HashMap::new();
    let mut row = |model: &Model| {
        let (crashes, count) = crashes(&mut states, &recorded.history.operations, *model, effort);
        let mut tally = Tally::new(format!("{what}, {}", model.name()), count, crashes.len());
        // Nothing more is lost after the answer, so those crash points have few states of their own and all the promises.
        let (answered, others): (Vec<_>, Vec<_>) = crashes.iter().partition(|crash| crash.acked == crash.begun);
        let half = effort.states.div_ceil(2);
        for crash in sample(&answered, half).chain(sample(&others, half)) {
            let cut = *model != Model::Kill;
            let key = (crash.state, crash.begun, cut);
            let nth = looked_at.len();
            let seen = looked_at.entry(key).or_insert_with(|| {
                states.write(home.path(), crash.state);
                if cut {
                    reboot(home.path());
                }
                look(home.path(), recorded, crash.begun, nth % 2 == 0)
            });
            let kept = seen.clone().and_then(|survived| promised(&recorded.reference, crash.acked, survived));
            tally.add(&recorded.history, crash, kept);
        }
        tally.row
    };
    models.iter().map(&mut row).collect()
}

/// A row in the making.
struct Tally {
    row: Row,
    broken: HashSet<String>,
}

impl Tally {
    fn new(what: String, states: usize, distinct: usize) -> Self {
        Self { row: Row { what, states, distinct, ..Row::default() }, broken: HashSet::new() }
    }

    fn add(&mut self, history: &History, crash: &Crash, kept: Result<(), String>) {
        self.row.checked += 1;
        let Err(what) = kept else { return };
        self.row.broken += 1;
        if self.broken.len() < SHOWN && self.broken.insert(what.clone()) {
            let after = crash.until.checked_sub(1).map_or_else(|| "none".to_owned(), |at| history.tell(at));
            let lost = lost(history, crash.until, &crash.survivors);
            self.row.violations.push(Violation { what, after, lost }.to_string());
        }
    }
}

/// Checks the state in `root`. A panic is a broken promise too.
pub fn look(root: &Path, recorded: &Recorded, begun: usize, repeat_first: bool) -> Result<Survived, String> {
    let checked = catch_unwind(AssertUnwindSafe(|| check(root, &recorded.reference, begun, repeat_first)));
    let said = |panic: &(dyn Any + Send)| panic.downcast_ref::<String>().cloned().unwrap_or_default();
    checked.unwrap_or_else(|panic| Err(format!("a panic: {}", said(&*panic))))
}

/// Compares what survived with what so many acknowledged commands had promised.
pub fn promised(reference: &Reference, acked: usize, survived: Survived) -> Result<(), String> {
    let promised = reference.ends[acked];
    if survived.events < promised {
        return Err(format!("acknowledged, but lost: {} events of {promised} are there", survived.events));
    }
    if survived.journal < acked && reference.journals[survived.journal] != reference.journals[acked] {
        return Err("acknowledged, but the decision journal is the old one".to_owned());
    }
    Ok(())
}
