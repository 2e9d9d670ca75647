//! A run in a list of what people have to look at: where it is, what it needs, and what to do next.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::engine::{Action, Drift, Hold, HoldState, LeftUndone, Lives, Outlook, Plan, Undone, Verdict};
use crate::machine::Machine;
use crate::model::{
    ActivityStatus, Doing, RunHead, RunStatus, RunSummary, SESSION_ENDED, Seq, SessionId, StepStatus, Timestamp, named,
};
use crate::runs::context::OpenedProject;
use crate::runs::error::Result;
use crate::runs::holder::process_of;
use crate::runs::host_note::{is_alive, is_dead};
use crate::runs::look::cause::{BegunWork, Cause, Need, begun_work, cause_of};
use crate::runs::look::life::{BegunUnit, begun_unit, lives_then};
use crate::runs::look::outlook::{Definitions, NextReport, NextSteps, OpenedRun, next_steps, outlook, plan_for_person};
use crate::runs::open::listed::ListedRun;
use crate::runs::open::listing::{head_of, may_be_joined, text_of};
use crate::runs::open::recap::{from_log, from_recap};
use crate::runs::open::shared::Sharing;
use crate::runs::open::view::View;
use crate::store::{Project, StoredRun};

/// The words for runs that need nothing: a session or a process works on it, or the next step can begin.
pub(in crate::runs) const AT_WORK: &str = "at work";
pub(in crate::runs) const READY: &str = "ready";

/// A run, and what has to be done about it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Card {
    /// The run, as `list` shows it.
    #[serde(flatten)]
    pub run: ListedRun,
    /// The place of its phase in its workflow; absent if the run is over, or the phase is not in its workflow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<PhasePlace>,
    /// What a person has to do.
    pub group: CardGroup,
    /// Why, in one word; none if nothing is needed.
    pub need: Option<Need>,
    /// The verdict, as `resume` gives it to a session that does not hold the run; for a run with an open question or a
    /// limit that is reached, as if no session held it.
    pub verdict: Verdict,
    /// Why the run is in its group.
    pub reason: String,
    /// The question, what blocks it, or what went wrong, as it was recorded; absent if the reason says all that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// The work that goes on in a run at work, or whose outcome is unknown; absent if the reason says all that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work: Option<BegunWork>,
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

/// The place of a phase among those of its workflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PhasePlace {
    /// Its number, from 1.
    pub number: usize,
    /// The number of phases.
    pub of: usize,
}

impl Card {
    /// How the run stands, in the word that every list has for it.
    #[must_use]
    pub fn word(&self) -> &'static str {
        word_of(self.group, self.need, self.run.head.status)
    }

    /// The reason, with what rows show in its place.
    pub(crate) fn reason_to_search(&self) -> Cow<'_, str> {
        let cause = self.cause.as_ref().map(Cause::in_words);
        let title = self.work.as_ref().and_then(|work| work.title.as_deref());
        let gate = self.next.description.as_deref().filter(|_| self.need == Some(Need::Approval));
        match cause.as_deref().or(title).or(gate) {
            Some(shown) => format!("{} {shown}", self.reason).into(),
            None => self.reason.as_str().into(),
        }
    }

    fn of_over(project: &OpenedProject, run: &dyn StoredRun, summary: RunSummary) -> Self {
        let last_seq = summary.last_seq;
        Self::over(ListedRun { sharing: Sharing::of(project.runs().shared(), run), ..summary.into() }, last_seq)
    }

    /// The card of a run that is over, which needs nothing.
    pub(in crate::runs) fn over(run: ListedRun, last_seq: Option<Seq>) -> Self {
        Self {
            place: None,
            group: CardGroup::Over,
            need: None,
            verdict: Verdict::Done,
            reason: reason_of_over(&run),
            cause: None,
            work: None,
            left_undone: Vec::new(),
            next: NextReport::default(),
            holder: None,
            begun_at: None,
            last_seq,
            run,
        }
    }
}

/// How a run of this status stands, in the word that every list has for it.
pub(super) fn word_of(group: CardGroup, need: Option<Need>, status: RunStatus) -> &'static str {
    match (need, group) {
        (Some(need), _) => need.as_str(),
        (None, CardGroup::AtWork) => AT_WORK,
        (None, CardGroup::Over) => status.as_str(),
        (None, _) => READY,
    }
}

