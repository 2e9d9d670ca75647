//! One check on many cases, of which all are tried before any failure counts.

use std::any::Any;
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::cases::CASES;
use super::sandbox::quick;
use super::trouble::State;
use super::{Scene, Trouble, can_inject};

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

    /// Gives the commands of the table whose rows begin like this in the states of these troubles: within this process, at the
    /// calls of the file system, every `inside`-th of each trouble, and as a process of its own, at the calls of the kernel,
    /// every `step`-th. Both begin with another one for each row, and `inside` for each trouble as well, so that so many
    /// troubles meet every call. The campaign leaves none out.
    pub fn of_rows(rows: &[&str], troubles: &[Trouble], inside: usize, step: usize, test: &str) -> Self {
        let mut tally = Self::default();
        for (at, case) in CASES.iter().enumerate().filter(|(_, case)| rows.iter().any(|row| case.name.starts_with(row)))
        {
            let scene = Scene::new(*case, &quick());
            let some = troubles.iter().enumerate().flat_map(|(nth, trouble)| {
                trouble.states_inside(&scene).into_iter().skip((at + nth) % inside).step_by(inside)
            });
            tally.add(Self::of_scene(&scene, &some.collect::<Vec<_>>()));
            if can_inject(test) {
                let states = troubles.iter().flat_map(|trouble| trouble.states(&scene));
                let some: Vec<_> = states.skip(at % step).step_by(step).collect();
                tally.add(Self::of_scene(&scene, &some));
            }
        }
        tally
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
