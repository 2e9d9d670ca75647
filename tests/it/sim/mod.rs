//! Power cuts, kills and failing calls, all of them, on a file system in memory.
//!
//! The program's own library runs on a [`disk::SimDisk`], which keeps every change since the last power cut in a list. A
//! power cut keeps what completed flushes forced and any legal part of the rest ([`cut`]). Promises about one operation
//! are tried in every state that can follow; histories of many operations are drawn at random, as many as the variable
//! `FLOW_HISTORIES` says.

mod cut;
mod disk;
mod documents;
mod every_state;
mod histories;
mod image;
#[path = "../../conformance/memory_carrier.rs"]
#[allow(dead_code, reason = "the tests of stores use the rest")]
mod memory_carrier;
mod mistakes;
mod shared;
mod together;
mod trouble;
mod turns;

mod world;
