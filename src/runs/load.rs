//! From files to a state under the lock, and back: how writers load a run, bring it in order, and commit.
//!
//! A run is what `run.yaml` shows as of its `last_seq`, plus the sealed events behind it. What a person changed in
//! `run.yaml` counts; a writer adopts it as an event before anything else. Readers do the same in [`crate::runs::view`],
//! in memory.

use std::rc::Rc;
use std::time::Duration;

use crate::codec::{DocumentKind, RunText, RunTextError, digest, parse, validate};
use crate::engine::{EditFault, RunState, edited, rebase};
use crate::machine::Machine;
use crate::model::Explain as _;
use crate::model::{
    ActivityRecorded, Event, EventKind, Number, RunAdopted, RunDocument, RunEdited, Seq, TextDigest, Timestamp,
};
use crate::runs::checkout::{conflict_marker, is_rewound, refuse_joined};
use crate::runs::context::Flow;
use crate::runs::error::{Error, Result};
use crate::runs::pinned::{catalog_machine, is_free, machine_of, pinned};
use crate::store::{ActivityFile, Batch, LockedRun, LogScan, Project, RunDir, layout};

/// A run ready for a decision: locked, recovered, hand edits adopted.
pub(crate) struct Loaded<'a> {
    pub(crate) locked: LockedRun<'a>,
    pub(crate) text: RunText,
    pub(crate) state: RunState,
    pub(crate) warnings: Vec<String>,
    pub(super) run: &'a RunDir,
    workflow: Workflow,
}

/// The workflow of a loaded run.
enum Workflow {
    /// Nothing asked for it yet.
    Unread,
    Known(Rc<Machine>),
    /// The run is of unknown origin.
    Unknown,
}

impl From<Option<Machine>> for Workflow {
    fn from(machine: Option<Machine>) -> Self {
        machine.map_or(Self::Unknown, |machine| Self::Known(Rc::new(machine)))
    }
}

/// Locks `run` and brings it in order: recovers what a dead writer left, adopts what a person changed.
pub(crate) fn for_writing<'a>(flow: &Flow, project: &Project, run: &'a RunDir, now: Timestamp) -> Result<Loaded<'a>> {
    for_writing_within(flow, project, run, now, flow.lock_wait()?)
}

