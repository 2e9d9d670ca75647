//! Another program takes from a bucket what flow has acknowledged.

use std::fs;

use flowrun::codec::LogScan;
use flowrun::doctor::{DoctorRequest, doctor};
use flowrun::model::Explain as _;

use crate::bucket::Bucket;
use crate::shared::{RUN, ask, record, recorded, run_id, start_as};
use crate::tested_store::{Machine, SharedInBucket, TestedStore as _};

fn object(at: u64) -> String {
    format!("logs/{RUN}/{at:010}")
}

/// The activities that the copy of a machine has.
fn copied(machine: &SharedInBucket) -> Vec<String> {
    let log = LogScan::parse(fs::read(machine.file(&run_id(), "events.jsonl")).unwrap().as_slice());
    log.events().flat_map(|event| event.kind.records()).map(|record| record.id().to_string()).collect()
}

fn codes(machine: &SharedInBucket) -> Vec<String> {
    let report = doctor(&machine.context(), &DoctorRequest::default()).unwrap();
    report
        .findings
        .into_iter()
        .map(|finding| finding.code.to_string())
        .filter(|code| code.starts_with("store_"))
        .collect()
}

#[test]
fn a_run_that_the_bucket_was_seen_to_have_lost_takes_no_record_until_it_is_there_again() {
    let bucket = Bucket::default();
    let one: SharedInBucket = Machine::with(bucket.clone());
    start_as(&one.context(), RUN, None).unwrap();
    for id in ["first", "second"] {
        record(&one.context(), id).unwrap();
    }
    (1..=3).for_each(|at| bucket.delete(&object(at)));
    bucket.delete(&format!("open/{RUN}"));
    ask(&one);
    let refused = record(&one.context(), "third").unwrap_err();
    assert_eq!(refused.problem().code, "run_lost");
    assert_eq!(bucket.body(&object(4)), None);
    assert!(doctor(&one.context(), &DoctorRequest { repair: true, ..DoctorRequest::default() }).unwrap().ok);
    record(&one.context(), "third").unwrap();
    assert_eq!(recorded(&bucket), ["first", "second", "third"]);
}

#[test]
fn who_loses_a_position_behind_an_event_that_the_copy_does_not_have_brings_the_copy_up_to_date() {
    let bucket = Bucket::default();
    let (one, other): (SharedInBucket, SharedInBucket) = (Machine::with(bucket.clone()), Machine::with(bucket.clone()));
    start_as(&one.context(), RUN, None).unwrap();
    record(&one.context(), "first").unwrap();
    ask(&other);
    record(&one.context(), "second").unwrap();
    bucket.delete(&object(3));
    for id in ["third", "fourth"] {
        record(&other.context(), id).unwrap();
    }
    let report = record(&one.context(), "fifth").unwrap();
    let told = report.warnings.iter().any(|warning| warning.contains("differed from the shared run"));
    assert!(told, "{:?}", report.warnings);
    assert_eq!(recorded(&bucket), ["first", "third", "fourth", "fifth"]);
    assert_eq!(copied(&one), recorded(&bucket));
    // What only this machine has is named until a person has looked.
    assert_eq!(codes(&one), ["store_lost_events"]);
}

#[test]
fn a_record_that_was_acknowledged_and_cut_off_is_no_void_object() {
    let bucket = Bucket::default();
    let (one, other): (SharedInBucket, SharedInBucket) = (Machine::with(bucket.clone()), Machine::with(bucket.clone()));
    start_as(&one.context(), RUN, None).unwrap();
    for id in ["first", "second"] {
        record(&one.context(), id).unwrap();
    }
    let whole = bucket.body(&object(3)).unwrap();
    bucket.insert(&object(3), &whole[..whole.len() - 40], None);
    ask(&other);
    let refused = record(&other.context(), "third").unwrap_err();
    assert_eq!(refused.problem().code, "shared_log_damaged");
    assert_eq!(codes(&other), ["store_log_damaged"]);
    // A machine with a copy puts it there again.
    let repaired = doctor(&one.context(), &DoctorRequest { repair: true, ..DoctorRequest::default() }).unwrap();
    assert!(repaired.ok, "{repaired:?}");
    assert_eq!(bucket.body(&object(3)), Some(whole));
    record(&other.context(), "third").unwrap();
    assert_eq!(recorded(&bucket), ["first", "second", "third"]);
    assert_eq!((codes(&one), codes(&other)), (vec![], vec![]));
}
