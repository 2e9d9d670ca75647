//! A run in a list of what people have to look at: where it is, what it needs, and what to do next.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::engine::{self, Action, Attempt, Drift, Hold, LeftUndone, Lives, Outlook, Plan, Presence, Undone, Verdict};
use crate::host::{Holder, Liveness};
use crate::model::{ActivityStatus, Doing, RunSummary, SESSION_ENDED, Seq, SessionId, StepStatus, Timestamp};
use crate::runs::context::Context;
use crate::runs::error::Result;
use crate::runs::host_note::{bound_process, is_dead};
use crate::runs::look::life::{BegunUnit, begun_unit, lives_then, unit_in_words};
use crate::runs::look::outlook::{Definitions, NextReport, Steps, outlook, steps};
use crate::runs::open::listed::ListedRun;
use crate::runs::open::listing::{for_listing, head_of};
use crate::runs::open::recap::{from_log, from_recap};
use crate::runs::open::view::View;
use crate::store::{Project, StoredRun};

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
    /// The verdict, as `resume` gives it to a session that does not hold the run; for a run with an open question or a
    /// limit that is reached, as if no session held it.
    pub verdict: Verdict,
    /// Why the run is in its group.
    pub reason: String,
    /// What the run left behind without settling it.
    pub left_undone: Vec<LeftUndone>,
    /// What to do next.
    pub next: NextReport,
    /// Whether the session that holds the run is alive; none if no session holds it.
    pub holder: Option<HolderLife>,
    /// When the work began that goes on without a session: a process that was noted then still runs.
    pub begun_at: Option<Timestamp>,
    /// The position of the last event.
    pub last_seq: Option<Seq>,
}

impl Card {
    /// The card of a run that is over, which needs nothing.
    /// The card of a run that is over, from its summary.
    fn of_over(summary: RunSummary) -> Self {
        let last_seq = summary.last_seq;
        Self::over(summary.into(), last_seq)
    }

    pub(in crate::runs) fn over(run: ListedRun, last_seq: Option<Seq>) -> Self {
        let next = NextReport {
            action: Action::Nothing,
            phase: None,
            choices: Vec::new(),
            description: None,
            command: None,
            alternatives: Vec::new(),
        };
        Self {
            group: CardGroup::Over,
            need: None,
            verdict: Verdict::Done,
            reason: reason_of_over(&run),
            left_undone: Vec::new(),
            next,
            holder: None,
            begun_at: None,
            last_seq,
            run,
        }
    }
}

/// Why a run is in the group of those that are over.
pub(in crate::runs) fn reason_of_over(run: &ListedRun) -> String {
    format!("the run is {}", run.head.status)
}

/// What a person has to do about a run, in the order of urgency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CardGroup {
    /// It cannot go on without a person.
    Waits,
    /// Work began, its outcome is unknown, and neither a living session nor a living process shows that it goes on.
    InDoubt,
    /// The session that worked on it is over.
    LeftBehind,
    /// A session holds it, or the process that began work in it still runs.
    AtWork,
    /// The next step is known, and no session holds it.
    CanGoOn,
    /// It is completed, failed or cancelled.
    Over,
}

impl CardGroup {
    /// All groups, the most urgent first.
    pub const ALL: [Self; 6] = [Self::Waits, Self::InDoubt, Self::LeftBehind, Self::AtWork, Self::CanGoOn, Self::Over];

