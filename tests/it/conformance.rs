//! The real program makes the calls that the tests over a file system of their own assume: for every command that writes,
//! what it asks of the kernel below `.flow` is what the library asks of the file system in this process, call by call.

use std::collections::VecDeque;

use crate::support::cases::CASES;
use crate::support::{Call, Scene, can_inject, quick};

/// Calls that change files or put them on stable storage. Locks are left out: the kernel may be asked twice.
const COMPARED: [&str; 9] =
    ["mkdirat", "renameat", "renameat2", "unlinkat", "write", "pwrite64", "ftruncate", "fsync", "fdatasync"];

/// The names in a call, as strace shows them: `renameat2(5, ".run.tmp", 5, "run.yaml", RENAME_EXCHANGE) = 0`.
fn files_of(call: &Call) -> Vec<String> {
    // The text of a write is no name.
    if ["write", "pwrite64"].contains(&call.name.as_str()) {
        return Vec::new();
    }
    call.shown.split('"').skip(1).step_by(2).map(without_chance).collect()
}

/// A name without what chance put into it: a document is written as `.issue-42.md.EJtiTc.tmp` before it takes its place.
fn without_chance(name: &str) -> String {
    match name.strip_suffix(".tmp").and_then(|stem| stem.rsplit_once('.')) {
        Some((document, _)) if document.starts_with('.') => format!("{document}.*.tmp"),
        _ => name.to_owned(),
    }
}

#[test]
fn the_real_program_makes_the_calls_that_are_tried_in_this_process() {
    if !can_inject("the_real_program_makes_the_calls_that_are_tried_in_this_process") {
        return;
    }
    for case in CASES {
        let scene = Scene::new(case, &quick());
        let calls = scene.calls(&[]);
        let mut real: VecDeque<_> = calls.iter().filter(|call| COMPARED.contains(&call.name.as_str())).collect();
        let assumed = scene.disk_calls(&[]);
        for call in assumed.iter().filter(|call| COMPARED.contains(&call.name)) {
            // What is written outside of `.flow` and to the caller stands between them.
            let found = std::iter::from_fn(|| real.pop_front()).find(|real| {
                real.name == call.name
                    && files_of(real).into_iter().eq(call.files.iter().map(|name| without_chance(name)))
            });
            assert!(found.is_some(), "{}: the program never does {} {:?}", case.name, call.name, call.files);
        }
    }
}