/// As [`for_writing`], waiting at most `wait` for another writer.
pub(crate) fn for_writing_within<'a>(
    flow: &Flow,
    project: &Project,
    run: &'a RunDir,
    now: Timestamp,
    wait: Duration,
) -> Result<Loaded<'a>> {
    if run.is_leftover() {
        // Before the lock is taken, which would make a log for it.
        return Err(flow.elsewhere(project, run));
    }
    if run.lacks_log() {
        let shown = run.read_text()?.and_then(|text| RunText::parse(text).ok()?.document().state.last_seq);
        if !flow.places_of_log(project, run, shown).is_empty() {
            return Err(flow.rewound(project, run, Seq(0), shown.unwrap_or_default()));
        }
    }
    let request = flow.lock_request(now, wait);
    project.keep_out_of_git(&request)?;
    let mut locked = run.lock(&request)?;
    let mut warnings = Vec::new();
    let text = match locked.read_text()? {
        Some(text) => parse_run(run, text)?,
        None => {
            warnings.push("run.yaml was missing; it is rebuilt from the log".to_owned());
            let log = locked.read_log()?;
            refuse_joined(run.id(), &log)?;
            let text = rebuild(flow, project, run, &log)?;
            clear_leftovers(&mut locked, log.last_seq(), now)?;
            // Shows the run as of now, so nothing is left to roll forward, but it has to be written.
            let files: Vec<_> = log.events().flat_map(activity_files).collect();
            locked.roll_forward(None, text.text(), &files, now, &mut |_| None)?;
            text
        }
    };
    let mut position = Position::find(&mut locked, text.document().state.last_seq, &mut warnings)?;
    let noted = locked.high_water().0;
    if !position.foreign && is_rewound(noted, locked.tail().last_seq, Some(position.since)) {
        return Err(flow.rewound(project, run, locked.tail().last_seq, noted));
    }
    let tail = locked.tail();
    let is_changed = !locked.is_log_as_left() || is_edited(&text, &locked, position.since);
    if !tail.ordered || tail.newer.iter().any(is_repair) || is_changed {
        refuse_joined(run.id(), &locked.read_log()?)?;
    }
    clear_leftovers(&mut locked, position.since, now)?;
    let text = match superseded(&locked.tail().newer, &text)? {
        Some(repaired) => {
            put_repaired(&mut locked, &text, &repaired, now)?;
            position.since = locked.tail().last_seq;
            repaired
        }
        None => text,
    };
    let mut edited = position.by_hand || is_edited(&text, &locked, position.since);
    let state = RunState::from_document(text.document().clone());
    let mut loaded = Loaded { state, locked, text, warnings, run, workflow: Workflow::Unread };
    if loaded.locked.tail().last_seq == Seq(0) && position.foreign {
        loaded.adopt_run(flow, project, now)?;
        return Ok(loaded);
    }
    if !position.by_hand {
        loaded.roll_forward(position.since, edited, now)?;
        // A writer may have died between an edit's line in the log and run.yaml: then all of it is adopted already.
        edited = edited && is_edited(&loaded.text, &loaded.locked, loaded.locked.tail().last_seq);
    }
    if edited {
        loaded.adopt_edit(flow, project, now)?;
    }
    loaded.restore_activities()?;
    let notes = loaded.locked.take_notes();
    loaded.warnings.extend(notes);
    Ok(loaded)
}

/// Up to which event a `run.yaml` shows its run.
struct Position {
    since: Seq,
    /// Whether a person changed what the file says about it.
    by_hand: bool,
    /// Whether the file says nothing about it.
    foreign: bool,
}

impl Position {
    fn find(locked: &mut LockedRun<'_>, said: Option<Seq>, warnings: &mut Vec<String>) -> Result<Self> {
        let last = locked.tail().last_seq;
        let Some(said) = said else {
            return Ok(Self { since: last, by_hand: last > Seq(0), foreign: true });
        };
        if said > last && last > Seq(0) && locked.high_water().0 == last {
            // No writer ever got that far, so the number was typed.
            return Ok(Self { since: last, by_hand: true, foreign: false });
        }
        if said > last {
            warnings
                .push(format!("the log ends at event {last}, but run.yaml shows event {said}; counting goes on there"));
        } else if said < last {
            locked.reread_tail(said)?;
        }
        Ok(Self { since: said, by_hand: false, foreign: false })
    }
}

pub(crate) fn parse_run(run: &RunDir, text: String) -> Result<RunText> {
    let path = run.file_path(layout::RUN_FILE);
    let marker = conflict_marker(&text);
    let parsed = RunText::parse(text).map_err(|error| match marker {
        Some(line) => {
            let what = format!("{}:{line}:1 is a conflict marker", path.display());
            Error::Joined { run: run.id().clone(), what }
        }
        None => Error::RunFile { path: path.clone(), error },
    })?;
    if parsed.document().id != *run.id() {
        let fault = EditFault::Id { expected: run.id().clone(), found: parsed.document().id.clone() };
        return Err(Error::Edit { place: place(parsed.text(), fault.pointer()), path, fault });
    }
    Ok(parsed)
}

pub(crate) fn place(text: &str, pointer: &str) -> Option<crate::codec::Place> {
    parse(text).ok().map(|root| root.nearest(pointer).place)
}