/// Whether a reason has this text, in letters of either case.
pub(in crate::runs) fn says(reason: &str, text: &str) -> bool {
    reason.to_lowercase().contains(&text.to_lowercase())
}

/// Why a run is in the group of those that are over.
pub(in crate::runs) fn reason_of_over(run: &ListedRun) -> String {
    format!("the run is {}", run.head.status)
}

named! {
    /// What a person has to do about a run, in the order of urgency.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
    pub enum CardGroup {
        /// It cannot go on without a person.
        Waits = "waits",
        /// Work began, its outcome is unknown, and neither a living session nor a living process shows that it goes on.
        InDoubt = "in_doubt",
        /// The session that worked on it is over.
        LeftBehind = "left_behind",
        /// A session holds it, or the process that began work in it still runs.
        AtWork = "at_work",
        /// The next step is known, and no session holds it.
        CanGoOn = "can_go_on",
        /// It is completed, failed or cancelled.
        Over = "over",
    }
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

/// Whether the session that holds a run is alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HolderLife {
    /// Its process runs.
    Alive,
    /// Its process is gone.
    Dead,
    /// Its host said that it ended.
    Ended,
    /// It is on another machine or in a container, or its process was not recorded.
    Unknown,
}

/// Reads the card of a run, and who holds it. Of a run that is over only the summary is read.
pub(in crate::runs) fn read_card(
    project: &OpenedProject,
    run: &dyn StoredRun,
    definitions: &Definitions,
) -> Result<(Card, Option<Hold>)> {
    let view = match from_recap(project, run)? {
        Some(view) => view,
        None => {
            // Before the log, which may be long: most runs are over, and of those the summary is enough.
            if let Some(text) = text_of(project, run)?
                && RunHead::from(text.document()).is_over()
                && !may_be_joined(run)
            {
                return Ok((Card::of_over(project, run, text.document().into()), None));
            }
            from_log(project, run)?
        }
    };
    let document = view.history.state().document();
    if head_of(&view).is_over() {
        return Ok((Card::of_over(project, run, document.into()), None));
    }
    let card = assess(OpenedRun { project, run, view: &view }, definitions).card;
    Ok((card, view.history.hold().cloned()))
}

/// What a reader is told about a run now.
pub(in crate::runs) fn assess(opened: OpenedRun<'_>, definitions: &Definitions) -> Assessment {
    let holder = opened.view.history.hold().map(|hold| holder_life(opened.project, hold));
    let hold_state = match holder {
        None => HoldState::Free,
        Some(HolderLife::Dead | HolderLife::Ended) => HoldState::HolderDead,
        Some(HolderLife::Alive | HolderLife::Unknown) => HoldState::HeldByOther,
    };
    conclude(opened, outlook(opened, hold_state, definitions), holder)
}

fn conclude(opened: OpenedRun<'_>, mut outlook: Outlook<'_>, holder: Option<HolderLife>) -> Assessment {
    let view = opened.view;
    let plan = plan_for_person(opened, &mut outlook);
    let summary = RunSummary { head: head_of(view), ..RunSummary::from(view.history.state().document()) };
    if plan.verdict == Verdict::Done {
        let notes = [view.notes.clone(), view.history.dropped_requirements()].concat();
        // With why it ended, which a summary has not.
        let card = Card { reason: plan.reason, ..Card::of_over(opened.project, opened.run, summary) };
        return Assessment { card, notes, drift: Drift::None };
    }
    let Placement { group, need, reason, begun_at } = place(view, &summary, &plan, holder, &outlook.lives);
    let NextSteps { mut next, notes } = next_steps(opened, &outlook, &plan);
    if need == Some(Need::Units) || begun_at.is_some() {
        // What resume proposes would begin the next work.
        next.command = None;
    }
    let last_seq = summary.last_seq;
    let reason = reason.unwrap_or_else(|| plan.reason.clone());
    let work = match (group, need) {
        (CardGroup::AtWork, _) => begun_work(view, &plan, begun_at.is_some()),
        (_, Some(Need::Begun)) => begun_work(view, &plan, true),
        _ => None,
    };
    let (left_undone, verdict) = (plan.left_undone, plan.verdict);
    let place = phase_place(&summary, outlook.machine);
    let card = Card {
        run: ListedRun { sharing: Sharing::of(opened.project.runs().shared(), opened.run), ..summary.into() },
        place,
        group,
        need,
        verdict,
        reason,
        cause: cause_of(view, need),
        work,
        left_undone,
        next,
        holder,
        begun_at,
        last_seq,
    };
    Assessment { card, notes, drift: outlook.drift }
}

