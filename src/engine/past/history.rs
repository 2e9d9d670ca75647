//! A run's events in detail, for readers. Writers need only the [`RunState`].

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::engine::join::replayed;
use crate::engine::past::failures::SeenFailures;
use crate::engine::past::phases::Phases;
use crate::engine::past::workers::{Beginning, Workers};
use crate::engine::{Attempt, RunState};
use crate::machine::Requirement;
use crate::model::{
    ActivityStatus, Event, EventId, EventKind, LogRepaired, LostRange, Number, OwnedState, Question, ReportType,
    RunDocument, Seq, SessionId, StateName, StepReport, StepStatus, Timestamp, Unit,
};

/// The latest work of a unit or of a sub-agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnitWork<'h> {
    /// The unit; `None` for a sub-agent that reports as a whole.
    pub unit: Option<&'h Unit>,
    /// Its step: a step of the workflow, or `agent:step`.
    pub step: &'h StateName,
    /// Its latest status.
    pub status: StepStatus,
    /// What was said with that.
    pub message: Option<&'h str>,
    /// The step of the workflow under which to show it.
    pub below: &'h StateName,
}

impl UnitWork<'_> {
    /// Whether work is left of what began.
    pub(crate) fn is_open(&self) -> bool {
        !self.status.is_done() && self.status != StepStatus::NotStarted
    }

    /// What reasons call it.
    pub(crate) fn name(&self) -> String {
        match self.unit {
            Some(unit) => format!("unit {unit} of `{}`", self.step),
            None => format!("`{}`", self.step),
        }
    }
}

impl std::fmt::Display for UnitWork<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.unit {
            Some(unit) => write!(f, "{unit} ({} in {})", self.status, self.step),
            None => write!(f, "{} ({})", self.step, self.status),
        }
    }
}

/// A report, and where the run was when it came.
#[derive(Debug, Clone, Copy)]
pub(in crate::engine) struct PlacedReport<'h> {
    pub(in crate::engine) report: &'h StepReport,
    /// The step of the workflow that was reported last, by this report or an earlier one that flow did not make.
    pub(in crate::engine) step: Option<&'h StateName>,
    /// The place of that one in the list of all reports.
    pub(in crate::engine) step_at: Option<usize>,
}

/// An entry of `completed_activities`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CompletedEntry<'h> {
    /// The activity's id.
    pub id: &'h str,
    /// The number of its record; `None` if a person wrote the entry.
    pub number: Option<Number>,
    /// The record; `None` if a person wrote the entry, or if a fork did not take the record over.
    pub record: Option<&'h Attempt>,
}

/// Who holds the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hold {
    /// The session that may write; others are refused until they claim the run.
    pub session: SessionId,
    /// Since when.
    pub since: Timestamp,
    /// Evidence from which others can conclude that the holder is dead.
    pub holder: Option<String>,
}

/// Events that a repair of the log declared lost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Loss {
    /// Their positions, without those that were found again.
    missing: Vec<LostRange>,
    /// The position of the repair.
    at: Seq,
    /// How many records were recovered from activity files.
    salvaged: usize,
}

/// What a recap left out, as far as it counts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(in crate::engine) struct LeftOut {
    /// How many entries of `completed_activities`.
    pub(in crate::engine) completed: usize,
    /// Whether a person wrote one of them.
    pub(in crate::engine) unrecorded: bool,
    /// The numbers of the kept records to which one of them belongs.
    pub(in crate::engine) counted: Vec<Number>,
    /// How many records in a phase that failed.
    pub(in crate::engine) failures: BTreeMap<StateName, usize>,
    /// How many records of commands of which flow saw the end. A fork of an earlier flow does not say.
    #[serde(default)]
    pub(in crate::engine) seen: usize,
}

/// The fold of a log, with details that the state does not have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct History {
    #[serde(serialize_with = "as_document", deserialize_with = "of_document")]
    pub(in crate::engine) state: RunState,
    pub(in crate::engine) attempts: Vec<Attempt>,
    hold: Option<Hold>,
    /// The session that holds the run, or held it last.
    last_session: Option<SessionId>,
    /// The phases that the run has been in, and the records that count.
    pub(in crate::engine) phases: Phases,
    /// The reason given at the end of the run.
    end_reason: Option<String>,
    /// Events that were lost.
    losses: Vec<Loss>,
    /// All reports on steps.
    pub(in crate::engine) reports: Vec<StepReport>,
    /// Who began work without a session.
    pub(in crate::engine) workers: Workers,
    /// The work that flow saw fail, and has not seen pass since.
    pub(super) seen_to_fail: SeenFailures,
    /// What a recap left out, as far as it counts.
    pub(in crate::engine) left_out: LeftOut,
}

