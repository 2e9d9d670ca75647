//! `list`: the runs of a project.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::HashSet;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::model::{Doing, Issue, Remote, RunStatus, Seq, SessionId, Timestamp, named};
use crate::runs::context::{Context, OpenedProject};
use crate::runs::error::{Error, Result};
use crate::runs::look::attention::{AttentionRequest, open_cards};
use crate::runs::look::card::{AT_WORK, Card, CardGroup, READY, says};
use crate::runs::look::cause::Need;
use crate::runs::look::used::{ListUsage, usage_of};
use crate::runs::look::wait::cards_of;
use crate::runs::open::listed::{ListedRun, mentions};
use crate::runs::open::name::own_remote;
use crate::runs::open::reading::{Unreadable, read_all};
use crate::runs::open::shared::{Sharing, ask_store};
use crate::runs::open::worktrees::{
    NamedRuns, OpenThere, OtherWorktree, RUNS_NAMED, newest_open, project_around, worktrees_with,
};
use crate::store::{RefreshScope, SharedRuns};

/// Which runs to list; the default is all.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ListFilter {
    /// Only runs that need a person, as `attention` finds them.
    pub attention: bool,
    /// Only runs with one of these statuses.
    pub status: Vec<ListStatus>,
    /// Only runs about this feature.
    pub feature: Option<String>,
    /// Only runs with this text in the id, workflow, phase, goal, feature or reason, or about this issue or pull
    /// request (`#42`).
    pub search: Option<String>,
    /// Only runs of this workflow.
    pub workflow: Option<String>,
    /// Only runs that this session holds.
    pub session: Option<SessionId>,
    /// Only runs that changed since then.
    pub since: Option<Timestamp>,
    /// In which order.
    pub sort: ListOrder,
    /// The highest number of runs to list.
    pub limit: Option<usize>,
    /// Whether to name all open runs of the repository's other worktrees; otherwise the newest are named.
    pub worktrees: bool,
    /// Whether to add up what the work of each run used, for which the logs of all listed runs are read.
    pub usage: bool,
}

impl ListFilter {
    /// Whether the filter takes every run.
    #[must_use]
    pub fn is_all(&self) -> bool {
        !self.attention
            && self.status.is_empty()
            && [&self.feature, &self.search, &self.workflow] == [&None; 3]
            && self.session.is_none()
            && self.since.is_none()
    }

    /// Whether the files of a run say its status.
    fn takes_status(&self, run: &ListedRun) -> bool {
        self.status.is_empty() || self.status.iter().any(|status| status.is_of(run))
    }

    /// Whether one of these words is asked for.
    fn takes_word(&self, card: &Card) -> bool {
        self.status.iter().any(|status| status.word() == Some(card.word()))
    }

    /// Whether it takes a run, whatever its status and its words are.
    fn takes(&self, run: &ListedRun) -> bool {
        (self.feature.is_none() || self.feature == run.feature)
            && (self.workflow.is_none() || self.workflow.as_deref() == Some(run.head.workflow.as_str()))
            && (self.session.is_none() || self.session == run.session)
            && self.since.is_none_or(|since| run.head.updated_at >= since)
    }

    /// Whether the files of a run have the text that is searched for.
    fn finds(&self, run: &ListedRun, own: Option<&Remote>) -> bool {
        self.search.as_ref().is_none_or(|text| mentions(run, text, own))
    }

    /// Whether the reason that lists show has it.
    fn finds_reason(&self, card: &Card) -> bool {
        self.search.as_ref().is_some_and(|text| says(&card.reason_to_search(), text))
    }

    /// Whether it takes a run of which all was looked at, by its words as well.
    fn takes_card(&self, card: &Card, own: Option<&Remote>) -> bool {
        let has_text = self.finds(&card.run, own) || self.finds_reason(card);
        has_text && (self.takes_status(&card.run) || self.takes_word(card))
    }

    /// The remote by which issues are compared, if one is searched for.
    fn own_remote(&self, project: &OpenedProject) -> Option<Remote> {
        self.search.as_ref()?.parse::<Issue>().ok()?;
        own_remote(project)
    }
}

named! {
    /// The order of a list.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
    pub enum ListOrder {
        /// Those that were started last come first.
        #[default]
        Started = "started",
        /// Those that changed last come first.
        Changed = "changed",
    }
}