    /// The name, as in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waits => "waits",
            Self::InDoubt => "in_doubt",
            Self::LeftBehind => "left_behind",
            Self::AtWork => "at_work",
            Self::CanGoOn => "can_go_on",
            Self::Over => "over",
        }
    }

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

    /// Whether its runs are not over.
    #[must_use]
    pub fn is_open(self) -> bool {
        self != Self::Over
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
    /// The run or an activity is blocked, or a step or a unit waits.
    Blocked,
    /// A limit is reached.
    Limit,
    /// A step or an activity failed, and no living session holds the run.
    Failing,
    /// A gate waits for a person's decision.
    Approval,
    /// The run passed over work that failed, is blocked or was not done, and nobody gave a reason.
    Undone,
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
            Self::Failing => "failing",
            Self::Approval => "approval",
            Self::Undone => "undone",
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

/// Reads the card of a run, and who holds it. Of a run that is over only the summary is read.
pub(in crate::runs) fn read_card(
    cx: &Context,
    project: &Project,
    run: &dyn StoredRun,
    definitions: &Definitions,
) -> Result<(Card, Option<Hold>)> {
    let view = match from_recap(cx, project, run)? {
        Some(view) => view,
        None => {
            let summary = for_listing(cx, project, run)?.summary;
            if summary.head.status.is_terminal() {
                return Ok((Card::of_over(summary), None));
            }
            from_log(cx, project, run)?
        }
    };
    let document = view.history.state().document();
    if document.state.status.is_terminal() {
        return Ok((Card::of_over(document.into()), None));
    }
    let card = judged(cx, project, run, &view, definitions).card;
    Ok((card, view.history.hold().cloned()))
}

/// The card of a run as it was read, with what it follows from.
pub(in crate::runs) fn judged(
    cx: &Context,
    project: &Project,
    run: &dyn StoredRun,
    view: &View,
    definitions: &Definitions,
) -> Judged {
    let holder = view.history.hold().map(|hold| life(project, hold));
    let presence = match holder {
        None => Presence::Free,
        Some(HolderLife::Dead) => Presence::HolderDead,
        Some(HolderLife::Alive | HolderLife::Unknown) => Presence::HeldByOther,
    };
    let outlook = outlook(cx, project, run, view, presence, definitions);
    conclude(cx, project, run, view, outlook, holder)
}

fn conclude(
    cx: &Context,
    project: &Project,
    run: &dyn StoredRun,
    view: &View,
    mut outlook: Outlook<'_>,
    holder: Option<HolderLife>,
) -> Judged {
    let mut plan = engine::resume(&view.history, &outlook);
    if plan.verdict == Verdict::Held {
        let free = Outlook { presence: Presence::Free, drift: Drift::None, ..outlook.clone() };
        let for_anyone = engine::resume(&view.history, &free);
        // A session that waits for an answer is not at work.
        if for_anyone.verdict == Verdict::NeedsHuman {
            (outlook, plan) = (free, for_anyone);
        }
    }
    let summary = RunSummary { head: head_of(view), ..RunSummary::from(view.history.state().document()) };
    if plan.verdict == Verdict::Done {
        let notes = view.notes.clone();
        return Judged { card: Card::of_over(summary), notes, drift: Drift::None };
    }
    let Judgement { group, need, reason, begun_at } = judge(view, &summary, &plan, holder, &outlook.lives);
    let Steps { mut next, notes } = steps(cx, project, run, view, &outlook, &plan);
    if need == Some(Need::Units) || begun_at.is_some() {
        // What resume proposes would begin the next work.
        next.command = None;
    }
    let last_seq = summary.last_seq;
    let reason = reason.unwrap_or_else(|| plan.reason.clone());
    let (left_undone, verdict) = (plan.left_undone, plan.verdict);
    let card =
        Card { run: summary.into(), group, need, verdict, reason, left_undone, next, holder, begun_at, last_seq };
    Judged { card, notes, drift: outlook.drift }
}

/// A card, and what it follows from.
pub(in crate::runs) struct Judged {
    pub(in crate::runs) card: Card,
    pub(in crate::runs) notes: Vec<String>,
    pub(in crate::runs) drift: Drift,
}

/// What was to be said of a run at an earlier time: `now`, when `view` was the latest that the log had. Whether its holder
/// was alive is not known any more.
pub(in crate::runs) fn judged_then(
    cx: &Context,
    project: &Project,
    run: &dyn StoredRun,
    view: &View,
    now: Timestamp,
) -> Judged {
    let holder = view.history.hold().map(|_| HolderLife::Unknown);
    let presence = if holder.is_some() { Presence::HeldByOther } else { Presence::Free };
    let machine = view.machine.as_ref();
    let lives = lives_then(&view.history);
    conclude(
        cx,
        project,
        run,
        view,
        Outlook { machine, drift: Drift::None, damage: None, presence, now, lives },
        holder,
    )
}

/// Where a run belongs, and why; without a reason, the one of its verdict.
struct Judgement {
    group: CardGroup,
    need: Option<Need>,
    reason: Option<String>,
    /// When the work began that goes on without a session.
    begun_at: Option<Timestamp>,
}

fn judge(view: &View, run: &RunSummary, plan: &Plan, holder: Option<HolderLife>, lives: &Lives) -> Judgement {
    let none_needed = |group| Judgement { group, need: None, reason: None, begun_at: None };
    let to = |group, need| Judgement { need: Some(need), ..none_needed(group) };
    let because = |group, need, reason| Judgement { reason: Some(reason), ..to(group, need) };
    let waits = |need| to(CardGroup::Waits, need);
    let waiting = what_waits(view);
    match plan.verdict {
        Verdict::Corrupt => waits(Need::Damaged),
        Verdict::Conflict => waits(Need::Joined),
        Verdict::Rewound => waits(Need::Rewound),
        Verdict::Drifted => waits(Need::Drifted),
        Verdict::NeedsHuman => waits(match plan.next.action {
            Action::Answer => Need::Question,
            Action::RaiseLimit => Need::Limit,
            Action::Decide => Need::Approval,
            _ => Need::Blocked,
        }),
        Verdict::Held | Verdict::Reconcile | Verdict::Continue if waiting.is_some() => {
            Judgement { reason: waiting, ..waits(Need::Blocked) }
        }
        Verdict::Held => none_needed(CardGroup::AtWork),
        Verdict::Reconcile if plan.begun_at.is_some() => {
            Judgement { begun_at: plan.begun_at, ..none_needed(CardGroup::AtWork) }
        }
        Verdict::Reconcile => to(CardGroup::InDoubt, Need::Begun),
        Verdict::Continue => {
            let session = run.session.as_ref().map(SessionId::as_str).unwrap_or_default();
            if let Some(unit) = begun_unit(&view.history, lives) {
                judge_unit(unit)
            } else if run.head.doing == Some(Doing::Failing) || plan.next.action == Action::RetryPhase {
                waits(Need::Failing)
            } else if holder == Some(HolderLife::Dead) {
                let reason = format!("the process of session {session} is gone");
                because(CardGroup::LeftBehind, Need::Dead, reason)
            } else if run.head.blocked_reason.as_deref() == Some(SESSION_ENDED) {
                because(CardGroup::LeftBehind, Need::Ended, "the session that held it has ended".to_owned())
            } else if let Some(reason) = passed_over(view, plan) {
                because(CardGroup::Waits, Need::Undone, reason)
            } else {
                none_needed(CardGroup::CanGoOn)
            }
        }
        Verdict::Done | Verdict::Unreadable | Verdict::None => none_needed(CardGroup::Over),
    }
}

/// What the run passed over without anyone's reason, in words.
fn passed_over(view: &View, plan: &Plan) -> Option<String> {
    for left in &plan.left_undone {
        let work = view.history.work(&left.phase);
        if work.skipped.is_none() {
            return Some(Undone::new(None, &left.phase, &work).to_string());
        }
    }
    None
}

/// The judgement of a run that could go on but for a unit of work that was begun.
fn judge_unit(unit: BegunUnit) -> Judgement {
    match unit {
        BegunUnit::InDoubt(unit) => {
            let reason = Some(format!("{unit} was begun and its outcome is unknown"));
            Judgement { group: CardGroup::InDoubt, need: Some(Need::Units), reason, begun_at: None }
        }
        BegunUnit::GoesOn { unit, at } => {
            let reason = Some(format!("the process that began {unit} still runs"));
            Judgement { group: CardGroup::AtWork, need: None, reason, begun_at: at }
        }
    }
}

/// A step, activity or unit that waits, in words. With parallel work, the rest may go on meanwhile.
fn what_waits(view: &View) -> Option<String> {
    let history = &view.history;
    let run = &history.state().document().state;
    let step = run.positions().find(|step| run.steps.get(step) == Some(StepStatus::Waiting));
    let blocked = || {
        let here = |attempt: &&Attempt| run.positions().any(|here| attempt.phase.as_ref() == Some(here));
        let mut latest = history.latest().into_iter().filter(here);
        latest.find(|attempt| attempt.status == ActivityStatus::Blocked)
    };
    let because = |why: Option<&str>| why.map(|why| format!(": {why}")).unwrap_or_default();
    step.map(|step| format!("`{step}` waits{}", because(history.message(step))))
        .or_else(|| blocked().map(|it| format!("activity {} is blocked{}", it.id, because(it.summary.as_deref()))))
        .or_else(|| unit_with(view, StepStatus::Waiting).map(|unit| format!("{unit} waits")))
}

/// A unit of this status, in words.
fn unit_with(view: &View, status: StepStatus) -> Option<String> {
    let unit = view.history.units().into_iter().find(|unit| unit.status == status)?;
    Some(unit_in_words(&unit))
}

/// Whether a session is alive that holds no run, as far as a hook has noted its process.
pub(crate) fn session_life(project: &Project, session: &SessionId) -> HolderLife {
    match bound_process(project, session) {
        Some(process) if process.liveness() == Liveness::Alive => HolderLife::Alive,
        _ => HolderLife::Unknown,
    }
}

/// Whether the holder of a run is alive.
pub(in crate::runs) fn life(project: &Project, hold: &Hold) -> HolderLife {
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