/// `run.yaml` as the log demands it. Comments of adopted hand edits are in the log and come back.
pub(crate) fn rebuild(flow: &Flow, project: &Project, run: &RunDir, log: &LogScan) -> Result<RunText> {
    let empty = || match run.is_leftover() {
        true => flow.elsewhere(project, run),
        false => Error::EmptyRun { path: run.path().to_owned() },
    };
    let path = run.file_path(layout::RUN_FILE);
    let fault = |error| Error::RunFile { path: path.clone(), error };
    rebuilt(log.events()).map_err(fault)?.ok_or_else(empty)
}

/// As [`rebuild`], from events alone; `None` when none of them begins a run.
pub(crate) fn rebuilt<'a>(
    events: impl DoubleEndedIterator<Item = &'a Event> + Clone,
) -> std::result::Result<Option<RunText>, RunTextError> {
    let (Some(begin), Some(state)) = (events.clone().find_map(RunState::begin), RunState::fold(events.clone())) else {
        return Ok(None);
    };
    let text = match events.rev().find_map(text_of) {
        Some(text) => RunText::parse(text)?,
        None => RunText::create(begin.document()),
    };
    text.with_state(&state.document().state).map(Some)
}

/// The `run.yaml` that an event carries.
pub(crate) fn text_of(event: &Event) -> Option<&str> {
    match &event.kind {
        EventKind::RunEdited(edit) => Some(&edit.text),
        EventKind::RunAdopted(adopted) => Some(&adopted.text),
        EventKind::LogRepaired(repair) => Some(&repair.text),
        _ => None,
    }
}

fn is_repair(event: &Event) -> bool {
    matches!(event.kind, EventKind::LogRepaired(_))
}

/// The `run.yaml` that takes the place of `found`, when the log was repaired since: positions mean something else
/// now, so the two are not compared.
pub(crate) fn superseded(newer: &[Event], found: &RunText) -> Result<Option<RunText>> {
    let Some(at) = newer.iter().rposition(is_repair) else {
        return Ok(None);
    };
    let fault = |error| Error::RunFile { path: layout::RUN_FILE.into(), error };
    let Some(mut text) = text_of(&newer[at]).map(RunText::parse).transpose().map_err(fault)? else {
        return Ok(None);
    };
    if text.document().id != found.document().id {
        return Ok(None);
    }
    let mut state = RunState::from_document(text.document().clone());
    for event in &newer[at + 1..] {
        if let Some(edited) = text_of(event) {
            text = RunText::parse(edited).map_err(fault)?;
        }
        state.apply(event);
    }
    text.with_state(&state.document().state).map(Some).map_err(fault)
}

/// Ends a repair of the log whose last step a crash prevented. What a person wrote into `run.yaml` meanwhile is kept
/// aside.
fn put_repaired(locked: &mut LockedRun<'_>, found: &RunText, repaired: &RunText, now: Timestamp) -> Result<()> {
    let log = locked.read_log()?;
    let known = TextDigest(digest(found.text().as_bytes()));
    if !log.events().any(|event| event.run.as_ref() == Some(&known)) {
        locked.keep_copy(layout::RUN_FILE, now)?;
    }
    let shown = found.document().state.last_seq.unwrap_or_default();
    let files: Vec<_> = log.events().filter(|event| event.seq > shown).flat_map(activity_files).collect();
    locked.roll_forward(Some(found.text()), repaired.text(), &files, now, &mut |_| None)?;
    locked.reread_tail(Seq(u64::MAX))?;
    Ok(())
}

pub(crate) fn check_schema(run: &RunDir, text: &RunText) -> Result<()> {
    let path = run.file_path(layout::RUN_FILE);
    let fault = |error: RunTextError| Error::RunFile { path: path.clone(), error };
    let root = parse(text.text()).map_err(|error| fault(error.into()))?;
    let violations = validate(DocumentKind::Run, &root.to_value(), Some(&root));
    if violations.is_empty() { Ok(()) } else { Err(Error::RunSchema { path, violations }) }
}