impl ListOrder {
    fn time_of(self, run: &ListedRun) -> Timestamp {
        match self {
            Self::Started => run.head.created_at,
            Self::Changed => run.head.updated_at,
        }
    }
}

/// A status by which runs are listed: a run's own status, the activity of an active run, or the word that lists show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListStatus {
    /// The run's status.
    Run(RunStatus),
    /// The activity of an active run.
    Doing(Doing),
    /// What an open run needs of a person.
    Need(Need),
    /// A session or a process works on it.
    AtWork,
    /// The next step can begin.
    Ready,
}

impl ListStatus {
    /// All statuses that have a name.
    pub const ALL: [Self; 22] = [
        Self::Run(RunStatus::Active),
        Self::Run(RunStatus::Blocked),
        Self::Doing(Doing::Waiting),
        Self::Doing(Doing::Failing),
        Self::Run(RunStatus::Failed),
        Self::Run(RunStatus::Completed),
        Self::Run(RunStatus::Cancelled),
        Self::Need(Need::Question),
        Self::Need(Need::Approval),
        Self::Need(Need::Limit),
        Self::Need(Need::Undone),
        Self::Need(Need::Drifted),
        Self::Need(Need::Damaged),
        Self::Need(Need::Joined),
        Self::Need(Need::Rewound),
        Self::Need(Need::Unshared),
        Self::Need(Need::Begun),
        Self::Need(Need::Units),
        Self::Need(Need::Dead),
        Self::Need(Need::Ended),
        Self::AtWork,
        Self::Ready,
    ];

    /// The name in requests.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Run(status) => status.as_str(),
            Self::Doing(doing) => doing.as_str(),
            Self::Need(need) => need.as_str(),
            Self::AtWork => "at_work",
            Self::Ready => READY,
        }
    }

    /// Whether the file of a run says so.
    fn is_of(self, run: &ListedRun) -> bool {
        match self {
            Self::Run(status) => run.head.status == status,
            Self::Doing(doing) => run.head.doing == Some(doing),
            Self::Need(Need::Question) => run.head.doing == Some(Doing::Asking),
            Self::Need(Need::Joined) => run.head.doing == Some(Doing::Conflict),
            Self::Need(_) | Self::AtWork | Self::Ready => false,
        }
    }

    /// Whether the file of a run can say so.
    #[must_use]
    pub fn is_by_file(self) -> bool {
        matches!(self, Self::Run(_) | Self::Doing(_) | Self::Need(Need::Question | Need::Joined))
    }

    /// The word that lists show for it; none for what only the file of a run says.
    fn word(self) -> Option<&'static str> {
        match self {
            Self::Run(RunStatus::Blocked) => Some(Need::Blocked.as_str()),
            Self::Doing(Doing::Failing) => Some(Need::Failing.as_str()),
            Self::Need(need) => Some(need.as_str()),
            Self::AtWork => Some(AT_WORK),
            Self::Ready => Some(READY),
            Self::Run(_) | Self::Doing(_) => None,
        }
    }
}

impl FromStr for ListStatus {
    type Err = String;
    fn from_str(text: &str) -> std::result::Result<Self, String> {
        // What `doing` has for two needs.
        match text.parse() {
            Ok(Doing::Asking) => return Ok(Self::Need(Need::Question)),
            Ok(Doing::Conflict) => return Ok(Self::Need(Need::Joined)),
            _ => {}
        }
        for status in Self::ALL {
            // As lists show it, too: `at work`.
            if status.as_str() == text || status.word() == Some(text) {
                return Ok(status);
            }
        }
        Err(format!("`{text}` is not a status; known are {}", Self::ALL.map(Self::as_str).join(", ")))
    }
}

impl Serialize for ListStatus {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        to.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for ListStatus {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for ListStatus {
    fn schema_name() -> Cow<'static, str> {
        "ListStatus".into()
    }

    // Every call of a model has it: those that a run's file says are enough. The other words are taken as well.
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let of_file = Self::ALL.into_iter().filter(|status| status.is_by_file());
        json_schema!({
            "type": "string",
            "enum": of_file.map(Self::as_str).collect::<Vec<_>>(),
            "description": "A run's own status, or what an active run is doing. `failed`: the run failed. `failing`: a step or an activity of it did.",
        })
    }
}

