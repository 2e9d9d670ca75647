//! Asks the store that machines share again and again, beside a reader who goes on looking.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::model::Explain as _;
use crate::runs::context::Context;
use crate::runs::open::shared::{refresh, unreached};
use crate::store::RefreshScope;

/// How often the store is asked, and how seldom while it does not answer.
const OFTEN: Duration = Duration::from_secs(5);
const SELDOM: Duration = Duration::from_secs(60);
/// Every so many times the runs are asked for that are over as well.
const ALL: u32 = 12;

/// Keeps the copies of shared runs up to date, on a thread that ends with it.
#[derive(Debug)]
pub struct StoreAsker {
    news: SharedNews,
    _end: Option<Sender<()>>,
}

/// What the store answered, for the reader.
#[derive(Debug, Clone, Default)]
struct SharedNews(Arc<Mutex<StoreNews>>);

#[derive(Debug, Default)]
struct StoreNews {
    /// Whether the store was asked once, or need not be.
    has_asked: bool,
    /// Whether the last question failed.
    is_lost: bool,
    /// What the reader was not told yet.
    untold: Vec<String>,
}

impl SharedNews {
    fn lock(&self) -> MutexGuard<'_, StoreNews> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in what the store answered. Of failures in a row the first one is reported.
    fn add(&self, answer: std::result::Result<Vec<String>, String>) {
        let mut known = self.lock();
        known.has_asked = true;
        let was_lost = std::mem::replace(&mut known.is_lost, answer.is_err());
        match answer {
            Ok(notes) => known.untold.extend(notes),
            Err(_) if was_lost => {}
            Err(why) => known.untold.push(why),
        }
    }
}

impl StoreAsker {
    /// Begins to ask, unless all runs of the project are in its checkout alone.
    #[must_use]
    pub fn begin(cx: &Context) -> Self {
        let news = SharedNews::default();
        let is_shared = cx.project().is_ok_and(|project| project.runs().shared().address().is_some());
        if !is_shared {
            news.lock().has_asked = true;
            return Self { news, _end: None };
        }
        let (end, ended) = mpsc::channel();
        let (cx, heard) = (cx.clone(), news.clone());
        let asker = thread::Builder::new().name("store".to_owned()).spawn(move || {
            let (mut pause, mut turn) = (OFTEN, 0_u32);
            loop {
                // What is over changes seldom, and there may be much of it.
                let scope = if turn.is_multiple_of(ALL) { RefreshScope::All } else { RefreshScope::Open };
                let answer = match cx.project() {
                    Ok(project) => refresh(&project, scope).map_err(|error| unreached(&project, &error)),
                    Err(error) => Err(error.one_line()),
                };
                let is_reached = answer.is_ok();
                heard.add(answer);
                pause = if is_reached { OFTEN } else { (pause * 2).min(SELDOM) };
                turn = turn.wrapping_add(1);
                if ended.recv_timeout(pause) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
            }
        });
        if asker.is_err() {
            // Without the thread what is known is shown.
            news.lock().has_asked = true;
        }
        Self { news, _end: asker.is_ok().then_some(end) }
    }

    /// Whether the store has been asked since this began, even if it was not reached: what is read afterwards is not older.
    #[must_use]
    pub fn has_asked(&self) -> bool {
        self.news.lock().has_asked
    }

    /// What a reader should know of the store, each thing once.
    #[must_use]
    pub fn news(&self) -> Vec<String> {
        std::mem::take(&mut self.news.lock().untold)
    }
}
