//! The runs of a project as they change: one source of cards, pages and events for every face that shows them live.
//!
//! The files are the truth: [`Feed::look`] compares the stamps of all runs and reads those that changed. A watcher of the
//! file system can name runs to [`Feed::look_at`] sooner; a hint that is missing or wrong only costs time. A run that
//! changed stays observed, so that its next event does not require reading the whole log.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::disk::Links;
use crate::engine::Hold;
use crate::model::{Explain as _, Issue, Remote, RunId, RunSummary, Seq, WorkflowId};
use crate::runs::context::{Context, OpenedProject};
use crate::runs::error::{Error, Result};
use crate::runs::live::cards::{CardFilter, CardsOfGroup, CardsReport};
use crate::runs::live::feed_run::FeedRun;
use crate::runs::live::observe::ObservedRun;
use crate::runs::live::stats::WorkflowUse;
use crate::runs::look::card::{Card, CardGroup, assess, holder_life, read_card, reason_of_over};
use crate::runs::look::outlook::{Definitions, OpenedRun};
use crate::runs::open::listed::{ListedRun, ShortNames};
use crate::runs::open::name::{own_remote, refuse_pruned};
use crate::runs::open::reading::{FromSummary, Unreadable, read_all_with};
use crate::runs::open::shared::{Sharing, UnseenStore, ask_store, store_away};
use crate::store::{RefreshScope, RunStamp, StoredRun};

/// The most events that observed runs keep in memory together, so that a watcher of many long runs stays small. The run
/// that was looked at last is kept in any case.
const KEPT_EVENTS: usize = 12_000;
/// The most observed runs.
const KEPT_RUNS: usize = 64;
/// How many runs that are over are looked at each time, about.
const OVER_AT_ONCE: usize = 2500;
/// Each open run is judged once in this many looks even if its files did not change: a limit of time may be reached, or
/// the definition of its workflow may have changed. With a look every five seconds that is a minute. Judging a thousand
/// open runs takes longer than a page may wait.
const JUDGED_IN: usize = 12;

/// The runs of a project as they change.
#[derive(Debug)]
pub struct Feed {
    project: OpenedProject,
    rows: HashMap<RunId, FeedRow>,
    unreadable: BTreeMap<RunId, Unreadable>,
    stamps: HashMap<RunId, u64>,
    /// How often all runs were looked at.
    turn: usize,
    /// How long it took to look at all stamps the last time, without reading any run.
    pub(super) cost: Duration,
    /// When the list of runs changed last, as far as was seen.
    listed: Vec<Option<(i64, i64)>>,
    /// The least recently used one first.
    observed: Vec<(RunId, ObservedRun)>,
    definitions: Definitions,
    /// The remote of the repository, once a search has named an issue.
    remote: OnceLock<Option<Remote>>,
}

/// A run. Most runs are over, so these take little room.
#[derive(Debug)]
enum FeedRow {
    Open(Box<Card>, Option<Box<Hold>>),
    /// The run, and the position of its last event.
    Over(Box<ListedRun>, Option<Seq>),
}

impl FeedRow {
    fn of_summary(summary: RunSummary) -> FromSummary<Self> {
        // What an open run needs does not follow from its summary.
        if !summary.head.is_over() {
            return FromSummary::ToRead(summary.head.run_id);
        }
        let last_seq = summary.last_seq;
        FromSummary::Taken(Some(Self::Over(Box::new(summary.into()), last_seq)))
    }

    fn new(card: Card, hold: Option<Hold>) -> Self {
        match card.group {
            CardGroup::Over => Self::Over(Box::new(card.run), card.last_seq),
            _ => Self::Open(Box::new(card), hold.map(Box::new)),
        }
    }

    fn run(&self) -> &ListedRun {
        match self {
            Self::Open(card, _) => &card.run,
            Self::Over(run, _) => run,
        }
    }

    fn group(&self) -> CardGroup {
        match self {
            Self::Open(card, _) => card.group,
            Self::Over(..) => CardGroup::Over,
        }
    }

