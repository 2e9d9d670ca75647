//! Makes a new log from the sound lines of a damaged one. Pure: the same facts give the same lines.
//!
//! Lines that verify stay byte for byte. Where a merge joined the histories of two branches, the events of the second
//! follow the first with new positions and numbers, and keep their ids and times. Lines of other programs stay where
//! they are. The last line, `log_repaired`, says what was lost, and holds the whole state from here on. So the fold of
//! the new log is the run that `run.yaml` showed, even if the events that led there are gone.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::codec::{LineFault, RunText, digest, is_of_another_program, seal, unseal};
use crate::doctor::facts::RunFacts;
use crate::doctor::lines::{earlier_number, numbers_of, out_of_order};
use crate::engine::{Histories, RunState, caught_up, histories, join, pinned, rebuilt, unprove};
use crate::model::{
    Activity, ActivityRecorded, Event, EventId, EventKind, LogRepaired, LostRange, Number, RenumberedEvent, Seq,
    StateName, TextDigest, Timestamp, counted, limits,
};
use crate::store::{LogLine, LogScan, Noted};

/// What a repair knows in addition to the files.
pub(super) struct Basis<'a> {
    /// `run.yaml`, when it can be used.
    pub(super) shown: Option<&'a RunText>,
    /// The highest position and number that any writer noted in the lock.
    pub(super) noted: Noted,
    /// The workflow from the catalog, for a run that lost the event that pinned it.
    pub(super) machine: Option<Value>,
    /// The time of the repair.
    pub(super) now: Timestamp,
}

/// A new log, without its last line.
#[derive(Debug, Clone)]
pub(super) struct Rewrite {
    /// All lines except the last one.
    lines: Vec<u8>,
    /// The content of the last line. The name under which the old log is kept is filled in later.
    repair: LogRepaired,
    /// The position of the last line.
    seq: Seq,
}

impl Rewrite {
    /// Plans a new log; `None` if neither the lines nor `run.yaml` tell the state of the run, or if the state does not
    /// fit into a line.
    pub(super) fn plan(facts: &RunFacts, basis: &Basis<'_>) -> Option<Self> {
        let histories = histories(&facts.scan);
        let lines = SoundLines::in_order(facts, &histories);
        let shown = basis.shown.and_then(|text| text.document().state.last_seq).unwrap_or_default();
        let last = lines.last_seq();
        // Behind everything that was ever given, so that no position names two events.
        let seq = last.max(shown).max(basis.noted.seq).next();
        let lost = lines.lost(seq);
        let salvaged = salvage(facts, &lines, &lost);
        let (mut text, settled) = if histories.are_joined() {
            joined(facts, basis.shown, &histories, &lines)?
        } else {
            (state_after(facts, basis.shown, &lines, &salvaged)?, Vec::new())
        };
        let mut state = text.document().state.clone();
        state.last_number = state.last_number.max(basis.noted.number);
        for number in salvaged.iter().map(|record| record.number).chain(lines.numbers()) {
            state.last_number = state.last_number.max(number);
        }
        state.last_seq = Some(seq);
        // No repair proves that a person let the run pass.
        unprove(&mut state, basis.machine.as_ref(), &[]);
        text = text.with_state(&state).ok()?;
        let repair = LogRepaired {
            lost,
            renumbered: lines.renumbered,
            salvaged,
            reason: reason(facts, &histories),
            settled,
            quarantined: None,
            machine: basis.machine.clone(),
            document: text.document().clone(),
            text: text.text().to_owned(),
        };
        let mut rewrite = Self { lines: lines.bytes, repair, seq };
        if rewrite.fits(basis.now)? {
            return Some(rewrite);
        }
        // One record may be as large as a document, so several salvaged records may not fit into the line.
        rewrite.repair.salvaged.clear();
        if rewrite.fits(basis.now)? { Some(rewrite) } else { None }
    }

    /// Whether the last line is not too long, with an id and a name of the old log as long as they will be.
    fn fits(&self, now: Timestamp) -> Option<bool> {
        let event = self.event(&EventId::new("0".repeat(26)).ok()?, now, Some(&"0".repeat(64)))?;
        Some(seal(&event).len() <= limits::LINE_BYTES)
    }

    /// Whether the repair takes the record with this number from its activity file.
    pub(super) fn salvages(&self, number: Number) -> bool {
        self.repair.salvaged.iter().any(|record| record.number == number)
    }

    /// The last position and the highest number of the new log.
    pub(super) fn last(&self) -> Noted {
        Noted { seq: self.seq, number: self.repair.document.state.last_number }
    }

