//! `attention`: what the open runs need, those first that need a person.

use std::cmp::Reverse;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::engine::{self, Action, Hold, Outlook, Plan, Presence, Verdict};
use crate::host::{Holder, Liveness};
use crate::model::{Doing, RunStatus, RunSummary, SESSION_ENDED, Seq, StepStatus};
use crate::runs::context::Context;
use crate::runs::error::{Error, Result};
use crate::runs::hosts::{bound_process, is_dead};
use crate::runs::list::ListedRun;
use crate::runs::outlook::{NextReport, outlook, steps};
use crate::runs::select::{Unreadable, read_runs};
use crate::runs::view::{View, for_reading};
use crate::store::{Project, StoredRun};

/// Which runs to tell about.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AttentionRequest {
    /// Whether to include the open runs that need no person.
    pub all: bool,
}

/// The report of `attention`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct AttentionReport {
    /// The most urgent first; within a group the one that changed last.
    pub runs: Vec<Card>,
    /// Runs that cannot be read. They need a person as well.
    pub unreadable: Vec<Unreadable>,
}

/// A run, and what has to be done about it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Card {
    /// The run, as `list` shows it.
    #[serde(flatten)]
    pub run: ListedRun,
    /// What a person has to do.
    pub group: CardGroup,
    /// Why, in one word; none if nothing is needed.
    pub need: Option<Need>,
    /// The verdict, as `resume` gives it to someone who does not hold the run. A question or a limit counts even while a
    /// session holds the run.
    pub verdict: Verdict,
    /// The reason for the verdict.
    pub reason: String,
    /// What to do next.
    pub next: NextReport,
    /// Whether the session that holds the run is alive; none if no session holds it.
    pub holder: Option<HolderLife>,
    /// The position of the last event.
    pub last_seq: Option<Seq>,
}

/// What a person has to do about a run, in the order of urgency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CardGroup {
    /// It cannot go on without a person.
    Waits,
    /// Work began, nobody is at work, and its outcome is unknown.
    InDoubt,
    /// The session that worked on it is over.
    LeftBehind,
    /// A session holds it.
    AtWork,
    /// The next step is known, and no session holds it.
    CanGoOn,
    /// It has ended.
    Over,
}

impl CardGroup {
    /// The title for people.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Waits => "Waits for you",
            Self::InDoubt => "In doubt",
            Self::LeftBehind => "Left behind",
            Self::AtWork => "At work",
            Self::CanGoOn => "Can go on",
            Self::Over => "Over",
        }
    }

    /// Whether a person has to look.
    #[must_use]
    pub fn needs_a_person(self) -> bool {
        self <= Self::LeftBehind
    }
}

/// Why a run needs a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Need {
    /// It asks a question.
    Question,
    /// It or an activity is blocked, or a step waits.
    Blocked,
    /// A limit is reached.
    Limit,
    /// The current step failed, and nobody is at work.
    Failed,
    /// The workflow changed at the run's current phase.
    Drifted,
    /// Events are missing from its log.
    Damaged,
    /// A merge joined two histories.
    Joined,
    /// An older version was put back.
    Rewound,
    /// An activity or a step was begun.
    Begun,
    /// A unit of work was begun.
    Units,
    /// The process of the session that holds it is gone.
    Dead,
    /// The session that held it has ended.
    Ended,
}

impl Need {
    /// The word for people.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Question => "question",
            Self::Blocked => "blocked",
            Self::Limit => "limit",
            Self::Failed => "failed",
            Self::Drifted => "drifted",
            Self::Damaged => "damaged",
            Self::Joined => "joined",
            Self::Rewound => "rewound",
            Self::Begun => "begun",
            Self::Units => "units",
            Self::Dead => "dead",
            Self::Ended => "ended",
        }
    }
}

/// Whether the session that holds a run is alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HolderLife {
    /// Its process runs.
    Alive,
    /// Its process is gone.
    Dead,
    /// It is on another machine or in a container, or its process was not recorded.
    Unknown,
}