/// The report of `list`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ListReport {
    /// In the order that was asked for.
    pub runs: Vec<RunInList>,
    /// The open ones of them that were looked at.
    #[serde(skip)]
    pub(crate) cards: Vec<Card>,
    /// Runs that cannot be read.
    pub unreadable: Vec<Unreadable>,
    /// Other worktrees of the repository in which runs are open.
    pub worktrees: Vec<OtherWorktree>,
    /// What the work of the listed runs used, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<ListUsage>,
    /// What a reader should know of shared runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A run of a list, and what it needs.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RunInList {
    /// The run.
    #[serde(flatten)]
    pub run: ListedRun,
    /// What a person has to do; null if it could not be looked at.
    pub group: Option<CardGroup>,
    /// Why, in one word; null if nothing is needed.
    pub need: Option<Need>,
}

impl RunInList {
    fn new(run: ListedRun, cards: &[Card]) -> Self {
        if run.head.is_over() {
            return Self { run, group: Some(CardGroup::Over), need: None };
        }
        let card = cards.iter().find(|card| card.run.head.run_id == run.head.run_id);
        let (group, need) = (card.map(|card| card.group), card.and_then(|card| card.need));
        Self { run, group, need }
    }
}

/// Lists runs, newest first. Without a `.flow` there are none.
///
/// # Errors
/// [`crate::runs::Error::Store`] when the project cannot be read; a single unreadable run is in the report.
pub fn list(cx: &Context, filter: &ListFilter) -> Result<ListReport> {
    list_looking_at(cx, filter, usize::MAX)
}

/// As [`list`], for a reader who sees what this many of the first runs need.
///
/// # Errors
/// As [`list`].
pub(crate) fn list_looking_at(cx: &Context, filter: &ListFilter, looked_at: usize) -> Result<ListReport> {
    let project = match cx.project() {
        Ok(project) => project,
        Err(Error::NoProject { around, .. }) => {
            let (worktrees, notes) = (listed_elsewhere(cx, filter, 0), project_around(around.as_deref(), "list"));
            let (runs, cards, unreadable) = (Vec::new(), Vec::new(), Vec::new());
            return Ok(ListReport { runs, cards, unreadable, worktrees, usage: None, notes });
        }
        Err(error) => return Err(error),
    };
    let mut notes = ask_store(&project, RefreshScope::All);
    let hidden = project.runs().shared().accepted().map_or(Ok(Vec::new()), SharedRuns::hidden)?;
    notes.extend(hidden.iter().map(|hidden| format!("{hidden}; {}", hidden.help())));
    let (mut found, mut unreadable) = found_in(&project, filter)?;
    found.truncate(filter.limit.unwrap_or(usize::MAX));
    let mut runs = Vec::with_capacity(found.len());
    for (run, last) in found {
        // Whether a run is shared is looked up in the file system, so only for those that are shown.
        let sharing = Sharing::of_listed(project.runs().shared(), &run.head.run_id, last);
        runs.push(ListedRun { sharing, ..run });
    }
    let usage = if filter.usage { Some(usage_of(&project, &runs, &mut unreadable)?) } else { None };
    let worktrees = listed_elsewhere(cx, filter, runs.len());
    let open = runs.iter().take(looked_at).filter(|run| !run.head.is_over());
    let cards = cards_of(&cx.offline(), open.map(|run| &run.head.run_id))?;
    let runs = runs.into_iter().map(|run| RunInList::new(run, &cards)).collect();
    Ok(ListReport { runs, cards, unreadable, worktrees, usage, notes })
}

/// The open runs of other worktrees that the filter takes. `listed` runs are in the list already.
fn listed_elsewhere(cx: &Context, filter: &ListFilter, listed: usize) -> Vec<OtherWorktree> {
    let each = if filter.worktrees { usize::MAX } else { RUNS_NAMED };
    let named = NamedRuns { each, all: filter.limit.unwrap_or(usize::MAX).saturating_sub(listed) };
    if filter.is_all() && filter.sort == ListOrder::Started {
        return worktrees_with(cx, named, newest_open);
    }
    worktrees_with(cx, named, |project, here, named| {
        let (mut found, unreadable) = found_in(project, filter)?;
        found.retain(|(run, _)| !run.head.is_over() && !here.has(&run.head));
        let open_runs = found.len();
        let runs = found.into_iter().take(named).map(|(run, _)| run).collect();
        Ok(OpenThere { open_runs, runs, error: unreadable.first().map(Unreadable::in_words) })
    })
}