    fn event(&self, id: &EventId, now: Timestamp, quarantined: Option<&str>) -> Option<Event> {
        let mut repair = self.repair.clone();
        repair.quarantined = quarantined.map(str::to_owned);
        repair.document.state.updated_at = Some(now);
        let text = RunText::parse(repair.text.as_str()).ok()?.with_state(&repair.document.state).ok()?;
        let run = Some(TextDigest(digest(text.text().as_bytes())));
        repair.text = text.text().to_owned();
        Some(Event {
            seq: self.seq,
            id: id.clone(),
            at: now,
            kind: EventKind::LogRepaired(Box::new(repair)),
            run,
            recap: None,
        })
    }

    /// All bytes of the new log.
    pub(super) fn bytes(&self, id: &EventId, now: Timestamp, quarantined: Option<&str>) -> Vec<u8> {
        let event = self.event(id, now, quarantined).expect("BUG: a text that was read before");
        let mut bytes = self.lines.clone();
        bytes.extend(seal(&event).into_bytes());
        bytes
    }
}

/// The sound lines of a log in order; each position and number occurs once.
struct SoundLines {
    bytes: Vec<u8>,
    events: Vec<Event>,
    renumbered: Vec<RenumberedEvent>,
    highest: Number,
}

impl SoundLines {
    fn in_order(facts: &RunFacts, histories: &Histories) -> Self {
        let empty = Vec::new();
        let raw: Vec<&[u8]> = facts.log.here().unwrap_or(&empty).split_inclusive(|&byte| byte == b'\n').collect();
        let mut order: Vec<_> = histories.main.iter().map(|&at| (&facts.scan.lines[at], false)).collect();
        // The log begins with event 1.
        order.retain(|(line, _)| line.event.seq > Seq(0));
        for side in &histories.sides {
            order.extend(side.new.iter().map(|&at| (&facts.scan.lines[at], true)));
        }
        let kept: BTreeSet<usize> = order.iter().map(|(line, _)| line.number).collect();
        let (attached, head) = foreign_lines(&raw, &kept);
        let mut lines = Self { bytes: head, events: Vec::new(), renumbered: Vec::new(), highest: Number(0) };
        for (line, is_theirs) in order {
            lines.take(&line.event, raw.get(line.number - 1).copied().unwrap_or_default(), is_theirs);
            for (_, bytes) in attached.iter().filter(|(behind, _)| *behind == line.number) {
                lines.bytes.extend_from_slice(bytes);
            }
        }
        lines
    }

    /// Appends a line. An event of another history gets the next position; a number that is taken gets the next free
    /// one.
    fn take(&mut self, event: &Event, bytes: &[u8], is_theirs: bool) {
        let seq = if is_theirs { self.last_seq().next() } else { event.seq };
        let before: Vec<Number> = numbers_of(event).collect();
        let mut after = before.clone();
        for number in &mut after {
            self.highest = if *number > self.highest { *number } else { self.highest.next() };
            *number = self.highest;
        }
        let moved_event = if (seq, &after) == (event.seq, &before) {
            // A line that stays keeps its bytes, and with them its checksum.
            self.bytes.extend_from_slice(bytes);
            None
        } else {
            let object = moved(bytes, seq, &after);
            self.bytes.extend(seal(&object).into_bytes());
            Event::from_object(&object).ok()
        };
        if is_theirs || moved_event.is_some() {
            let (mut number_before, mut number) = (None, None);
            if before != after {
                (number_before, number) = (before.first().copied(), after.first().copied());
            }
            self.renumbered.push(RenumberedEvent {
                id: event.id.clone(),
                seq_before: event.seq,
                seq,
                number_before,
                number,
            });
        }
        // The last line of the old log may lack its break.
        if !self.bytes.is_empty() && !self.bytes.ends_with(b"\n") {
            self.bytes.push(b'\n');
        }
        self.events.push(moved_event.unwrap_or_else(|| event.clone()));
    }

    fn last_seq(&self) -> Seq {
        self.events.last().map_or(Seq(0), |event| event.seq)
    }

    fn numbers(&self) -> impl Iterator<Item = Number> {
        self.events.iter().flat_map(numbers_of)
    }

    /// All positions below `end` that no line has, except those that an earlier repair reported as lost.
    fn lost(&self, end: Seq) -> Vec<LostRange> {
        let lines = self.events.iter().map(|event| LogLine { number: 0, event: event.clone() });
        let scan = LogScan { lines: lines.collect(), ..LogScan::default() };
        let mut gaps = scan.gaps();
        gaps.push((scan.last_seq().next(), Seq(end.0 - 1)));
        gaps.retain(|(from, to)| from <= to);
        gaps.into_iter().map(|(from, to)| LostRange { from, to }).collect()
    }
}

