//! A run of one checkout that is moved to where several machines share it, by processes that die.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use flowrun::disk::Os;
use flowrun::model::{Explain as _, RunId, Seq};
use flowrun::store::{SharedRuns as _, StoreFlaw, WorkKey};

use crate::bucket::Bucket;
use crate::memory_carrier::{MemoryCarrier, Trouble};
use crate::shared::{RUN, ask, record, request, run_id, start_as};
use crate::support::scaled;
use crate::support::shaky::{Died, Ill, Shaky};
use crate::tested_store::{Machine, SharedInMemory, TestedStore as _};

/// A machine with a run of its own.
fn with_a_run_here() -> (MemoryCarrier, SharedInMemory) {
    let carrier = MemoryCarrier::default();
    let machine = Machine::with(carrier.clone());
    start_as(&machine.alone(), RUN, Some(7)).unwrap();
    record(&machine.alone(), "first").unwrap();
    (carrier, machine)
}

fn about() -> Vec<WorkKey> {
    vec![WorkKey("issue 7".to_owned())]
}

/// Moves the run in a process that dies before the `nth` call. Whether it lived.
fn pushed_until(machine: &SharedInMemory, nth: usize) -> bool {
    let disk = Shaky::new(Arc::new(Os), &[Ill::Death(nth)]);
    let shared = machine.shared_on(&disk);
    let moved = catch_unwind(AssertUnwindSafe(|| shared.take_in(&run_id(), about(), &request()).unwrap()));
    match moved {
        Ok(last) => assert_eq!(last, Seq(2)),
        Err(died) => assert!(died.is::<Died>(), "call {nth}"),
    }
    disk.calls().len() < nth
}

/// How many calls come before the run is touched.
fn calls_to_open(machine: &SharedInMemory) -> usize {
    let disk = Shaky::new(Arc::new(Os), &[]);
    machine.shared_on(&disk);
    disk.calls().len()
}

/// What is wrong with the store, beside that it does not have the run yet.
fn flaws(machine: &SharedInMemory) -> Vec<StoreFlaw> {
    let mut all = machine.shared().flaws(None, &|_| Vec::new(), &request()).unwrap();
    all.extend(machine.shared().flaws(Some(&run_id()), &|_| Vec::new(), &request()).unwrap_or_default());
    all.retain(|flaw| *flaw != StoreFlaw::Unfinished { run: run_id() });
    all
}

#[test]
fn wherever_a_move_is_killed_the_next_record_or_the_same_move_goes_on() {
    for repeats in [false, true] {
        // Each repeats a start, which is flushed.
        for more in (1..).step_by(scaled(11, 1)) {
            let (carrier, machine) = with_a_run_here();
            let lived = pushed_until(&machine, calls_to_open(&machine) + more);
            let case = format!("call {more}, then {}", if repeats { "the same move" } else { "a record" });
            let is_shared = machine.shared().is_shared(&run_id());
            if is_shared {
                assert_eq!(flaws(&machine), [], "{case}");
            }
            if repeats {
                machine.shared().take_in(&run_id(), about(), &request()).unwrap();
            }
            record(&machine.context(), "second").unwrap_or_else(|error| panic!("{case}: {error}"));
            // Nothing was sent before there is a copy, so the run is as it was.
            if is_shared || repeats {
                let log = fs::read_to_string(machine.file(&run_id(), "events.jsonl")).unwrap();
                assert_eq!((log.lines().count(), &log), (3, &carrier.log(&run_id())), "{case}");
                assert_eq!((flaws(&machine), machine.has_here(&run_id())), (vec![], false), "{case}");
                let other = Machine::with(carrier.clone());
                ask(&other);
                assert!(start_as(&other.context(), "run-2", Some(7)).is_err(), "{case}");
            } else {
                assert_eq!((carrier.log(&run_id()), machine.has_here(&run_id())), (String::new(), true), "{case}");
            }
            if lived {
                assert!(more > 50, "{more} calls");
                break;
            }
        }
    }
}

/// While it is not known whether the store has the run, nothing is decided: what an earlier process sent may arrive.
#[test]
fn a_move_that_was_killed_is_taken_back_only_when_the_store_says_that_it_has_another_run() {
    let (carrier, machine) = with_a_run_here();
    // After the copy was made.
    let copied = (1..).find(|more| {
        pushed_until(&machine, calls_to_open(&machine) + more);
        machine.shared().is_shared(&run_id())
    });
    assert!(copied.is_some());
    carrier.trouble(&[Trouble::NotReached]);
    assert_eq!(record(&machine.context(), "second").unwrap_err().problem().code, "store_not_reached");
    assert!(machine.shared().is_shared(&run_id()));
    let other = Machine::with(carrier.clone());
    start_as(&other.context(), "run-2", Some(7)).unwrap();
    let refused = record(&machine.context(), "second").unwrap_err().problem();
    assert_eq!((refused.code, machine.shared().is_shared(&run_id())), ("run_not_moved", false), "{refused:?}");
    record(&machine.context(), "second").unwrap();
    assert_eq!((carrier.log(&run_id()), machine.has_here(&run_id())), (String::new(), true));
}

#[test]
fn a_bucket_that_lost_all_its_objects_gets_them_back_from_the_copies() {
    let bucket = Bucket::default();
    let (one, other) = (Machine::with(bucket.clone()), Machine::with(bucket.clone()));
    start_as(&one.context(), RUN, Some(7)).unwrap();
    record(&one.context(), "first").unwrap();
    start_as(&one.context(), "run-2", Some(8)).unwrap();
    let log = bucket.log(&run_id());
    for name in bucket.names() {
        bucket.delete(&name);
    }
    let work = |id: &RunId| vec![WorkKey(if *id == run_id() { "issue 7" } else { "issue 8" }.to_owned())];
    let flaws = || one.shared().flaws(None, &work, &request()).unwrap();
    let both = [run_id(), RunId::new("run-2").unwrap()];
    let mut lost = vec![StoreFlaw::Emptied { copies: 2 }];
    lost.extend(both.clone().map(|run| StoreFlaw::Lost { run }));
    assert_eq!(flaws(), lost);
    for run in &both {
        one.shared().put_again(run, work(run), &request()).unwrap();
    }
    assert_eq!((flaws(), bucket.log(&run_id())), (vec![], log));
    // The marks alone.
    for name in bucket.names().into_iter().filter(|name| name.contains("work/")) {
        bucket.delete(&name);
    }
    assert_eq!(flaws().len(), 2);
    for run in &both {
        one.shared().put_again(run, work(run), &request()).unwrap();
    }
    assert_eq!(flaws(), []);
    ask(&other);
    record(&other.context(), "second").unwrap();
}