fn is_edited(text: &RunText, locked: &LockedRun<'_>, since: Seq) -> bool {
    let written = locked.tail().at.as_ref().filter(|event| event.seq == since).and_then(|event| event.run.as_ref());
    written.is_some_and(|written| written.0 != digest(text.text().as_bytes()))
}

fn clear_leftovers(locked: &mut LockedRun<'_>, shown: Seq, now: Timestamp) -> Result<()> {
    if !locked.has_leftovers()? {
        return Ok(());
    }
    let log = locked.read_log()?;
    // What flow wrote, and what a person saved and the log keeps word for word.
    let adopted = |event: &Event| match &event.kind {
        EventKind::RunEdited(edit) => Some(TextDigest(digest(edit.text.as_bytes()))),
        _ => None,
    };
    let written: Vec<_> = log.events().flat_map(|event| [event.run.clone(), adopted(event)]).flatten().collect();
    let last = log.last_seq().max(shown);
    locked.clear_leftovers(
        |text| {
            let known = TextDigest(digest(text.as_bytes()));
            // A text that shows an event which never made it into the log was being written when its writer died.
            let unsaid = RunText::parse(text).is_ok_and(|text| text.document().state.last_seq > Some(last));
            written.contains(&known) || unsaid
        },
        now,
    )?;
    Ok(())
}

