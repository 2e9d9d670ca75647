//! Asks the store that machines share again and again, beside a reader who goes on looking.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use crate::runs::context::Context;
use crate::runs::open::shared::refresh;
use crate::store::RefreshScope;

/// How often the store is asked, and how seldom while it does not answer.
const OFTEN: Duration = Duration::from_secs(5);
const SELDOM: Duration = Duration::from_secs(60);
/// Every so many times the runs are asked for that are over as well.
const ALL: u32 = 12;

/// Keeps the copies of shared runs up to date, on a thread that ends with it.
#[derive(Debug)]
pub struct StoreAsker {
    /// Whether the store was asked once, or need not be.
    has_asked: Arc<AtomicBool>,
    _end: Option<Sender<()>>,
}

impl StoreAsker {
    /// Begins to ask, unless all runs of the project are in its checkout alone.
    #[must_use]
    pub fn begin(cx: &Context) -> Self {
        let is_shared = cx.project().is_ok_and(|project| project.runs().shared_at().is_some());
        if !is_shared {
            return Self { has_asked: Arc::new(AtomicBool::new(true)), _end: None };
        }
        let (end, ended) = mpsc::channel();
        let (cx, has_asked) = (cx.clone(), Arc::new(AtomicBool::new(false)));
        let asked = Arc::clone(&has_asked);
        let asker = thread::Builder::new().name("store".to_owned()).spawn(move || {
            let (mut pause, mut turn) = (OFTEN, 0_u32);
            loop {
                // What is over changes seldom, and there may be much of it.
                let scope = if turn.is_multiple_of(ALL) { RefreshScope::All } else { RefreshScope::Open };
                let is_reached = cx.project().and_then(|project| refresh(&project, scope)).is_ok();
                asked.store(true, Ordering::Release);
                pause = if is_reached { OFTEN } else { (pause * 2).min(SELDOM) };
                turn = turn.wrapping_add(1);
                if ended.recv_timeout(pause) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
            }
        });
        if asker.is_err() {
            // Without the thread what is known is shown.
            has_asked.store(true, Ordering::Release);
        }
        Self { has_asked, _end: asker.is_ok().then_some(end) }
    }

    /// Whether the store has been asked since this began, even if it was not reached: what is read afterwards is not older.
    #[must_use]
    pub fn has_asked(&self) -> bool {
        self.has_asked.load(Ordering::Acquire)
    }
}
