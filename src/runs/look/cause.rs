//! Why a run needs a person: in one word, and in the words that were recorded.

use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::Serialize;

use crate::engine::{Action, Attempt, Plan, Verdict};
use crate::model::{ActivityStatus, Number, RunStatus, StateName, StepStatus, Timestamp, named};
use crate::runs::open::view::View;

named! {
    /// Why a run needs a person.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema)]
    pub enum Need {
        /// It asks a question.
        Question = "question",
        /// The run or an activity is blocked, or a step or a unit waits.
        Blocked = "blocked",
        /// A limit is reached.
        Limit = "limit",
        /// A step or an activity failed, and no living session holds the run.
        Failing = "failing",
        /// A gate waits for a person's decision.
        Approval = "approval",
        /// The run passed over work that failed, is blocked or was not done, and no reason was given.
        Undone = "undone",
        /// The workflow changed at the run's current phase.
        Drifted = "drifted",
        /// Events are missing from its log.
        Damaged = "damaged",
        /// A merge joined two histories.
        Joined = "joined",
        /// An older version was put back.
        Rewound = "rewound",
        /// The store that machines share does not have it as it is here.
        Unshared = "unshared",
        /// An activity or a step was begun.
        Begun = "begun",
        /// A unit of work was begun.
        Units = "units",
        /// The process of the session that holds it is gone.
        Dead = "dead",
        /// The session that held it has ended.
        Ended = "ended",
    }
}

impl Need {
    /// Whether it is read off the files alone, which git or a person may be in the middle of changing: a moment later it
    /// may be over.
    #[must_use]
    pub fn may_pass(self) -> bool {
        matches!(self, Self::Damaged | Self::Joined | Self::Rewound | Self::Drifted)
    }

    /// The need of a verdict that no session and no outcome of work can change.
    pub(in crate::runs) fn of_verdict(verdict: Verdict, action: Action) -> Option<Self> {
        match verdict {
            Verdict::Corrupt => Some(Self::Damaged),
            Verdict::Conflict => Some(Self::Joined),
            Verdict::Rewound => Some(Self::Rewound),
            Verdict::Drifted => Some(Self::Drifted),
            Verdict::NeedsHuman => Some(match action {
                Action::Answer => Self::Question,
                Action::RaiseLimit => Self::Limit,
                Action::Decide => Self::Approval,
                Action::Share => Self::Unshared,
                _ => Self::Blocked,
            }),
            _ => None,
        }
    }

    /// The need for which `resume` proposes this.
    pub(in crate::runs) fn of_action(action: Action) -> Option<Self> {
        match action {
            Action::Answer => Some(Self::Question),
            Action::ResolveBlocker | Action::ResolveActivity => Some(Self::Blocked),
            Action::RetryPhase => Some(Self::Failing),
            _ => None,
        }
    }
}

/// What a run waits for, or what went wrong, in the words of those who recorded it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Cause {
    /// The question, what blocks the run, or what came out of the work that failed.
    pub text: String,
    /// The exit status of the command that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// The number of the activity that failed or is blocked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<Number>,
    /// Its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activity: Option<String>,
    /// How many other questions wait for an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more_questions: Option<NonZeroUsize>,
}

impl Cause {
    fn said(text: &str) -> Self {
        Self { text: text.to_owned(), exit_code: None, number: None, activity: None, more_questions: None }
    }

    fn of_activity(attempt: &Attempt) -> Self {
        let id = &attempt.id;
        Self {
            text: attempt.summary.clone().unwrap_or_else(|| format!("{id} {}", attempt.status)),
            exit_code: attempt.exit_code,
            number: Some(attempt.number),
            activity: Some(id.clone()),
            more_questions: None,
        }
    }

    /// The text, behind it the exit status, or in front of it how many questions wait.
    #[must_use]
    pub fn in_words(&self) -> String {
        match (self.exit_code, self.more_questions) {
            (Some(code), _) => format!("{} · exit {code}", self.text),
            (None, None) => self.text.clone(),
            // In front, since a long question is cut.
            (None, Some(more)) => format!("1 of {} questions: {}", more.get() + 1, self.text),
        }
    }
}

/// The work that was begun in a run and has no outcome yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BegunWork {
    /// What it is: its name or summary, otherwise its id; absent if the reason says all that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// When it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// How the units of the current step stand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub units: Option<UnitCounts>,
}

/// How many units of a step there are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct UnitCounts {
    /// All of them.
    pub all: usize,
    /// Those that are done.
    pub done: usize,
    /// Those that failed.
    pub failing: usize,
}

/// The begun work that a reason is about, or the latest work of a session that holds the run, of which the reason says nothing;
/// with the units beside it. Work without a name has its id where the reason does not have that.
pub(in crate::runs) fn begun_work(view: &View, plan: &Plan, is_reason_about_it: bool) -> Option<BegunWork> {
    let history = &view.history;
    let doubt =
        if is_reason_about_it { plan.in_doubt.first() } else { plan.in_doubt.iter().max_by_key(|doubt| doubt.at) };
    let named = doubt.and_then(|doubt| doubt.summary.clone()).filter(|text| !text.trim().is_empty());
    let title = match doubt {
        Some(doubt) if !is_reason_about_it => named.or_else(|| Some(doubt.id.clone())),
        _ => named,
    };
    let mut units = UnitCounts::default();
    for unit in history.units() {
        if history.state().document().state.is_in(unit.below) {
            units.all += 1;
            units.done += usize::from(unit.status.is_done());
            units.failing += usize::from(unit.status == StepStatus::Failed);
        }
    }
    let units = (units.all > 0).then_some(units);
    if title.is_none() && units.is_none() {
        return None;
    }
    let at = title.as_ref().and(doubt).and_then(|doubt| doubt.at);
    Some(BegunWork { title, at, units })
}

/// The cause of a need; none where its reason says all that is known.
pub(in crate::runs) fn cause_of(view: &View, need: Option<Need>) -> Option<Cause> {
    let state = &view.history.state().document().state;
    match need? {
        // The last question is the one that the run asks first.
        Need::Question => {
            let question = state.questions.last()?;
            Some(Cause {
                more_questions: NonZeroUsize::new(state.questions.len() - 1),
                ..Cause::said(&question.prompt)
            })
        }
        Need::Blocked if state.status == RunStatus::Blocked => state.blocked_reason.as_deref().map(Cause::said),
        Need::Blocked => match view.history.waiting_unit() {
            Some(unit) => unit.message.map(Cause::said),
            None => trouble(view, ActivityStatus::Blocked, StepStatus::Waiting),
        },
        Need::Failing => trouble(view, ActivityStatus::Failed, StepStatus::Failed),
        _ => None,
    }
}

/// The latest activity where the run is that has the status `work`; otherwise what was said of a step that has `step`.
fn trouble(view: &View, work: ActivityStatus, step: StepStatus) -> Option<Cause> {
    let history = &view.history;
    let state = &history.state().document().state;
    let here: Vec<&StateName> = state.positions().collect();
    for attempt in history.latest().into_iter().rev() {
        if attempt.status == work && attempt.phase.as_ref().is_some_and(|phase| here.contains(&phase)) {
            return Some(Cause::of_activity(attempt));
        }
    }
    for name in here {
        if state.steps.get(name) == Some(step)
            && let Some(message) = history.message(name)
        {
            return Some(Cause::said(message));
        }
    }
    None
}
