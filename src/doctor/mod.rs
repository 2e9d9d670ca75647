//! `doctor`: finds everything that is wrong with a `.flow`, explains it, and repairs it on request.
//!
//! `facts` reads the files, and the checks turn these facts into findings; each finding has the typed step that repairs
//! it. That locks nothing and writes nothing. `repair` takes the lock of a run, examines the run again, and carries out
//! the steps. Each step leaves files that every command can use, so after a repair that was killed, the next one starts
//! afresh.

mod activities;
mod codes;
mod diagnosis;
mod document;
mod examine;
mod facts;
mod finding;
mod lines;
mod log;
mod modes;
mod project;
mod repair;
mod report;
mod rewrite;
mod shared;
mod survey;
mod tree;
mod validate;
mod verify;

pub use examine::doctor;
pub use report::{DoctorReport, FindingReport, FindingState, PlanStep, Severity};
pub use survey::DoctorRequest;
pub use validate::{CheckedFile, ValidateReport, ViolationReport, validate};
pub use verify::{Difference, VerifyCounts, VerifyReport, VerifyRequest, verify};
