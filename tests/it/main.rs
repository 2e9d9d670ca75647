//! The promises of flow, tested on the real program and the real library.
#![expect(clippy::disallowed_methods, reason = "tests set up and look at files, clocks and processes directly")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

mod commands;
mod concurrency;
mod docs;
mod engine;
mod faults;
mod hostile_documents;
mod hostile_names;
mod hostile_paths;
mod images;
mod kill;
mod power;
mod readme;
mod recovery;
mod seed_session;
mod terminal;
mod tidy;
mod verdicts;