    fn reason(&self) -> Cow<'_, str> {
        match self {
            Self::Open(card, _) => card.reason_to_search(),
            Self::Over(run, _) => reason_of_over(run).into(),
        }
    }

    fn card(&self) -> Card {
        match self {
            Self::Open(card, _) => Card::clone(card),
            Self::Over(run, last_seq) => Card::over(ListedRun::clone(run), *last_seq),
        }
    }
}

/// Whether the look number `turn` is one for this run, if each run has its turn once in `turns` looks.
fn is_turn(id: &RunId, turn: usize, turns: usize) -> bool {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    // By the hash of its id, so that a run's turn does not depend on which other runs there are.
    hasher.finish() % turns as u64 == (turn % turns) as u64
}

impl Feed {
    /// Looks at all runs of the context's project.
    ///
    /// # Errors
    /// [`Error::NoProject`], and [`Error::Store`] when the project cannot be read.
    pub fn open(cx: &Context) -> Result<Self> {
        let project = cx.project()?;
        let mut feed = Self {
            project,
            rows: HashMap::new(),
            unreadable: BTreeMap::new(),
            stamps: HashMap::new(),
            turn: 0,
            cost: Duration::ZERO,
            listed: Vec::new(),
            observed: Vec::new(),
            definitions: Definitions::default(),
            remote: OnceLock::new(),
        };
        // Stamps first: what changes meanwhile is read again.
        feed.stamps = feed.all_stamps()?;
        feed.read_all()?;
        Ok(feed)
    }

