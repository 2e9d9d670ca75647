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
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::disk::Links;
use crate::engine::Hold;
use crate::model::{Explain as _, RunId, RunSummary, Seq, StateName, WorkflowId};
use crate::runs::context::Context;
use crate::runs::error::{Error, Result};
use crate::runs::live::feed_run::FeedRun;
use crate::runs::live::observe::Observed;
use crate::runs::look::card::{Card, CardGroup, life, read_card, reason_of_over};
use crate::runs::look::outlook::Definitions;
use crate::runs::open::listed::{ListedRun, mentions};
use crate::runs::open::reading::{Unreadable, read_all_with};
use crate::store::{Project, RunStamp, StoredRun};

/// The most events that observed runs keep in memory together, so that a watcher of many long runs stays small. The run
/// that was looked at last is kept in any case.
const KEPT_EVENTS: usize = 12_000;
/// The most observed runs.
const KEPT_RUNS: usize = 64;
/// How many runs that are over are looked at each time, about.
const OVER_AT_ONCE: usize = 2500;
/// In how many looks each open run is judged anew, although its files did not change: a limit of time may be reached, or
/// the definition of its workflow may have changed. With a look every five seconds that is a minute.
const JUDGED_IN: usize = 12;

/// The runs of a project as they change.
#[derive(Debug)]
pub struct Feed {
    cx: Context,
    project: Project,
    rows: HashMap<RunId, Row>,
    unreadable: BTreeMap<RunId, Unreadable>,
    stamps: HashMap<RunId, u64>,
    /// How often all runs were looked at.
    turn: usize,
    /// How long it took to look at all stamps the last time.
    cost: Duration,
    /// When the list of runs changed last, as far as was seen.
    listed: Option<(i64, i64)>,
    /// The one that was used last at the end.
    observed: Vec<(RunId, Observed)>,
    definitions: Definitions,
}

/// A run. Most runs are over, so these take little room.
#[derive(Debug)]
enum Row {
    Open(Box<OpenRow>),
    Over(Box<OverRow>),
}

#[derive(Debug)]
struct OpenRow {
    card: Card,
    hold: Option<Hold>,
}

#[derive(Debug)]
struct OverRow {
    run: ListedRun,
    last_seq: Option<Seq>,
}

impl Row {
    fn new(card: Card, hold: Option<Hold>) -> Self {
        match card.group {
            CardGroup::Over => Self::Over(Box::new(OverRow { run: card.run, last_seq: card.last_seq })),
            _ => Self::Open(Box::new(OpenRow { card, hold })),
        }
    }

    fn run(&self) -> &ListedRun {
        match self {
            Self::Open(row) => &row.card.run,
            Self::Over(row) => &row.run,
        }
    }

    fn group(&self) -> CardGroup {
        match self {
            Self::Open(row) => row.card.group,
            Self::Over(_) => CardGroup::Over,
        }
    }

    fn reason(&self) -> Cow<'_, str> {
        match self {
            Self::Open(row) => row.card.reason.as_str().into(),
            Self::Over(row) => reason_of_over(&row.run).into(),
        }
    }

    fn card(&self) -> Card {
        match self {
            Self::Open(row) => row.card.clone(),
            Self::Over(row) => Card::over(row.run.clone(), row.last_seq),
        }
    }
}

/// Which cards to show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CardFilter {
    /// Only runs of this group; otherwise those of all groups, and of each one the first.
    pub group: Option<CardGroup>,
    /// Only runs with this text in the id, workflow, phase, goal, feature or reason, or about this issue or pull
    /// request (`#42`).
    pub search: Option<String>,
    /// Only runs of this workflow.
    pub workflow: Option<String>,
    /// How many runs of each group to leave out.
    pub skip: usize,
    /// The highest number of runs of each group.
    pub limit: usize,
}

impl Default for CardFilter {
    fn default() -> Self {
        Self { group: None, search: None, workflow: None, skip: 0, limit: 30 }
    }
}

impl CardFilter {
    /// Whether it takes a run that is in its group for this reason. Groups and numbers are for lists.
    pub(crate) fn takes<'r>(&self, run: &ListedRun, reason: impl FnOnce() -> Cow<'r, str>) -> bool {
        self.search.as_ref().is_none_or(|text| mentions(run, text) || reason().contains(text.as_str()))
            && self.workflow.as_ref().is_none_or(|workflow| run.head.workflow.as_str() == workflow)
    }
}

/// The cards of a project.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CardsReport {
    /// The groups in the order of urgency.
    pub groups: Vec<CardsOfGroup>,
    /// Runs that cannot be read.
    pub unreadable: Vec<Unreadable>,
    /// The workflows of all runs.
    pub workflows: BTreeSet<String>,
}