/// Finds what the open runs need. Writes nothing and starts no other program. Without a `.flow` there are no runs.
///
/// # Errors
/// [`Error::Store`] when the project cannot be read; a single unreadable run is in the report.
pub fn attention(cx: &Context, request: &AttentionRequest) -> Result<AttentionReport> {
    let project = match cx.project() {
        Ok(project) => project,
        Err(Error::NoProject { .. }) => return Ok(AttentionReport { runs: Vec::new(), unreadable: Vec::new() }),
        Err(error) => return Err(error),
    };
    let open = project.runs().maybe_open(cx.outside(&project).as_deref())?;
    let (mut runs, unreadable) = read_runs(&project, &open.ids, |run| {
        let view = for_reading(cx, &project, run)?;
        let card = card(cx, &project, run, &view);
        let is_wanted = if request.all { card.group != CardGroup::Over } else { card.group.needs_a_person() };
        Ok(is_wanted.then_some(card))
    })?;
    runs.sort_by_cached_key(|card| (card.group, Reverse((card.run.updated_at, card.run.run_id.clone()))));
    Ok(AttentionReport { runs, unreadable })
}

/// The card of a run as it was read.
fn card(cx: &Context, project: &Project, run: &dyn StoredRun, view: &View) -> Card {
    let holder = view.history.hold().map(|hold| life(project, hold));
    let presence = match holder {
        None => Presence::Free,
        Some(HolderLife::Dead) => Presence::HolderDead,
        Some(HolderLife::Alive | HolderLife::Unknown) => Presence::HeldByOther,
    };
    let mut outlook = outlook(cx, project, run, view, presence);
    let mut plan = engine::resume(&view.history, &outlook);
    if plan.verdict == Verdict::Held {
        let free = Outlook { presence: Presence::Free, ..outlook.clone() };
        let for_anyone = engine::resume(&view.history, &free);
        // A session that waits for an answer is not at work.
        if for_anyone.verdict == Verdict::NeedsHuman {
            (outlook, plan) = (free, for_anyone);
        }
    }
    let summary = RunSummary::from(view.history.state().document());
    let (group, need) = judge(view, &summary, &plan, holder);
    let next = steps(cx, project, run, view, &outlook, &plan).next;
    let last_seq = summary.last_seq;
    Card { run: summary.into(), group, need, verdict: plan.verdict, reason: plan.reason, next, holder, last_seq }
}

fn judge(view: &View, run: &RunSummary, plan: &Plan, holder: Option<HolderLife>) -> (CardGroup, Option<Need>) {
    let waits = |need| (CardGroup::Waits, Some(need));
    match plan.verdict {
        Verdict::Corrupt | Verdict::Unreadable => waits(Need::Damaged),
        Verdict::Conflict => waits(Need::Joined),
        Verdict::Rewound => waits(Need::Rewound),
        Verdict::Drifted => waits(Need::Drifted),
        Verdict::NeedsHuman => waits(match plan.next.action {
            Action::Answer => Need::Question,
            Action::RaiseLimit => Need::Limit,
            _ => Need::Blocked,
        }),
        Verdict::Held => (CardGroup::AtWork, None),
        Verdict::Reconcile => (CardGroup::InDoubt, Some(Need::Begun)),
        Verdict::Continue => {
            let has_failed = run.doing == Some(Doing::Failed) || plan.next.action == Action::RetryPhase;
            let is_ended = run.status == RunStatus::Active && run.blocked_reason.as_deref() == Some(SESSION_ENDED);
            if has_failed {
                waits(Need::Failed)
            } else if view.history.units().iter().any(|unit| unit.status == StepStatus::Running) {
                (CardGroup::InDoubt, Some(Need::Units))
            } else if holder == Some(HolderLife::Dead) {
                (CardGroup::LeftBehind, Some(Need::Dead))
            } else if is_ended {
                (CardGroup::LeftBehind, Some(Need::Ended))
            } else {
                (CardGroup::CanGoOn, None)
            }
        }
        Verdict::Done | Verdict::None => (CardGroup::Over, None),
    }
}

/// Whether the holder of a run is alive, whoever asks.
fn life(project: &Project, hold: &Hold) -> HolderLife {
    let evidence = hold.holder.as_deref().and_then(|text| text.parse::<Holder>().ok());
    let is_alive = |process: Holder| process.liveness() == Liveness::Alive;
    if is_dead(project, &hold.session, evidence.as_ref()) {
        HolderLife::Dead
    } else if evidence.is_some_and(is_alive) || bound_process(project, &hold.session).is_some_and(is_alive) {
        HolderLife::Alive
    } else {
        HolderLife::Unknown
    }
}