    /// As [`Self::open`], after the store that machines share was asked, with what a reader should know of that.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_asked(cx: &Context) -> Result<(Self, Vec<String>)> {
        let project = cx.project()?;
        // Of a store that is not seen the cards tell.
        let is_seen = UnseenStore::of(&project).is_none();
        let notes = if is_seen { ask_store(&project, RefreshScope::All) } else { Vec::new() };
        Ok((Self::open(cx)?, notes))
    }

    /// The root of the project.
    #[must_use]
    pub fn root(&self) -> &Path {
        self.project.root()
    }

    /// Looks at all runs. Returns those that changed or are gone.
    ///
    /// # Errors
    /// [`Error::Store`] when the runs cannot be listed.
    pub fn look(&mut self) -> Result<Vec<RunId>> {
        // `.flow` may be another directory by now: git can remove it and put it back.
        self.project = match self.project.cx.project() {
            Err(_) if !self.project.cx.disk.is_dir(self.project.path()) => return Ok(self.forget_all()),
            found => found?,
        };
        let stamps = self.all_stamps()?;
        let changed = stamps.keys().filter(|id| self.stamps.get(*id) != stamps.get(*id));
        // A run without a stamp is gone, or has to be read to see what it is now.
        let unstamped = self.rows.keys().chain(self.stamps.keys()).filter(|id| !stamps.contains_key(*id));
        let mut dirty: BTreeSet<RunId> = changed.chain(unstamped).cloned().collect();
        self.stamps = stamps;
        self.definitions = Definitions::default();
        // Of runs whose new events alone were read, the log before these may have changed: such runs are read as a whole.
        let in_part = self.observed.extract_if(.., |(_, run)| run.is_read_in_part);
        dirty.extend(in_part.map(|(id, _)| id));
        let mut judged = Vec::new();
        for (id, row) in &self.rows {
            if !dirty.contains(id) && self.may_differ(id, row) {
                judged.push(id.clone());
            }
        }
        let mut changed = self.read_each(dirty);
        for id in judged {
            if self.judge(&id) {
                changed.push(id);
            }
        }
        Ok(changed)
    }

    /// Forgets all runs, since their directory is gone. Returns those that were known.
    fn forget_all(&mut self) -> Vec<RunId> {
        let mut gone: Vec<RunId> = self.rows.drain().map(|(id, _)| id).collect();
        gone.extend(std::mem::take(&mut self.unreadable).into_keys());
        self.observed.clear();
        self.stamps.clear();
        gone
    }

    /// Looks at these runs. Returns those that changed or are gone.
    ///
    /// # Errors
    /// As [`Self::look`].
    pub fn look_at(&mut self, ids: &[RunId]) -> Result<Vec<RunId>> {
        // Before the runs are read: what changes meanwhile is read again.
        let stamps = self.stamps_of(ids)?;
        self.stamps.extend(stamps);
        Ok(self.read_each(ids.iter().cloned()))
    }

    /// Looks at the runs that are not over, and at new ones. Returns those that changed or are gone.
    ///
    /// # Errors
    /// As [`Self::look`].
    pub fn look_at_open(&mut self) -> Result<Vec<RunId>> {
        let mut changed: Vec<RunId> = self.open_runs().cloned().collect();
        let stamps = self.stamps_of(&changed)?;
        changed.retain(|id| self.stamps.get(id) != stamps.get(id));
        let listed = self.listed_at();
        // The whole directory is listed only if a run began or went: there may be many runs.
        if listed != self.listed {
            self.listed = listed;
            for id in self.project.runs().ids()? {
                if !self.rows.contains_key(&id) && !self.unreadable.contains_key(&id) {
                    changed.push(id);
                }
            }
        }
        self.look_at(&changed)
    }

    /// When runs began or went last, as far as the system can tell.
    fn listed_at(&self) -> Vec<Option<(i64, i64)>> {
        let mut times = Vec::new();
        for place in self.project.runs().places() {
            times.push(self.project.cx.disk.look(&place, Links::Follow).ok().map(|stat| stat.changed));
        }
        times
    }

    /// Directories in which something changes when runs begin or when open runs change, for watchers of a file system.
    #[must_use]
    pub fn places_of_open(&self) -> BTreeSet<PathBuf> {
        let mut places = BTreeSet::from_iter(self.project.runs().places());
        for id in self.open_runs() {
            places.extend(self.project.runs().place(id));
        }
        places
    }

    /// The run that a path of a file system belongs to.
    #[must_use]
    pub fn run_at(&self, path: &Path) -> Option<RunId> {
        let places = self.project.runs().places();
        let below = places.iter().find_map(|place| path.strip_prefix(place).ok())?;
        below.components().next()?.as_os_str().to_str()?.parse().ok()
    }

    fn open_runs(&self) -> impl Iterator<Item = &RunId> {
        self.rows.iter().filter(|(_, row)| row.group().is_open()).map(|(id, _)| id)
    }

    /// The stamps of all runs. When many runs are over, some of these are looked at, and the others the next times.
    fn all_stamps(&mut self) -> Result<HashMap<RunId, u64>> {
        let begun = Instant::now();
        self.turn += 1;
        let over = self.rows.len() - self.open_runs().count();
        let turns = over.div_ceil(OVER_AT_ONCE).max(1);
        let stamps = self.stamps(None, &|id| {
            let is_over = matches!(self.rows.get(id), Some(FeedRow::Over(..)));
            !is_over || is_turn(id, self.turn, turns)
        })?;
        self.cost = begun.elapsed();
        Ok(stamps)
    }

    fn stamps_of(&self, ids: &[RunId]) -> Result<HashMap<RunId, u64>> {
        self.stamps(Some(ids), &|_| true)
    }

    fn stamps(&self, ids: Option<&[RunId]>, due: &dyn Fn(&RunId) -> bool) -> Result<HashMap<RunId, u64>> {
        let mut stamps = HashMap::new();
        for (id, stamp) in self.project.runs().stamps(ids, due)? {
            let known = match stamp {
                RunStamp::Known(stamp) => Some(stamp),
                RunStamp::NotDue => self.stamps.get(&id).copied(),
                // It is read whenever it is looked at.
                RunStamp::Unknown => None,
            };
            if let Some(stamp) = known {
                stamps.insert(id, stamp);
            }
        }
        Ok(stamps)
    }

    fn read_all(&mut self) -> Result<()> {
        let (project, definitions) = (&self.project, &self.definitions);
        let (rows, unreadable) = read_all_with(project, FeedRow::of_summary, |run| {
            let (card, hold) = read_card(project, run, definitions)?;
            Ok(Some(FeedRow::new(card, hold)))
        })?;
        self.rows.extend(rows.into_iter().map(|row| (row.run().head.run_id.clone(), row)));
        for run in unreadable {
            if let Ok(id) = run.run_id.parse() {
                self.unreadable.insert(id, run);
            }
        }
        Ok(())
    }

    /// Reads runs again. Returns those of which there is anything new to show.
    fn read_each(&mut self, ids: impl IntoIterator<Item = RunId>) -> Vec<RunId> {
        let mut changed = Vec::new();
        for id in ids {
            if self.read(&id) {
                changed.push(id);
            }
        }
        changed
    }

    /// Reads a run again. Returns whether there is anything new to show.
    fn read(&mut self, id: &RunId) -> bool {
        let read = self.observe(id).map(|at| {
            let ObservedRun { run, view, .. } = &self.observed[at].1;
            let opened = OpenedRun { project: &self.project, run: &**run, view };
            (assess(opened, &self.definitions).card, view.history.hold().cloned())
        });
        self.put(id, read)
    }

    /// Notes what a run is now, or why it cannot be read. Returns whether there is anything new to show.
    fn put(&mut self, id: &RunId, read: Result<(Card, Option<Hold>)>) -> bool {
        match read {
            Ok((card, hold)) => {
                let row = FeedRow::new(card, hold);
                let was_unreadable = self.unreadable.remove(id).is_some();
                let before = self.rows.insert(id.clone(), row);
                was_unreadable || before.as_ref().map(FeedRow::card) != self.card(id)
            }
            Err(error) => {
                // What was observed is no longer the run, even if a run of this id comes back.
                self.observed.retain(|(known, _)| known != id);
                let was_known = self.rows.remove(id).is_some();
                // One whose files are on another branch is not in this checkout, as if it were gone.
                let is_gone = matches!(error, Error::NoSuchRun { .. } | Error::Elsewhere { .. });
                let run = Unreadable { run_id: id.to_string(), reason: error.one_line() };
                let before = if is_gone { self.unreadable.remove(id) } else { self.unreadable.insert(id.clone(), run) };
                was_known || before.as_ref() != self.unreadable.get(id)
            }
        }
    }

    /// Judges a run again whose files did not change. One that is not observed stays so: it would take the place of runs
    /// that people look at. Returns whether there is anything new to show.
    fn judge(&mut self, id: &RunId) -> bool {
        if self.observed.iter().any(|(known, _)| known == id) {
            return self.read(id);
        }
        let run = self.open_run(id);
        let read = run.and_then(|run| read_card(&self.project, &*run, &self.definitions));
        self.put(id, read)
    }

    /// Reads what is new of a run, and observes it from now on. Returns its place in `observed`: the last one.
    fn observe(&mut self, id: &RunId) -> Result<usize> {
        // Before the files are read: what changes meanwhile is read again.
        let stamp = self.stamps_of(std::slice::from_ref(id))?.remove(id);
        let observed = match self.observed.iter().position(|(known, _)| known == id) {
            Some(at) => {
                // Taken out, so that one that cannot be refreshed is not kept.
                let (_, mut observed) = self.observed.remove(at);
                if !observed.is_of(stamp) {
                    observed.refresh(&self.project, self.open_run(id)?, stamp)?;
                }
                observed
            }
            None => ObservedRun::open(&self.project, self.open_run(id)?, stamp)?,
        };
        self.observed.push((id.clone(), observed));
        while self.observed.len() > 1 && (self.observed.len() > KEPT_RUNS || self.kept_events() > KEPT_EVENTS) {
            self.observed.remove(0);
        }
        Ok(self.observed.len() - 1)
    }

    fn kept_events(&self) -> usize {
        self.observed.iter().map(|(_, run)| run.view.log.lines.len()).sum()
    }

    fn open_run(&self, id: &RunId) -> Result<Box<dyn StoredRun>> {
        self.project.runs().open(id).map_err(|error| {
            if error.is_not_found() {
                Error::NoSuchRun { id: id.to_string(), suggestion: None, worktree: None }
            } else {
                error.into()
            }
        })
    }

    /// Whether the card of a run may be another one by now, although its files did not change.
    fn may_differ(&self, id: &RunId, row: &FeedRow) -> bool {
        match row {
            // It is at work only as long as the process lives that began the work.
            FeedRow::Open(card, _) if card.begun_at.is_some() => true,
            FeedRow::Open(card, Some(hold)) if card.holder != Some(holder_life(&self.project, hold)) => true,
            FeedRow::Open(..) => is_turn(id, self.turn, JUDGED_IN),
            FeedRow::Over(..) => false,
        }
    }

    /// The card of a run; none if it does not exist or cannot be read.
    #[must_use]
    pub fn card(&self, id: &RunId) -> Option<Card> {
        self.rows.get(id).map(FeedRow::card)
    }

    /// Whether `filter` takes a run.
    pub(crate) fn takes(&self, filter: &CardFilter, card: &Card) -> bool {
        filter.takes(&card.run, self.remote_for(filter), || card.reason_to_search())
    }

    /// The remote that a search compares issues by.
    fn remote_for(&self, filter: &CardFilter) -> Option<&Remote> {
        filter.search.as_ref()?.parse::<Issue>().ok()?;
        self.remote.get_or_init(|| own_remote(&self.project)).as_ref()
    }

    /// The runs that `filter` takes.
    #[must_use]
    pub fn cards(&self, filter: &CardFilter) -> CardsReport {
        let mut taken: BTreeMap<CardGroup, Vec<&FeedRow>> = BTreeMap::new();
        let mut workflows = HashSet::new();
        let own = self.remote_for(filter);
        for row in self.rows.values() {
            workflows.insert(&row.run().head.workflow);
            if filter.takes(row.run(), own, || row.reason()) {
                taken.entry(row.group()).or_default().push(row);
            }
        }
        let mut groups = Vec::new();
        for group in CardGroup::ALL {
            let mut rows = taken.remove(&group).unwrap_or_default();
            let is_shown = match filter.group {
                Some(only) => only == group,
                None => group.is_open(),
            };
            let limit = if is_shown { filter.limit } else { 0 };
            // Of runs that are not shown only the number counts, and there may be ten thousand.
            if limit > 0 {
                rows.sort_by_key(|row| Reverse((filter.sort.key(row.run()), &row.run().head.run_id)));
            }
            let mut shown: Vec<_> = rows.iter().skip(filter.skip).take(limit).map(|row| row.card()).collect();
            for card in &mut shown {
                // The store may have been asked since the run was read.
                card.run.sharing =
                    Sharing::of_listed(self.project.runs().shared(), &card.run.head.run_id, card.last_seq);
            }
            groups.push(CardsOfGroup { group, total: rows.len(), cards: shown });
        }
        let workflows = workflows.into_iter().map(WorkflowId::to_string).collect();
        let unseen_store = UnseenStore::of(&self.project);
        let store_away = store_away(&self.project);
        let unreadable = self.unreadable.values().cloned().collect();
        CardsReport { groups, unreadable, workflows, unseen_store, store_away }
    }

    /// The names of the runs on these cards.
    pub(crate) fn short_names(&self, cards: &CardsReport) -> ShortNames {
        let shown = cards.groups.iter().flat_map(|group| &group.cards);
        ShortNames::of(&self.project, shown.map(|card| &card.run.head.run_id))
    }

    /// All open runs.
    #[must_use]
    pub fn open_cards(&self) -> Vec<Card> {
        let filter = CardFilter { limit: usize::MAX, ..CardFilter::default() };
        self.cards(&filter).groups.into_iter().flat_map(|group| group.cards).collect()
    }

    /// How the runs of each workflow went.
    #[must_use]
    pub fn uses(&self) -> BTreeMap<WorkflowId, WorkflowUse> {
        let mut uses: BTreeMap<WorkflowId, WorkflowUse> = BTreeMap::new();
        for row in self.rows.values() {
            let run = row.run();
            uses.entry(run.head.workflow.clone()).or_default().add(run);
        }
        uses.values_mut().for_each(WorkflowUse::finish);
        uses
    }

    /// A run as it is now.
    ///
    /// # Errors
    /// As [`crate::runs::run_report`].
    pub fn run(&mut self, id: &RunId) -> Result<FeedRun<'_>> {
        let observed = self.observe(id);
        if matches!(observed, Err(Error::NoSuchRun { .. })) {
            refuse_pruned(&self.project, id)?;
        }
        let place = observed?;
        let (project, definitions) = (&self.project, &self.definitions);
        Ok(FeedRun { project, definitions, observed: &self.observed[place].1 })
    }
}
