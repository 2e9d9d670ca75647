//! The promises of flow, tested on the real program and the real library.
#![expect(clippy::disallowed_methods, reason = "tests set up and look at files, clocks and processes directly")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

mod commands;
mod docs;
mod engine;
mod readme;
mod seed_session;
mod tidy;
mod verdicts;
