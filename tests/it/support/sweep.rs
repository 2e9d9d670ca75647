//! One check on many cases, of which all are tried before any failure counts.

use std::any::Any;
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::Scene;
use super::trouble::State;

/// What came of many cases.
#[derive(Debug, Default)]
pub struct Tally {
    /// How many were tried.
    pub states: usize,
    /// What went wrong, and where.
    pub violations: Vec<String>,
}

impl Tally {
    /// Checks every case; one that panics is a violation.
    pub fn of<T: Debug>(cases: &[T], check: impl Fn(&T)) -> Self {
        let failed = |case| catch_unwind(AssertUnwindSafe(|| check(case))).err().map(|panic| (case, told(&*panic)));
        let violations = cases.iter().filter_map(failed).map(|(case, why)| format!("{case:?}\n  {why}")).collect();
        Self { states: cases.len(), violations }
    }

    /// Gives the scene's command in every state.
    pub fn of_scene(scene: &Scene, states: &[State]) -> Self {
        let name = scene.case.name;
        let failed = |state: &State| {
            let panic = catch_unwind(AssertUnwindSafe(|| scene.assert_survives(state))).err()?;
            Some(format!("{name}, {}\n  {}", state.shown, told(&*panic)))
        };
        Self { states: states.len(), violations: states.iter().filter_map(failed).collect() }
    }

    /// Adds another one.
    pub fn add(&mut self, other: Self) {
        self.states += other.states;
        self.violations.extend(other.violations);
    }

    /// Fails when anything went wrong, with all of it.
    #[track_caller]
    #[expect(clippy::print_stdout, reason = "shown with --nocapture: how far a sweep reaches")]
    pub fn assert_clean(&self) {
        let Self { states, violations } = self;
        println!("{states} cases");
        assert!(violations.is_empty(), "{} of {states} cases failed:\n{}", violations.len(), violations.join("\n"));
    }
}

/// Checks every case and fails in the end, with what went wrong in each.
#[track_caller]
pub fn try_all<T: Debug>(cases: &[T], check: impl Fn(&T)) {
    Tally::of(cases, check).assert_clean();
}

fn told(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned())).unwrap_or_default()
}