/// Runs with the position of their last event, and those that cannot be read.
type FoundRuns = (Vec<(ListedRun, Option<Seq>)>, Vec<Unreadable>);

/// The runs of a project that the filter takes, in the order that it asks for.
fn found_in(project: &OpenedProject, filter: &ListFilter) -> Result<FoundRuns> {
    let (mut found, unreadable) =
        if filter.attention { those_in_need(project, filter)? } else { those_of_files(project, filter)? };
    // A run is ten times as long as its key, and would be moved again and again.
    found.sort_by_cached_key(|(run, _)| Reverse((filter.sort.time_of(run), run.head.run_id.clone())));
    Ok((found, unreadable))
}

fn those_in_need(project: &OpenedProject, filter: &ListFilter) -> Result<FoundRuns> {
    let (cards, unreadable) = open_cards(project, AttentionRequest::default())?;
    let own = filter.own_remote(project);
    let mut found = Vec::new();
    for card in cards {
        if filter.takes(&card.run) && filter.takes_card(&card, own.as_ref()) {
            found.push((card.run, card.last_seq));
        }
    }
    Ok((found, unreadable))
}

fn those_of_files(project: &OpenedProject, filter: &ListFilter) -> Result<FoundRuns> {
    let asks_for_words = filter.status.iter().any(|status| status.word().is_some());
    let own = filter.own_remote(project);
    let (found, unreadable) = read_all(project, |summary| {
        let last = summary.last_seq;
        let run = ListedRun::from(summary);
        let (has_status, has_text) = (filter.takes_status(&run), filter.finds(&run, own.as_ref()));
        let is_open = !run.head.is_over();
        let may_fit = (has_status || asks_for_words && is_open) && (has_text || is_open);
        (filter.takes(&run) && may_fit).then_some((run, last, has_status && has_text))
    })?;
    // Only a look at all of a run shows its word and its reason.
    let unsure = found.iter().filter(|(.., is_sure)| !is_sure).map(|(run, ..)| &run.head.run_id);
    let mut fitting = HashSet::new();
    for card in cards_of(&project.cx.offline(), unsure)? {
        if filter.takes_card(&card, own.as_ref()) {
            fitting.insert(card.run.head.run_id);
        }
    }
    let mut runs = Vec::with_capacity(found.len());
    for (run, last, is_sure) in found {
        if is_sure || fitting.contains(&run.head.run_id) {
            runs.push((run, last));
        }
    }
    Ok((runs, unreadable))
}

/// Parses a point in time: RFC 3339, a date, or an age such as `90m`, `12h`, `7d`, `2w`.
///
/// # Errors
/// A sentence that says which forms are valid.
pub fn parse_since(text: &str, now: Timestamp) -> std::result::Result<Timestamp, String> {
    if let Ok(at) = text.parse() {
        return Ok(at);
    }
    if let Ok(at) = format!("{text}T00:00:00Z").parse() {
        return Ok(at);
    }
    let bad = format!("{text:?} is neither a time (2026-05-20, 2026-05-20T14:30:00Z) nor an age (90m, 12h, 7d, 2w)");
    // Not the last byte: a character may have several.
    let Some((last, _)) = text.char_indices().next_back() else { return Err(bad) };
    let (number, unit) = text.split_at(last);
    let Ok(number) = number.parse::<i64>() else { return Err(bad) };
    let minutes = match unit {
        "m" => 1,
        "h" => 60,
        "d" => 60 * 24,
        "w" => 60 * 24 * 7,
        _ => return Err(bad),
    };
    let Some(age) = number.checked_mul(minutes).and_then(chrono::Duration::try_minutes) else { return Err(bad) };
    now.as_datetime().checked_sub_signed(age).map(Timestamp::new).ok_or(bad)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_ages_are_understood() {
        let now: Timestamp = "2026-05-20T14:30:00Z".parse().unwrap();
        for (text, wanted) in [
            ("2026-05-01", "2026-05-01T00:00:00.000Z"),
            ("2026-05-01T10:00:00+02:00", "2026-05-01T08:00:00.000Z"),
            ("90m", "2026-05-20T13:00:00.000Z"),
            ("7d", "2026-05-13T14:30:00.000Z"),
        ] {
            assert_eq!(parse_since(text, now).unwrap().to_string(), wanted);
        }
        for text in ["", "7", "d", "7y", "-", "é", "99999999999999999w"] {
            assert!(parse_since(text, now).is_err(), "{text}");
        }
    }
}