fn phase_place(summary: &RunSummary, machine: Option<&Machine>) -> Option<PhasePlace> {
    let machine = machine?;
    let number = machine.place_of(summary.head.phase.as_ref()?)?;
    Some(PhasePlace { number, of: machine.states().len() })
}

/// What a reader is told about a run: its card, with the notes and the drift that a page shows beside it.
pub(in crate::runs) struct Assessment {
    pub(in crate::runs) card: Card,
    pub(in crate::runs) notes: Vec<String>,
    pub(in crate::runs) drift: Drift,
}

/// What a reader would have been told at the earlier time `now`. The run is `opened` as its log was then. Whether its holder
/// was alive is no longer known.
pub(in crate::runs) fn assess_past(opened: OpenedRun<'_>, now: Timestamp) -> Assessment {
    let view = opened.view;
    let (holder, hold_state) = match view.history.hold() {
        Some(_) => (Some(HolderLife::Unknown), HoldState::HeldByOther),
        None => (None, HoldState::Free),
    };
    // Only the log tells of that time: which definitions and files there were is not known.
    let (drift, damage) = (Drift::None, None);
    let (machine, lives) = (view.machine.as_ref(), lives_then(&view.history));
    conclude(opened, Outlook { machine, drift, damage, hold_state, now, lives, unproved: None }, holder)
}

/// The group that a run belongs to, and why; without a reason, the one of its verdict.
struct Placement {
    group: CardGroup,
    need: Option<Need>,
    reason: Option<String>,
    /// When the work began that goes on without a session.
    begun_at: Option<Timestamp>,
}

impl Placement {
    /// A place in which a run needs nothing.
    fn at(group: CardGroup) -> Self {
        Self { group, need: None, reason: None, begun_at: None }
    }

    fn with_need(group: CardGroup, need: Need) -> Self {
        Self { need: Some(need), ..Self::at(group) }
    }

    fn because(self, reason: String) -> Self {
        Self { reason: Some(reason), ..self }
    }
}

fn place(view: &View, run: &RunSummary, plan: &Plan, holder: Option<HolderLife>, lives: &Lives) -> Placement {
    let waiting = what_waits(view);
    if let Some(need) = Need::of_verdict(plan.verdict, plan.next.action) {
        return Placement::with_need(CardGroup::Waits, need);
    }
    match plan.verdict {
        Verdict::Held | Verdict::Reconcile | Verdict::Continue if waiting.is_some() => {
            Placement { reason: waiting, ..Placement::with_need(CardGroup::Waits, Need::Blocked) }
        }
        Verdict::Held => Placement::at(CardGroup::AtWork),
        // The process that began the work still runs, so its outcome is not in doubt yet.
        Verdict::Reconcile if plan.begun_at.is_some() => {
            Placement { begun_at: plan.begun_at, ..Placement::at(CardGroup::AtWork) }
        }
        Verdict::Reconcile => Placement::with_need(CardGroup::InDoubt, Need::Begun),
        Verdict::Continue => place_of_free(view, run, plan, holder, lives),
        _ => Placement::at(CardGroup::Over),
    }
}