/// The object of a sealed line with a new position and new numbers; all other members are unchanged.
fn moved(line: &[u8], seq: Seq, numbers: &[Number]) -> Map<String, Value> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let mut object = unseal(line).expect("BUG: a line that verified before");
    object.insert("seq".into(), seq.0.into());
    if let Some(Value::Array(records)) = object.get_mut("records") {
        for (record, number) in records.iter_mut().zip(numbers) {
            record["number"] = number.to_string().into();
        }
    } else if let [number] = numbers {
        object.insert("number".into(), number.to_string().into());
    }
    object
}

/// Lines of other programs: those after a sealed line that is kept, with the number of that line, and those before all
/// of them.
fn foreign_lines(raw: &[&[u8]], kept: &BTreeSet<usize>) -> (Vec<(usize, Vec<u8>)>, Vec<u8>) {
    let (mut attached, mut head) = (Vec::new(), Vec::new());
    let mut behind = None;
    for (at, line) in raw.iter().enumerate() {
        if kept.contains(&(at + 1)) {
            behind = Some(at + 1);
            continue;
        }
        let bare = line.strip_suffix(b"\n").unwrap_or(line);
        // A damaged line goes: only the old log, which is kept, has it from now on.
        if !is_of_another_program(bare) {
            continue;
        }
        let ended = [bare, b"\n"].concat();
        match behind {
            Some(number) => attached.push((number, ended)),
            None => head.extend(ended),
        }
    }
    (attached, head)
}

/// What is wrong with the log, for the `reason` of the event.
fn reason(facts: &RunFacts, histories: &Histories) -> String {
    let mut words = Vec::new();
    if facts.log.here().is_none() {
        words.push("the log was missing".to_owned());
    }
    if histories.repeats > 0 {
        words.push(format!("lines that repeated an event of another branch: {}", histories.repeats));
    }
    if !histories.sides.is_empty() {
        let moved: usize = histories.sides.iter().map(|side| side.new.len()).sum();
        let events = counted(moved, "event");
        let branches = histories.sides.len() + 1;
        words.push(format!("a merge joined the histories of {branches} branches; put behind the first: {events}"));
    }
    for skipped in facts.scan.damaged() {
        // The sentence about the merge says enough of its markers.
        let is_of_merge = histories.are_joined() && skipped.fault == LineFault::Marker;
        if !is_of_merge {
            words.push(format!("line {}: {}", skipped.line, skipped.fault));
        }
    }
    if words.is_empty() {
        let what = if facts.scan.gaps().is_empty() && out_of_order(&facts.scan).is_some() {
            "events stood in another order"
        } else {
            "acknowledged events were gone"
        };
        words.push(what.to_owned());
    }
    words.truncate(3);
    words.join("; ")
}

/// The state that joined histories make together, and the fields that both had changed.
fn joined(
    facts: &RunFacts,
    shown: Option<&RunText>,
    histories: &Histories,
    lines: &SoundLines,
) -> Option<(RunText, Vec<String>)> {
    let all: Vec<&Event> = facts.scan.events().collect();
    let machine = pinned(lines.events.iter(), &mut Vec::new());
    let mut ours = fold(&all, &histories.main)?.into_document();
    let mut settled = Vec::new();
    for side in &histories.sides {
        let (base, mut theirs) = match (fold(&all, &side.whole[..side.common]), fold(&all, &side.whole)) {
            (Some(base), Some(theirs)) => (base.into_document(), theirs.into_document()),
            // Without a common beginning, apply the events of the other history to the state of the first.
            _ => {
                let mut state = RunState::from_document(ours.clone());
                for &at in &side.new {
                    state.apply(all[at]);
                }
                (ours.clone(), state.into_document())
            }
        };
        // The event with the workflow that the other history adopted has another position now.
        let adopted = theirs.state.workflow_seq;
        if adopted.is_some()
            && adopted != base.state.workflow_seq
            && let Some(moved) = lines.renumbered.iter().find(|line| Some(line.seq_before) == adopted)
        {
            theirs.state.workflow_seq = Some(moved.seq);
        }
        let join = join([&base, &ours, &theirs], &side.twice(&all), machine.as_ref());
        ours = join.document;
        settled.extend(join.settled);
    }
    let text = match shown {
        Some(text) => text.clone(),
        // A text with conflict markers cannot be used; adopted comments are in the log.
        None => rebuilt(lines.events.iter()).ok()??,
    };
    let text = text.with_document(&ours).unwrap_or_else(|_| RunText::create(&ours));
    Some((text, settled))
}

