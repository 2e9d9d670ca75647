//! Asks the store that machines share again and again, beside a reader who goes on looking.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use crate::runs::context::Context;
use crate::runs::open::shared::refresh;

/// How often the store is asked, and how seldom while it does not answer.
const OFTEN: Duration = Duration::from_secs(5);
const SELDOM: Duration = Duration::from_secs(60);

/// Keeps the copies of shared runs up to date, on a thread that ends with it.
#[derive(Debug)]
pub struct StoreAsker {
    _end: Option<Sender<()>>,
}

impl StoreAsker {
    /// Begins to ask, unless all runs of the project are in its checkout alone.
    #[must_use]
    pub fn begin(cx: &Context) -> Self {
        let is_shared = cx.project().is_ok_and(|project| project.runs().shared_at().is_some());
        if !is_shared {
            return Self { _end: None };
        }
        let (end, ended) = mpsc::channel();
        let cx = cx.clone();
        let asker = thread::Builder::new().name("store".to_owned()).spawn(move || {
            let mut pause = OFTEN;
            while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(pause) {
                let is_reached = cx.project().and_then(|project| refresh(&project)).is_ok();
                pause = if is_reached { OFTEN } else { (pause * 2).min(SELDOM) };
            }
        });
        // Without the thread what is known is shown.
        Self { _end: asker.is_ok().then_some(end) }
    }
}