/// The cards of one group, the one that changed last first.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CardsOfGroup {
    /// The group.
    pub group: CardGroup,
    /// How many runs of the group the filter takes.
    pub total: usize,
    /// Some of them.
    pub cards: Vec<Card>,
}

/// Whether it is a run's turn, of so many.
fn is_turn(id: &RunId, turn: usize, turns: usize) -> bool {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish() % turns as u64 == (turn % turns) as u64
}

/// The runs of a workflow.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WorkflowUse {
    /// How many are open.
    pub open: usize,
    /// How many are over.
    pub over: usize,
    /// How many of the open ones are in each phase.
    pub phases: BTreeMap<StateName, usize>,
}

impl CardsReport {
    /// How many runs need a person.
    #[must_use]
    pub fn needs_a_person(&self) -> usize {
        let of_group = self.groups.iter().filter(|group| group.group.needs_a_person()).map(|group| group.total);
        of_group.sum::<usize>() + self.unreadable.len()
    }
}

impl Feed {
    /// Looks at all runs of the context's project.
    ///
    /// # Errors
    /// [`Error::NoProject`], and [`Error::Store`] when the project cannot be read.
    pub fn open(cx: &Context) -> Result<Self> {
        let project = cx.project()?;
        let mut feed = Self {
            cx: cx.clone(),
            project,
            rows: HashMap::new(),
            unreadable: BTreeMap::new(),
            stamps: HashMap::new(),
            turn: 0,
            cost: Duration::ZERO,
            listed: None,
            observed: Vec::new(),
            definitions: Definitions::default(),
        };
        // Stamps first: what changes meanwhile is read again.
        feed.stamps = feed.all_stamps()?;
        feed.read_all()?;
        Ok(feed)
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
        self.project = self.cx.project()?;
        let stamps = self.all_stamps()?;
        let gone = self.rows.keys().chain(self.stamps.keys()).filter(|id| !stamps.contains_key(*id));
        let changed = stamps.iter().filter(|(id, stamp)| self.stamps.get(*id) != Some(stamp)).map(|(id, _)| id);
        let mut dirty: BTreeSet<RunId> = gone.chain(changed).cloned().collect();
        self.stamps = stamps;
        self.definitions = Definitions::default();
        dirty.extend(self.holders_that_changed());
        dirty.extend(self.prove());
        let is_due = |id: &RunId| is_turn(id, self.turn, JUDGED_IN) || self.depends_on_processes(id);
        let judged: Vec<RunId> = self.open_runs().filter(|id| !dirty.contains(*id) && is_due(id)).cloned().collect();
        let mut changed: Vec<RunId> = dirty.into_iter().filter(|id| self.read(id)).collect();
        changed.extend(judged.into_iter().filter(|id| self.judge(id)));
        Ok(changed)
    }

    /// Looks at these runs. Returns those that changed or are gone.
    ///
    /// # Errors
    /// As [`Self::look`].
    pub fn look_at(&mut self, ids: &[RunId]) -> Result<Vec<RunId>> {
        for (id, stamp) in self.stamps_of(ids)? {
            self.stamps.insert(id, stamp);
        }
        Ok(ids.iter().filter(|id| self.read(id)).cloned().collect())
    }

    /// Looks at the runs that are not over, and at new ones. Returns those that changed or are gone.
    ///
    /// # Errors
    /// As [`Self::look`].
    pub fn look_at_open(&mut self) -> Result<Vec<RunId>> {
        let open: Vec<RunId> = self.open_runs().cloned().collect();
        let stamps = self.stamps_of(&open)?;
        let mut changed: Vec<_> = open.into_iter().filter(|id| self.stamps.get(id) != stamps.get(id)).collect();
        let listed = self.listed_at();
        if listed != self.listed {
            self.listed = listed;
            let is_new = |id: &RunId| !self.rows.contains_key(id) && !self.unreadable.contains_key(id);
            changed.extend(self.project.runs().ids()?.into_iter().filter(is_new));
        }
        self.look_at(&changed)
    }

    /// When a run began or went last, if the system can tell.
    fn listed_at(&self) -> Option<(i64, i64)> {
        let place = self.project.runs().place(None)?;
        self.cx.disk.look(&place, Links::Follow).ok().map(|dir| dir.changed)
    }

    /// Directories in which something changes when runs begin or when open runs change, for watchers of a file system.
    #[must_use]
    pub fn places_of_open(&self) -> BTreeSet<PathBuf> {
        let places = self.open_runs().filter_map(|id| self.project.runs().place(Some(id)));
        places.chain(self.project.runs().place(None)).collect()
    }

    /// The run that a path of a file system belongs to.
    #[must_use]
    pub fn run_at(&self, path: &Path) -> Option<RunId> {
        let below = path.strip_prefix(self.project.runs().place(None)?).ok()?;
        below.components().next()?.as_os_str().to_str()?.parse().ok()
    }

