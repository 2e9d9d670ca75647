//! The state of long-running agent and developer workflows, kept in plain files so that work survives.
//!
//! A *run* is a directory `.flow/runs/<id>/`: `run.yaml` for people, numbered activity files, and `events.jsonl`, an
//! append-only log that is the only commit point. Everything else can be rebuilt from it.
//!
//! ```text
//! command ──decide──▶ event ──commit──▶ events.jsonl ──fold──▶ RunState ──project──▶ run.yaml, activities/*.yaml
//! ```
//!
//! The entry is [`ops::Flow`]: one method a verb, each giving a struct of [`report`]. The command line is one face of
//! it and adds no rule.
//!
//! ```
//! use flowrun::host::{Clock, Env, Git, Ids};
//! use flowrun::ops::{Flow, Options, RecordRequest, ResumeRequest, StartRequest};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let dir = tempfile::tempdir()?;
//! let options = Options { project: Some(dir.path().to_owned()), ..Options::default() };
//! let flow = Flow::new(Clock::real(), Ids::random(), Env::default(), Git::default(), options);
//!
//! let run = flow.start(&StartRequest { workflow: "debug".into(), ..StartRequest::default() })?;
//! let id = "look-around".parse()?;
//! flow.record_activity(&RecordRequest { id: Some(id), ..RecordRequest::default() })?;
//!
//! let answer = flow.resume(&ResumeRequest::default())?;
//! assert_eq!(answer.run_id, Some(run.run_id));
//! assert_eq!(answer.next.phase.map(|phase| phase.to_string()), Some("reproduce".into()));
//! # Ok(())
//! # }
//! ```
//!
//! Underneath, from the ground up: [`model`] (documents and names), [`codec`] (bytes ↔ documents), [`machine`]
//! (workflow definitions, compiled), [`policy`] (which modes go together), [`engine`] (the pure core: decide, apply,
//! resume), [`store`] (the commit protocol), [`host`] (clock, ids, environment, git, processes), [`catalog`] (finding
//! definitions). Above the verbs, [`drive`] goes through a graph of states; its loop serves programs of one's own as well.
//! `ARCHITECTURE.md` is the map.

pub mod catalog;
pub mod cli;
pub mod codec;
pub mod doctor;
pub mod drive;
pub mod engine;
pub mod host;
pub mod interview;
pub mod machine;
pub mod model;
pub mod ops;
pub mod policy;
pub mod report;
pub mod store;
