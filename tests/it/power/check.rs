//! What must hold in every state that a crash can leave.

use std::collections::BTreeMap;
use std::path::Path;

use flowrun::codec::{RunText, emit, unseal};
use flowrun::engine::RunState;
use flowrun::model::{Event, EventKind};
use flowrun::runs::{self, InitRequest};

use super::reference::{Reference, done, flow, has_lost_block, record_next, start, told};

/// Names that only a writer at work leaves.
const LEFTOVERS: [&str; 4] = [".run.tmp", ".run.merge.tmp", ".events.tmp", "activities/.act.tmp"];

/// What survived a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Survived {
    /// So many events of the history.
    pub events: usize,
    /// The decision journal as of so many commands.
    pub journal: usize,
}

/// Looks at the state in `root` as the next session would: reads, records, repeats the command whose answer was lost.
/// `begun` commands had begun.
///
/// # Errors
/// The first promise that is broken.
pub fn check(root: &Path, reference: &Reference, begun: usize, repeat_first: bool) -> Result<Survived, String> {
    let run = reference.run.as_str();
    let (events, seen) = told(root, run)?;
    let survived = events.len();
    let most = reference.ends[begun];
    if survived < reference.ends[0] || survived > most {
        return Err(format!("readers see {survived} events, not {} to {most}", reference.ends[0]));
    }
    if events != reference.events(survived) {
        return Err("readers see other events than were written".to_owned());
    }
    let (expected, goes_on) = reference.told_at(survived);
    if seen != *expected {
        return Err(format!("readers say neither old nor new: {seen}"));
    }
    let journal = version_of_journal(root, reference, begun)?;
    let repeat = || match reference.again {
        Some(again) => again(&flow(root), run, begun).map_err(|error| format!("the command again fails: {error}")),
        None => Ok(()),
    };
    // A command that is not recognised by an id has to be the next one, or it does something else.
    let repeat_first = repeat_first || !reference.by_id;
    let mut goes_on = goes_on;
    if repeat_first && begun > 0 && reference.again.is_some() {
        repeat()?;
        goes_on = reference.told_at(most).1;
    }
    // Without a run the next command starts it first.
    next(root, reference, goes_on || survived == 0)?;
    if !repeat_first && begun > 0 {
        repeat()?;
    }
    let least = if reference.again.is_some() && begun > 0 { most } else { survived };
    sound(root, reference, survived, least)?;
    Ok(Survived { events: survived, journal })
}

/// The next command works, or is refused by the same rule as without a crash.
fn next(root: &Path, reference: &Reference, goes_on: bool) -> Result<(), String> {
    let run = reference.run.as_str();
    let flow = flow(root);
    if !root.join(".flow/runs").join(run).is_dir() {
        start(&flow, run).map_err(|error| format!("start fails: {error}"))?;
    }
    if others(root, reference).is_err() {
        // What `.flow` itself lacks is made by the next `init` or `start`.
        done(runs::init(&flow, &InitRequest::default())).map_err(|error| format!("init fails: {error}"))?;
    }
    match record_next(&flow, run) {
        Ok(recorded) if recorded || !goes_on => Ok(()),
        Ok(_) => Err("the next record is refused".to_owned()),
        Err(error) => Err(format!("the next record fails: {error}")),
    }
}

/// All promises about a run at rest whose log begins with `survived` lines of the reference and has done its first
/// `least` ones exactly once.
fn sound(root: &Path, reference: &Reference, survived: usize, least: usize) -> Result<(), String> {
    let dir = root.join(".flow/runs").join(&reference.run);
    let log = std::fs::read_to_string(dir.join("events.jsonl")).map_err(|error| format!("events.jsonl: {error}"))?;
    let log: String = log.split_inclusive('\n').filter(|line| !has_lost_block(line)).collect();
    let kept = reference.lines[..survived].concat();
    if !log.starts_with(&kept) {
        return Err("recovery changed sealed lines".to_owned());
    }
    let events = sealed(&log)?;
    let mut wanted: BTreeMap<String, usize> = BTreeMap::new();
    for line in &reference.lines[..least] {
        *wanted.entry(shape(&sealed(line)?[0])).or_default() += 1;
    }
    let adopts = |line: &String| line.contains("\"type\":\"run_edited\"");
    if least == survived && reference.lines.get(survived).is_some_and(adopts) {
        // Whoever comes next adopts what the command would have adopted.
        *wanted.entry("run_edited".to_owned()).or_default() += 1;
    }
    for (shape, times) in wanted {
        let found = events.iter().filter(|event| self::shape(event) == shape).count();
        if found != times {
            return Err(format!("{shape} is in the log {found} times, not {times}"));
        }
    }
    projections_show(&dir, &events)?;
    let text = std::fs::read_to_string(dir.join("run.yaml")).map_err(|error| format!("run.yaml: {error}"))?;
    if let Some(lost) = reference.kept.iter().find(|kept| survived > 0 && !text.contains(**kept)) {
        return Err(format!("a person's {lost:?} is gone from run.yaml"));
    }
    if let Some(left) = LEFTOVERS.iter().find(|name| dir.join(name).exists()) {
        return Err(format!("{left} was left behind"));
    }
    others(root, reference)
}

