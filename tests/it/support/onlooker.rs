//! A program that is not flow and reads a run's files without a lock: `run.yaml` first and the log second.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use flowrun::codec::{RunText, unseal};
use flowrun::engine::RunState;
use flowrun::model::Event;

/// Looks at a run until it is `over`, and says how often. What cannot be is added to `broken`.
pub fn look_on(dir: &Path, over: &AtomicBool, broken: &Mutex<Vec<String>>) -> usize {
    let mut looks = 0;
    while !over.load(Ordering::Relaxed) || looks == 0 {
        if let Err(why) = look(dir) {
            broken.lock().unwrap().push(format!("{}: {why}", dir.display()));
            return looks;
        }
        looks += 1;
        // What is looked at are the others.
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    looks
}

/// One look: `run.yaml` is whole and shows exactly the state after the event that it names.
fn look(dir: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(dir.join("run.yaml")).map_err(|error| format!("run.yaml: {error}"))?;
    let log = std::fs::read(dir.join("events.jsonl")).map_err(|error| format!("events.jsonl: {error}"))?;
    let shown = RunText::parse(&text).map_err(|error| format!("a torn run.yaml: {error}: {text:?}"))?;
    let shown = shown.document();
    let seq = shown.state.last_seq.ok_or("run.yaml names no event")?;
    let whole = &log[..log.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1)];
    let mut events = Vec::new();
    for line in whole.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
        let object = unseal(line).map_err(|fault| format!("{fault}: {}", String::from_utf8_lossy(line)))?;
        events.push(Event::from_object(&object).map_err(|error| error.to_string())?);
    }
    let last = events.last().map(|event| event.seq).ok_or("an empty log")?;
    if seq > last {
        return Err(format!("run.yaml shows event {seq}, and the log ends at {last}"));
    }
    let until = events.iter().filter(|event| event.seq <= seq);
    let state = RunState::fold(until.clone()).ok_or("the log does not begin with a start")?;
    if state.document() != shown {
        return Err(format!("run.yaml is no state of the log: {shown:?} instead of {:?}", state.document()));
    }
    let recorded: BTreeSet<_> =
        until.flat_map(|event| event.kind.records()).map(|record| record.id().to_string()).collect();
    match shown.state.completed_activities.iter().find(|id| !recorded.contains(*id)) {
        Some(id) => Err(format!("{id} is completed and was never recorded")),
        None => Ok(()),
    }
}