    fn open_runs(&self) -> impl Iterator<Item = &RunId> {
        self.rows.iter().filter(|(_, row)| row.group().is_open()).map(|(id, _)| id)
    }

    /// How long it took to look at all runs the last time, without reading any.
    #[must_use]
    pub(in crate::runs) fn cost(&self) -> Duration {
        self.cost
    }

    /// The stamps of all runs. When many runs are over, some of these are looked at, and the others the next times.
    fn all_stamps(&mut self) -> Result<HashMap<RunId, u64>> {
        let begun = Instant::now();
        self.turn += 1;
        let over = self.rows.values().filter(|row| !row.group().is_open()).count();
        let turns = over.div_ceil(OVER_AT_ONCE).max(1);
        let due = |id: &RunId| !matches!(self.rows.get(id), Some(Row::Over(_))) || is_turn(id, self.turn, turns);
        let stamps = self.stamps(None, &due)?;
        self.cost = begun.elapsed();
        Ok(stamps)
    }

    fn stamps_of(&self, ids: &[RunId]) -> Result<HashMap<RunId, u64>> {
        self.stamps(Some(ids), &|_| true)
    }

    fn stamps(&self, ids: Option<&[RunId]>, due: &dyn Fn(&RunId) -> bool) -> Result<HashMap<RunId, u64>> {
        let stamps = self.project.runs().stamps(ids, due)?.into_iter();
        let known = stamps.filter_map(|(id, stamp)| {
            let stamp = match stamp {
                RunStamp::Known(stamp) => Some(stamp),
                RunStamp::NotDue => self.stamps.get(&id).copied(),
                // It is read whenever it is looked at.
                RunStamp::Unknown => None,
            };
            Some((id, stamp?))
        });
        Ok(known.collect())
    }

    fn read_all(&mut self) -> Result<()> {
        let (cx, project, definitions) = (&self.cx, &self.project, &self.definitions);
        let over = |summary: RunSummary| {
            let last_seq = summary.last_seq;
            Some(Row::Over(Box::new(OverRow { run: summary.into(), last_seq })))
        };
        let (rows, unreadable) = read_all_with(project, over, |run| {
            let (card, hold) = read_card(cx, project, run, definitions)?;
            Ok(Some(Row::new(card, hold)))
        })?;
        self.rows = rows.into_iter().map(|row| (row.run().head.run_id.clone(), row)).collect();
        self.unreadable = unreadable.into_iter().filter_map(|run| Some((run.run_id.parse().ok()?, run))).collect();
        Ok(())
    }

    /// Reads a run again. Returns whether there is anything new to show.
    fn read(&mut self, id: &RunId) -> bool {
        let read = self.observe(id).map(|at| {
            let observed = &self.observed[at].1;
            (observed.card(&self.cx, &self.project, &self.definitions), observed.hold().cloned())
        });
        self.put(id, read)
    }

    /// Notes what a run is now, or why it cannot be read. Returns whether there is anything new to show.
    fn put(&mut self, id: &RunId, read: Result<(Card, Option<Hold>)>) -> bool {
        match read {
            Ok((card, hold)) => {
                let row = Row::new(card, hold);
                let was_unreadable = self.unreadable.remove(id).is_some();
                let before = self.rows.insert(id.clone(), row);
                was_unreadable || before.as_ref().map(Row::card) != self.card(id)
            }
            Err(error) => {
                self.observed.retain(|(known, _)| known != id);
                let was_known = self.rows.remove(id).is_some();
                let is_gone = matches!(error, Error::NoSuchRun { .. } | Error::Elsewhere { .. });
                let run = Unreadable { run_id: id.to_string(), reason: error.one_line() };
                let before = if is_gone { self.unreadable.remove(id) } else { self.unreadable.insert(id.clone(), run) };
                was_known || before.as_ref() != self.unreadable.get(id)
            }
        }
    }

    /// Judges a run anew whose files did not change. One that is not observed stays so. Returns whether there is anything
    /// new to show.
    fn judge(&mut self, id: &RunId) -> bool {
        if self.observed.iter().any(|(known, _)| known == id) {
            return self.read(id);
        }
        let run = self.open_run(id);
        let read = run.and_then(|run| read_card(&self.cx, &self.project, &*run, &self.definitions));
        self.put(id, read)
    }