/// Nothing but the run has changed.
fn others(root: &Path, reference: &Reference) -> Result<(), String> {
    let same = |(path, bytes): &(&String, &Vec<u8>)| std::fs::read(root.join(path)).is_ok_and(|found| found == **bytes);
    match reference.others.iter().find(|other| !same(other)) {
        Some((path, _)) => Err(format!("{path} is not what it was")),
        None => Ok(()),
    }
}

/// The events of a log whose every line must be whole, sealed and in its place.
fn sealed(log: &str) -> Result<Vec<Event>, String> {
    let open = |line: &str| {
        let object = unseal(line.as_bytes()).map_err(|fault| format!("a line is {fault:?}: {line:.200}"))?;
        Event::from_object(&object).map_err(|error| format!("{error}: {line:.200}"))
    };
    if !log.ends_with('\n') {
        return Err("the log ends without a line break".to_owned());
    }
    log.lines().map(open).collect()
}

/// What an event is about, so that the same work is recognised when it is done at another time.
fn shape(event: &Event) -> String {
    let kind = event.kind.name().to_owned();
    match &event.kind {
        EventKind::ActivityRecorded(record) => format!("{kind} {}", record.id()),
        EventKind::Emitted(emitted) => {
            let steps = emitted.reports.iter().filter_map(|report| report.step.as_ref());
            steps.fold(kind, |shape, step| format!("{shape} {step}"))
        }
        _ => kind,
    }
}

/// Positions and numbers have neither gap nor double, `run.yaml` shows the fold of the log, and each record has its file.
fn projections_show(dir: &Path, events: &[Event]) -> Result<(), String> {
    let mut ids = std::collections::BTreeSet::new();
    let mut number = 0;
    for (at, event) in events.iter().enumerate() {
        if event.seq.0 != at as u64 + 1 {
            return Err(format!("event {} stands at position {}", event.seq, at + 1));
        }
        if !ids.insert(event.id.to_string()) {
            return Err(format!("operation {} is in the log twice", event.id));
        }
        for record in event.kind.records() {
            number += 1;
            if record.number.0 != number {
                return Err(format!("record {} has number {}", record.id(), record.number));
            }
            let name = record.number.file_name(&record.id());
            match std::fs::read_to_string(dir.join("activities").join(&name)) {
                Ok(text) if text == emit(&record.activity) => {}
                Ok(text) => return Err(format!("activities/{name} is not its record, but {} bytes", text.len())),
                Err(_) => return Err(format!("activities/{name} is missing")),
            }
        }
    }
    let text = std::fs::read_to_string(dir.join("run.yaml")).map_err(|error| format!("run.yaml: {error}"))?;
    let shown = RunText::parse(text).map_err(|error| format!("run.yaml: {error}"))?;
    let folded = RunState::fold(events).ok_or("the log is no run")?;
    if shown.document() != folded.document() {
        return Err("run.yaml is not the fold of the log".to_owned());
    }
    Ok(())
}

/// Which of its versions the decision journal is: the one after so many commands.
fn version_of_journal(root: &Path, reference: &Reference, begun: usize) -> Result<usize, String> {
    let journal = journal(root);
    let version = reference.journals[..=begun].iter().rposition(|version| *version == journal);
    version.ok_or_else(|| format!("the decision journal is neither old nor new: {journal:?}"))
}

/// The decision journals, one behind the other; none when there is none.
pub fn journal(root: &Path) -> Option<String> {
    let entries = std::fs::read_dir(root.join(".decisions")).ok()?;
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    paths.sort();
    let text = |path| String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
    Some(paths.into_iter().map(text).collect::<String>()).filter(|text| !text.is_empty())
}