/// The place of a run that can go on. The most urgent of its troubles decides.
fn place_of_free(view: &View, run: &RunSummary, plan: &Plan, holder: Option<HolderLife>, lives: &Lives) -> Placement {
    match begun_unit(&view.history, lives) {
        Some(BegunUnit::InDoubt(unit)) => {
            return Placement::with_need(CardGroup::InDoubt, Need::Units)
                .because(format!("{unit} was begun and its outcome is unknown"));
        }
        Some(BegunUnit::GoesOn { unit, at }) => {
            return Placement { begun_at: at, ..Placement::at(CardGroup::AtWork) }
                .because(format!("the process that began {unit} still runs"));
        }
        None => {}
    }
    if run.head.doing == Some(Doing::Failing) || plan.next.action == Action::RetryPhase {
        return Placement::with_need(CardGroup::Waits, Need::Failing);
    }
    if holder == Some(HolderLife::Dead) {
        let session = run.session.as_ref().map(SessionId::as_str).unwrap_or_default();
        return Placement::with_need(CardGroup::LeftBehind, Need::Dead)
            .because(format!("the process of session {session} is gone"));
    }
    if run.head.blocked_reason.as_deref() == Some(SESSION_ENDED) {
        return Placement::with_need(CardGroup::LeftBehind, Need::Ended)
            .because("the session that held it has ended".to_owned());
    }
    match passed_over(view, plan) {
        Some(reason) => Placement::with_need(CardGroup::Waits, Need::Undone).because(reason),
        None => Placement::at(CardGroup::CanGoOn),
    }
}

/// What the run passed over without anyone's reason, in words.
fn passed_over(view: &View, plan: &Plan) -> Option<String> {
    for left in &plan.left_undone {
        // It is run once more, for which no person is needed.
        if left.is_requirement() {
            continue;
        }
        let work = view.history.work(&left.phase);
        if work.skipped.is_none() {
            return Some(Undone::new(None, &left.phase, &work).to_string());
        }
    }
    None
}

/// How a run stands for its own session, as far as a card's group and need can be told without its plan.
pub(super) fn standing_for_session(
    view: &View,
    (verdict, action): (Verdict, Action),
    goes_on: bool,
    holder: Option<HolderLife>,
) -> (CardGroup, Option<Need>) {
    let state = &view.history.state().document().state;
    if verdict == Verdict::Done {
        return (CardGroup::Over, None);
    }
    if let Some(need) = Need::of_verdict(verdict, action) {
        return (CardGroup::Waits, Some(need));
    }
    if what_waits(view).is_some() {
        return (CardGroup::Waits, Some(Need::Blocked));
    }
    if goes_on || matches!(holder, Some(HolderLife::Alive | HolderLife::Unknown)) {
        return (CardGroup::AtWork, None);
    }
    if verdict == Verdict::Reconcile {
        return (CardGroup::InDoubt, Some(Need::Begun));
    }
    if Doing::of(state) == Some(Doing::Failing) || action == Action::RetryPhase {
        return (CardGroup::Waits, Some(Need::Failing));
    }
    if holder == Some(HolderLife::Dead) {
        return (CardGroup::LeftBehind, Some(Need::Dead));
    }
    if state.blocked_reason.as_deref() == Some(SESSION_ENDED) {
        return (CardGroup::LeftBehind, Some(Need::Ended));
    }
    (CardGroup::CanGoOn, None)
}

/// A step or activity that waits, in words. With parallel work, the rest may go on meanwhile.
fn what_waits(view: &View) -> Option<String> {
    let history = &view.history;
    let run = &history.state().document().state;
    for step in run.positions() {
        if run.steps.get(step) == Some(StepStatus::Waiting) {
            return Some(format!("`{step}` waits{}", after_colon(history.message(step))));
        }
    }
    for attempt in history.latest() {
        let is_here = run.positions().any(|here| attempt.phase.as_ref() == Some(here));
        if is_here && attempt.status == ActivityStatus::Blocked {
            return Some(format!("activity {} is blocked{}", attempt.id, after_colon(attempt.summary.as_deref())));
        }
    }
    None
}

fn after_colon(why: Option<&str>) -> String {
    why.map(|why| format!(": {why}")).unwrap_or_default()
}

/// Whether a session is alive that holds no run, as far as a hook has noted its process.
pub(crate) fn session_life(project: &Project, session: &SessionId) -> HolderLife {
    // That no process is noted does not say that the session is over.
    if is_alive(project, session, None) { HolderLife::Alive } else { HolderLife::Unknown }
}

/// Whether the holder of a run is alive.
pub(in crate::runs) fn holder_life(project: &Project, hold: &Hold) -> HolderLife {
    let process = process_of(hold);
    if is_dead(project, &hold.session, process.as_ref()) {
        return HolderLife::Dead;
    }
    if is_alive(project, &hold.session, process.as_ref()) { HolderLife::Alive } else { HolderLife::Unknown }
}