/// On disk a state is a document.
fn as_document<S: Serializer>(state: &RunState, to: S) -> Result<S::Ok, S::Error> {
    state.document().serialize(to)
}

fn of_document<'de, D: Deserializer<'de>>(from: D) -> Result<RunState, D::Error> {
    Ok(RunState::from_document(RunDocument::deserialize(from)?))
}

impl Loss {
    fn found(&mut self, seq: Seq) {
        let Some(at) = self.missing.iter().position(|range| range.from <= seq && seq <= range.to) else { return };
        let LostRange { from, to } = self.missing[at];
        // What is left of the range on both sides of the position; one at its end leaves nothing there.
        let mut rest = vec![LostRange { from, to: Seq(seq.0.saturating_sub(1)) }, LostRange { from: seq.next(), to }];
        rest.retain(|range| range.from <= range.to);
        self.missing.splice(at..=at, rest);
    }

    fn description(&self) -> String {
        let lost: Vec<_> = self.missing.iter().map(|range| range.in_words()).collect();
        let found = match self.salvaged {
            0 => String::new(),
            1 => "; 1 record was found again in its activity file".to_owned(),
            n => format!("; {n} records were found again in their activity files"),
        };
        format!("{} lost, as the repair of the log at event {} says{found}", lost.join(", "), self.at)
    }
}

