//! Keeps the state of long-running agent and developer workflows in plain files.
//!
//! A *run* is a directory `.flow/runs/<id>/`: `run.yaml` for people, numbered activity files, and `events.jsonl`, an
//! append-only log that is the only commit point. Everything else can be rebuilt from it.
//!
//! ```text
//! command ──decide──▶ event ──commit──▶ events.jsonl ──fold──▶ RunState ──project──▶ run.yaml, activities/*.yaml
//! ```
//!
//! The entry point is [`runs::Context`]: each verb is a function over it, with a request and a report. The command line
//! only calls these functions and adds no rules.
//!
//! ```
//! use flowrun::host::{Clock, Env, Git, Ids};
//! use flowrun::runs::{self, Context, Options, RecordRequest, ResumeRequest, StartRequest};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let dir = tempfile::tempdir()?;
//! let options = Options { project: Some(dir.path().to_owned()), ..Options::default() };
//! let cx = Context::new(Clock::real(), Ids::random(), Env::default(), Git::default(), options);
//!
//! let run = runs::start(&cx, &StartRequest { workflow: "debug".into(), ..StartRequest::default() })?;
//! let id = "look-around".parse()?;
//! runs::record_activity(&cx, &RecordRequest { id: Some(id), ..RecordRequest::default() })?;
//!
//! let answer = runs::resume(&cx, &ResumeRequest::default())?;
//! assert_eq!(answer.run_id, Some(run.run_id));
//! assert_eq!(answer.next.phase.map(|phase| phase.to_string()), Some("reproduce".into()));
//! # Ok(())
//! # }
//! ```
//!
//! The modules, bottom up: [`model`] (documents and names), [`host`] (clock, ids, environment, git, processes), [`machine`]
//! (workflow definitions, compiled), [`store`] (the traits of a store of runs, and two stores), [`engine`] (the pure core:
//! decide, apply, reconcile, resume), [`runs`] (the verbs over runs), [`picture`] (runs and workflows as pictures and
//! pages). Above the runs, and independent of each other: [`modes`], [`interviews`], [`drive`] and [`sharing`]; [`doctor`]
//! uses them all. `ARCHITECTURE.md` is the map.
//!
//! The modules `catalog`, `cli`, `codec` and `disk`, and other public items that these pages do not show, serve the
//! project's own tests. They may change in any release.

#[doc(hidden)]
pub mod catalog;
#[doc(hidden)]
pub mod cli;
#[doc(hidden)]
pub mod codec;
#[doc(hidden)]
pub mod demo;
#[doc(hidden)]
pub mod disk;
pub mod doctor;
pub mod drive;
pub mod engine;
#[doc(hidden)]
pub mod hooks;
pub mod host;
pub mod interviews;
pub mod machine;
#[doc(hidden)]
pub mod mcp;
pub mod model;
pub mod modes;
pub mod picture;
pub mod remote;
pub mod runs;
pub mod sharing;
pub mod store;
#[doc(hidden)]
pub mod watch;
#[doc(hidden)]
pub mod web;
