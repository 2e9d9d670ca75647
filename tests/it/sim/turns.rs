//! Writers that run at the same time: before each call it is drawn whose turn it is.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use flowrun::disk::{Answer, Errno};

use super::cut::Dice;
use super::disk::SimDisk;

/// What becomes of a writer.
#[derive(Debug, Clone, Copy)]
pub enum Fate {
    /// All is well.
    Lives,
    /// It dies before its call number `at`.
    Dies { at: usize },
    /// Its flush number `at` fails.
    FailsToFlush { at: usize },
}

/// Whose turn it is.
#[derive(Debug)]
pub struct Turns(Mutex<Drawn>, Condvar);

#[derive(Debug)]
struct Drawn {
    dice: Dice,
    /// How many writers have not come to their end.
    running: usize,
    /// Those who are about to make a call.
    waiting: BTreeSet<usize>,
    turn: Option<usize>,
    /// Whose turn it was last, and after how many turns in a row it is drawn anew.
    last: usize,
    in_a_row: u64,
    writers: Vec<Writer>,
}

#[derive(Debug)]
struct Writer {
    fate: Fate,
    calls: usize,
    flushes: usize,
}

/// What the calls of a dead writer give.
pub const DEAD: Errno = Errno::OWNERDEAD;

thread_local! {
    /// The number of the writer that this thread is.
    static SELF: Cell<Option<usize>> = const { Cell::new(None) };
    /// Whether that writer has died.
    static IS_DEAD: Cell<bool> = const { Cell::new(false) };
}

impl Turns {
    /// Runs these writers at the same time.
    pub fn run(disk: &SimDisk, seed: u64, writers: Vec<(Fate, Box<dyn FnOnce() + Send>)>) {
        let (fates, acts): (Vec<_>, Vec<_>) = writers.into_iter().unzip();
        let writers = fates.into_iter().map(|fate| Writer { fate, calls: 0, flushes: 0 }).collect();
        let drawn = Drawn {
            dice: Dice(seed),
            running: acts.len(),
            waiting: BTreeSet::new(),
            turn: None,
            last: 0,
            in_a_row: [1, 20][(seed % 2) as usize],
            writers,
        };
        let turns = Arc::new(Self(Mutex::new(drawn), Condvar::new()));
        disk.take_turns(Some(Arc::clone(&turns)));
        std::thread::scope(|scope| {
            for (number, act) in acts.into_iter().enumerate() {
                let turns = &turns;
                scope.spawn(move || {
                    SELF.set(Some(number));
                    act();
                    turns.leave();
                });
            }
        });
        disk.take_turns(None);
    }

    /// Whether this thread is one of the writers: it waits for a lock, and others make calls meanwhile.
    pub fn is_one() -> bool {
        SELF.get().is_some()
    }

    /// Whether this thread is a writer that has died: it tells nobody what it did.
    pub fn is_dead() -> bool {
        IS_DEAD.get()
    }

    /// Waits until it is this writer's turn to make the call `name`.
    pub fn wait(&self, name: &str) -> Answer<()> {
        let Some(me) = SELF.get() else { return Ok(()) };
        let mut drawn = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        drawn.waiting.insert(me);
        drawn.draw();
        self.1.notify_all();
        while drawn.turn != Some(me) {
            drawn = self.1.wait(drawn).unwrap_or_else(PoisonError::into_inner);
        }
        drawn.turn = None;
        drawn.waiting.remove(&me);
        drawn.writers[me].call(name)
    }

    fn leave(&self) {
        let mut drawn = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        drawn.running -= 1;
        drawn.draw();
        self.1.notify_all();
    }
}

impl Drawn {
    fn draw(&mut self) {
        if self.turn.is_none() && self.running > 0 && self.waiting.len() == self.running {
            // In half of the histories one goes on for long while others stand still.
            let stays = self.waiting.contains(&self.last) && self.dice.below(self.in_a_row) > 0;
            if !stays {
                let at = usize::try_from(self.dice.below(self.running as u64)).unwrap();
                self.last = self.waiting.iter().nth(at).copied().unwrap_or_default();
            }
            self.turn = Some(self.last);
        }
    }
}

impl Writer {
    fn call(&mut self, name: &str) -> Answer<()> {
        self.calls += 1;
        self.flushes += usize::from(name.starts_with("sync"));
        match self.fate {
            Fate::Dies { at } if self.calls >= at => {
                IS_DEAD.set(true);
                Err(DEAD)
            }
            Fate::FailsToFlush { at } if name.starts_with("sync") && self.flushes == at => Err(Errno::IO),
            _ => Ok(()),
        }
    }
}
