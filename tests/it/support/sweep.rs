//! One check on many cases, of which all are tried before any failure counts.

use std::any::Any;
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Checks every case and fails in the end, with what went wrong in each.
#[track_caller]
#[expect(clippy::print_stdout, reason = "shown with --nocapture: how far a sweep reaches")]
pub fn try_all<T: Debug>(cases: &[T], check: impl Fn(&T)) {
    let failed = |case| catch_unwind(AssertUnwindSafe(|| check(case))).err().map(|panic| (case, told(&*panic)));
    println!("{} cases", cases.len());
    let failures: Vec<_> = cases.iter().filter_map(failed).collect();
    let list: Vec<_> = failures.iter().map(|(case, why)| format!("{case:?}\n  {why}")).collect();
    assert!(failures.is_empty(), "{} of {} cases failed:\n{}", failures.len(), cases.len(), list.join("\n"));
}

fn told(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned())).unwrap_or_default()
}
