//! `doctor`: everything that can be wrong with a `.flow`, found, explained, and with a repair mended.
//!
//! Finding is pure but for the reading: `facts` says what is on disk, and the checks turn that into findings, each with
//! the typed step that mends it. Nothing is locked and nothing is written for that. `repair` takes the steps under the
//! lock of the run, after looking again there; each step leaves files that every command can use, so a repair that dies
//! is begun again by the next one.

mod activities;
mod codes;
mod diagnosis;
mod document;
mod examine;
mod facts;
mod finding;
mod log;
mod modes;
mod project;
mod repair;
mod report;
mod rewrite;
mod tree;
mod validate;
mod verify;

pub use examine::{DoctorRequest, doctor};
pub use report::{DoctorReport, FindingReport, FindingState, PlanStep, Severity};
pub use validate::{CheckedFile, ValidateReport, ViolationReport, validate};
pub use verify::{Checked, Difference, VerifyReport, VerifyRequest, verify};