impl History {
    /// Folds a log; `None` if no event in it begins a run, as in [`RunState::fold`].
    #[must_use]
    pub fn fold<'a>(events: impl IntoIterator<Item = &'a Event>) -> Option<Self> {
        let events: Vec<&Event> = events.into_iter().collect();
        let replayed = replayed(&events);
        let at = events.iter().position(|event| RunState::begin(event).is_some())?;
        let (earlier, rest) = events.split_at(at);
        let state = RunState::begin(rest[0])?;
        let mut history = match &rest[0].kind {
            EventKind::RunForked(forked) => Self::inherited(state, &forked.past),
            _ => Self::without_log(state),
        };
        // Records before the beginning happened too, although damage cut them off from the state.
        for event in earlier {
            history.add_records(event);
        }
        history.note(rest[0]);
        // The latest number before the events of another branch, which a repair appended to the first history.
        let mut entered = None;
        for event in &rest[1..] {
            let after = history.latest_number();
            history.state.apply(event);
            if replayed.contains(&(&event.id, event.seq)) {
                entered = entered.or(Some(after));
                history.note_replayed(event);
                continue;
            }
            // Only the repair that joined the histories enters its phases before the replayed records.
            let before_replay = entered.take();
            let is_repair = matches!(event.kind, EventKind::LogRepaired(_));
            history.note_from(event, if is_repair { before_replay } else { None });
        }
        Some(history)
    }

    /// Takes one more event of a log that has only one history.
    pub(crate) fn take(&mut self, event: &Event) {
        self.state.apply(event);
        self.note(event);
    }

    /// The history with one more event, which is not committed yet.
    pub(in crate::engine) fn with(&self, kind: EventKind, id: &EventId, at: Timestamp) -> Self {
        let seq = self.state.document().state.last_seq.unwrap_or_default().next();
        let event = Event { seq, id: id.clone(), at, kind, run: None, recap: None };
        let mut history = self.clone();
        history.take(&event);
        history
    }

    /// A history without events, for runs of other programs.
    #[must_use]
    pub fn without_log(state: RunState) -> Self {
        Self {
            state,
            attempts: Vec::new(),
            hold: None,
            last_session: None,
            phases: Phases::default(),
            end_reason: None,
            losses: Vec::new(),
            reports: Vec::new(),
            workers: Workers::default(),
            seen_to_fail: SeenFailures::default(),
            left_out: LeftOut::default(),
        }
    }

    fn add_records(&mut self, event: &Event) {
        for record in event.kind.records() {
            let mut attempt = Attempt::new(record, Some(event));
            self.seen_to_fail.note(&mut attempt);
            self.attempts.push(attempt);
        }
    }

    /// Notes the records and reports of another branch's event. The repair after it says where the run is.
    fn note_replayed(&mut self, event: &Event) {
        self.workers.note(event);
        self.add_records(event);
        match &event.kind {
            EventKind::Emitted(emitted) => self.reports.extend(emitted.reports.iter().cloned()),
            EventKind::LogRepaired(repair) => self.found_again(repair),
            _ => {}
        }
    }

    /// Events that came back from another branch are no longer lost.
    fn found_again(&mut self, repair: &LogRepaired) {
        for line in &repair.renumbered {
            // A loss names the positions of that time, before the lines got new ones.
            for loss in &mut self.losses {
                loss.found(line.seq_before);
            }
        }
        self.losses.retain(|loss| !loss.missing.is_empty());
    }

    fn note(&mut self, event: &Event) {
        self.note_from(event, None);
    }

    /// Notes an event. If `event` is a repair that took over records of another branch, `entered` is the latest number
    /// before them.
    fn note_from(&mut self, event: &Event, entered: Option<Number>) {
        let before = self.latest_number();
        self.workers.note(event);
        self.add_records(event);
        match &event.kind {
            EventKind::Emitted(emitted) => self.reports.extend(emitted.reports.iter().cloned()),
            EventKind::LogRepaired(repair) => self.note_repair(repair, event),
            EventKind::RunCompleted(change) | EventKind::RunFailed(change) | EventKind::RunCancelled(change) => {
                self.end_reason.clone_from(&change.reason);
            }
            // A report or an edit may end it again, and has no reason.
            EventKind::RunReopened(_) => self.end_reason = None,
            EventKind::RunEdited(edit) if edit.changes.status.is_some() => self.end_reason = None,
            EventKind::SessionEnded(end) => self.last_session.clone_from(&end.session),
            EventKind::RunStarted(started) => {
                self.last_session.clone_from(&started.session);
                self.hold_for(started.session.clone(), started.holder.clone(), event);
            }
            EventKind::RunForked(forked) => {
                let session = forked.document.state.session.clone();
                self.last_session.clone_from(&session);
                self.hold_for(session, forked.holder.clone(), event);
            }
            EventKind::RunClaimed(claim) => {
                self.last_session.clone_from(&claim.session);
                self.hold_for(claim.session.clone(), claim.holder.clone(), event);
            }
            _ => {}
        }
        let after = entered.unwrap_or(self.latest_number());
        self.phases.note(event, &self.state.document().state, before, after, &self.attempts);
        // The state says who holds the run now; the evidence about another session says nothing about it.
        let held = self.state.document().state.session.as_ref();
        self.hold.take_if(|hold| held != Some(&hold.session));
    }

    fn hold_for(&mut self, session: Option<SessionId>, holder: Option<String>, event: &Event) {
        self.hold = session.map(|session| Hold { session, since: event.at, holder });
    }

    fn note_repair(&mut self, repair: &LogRepaired, event: &Event) {
        for record in &repair.salvaged {
            self.attempts.push(Attempt::new(record, None));
        }
        // What was recovered lies between records that were not lost.
        self.attempts.sort_by_key(|attempt| attempt.number);
        self.seen_to_fail = SeenFailures::of(&mut self.attempts);
        // Before its own losses are noted: what came back was lost by an earlier repair.
        self.found_again(repair);
        if !repair.lost.is_empty() {
            // A claim may have been lost, and with it the evidence about the holder.
            self.hold_for(self.state.document().state.session.clone(), None, event);
            self.losses.push(Loss { missing: repair.lost.clone(), at: event.seq, salvaged: repair.salvaged.len() });
        }
    }

    /// Shows `state`, which has a person's edits, instead of the log's fold.
    pub fn show(&mut self, state: RunState) {
        let latest = self.latest_number();
        self.phases.show(&state.document().state, latest, &self.attempts);
        self.state = state;
    }

    pub(in crate::engine) fn latest_number(&self) -> Number {
        self.attempts.last().map_or(Number(0), |attempt| attempt.number)
    }

    /// Changes what the state shows, for readers of a run whose next event is known.
    pub(in crate::engine) fn change_state(&mut self, change: impl FnOnce(&mut OwnedState)) {
        change(&mut self.state.run.state);
    }

    /// Adds records that another program made before the log began.
    pub fn add_earlier(&mut self, mut earlier: Vec<Attempt>) {
        earlier.append(&mut self.attempts);
        self.attempts = earlier;
        self.phases.add_earlier(&self.state.document().state, &self.attempts);
    }

    /// What the events make of the run, and of what people changed in `run.yaml`.
    #[must_use]
    pub fn state(&self) -> &RunState {
        &self.state
    }

    /// All records, oldest first; in the history of a recap those that it kept.
    #[must_use]
    pub fn attempts(&self) -> &[Attempt] {
        &self.attempts
    }

    /// The reason given at the end of the run.
    #[must_use]
    pub fn end_reason(&self) -> Option<&str> {
        self.end_reason.as_deref()
    }

    /// The document in which `question` has to be answered, as a path in the project. `None` if it is answered
    /// directly.
    #[must_use]
    pub fn document_of(&self, question: &Question) -> Option<&str> {
        self.asked_in(question)?.text("document")
    }

    /// The number of `question` in its document. `None` if it has none.
    #[must_use]
    pub fn number_of(&self, question: &Question) -> Option<u32> {
        u32::try_from(self.asked_in(question)?.data.get("question")?.as_u64()?).ok()
    }

    /// The report that asked `question`.
    fn asked_in(&self, question: &Question) -> Option<&StepReport> {
        for report in self.reports.iter().rev() {
            let Some(step) = &report.step else { continue };
            if question.is_of(step, report.unit.as_ref()) && report.kind() == Some(ReportType::WaitingForUser) {
                return Some(report);
            }
        }
        None
    }

    /// All reports on steps, oldest first; in the history of a recap those that it kept.
    #[must_use]
    pub fn reports(&self) -> &[StepReport] {
        &self.reports
    }

    /// All reports on steps, oldest first, each with the step that was reported last.
    pub(in crate::engine) fn placed_reports(&self) -> impl Iterator<Item = PlacedReport<'_>> {
        let (mut step, mut step_at) = (None, None);
        self.reports.iter().enumerate().map(move |(at, report)| {
            if let Some((own, _)) = report.own_step()
                && !report.auto
            {
                (step, step_at) = (Some(own), Some(at));
            }
            PlacedReport { report, step, step_at }
        })
    }

    /// The units of the workflow's steps, and the work of sub-agents: each with its latest status, and below the step
    /// in which the run was at that time. Work reported before the run entered a step belongs to its first step.
    #[must_use]
    pub fn units(&self) -> Vec<UnitWork<'_>> {
        let mut latest = BTreeMap::new();
        let first = self.reports.iter().find_map(|report| Some(report.own_step()?.0));
        for PlacedReport { report, step: place, .. } in self.placed_reports() {
            let (Some(step), Some(status)) = (&report.step, report.status()) else { continue };
            // A unit is the same unit, whichever agent works on it.
            let agent = if report.unit.is_none() { step.agent() } else { None };
            let worker = (report.unit.as_ref(), agent);
            if worker != (None, None) {
                let below = if step.agent().is_some() { place.or(first).or(self.state.phase()) } else { Some(step) };
                let below = below.unwrap_or(step);
                let (unit, message) = (report.unit.as_ref(), report.text("message"));
                latest.insert(worker, UnitWork { unit, step, status, message, below });
            }
        }
        latest.into_values().collect()
    }

    /// The latest report on a step of the workflow itself.
    fn latest_report(&self, step: &StateName) -> Option<&StepReport> {
        // The names first: a status has to be parsed, and there are many reports.
        self.reports.iter().rfind(|report| report.step.as_ref() == Some(step) && report.own_step().is_some())
    }

    /// The message of the latest report on a step.
    #[must_use]
    pub fn message(&self, step: &StateName) -> Option<&str> {
        self.latest_report(step)?.text("message")
    }

    /// The time of the latest report on a step.
    #[must_use]
    pub fn reported_at(&self, step: &StateName) -> Option<Timestamp> {
        Some(self.latest_report(step)?.at)
    }

    /// Descriptions of the events that were lost, as the repairs of the log declare them.
    #[must_use]
    pub fn losses(&self) -> Vec<String> {
        self.losses.iter().map(Loss::description).collect()
    }

    /// Whether processes were noted with work that began.
    #[must_use]
    pub(crate) fn has_workers(&self) -> bool {
        !self.workers.is_empty()
    }

    /// The processes that were noted when the record `number` said that its work began.
    pub(in crate::engine) fn began_activity(&self, number: Number) -> &[String] {
        self.workers.of_activity(number)
    }

    /// When the work in a step or its unit was last reported as begun, and the processes that were noted then.
    pub(crate) fn began_step(&self, step: &StateName, unit: Option<&Unit>) -> Beginning {
        self.workers.of_step(step, unit)
    }

    /// Who holds the run.
    #[must_use]
    pub fn hold(&self) -> Option<&Hold> {
        self.hold.as_ref()
    }

    /// The session that holds the run, or that held it last.
    #[must_use]
    pub fn last_session(&self) -> Option<&SessionId> {
        self.last_session.as_ref()
    }

    /// Whether an outcome of the activity `id` is recorded, or that it is blocked.
    pub(crate) fn was_tried(&self, id: &str) -> bool {
        let is_kept = self.attempts.iter().any(|attempt| attempt.id == id && attempt.is_tried());
        is_kept || self.state.document().state.completed_activities.contains(id)
    }

    /// The records of commands of which flow saw the end.
    pub(crate) fn seen(&self) -> Vec<&Attempt> {
        self.attempts.iter().filter(|attempt| attempt.is_seen()).collect()
    }

    /// The latest record of each activity id, sorted by number.
    #[must_use]
    pub fn latest(&self) -> Vec<&Attempt> {
        self.latest_of(|_| true)
    }

    /// The latest record of each activity id of a command that flow ran, sorted by number: of its end, or of its beginning if
    /// that is all that is known.
    pub(crate) fn latest_run_by_flow(&self) -> Vec<&Attempt> {
        self.latest_of(|attempt| attempt.exec.is_some())
    }

    fn latest_of(&self, is_one: impl Fn(&Attempt) -> bool) -> Vec<&Attempt> {
        let mut latest: BTreeMap<&str, &Attempt> = BTreeMap::new();
        for attempt in self.attempts.iter().filter(|attempt| is_one(attempt)) {
            latest.insert(&attempt.id, attempt);
        }
        let mut latest: Vec<_> = latest.into_values().collect();
        latest.sort_by_key(|attempt| attempt.number);
        latest
    }

    /// The number of entries of `completed_activities`.
    #[must_use]
    pub fn completed_count(&self) -> usize {
        self.left_out.completed + self.phases.completed.len()
    }

    /// The entries of `completed_activities`, in order. In the history of a recap only the last ones.
    #[must_use]
    pub fn completed(&self) -> Vec<CompletedEntry<'_>> {
        let by_number: BTreeMap<_, _> = self.attempts.iter().map(|attempt| (attempt.number, attempt)).collect();
        let mut completed = Vec::new();
        for (id, number) in &self.phases.completed {
            let record = number.and_then(|number| by_number.get(&number).copied());
            completed.push(CompletedEntry { id, number: *number, record });
        }
        completed
    }

    /// Whether a person wrote an entry of `completed_activities`.
    pub(in crate::engine) fn has_unrecorded(&self) -> bool {
        self.left_out.unrecorded || self.phases.completed.iter().any(|(_, number)| number.is_none())
    }

    /// The phase in which the activity `id` began, if its outcome is not recorded.
    pub(in crate::engine) fn begun_in(&self, id: &str) -> Option<&StateName> {
        let latest = self.attempts.iter().rfind(|attempt| attempt.id == id)?;
        match latest.status {
            ActivityStatus::Running | ActivityStatus::Blocked | ActivityStatus::Pending => latest.phase.as_ref(),
            ActivityStatus::Passed | ActivityStatus::Failed | ActivityStatus::Skipped => None,
        }
    }
}

/// Gives access to the log for decisions that need more than the state. Called only when necessary, since the log may
/// be long.
pub trait Trail {
    /// The history so far; `None` for a run that is about to begin.
    fn history(&self) -> Option<&History>;

    /// Whether `attempt`, in which the command of `requirement` was seen to pass, proves it: whether it is the command that
    /// the project names so, and still holds for the files.
    fn judge(&self, _requirement: &Requirement, _attempt: &Attempt) -> ProofCheck {
        ProofCheck::NotLooked
    }

    /// Whether the command that flow began with `attempt` goes on, as far as its process can be seen.
    fn is_at_work(&self, _attempt: &Attempt) -> bool {
        false
    }
}

/// Whether a record proves what a phase requires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProofCheck {
    /// It does.
    Holds,
    /// It does not; why.
    DoesNot(String),
    /// That was not looked at: it takes long, and is not done while a run is locked.
    NotLooked,
}

impl Trail for History {
    fn history(&self) -> Option<&History> {
        Some(self)
    }
}

/// For a run that is about to begin, and for commands that need only the state.
#[derive(Debug, Clone, Copy)]
pub struct NoTrail;

impl Trail for NoTrail {
    fn history(&self) -> Option<&History> {
        None
    }
}