impl Loaded<'_> {
    /// The event that begins the log.
    pub(crate) fn first_event(&self) -> Result<Option<Event>> {
        Ok(self.run.first_event()?)
    }

    /// The workflow that the run pins. Read when it is first asked for: most records stay in their phase and need none.
    pub(crate) fn machine(&mut self, flow: &Flow, project: &Project) -> Result<Option<Rc<Machine>>> {
        if matches!(self.workflow, Workflow::Unread) {
            let first = match self.state.document().state.workflow_seq {
                None => self.run.first_event()?,
                // Another definition was adopted.
                Some(_) => None,
            };
            let pinned = match first {
                Some(first) if is_free(&first) => {
                    self.workflow = Workflow::Unknown;
                    return Ok(None);
                }
                Some(first) => machine_of(&first, &mut self.warnings),
                // Its first line may be lost; a repair of the log pins the workflow then.
                None => pinned(self.locked.read_log()?.events(), &mut self.warnings),
            };
            self.pin(pinned, flow, project);
        }
        Ok(self.known_machine())
    }

    /// The workflow that the run pins, when something asked for it before.
    pub(crate) fn known_machine(&self) -> Option<Rc<Machine>> {
        match &self.workflow {
            Workflow::Known(machine) => Some(Rc::clone(machine)),
            Workflow::Unread | Workflow::Unknown => None,
        }
    }

    /// Takes the workflow that was found for the one that the run pins.
    fn pin(&mut self, pinned: Option<Machine>, flow: &Flow, project: &Project) {
        // Its log is lost or begins elsewhere: today's definition is nearer to the truth than none.
        let machine = pinned.or_else(|| catalog_machine(flow, project, self.state.document(), &mut self.warnings));
        self.workflow = machine.into();
    }

    /// Brings the projections up to the log.
    fn roll_forward(&mut self, since: Seq, edited: bool, now: Timestamp) -> Result<()> {
        let newer = self.locked.tail().newer.clone();
        if newer.is_empty() {
            return Ok(());
        }
        self.state = if edited {
            caught_up(self.text.document(), since, &self.locked.read_log()?)
        } else {
            let mut state = self.state.clone();
            newer.iter().for_each(|event| state.apply(event));
            state
        };
        let old = self.text.text().to_owned();
        self.text = self.with_document()?;
        let files: Vec<_> = newer.iter().flat_map(activity_files).collect();
        let mut merge = |saved: &str| replay(saved, since, &newer);
        Ok(self.locked.roll_forward(Some(&old), self.text.text(), &files, now, &mut merge)?)
    }

    /// The files of records are not flushed by their commits; after a power cut some may be missing while `run.yaml` is
    /// not.
    fn restore_activities(&mut self) -> Result<()> {
        if !self.locked.may_lack_activities() {
            return self.restore_latest();
        }
        for file in self.locked.read_log()?.events().flat_map(activity_files) {
            if let Err(error) = self.locked.restore_activity(&file) {
                // The record itself is in the log. The next writer tries again.
                self.warnings.push(format!("an activity file may be damaged: {}", error.one_line()));
                return Ok(());
            }
        }
        self.locked.note_activities_checked();
        Ok(())
    }

    fn restore_latest(&self) -> Result<()> {
        let Some(event) = &self.locked.tail().at else { return Ok(()) };
        for record in event.kind.records() {
            let lost = match self.locked.is_lost(&record.number.file_name(&record.id())) {
                // The next record is the latest then, and nobody looks at this one again.
                Err(error) if error.is_io() => return Err(error.into()),
                found => found.unwrap_or(false),
            };
            if lost {
                self.locked.restore_activity(&file_of(record))?;
            }
        }
        Ok(())
    }

    fn with_document(&self) -> Result<RunText> {
        let fault = |error| Error::RunFile { path: self.locked.run_file(), error };
        self.text.with_document(self.state.document()).map_err(fault)
    }

    /// Takes over a run that another program wrote.
    fn adopt_run(&mut self, flow: &Flow, project: &Project, now: Timestamp) -> Result<()> {
        check_schema(self.run, &self.text)?;
        let names = self.run.activity_names()?;
        let mut document = self.text.document().clone();
        document.state.last_number = names.last().map_or(Number(0), |(number, _)| *number);
        let known = catalog_machine(flow, project, &document, &mut self.warnings);
        if known.is_some() {
            self.warnings.pop();
        }
        let machine = known.as_ref().map(Machine::to_value);
        self.workflow = known.into();
        let text = self.text.text().to_owned();
        let kind = EventKind::RunAdopted(Box::new(RunAdopted { machine, document, text }));
        self.commit(flow, kind, None, now, Vec::new())?;
        Ok(())
    }

    /// Adopts what a person changed in `run.yaml`.
    fn adopt_edit(&mut self, flow: &Flow, project: &Project, now: Timestamp) -> Result<()> {
        check_schema(self.run, &self.text)?;
        let log = self.locked.read_log()?;
        let Some(folded) = RunState::fold(log.events()) else {
            return Ok(());
        };
        let path = self.run.file_path(layout::RUN_FILE);
        if matches!(self.workflow, Workflow::Unread) {
            // What says which event pins it may be among what was edited.
            self.pin(pinned(log.events(), &mut Vec::new()), flow, project);
        }
        let machine = self.machine(flow, project)?;
        let changes = edited(&folded, self.state.document(), machine.as_deref()).map_err(|fault| Error::Edit {
            place: place(self.text.text(), fault.pointer()),
            path,
            fault,
        })?;
        let text = self.text.text().to_owned();
        // What flow keeps for itself is set right again; the rest is the person's.
        let mut state = folded;
        std::mem::swap(&mut state, &mut self.state);
        let kind = EventKind::RunEdited(Box::new(RunEdited { changes, by_command: false, session: None, text }));
        self.commit(flow, kind, None, now, Vec::new())?;
        Ok(())
    }

    /// Commits one event on top of the state. `key` makes it recognisable on a retry.
    pub(crate) fn commit(
        &mut self,
        flow: &Flow,
        kind: EventKind,
        key: Option<&str>,
        now: Timestamp,
        activities: Vec<ActivityFile>,
    ) -> Result<Seq> {
        let text = self.text.clone();
        self.commit_over(flow, &text, kind, key, now, activities)
    }

    /// As [`Self::commit`], with `base` in place of what `run.yaml` says.
    pub(crate) fn commit_over(
        &mut self,
        flow: &Flow,
        base: &RunText,
        kind: EventKind,
        key: Option<&str>,
        now: Timestamp,
        activities: Vec<ActivityFile>,
    ) -> Result<Seq> {
        let noted = self.locked.high_water().0;
        let shown = self.state.document().state.last_seq.unwrap_or_default();
        let seq = self.locked.tail().last_seq.max(shown).max(noted).next();
        let id = match key {
            Some(key) => crate::model::EventId::new(key)?,
            None => flow.ids.next(now),
        };
        let mut event = Event { seq, id, at: now, kind, run: None };
        let mut state = self.state.clone();
        state.apply(&event);
        let fault = |error| Error::RunFile { path: self.locked.run_file(), error };
        let text = base.with_state(&state.document().state).map_err(fault)?;
        event.run = Some(TextDigest(digest(text.text().as_bytes())));
        let batch = Batch { event: &event, old_text: self.text.text(), new_text: text.text(), activities };
        let before = self.text.document().state.last_seq;
        let newer = std::slice::from_ref(&event);
        let mut merge = |saved: &str| before.and_then(|before| replay(saved, before, newer));
        let committed = self.locked.commit(&batch, &mut merge)?;
        if let Some(why) = committed.lagging {
            self.warnings.push(format!("recorded as event {seq}; its files follow with the next command: {why}"));
        }
        self.warnings.extend(self.locked.take_notes());
        self.state = state;
        self.text = text;
        Ok(seq)
    }

    /// The next number whose file name is free.
    pub(crate) fn next_number(&self, id: &crate::model::ActivityId) -> Result<Number> {
        self.next_number_after(None, id)
    }

    /// The same, behind one that is to be given with it.
    pub(crate) fn next_number_after(&self, last: Option<Number>, id: &crate::model::ActivityId) -> Result<Number> {
        let last = last.unwrap_or_default().max(self.locked.high_water().1);
        let mut number = self.state.document().state.last_number.max(last).next();
        while !self.locked.is_free(&number.file_name(id))? {
            number = number.next();
        }
        Ok(number)
    }
}