/// The state after the events at `places` of a log.
fn fold(all: &[&Event], places: &[usize]) -> Option<RunState> {
    RunState::fold(places.iter().map(|&at| all[at]))
}

/// Records that the log lost, and that their activity files still hold.
fn salvage(facts: &RunFacts, lines: &SoundLines, lost: &[LostRange]) -> Vec<ActivityRecorded> {
    // Numbers of the other branch count as known too: their files are written again, under other numbers.
    let mut known: BTreeSet<Number> = lines.numbers().chain(facts.scan.events().flat_map(numbers_of)).collect();
    for event in &lines.events {
        // What an earlier repair salvaged is in its event.
        if let EventKind::LogRepaired(repair) = &event.kind {
            known.extend(repair.salvaged.iter().map(|record| record.number));
        }
    }
    // Activities from before the log never had a record in it.
    let adopted = earlier_number(&lines.events);
    let mut salvaged: Vec<ActivityRecorded> = Vec::new();
    for (name, content) in &facts.files {
        let Some(number) = Number::of_file(name) else { continue };
        if known.contains(&number) || Some(number) <= adopted {
            continue;
        }
        let Some(activity) = content.here().and_then(|bytes| activity(bytes)) else { continue };
        // A copy of the file of another run, or of another activity, is no record of this run.
        let is_of_other_run = matches!(activity.run_id(), Some(run) if run != facts.id.as_str());
        if is_of_other_run || number.file_name(&activity.id()) != *name {
            continue;
        }
        let phase = activity.phase().unwrap_or_else(StateName::unknown);
        // Two files may have one number; the first one counts.
        known.insert(number);
        salvaged.push(ActivityRecorded::new(number, phase, activity));
    }
    salvaged.sort_by_key(|record| record.number);
    // Salvage at most as many records as events were lost.
    let room: u64 = lost.iter().map(|range| range.to.0 - range.from.0 + 1).sum();
    salvaged.truncate(usize::try_from(room).unwrap_or(usize::MAX));
    salvaged
}

/// The activity in a file, if it is valid.
pub(super) fn activity(bytes: &[u8]) -> Option<Activity> {
    let value = crate::codec::parse_value(std::str::from_utf8(bytes).ok()?).ok()?;
    Activity::new(value.as_object()?.clone()).ok()
}

/// The state from here on. `run.yaml` is trusted where it can be used, since it also reflects events that were lost.
fn state_after(
    facts: &RunFacts,
    shown: Option<&RunText>,
    lines: &SoundLines,
    salvaged: &[ActivityRecorded],
) -> Option<RunText> {
    let Some(text) = shown else {
        let events = interleaved(&lines.events, salvaged, lines.events.first()?.at);
        return rebuilt(events.iter()).ok()?;
    };
    let document = text.document();
    let since = document.state.last_seq.unwrap_or(facts.scan.last_seq());
    // Older records are in the state that `run.yaml` shows.
    let mut lost = salvaged.to_vec();
    lost.retain(|record| record.number > document.state.last_number);
    let state = if lost.is_empty() {
        caught_up(document, since, &facts.scan)
    } else {
        let mut newer = lines.events.clone();
        newer.retain(|event| event.seq > since);
        let mut state = RunState::from_document(document.clone());
        for event in interleaved(&newer, &lost, document.created_at) {
            state.apply(&event);
        }
        state
    };
    text.with_state(&state.document().state).ok()
}

/// Events, with the salvaged records inserted by their numbers. `at` is the time for records that come before the first
/// event.
fn interleaved(events: &[Event], salvaged: &[ActivityRecorded], mut at: Timestamp) -> Vec<Event> {
    let mut all = Vec::new();
    let mut salvaged = salvaged.iter().peekable();
    for event in events {
        at = event.at;
        if let Some(number) = numbers_of(event).next() {
            while let Some(record) = salvaged.next_if(|record| record.number < number) {
                all.push(of_record(record, at));
            }
        }
        all.push(event.clone());
    }
    all.extend(salvaged.map(|record| of_record(record, at)));
    all
}

/// An event that stands in for the lost event of a record. Its position and id are never written.
fn of_record(record: &ActivityRecorded, at: Timestamp) -> Event {
    let kind = EventKind::ActivityRecorded(Box::new(record.clone()));
    Event { seq: Seq(0), id: EventId::new("salvaged").expect("a valid id"), at, kind, run: None, recap: None }
}