    /// Reads what is new of a run, and observes it from now on. Returns its place in `observed`: the last one.
    fn observe(&mut self, id: &RunId) -> Result<usize> {
        let stamp = self.stamps_of(std::slice::from_ref(id))?.remove(id);
        let known = self.observed.iter().position(|(known, _)| known == id);
        let observed = match known.map(|at| self.observed.remove(at).1) {
            Some(observed) if observed.is_of(stamp) => observed,
            Some(mut observed) => {
                observed.refresh(&self.cx, &self.project, self.open_run(id)?, stamp)?;
                observed
            }
            None => Observed::open(&self.cx, &self.project, self.open_run(id)?, stamp)?,
        };
        self.observed.push((id.clone(), observed));
        let kept =
            |observed: &[(RunId, Observed)]| -> usize { observed.iter().map(|(_, run)| run.log().lines.len()).sum() };
        while self.observed.len() > 1 && (self.observed.len() > KEPT_RUNS || kept(&self.observed) > KEPT_EVENTS) {
            self.observed.remove(0);
        }
        Ok(self.observed.len() - 1)
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

    /// Reads those observed runs again of which events were taken on trust. Returns them.
    fn prove(&mut self) -> Vec<RunId> {
        let (cx, project) = (&self.cx, &self.project);
        let on_trust = self.observed.iter().filter(|(_, run)| run.is_on_trust()).map(|(id, _)| id.clone()).collect();
        // What cannot be read now is read anew when its card is made.
        self.observed.retain_mut(|(_, run)| run.prove(cx, project).is_ok());
        on_trust
    }

    /// The runs whose holder lives no more, or lives again.
    fn holders_that_changed(&self) -> BTreeSet<RunId> {
        let held = self.rows.values().filter_map(|row| match row {
            Row::Open(row) => Some((&row.card, row.hold.as_ref()?)),
            Row::Over(_) => None,
        });
        let changed = held.filter(|(card, hold)| card.holder != Some(life(&self.project, hold)));
        changed.map(|(card, _)| card.run.head.run_id.clone()).collect()
    }

    /// Whether a run is at work only as long as the process lives that began the work.
    fn depends_on_processes(&self, id: &RunId) -> bool {
        matches!(self.rows.get(id), Some(Row::Open(row)) if row.card.begun_at.is_some())
    }

    /// The card of a run; none if it does not exist or cannot be read.
    #[must_use]
    pub fn card(&self, id: &RunId) -> Option<Card> {
        self.rows.get(id).map(Row::card)
    }

    /// The runs that `filter` takes.
    #[must_use]
    pub fn cards(&self, filter: &CardFilter) -> CardsReport {
        let mut taken: BTreeMap<CardGroup, Vec<&Row>> = BTreeMap::new();
        let mut workflows = HashSet::new();
        for row in self.rows.values() {
            workflows.insert(&row.run().head.workflow);
            if filter.takes(row.run(), || row.reason()) {
                taken.entry(row.group()).or_default().push(row);
            }
        }
        let groups = CardGroup::ALL.into_iter().map(|group| {
            let mut rows = taken.remove(&group).unwrap_or_default();
            let wanted = match filter.group {
                Some(only) => only == group,
                None => group.is_open(),
            };
            let limit = if wanted { filter.limit } else { 0 };
            if limit > 0 {
                rows.sort_by_key(|row| Reverse((row.run().head.updated_at, &row.run().head.run_id)));
            }
            let shown = rows.iter().skip(filter.skip).take(limit).map(|row| row.card()).collect();
            CardsOfGroup { group, total: rows.len(), cards: shown }
        });
        let workflows = workflows.into_iter().map(WorkflowId::to_string).collect();
        CardsReport { groups: groups.collect(), unreadable: self.unreadable.values().cloned().collect(), workflows }
    }

    /// All open runs.
    #[must_use]
    pub fn open_cards(&self) -> Vec<Card> {
        let filter = CardFilter { limit: usize::MAX, ..CardFilter::default() };
        self.cards(&filter).groups.into_iter().flat_map(|group| group.cards).collect()
    }

    /// How many runs each workflow has.
    #[must_use]
    pub fn uses(&self) -> BTreeMap<WorkflowId, WorkflowUse> {
        let mut uses: BTreeMap<WorkflowId, WorkflowUse> = BTreeMap::new();
        for row in self.rows.values() {
            let run = row.run();
            let of = uses.entry(run.head.workflow.clone()).or_default();
            if !row.group().is_open() {
                of.over += 1;
                continue;
            }
            of.open += 1;
            if let Some(phase) = &run.head.phase {
                *of.phases.entry(phase.clone()).or_default() += 1;
            }
        }
        uses
    }

    /// A run as it is now.
    ///
    /// # Errors
    /// As [`crate::runs::run_report`].
    pub fn run(&mut self, id: &RunId) -> Result<FeedRun<'_>> {
        let place = self.observe(id)?;
        let (cx, project, definitions) = (&self.cx, &self.project, &self.definitions);
        Ok(FeedRun { cx, project, definitions, observed: &self.observed[place].1 })
    }
}