/// A text that a person saved while it was being replaced, with the events on top; `None` when it shows another position
/// and has to wait for the next command.
fn replay(saved: &str, since: Seq, newer: &[Event]) -> Option<String> {
    let saved = RunText::parse(saved).ok()?;
    if saved.document().state.last_seq != Some(since) {
        return None;
    }
    let mut state = RunState::from_document(saved.document().clone());
    for event in newer {
        match &event.kind {
            // An earlier save, adopted: this later one says itself what it wants, and is adopted next.
            EventKind::RunEdited(edit) if !edit.by_command => state.advance(event),
            _ => state.apply(event),
        }
    }
    Some(saved.with_document(state.document()).ok()?.text().to_owned())
}

/// The file of a record; those of the records that a repair found again.
pub(crate) fn activity_files(event: &Event) -> Vec<ActivityFile> {
    let records = match &event.kind {
        EventKind::LogRepaired(repair) => &repair.salvaged,
        kind => kind.records(),
    };
    records.iter().map(file_of).collect()
}

/// As [`activity_file`], of the record alone.
pub(crate) fn file_of(record: &ActivityRecorded) -> ActivityFile {
    ActivityFile { name: record.number.file_name(&record.id()), text: crate::codec::emit(&record.activity) }
}

/// The state of a run whose `run.yaml` shows it as of `since`, maybe with a person's changes.
pub(crate) fn caught_up(document: &RunDocument, since: Seq, log: &LogScan) -> RunState {
    let newer: Vec<Event> = log.events().filter(|event| event.seq > since).cloned().collect();
    let until = log.events().filter(|event| event.seq <= since);
    match (RunState::fold(until), RunState::fold(log.events())) {
        (Some(base), Some(ours)) if !newer.is_empty() => rebase(&base, document, &newer, &ours),
        _ => {
            let mut state = RunState::from_document(document.clone());
            newer.iter().for_each(|event| state.apply(event));
            state
        }
    }
}
