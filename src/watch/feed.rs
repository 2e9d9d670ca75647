//! What is printed: the runs as they are, and what changes.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use crate::host::{columns, reader_left};
use crate::model::RunId;
use crate::picture::in_ascii;
use crate::runs::{Card, CardFilter, CardsReport, Context, Feed, Keeper, Result};
use crate::watch::pages;
use crate::watch::shown::{LATEST, ShownRun, list_filter};
use crate::watch::{WatchMessage, Watching};

/// How often to ask whether standard output still has a reader.
const READER: Duration = Duration::from_millis(500);
/// The columns of a page that is printed where neither a terminal nor `COLUMNS` tells.
const COLUMNS: usize = 160;

/// The page of the runs, or of the run that is named, as text, and what a reader should know of the store that machines share.
///
/// # Errors
/// Those of reading the project, and [`crate::runs::Error::NoSuchRun`].
pub fn once(cx: &Context, watching: &Watching) -> Result<(String, Vec<String>)> {
    let cx = watching.context(cx);
    let run = watching.run_id(&cx)?;
    let (mut feed, notes) = Feed::open_asked(&cx)?;
    let columns = columns().unwrap_or(COLUMNS);
    let lines = match run {
        Some(id) => pages::run(&ShownRun::read(&mut feed, &id, LATEST, false)?, cx.now(), columns),
        None => {
            let filter = CardFilter { limit: usize::MAX, ..list_filter(watching) };
            let cards = feed.cards(&filter);
            let mut lines = vec![pages::list_title(&cards, &filter)];
            lines.extend(pages::list(&cards, &feed.short_names(&cards), &filter, cx.now(), columns));
            lines
        }
    };
    // The last cell of a table is filled up with blanks, too.
    let mut text = String::new();
    for line in lines {
        let line = line.text();
        text.push_str(if watching.ascii { in_ascii(&line) } else { line }.trim_end());
        text.push('\n');
    }
    Ok((text, notes))
}

/// The first line of [`follow`].
///
/// # Errors
/// As [`once`].
pub fn snapshot(cx: &Context, watching: &Watching) -> Result<WatchMessage> {
    let cx = watching.context(cx);
    let mut known = KnownRuns { filter: watching.filter(), run: watching.run_id(&cx)?, ids: BTreeSet::new() };
    Ok(WatchMessage::Snapshot { cards: known.begin(&Feed::open_asked(&cx)?.0) })
}

/// Reports the runs as they are and then of each change, until `tell` says that it is enough or the reader of standard
/// output has gone.
///
/// # Errors
/// As [`once`].
pub fn follow(cx: &Context, watching: &Watching, mut tell: impl FnMut(&WatchMessage) -> bool) -> Result<()> {
    let cx = watching.context(cx);
    let run = watching.run_id(&cx)?;
    let (send, hints) = mpsc::channel::<PathBuf>();
    // Without a sender, waiting for hints would return at once.
    let _kept = send.clone();
    let mut keeper = Keeper::open(&cx, watching.poll, move |path| drop(send.send(path)))?;
    let mut known = KnownRuns { filter: watching.filter(), run, ids: BTreeSet::new() };
    if !tell(&WatchMessage::Snapshot { cards: known.begin(&keeper.feed) }) {
        return Ok(());
    }
    while !reader_left(Duration::ZERO) {
        match hints.recv_timeout(keeper.wait().min(READER)) {
            Ok(path) => keeper.hint(&path),
            // Also without a hint: the keeper looks at the files itself from time to time.
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
        for id in keeper.look() {
            if let Some(message) = known.change(&keeper.feed, keeper.feed.card(&id), id)
                && !tell(&message)
            {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Which runs a reader wants to hear of, and which it knows.
struct KnownRuns {
    filter: CardFilter,
    run: Option<RunId>,
    ids: BTreeSet<RunId>,
}

impl KnownRuns {
    fn takes(&self, feed: &Feed, card: &Card) -> bool {
        let is_asked = match &self.run {
            Some(run) => *run == card.run.head.run_id,
            None => true,
        };
        is_asked && feed.takes(&self.filter, card)
    }

    /// The runs as they are.
    fn begin(&mut self, feed: &Feed) -> CardsReport {
        let mut cards = feed.cards(&self.filter);
        if let Some(run) = &self.run {
            // Also a run that is over, which the filter would leave out.
            let card = feed.card(run);
            for group in &mut cards.groups {
                group.cards = match &card {
                    Some(card) if card.group == group.group => vec![card.clone()],
                    _ => Vec::new(),
                };
                group.total = group.cards.len();
            }
            cards.unreadable.retain(|unreadable| unreadable.run_id == run.as_str());
        }
        for card in cards.groups.iter().flat_map(|group| &group.cards) {
            self.ids.insert(card.run.head.run_id.clone());
        }
        cards
    }

    /// What to report of a run that changed or is gone.
    fn change(&mut self, feed: &Feed, card: Option<Card>, id: RunId) -> Option<WatchMessage> {
        if let Some(card) = card
            && self.takes(feed, &card)
        {
            self.ids.insert(id);
            return Some(WatchMessage::Run { card: Box::new(card) });
        }
        // A run that the reader never heard of is not gone for it.
        self.ids.remove(&id).then_some(WatchMessage::Gone { run: id })
    }
}
