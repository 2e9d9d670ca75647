//! Power cuts.
//!
//! A killed process loses nothing that it wrote: the kernel keeps it. A power cut does. So tests that kill cannot tell the
//! commit protocol from one without any flush, and these can.
//!
//! **The model.** A command is carried out under strace ([`trace`]). Its calls become operations on inodes ([`history`],
//! [`disk`]): a name appears, goes away, changes or is exchanged with another one, all of these atomic; a file gets longer
//! or shorter; bytes within one block are written. `fsync` and `fdatasync` of a file force what happened to its length and
//! bytes before them, `fsync` of a directory what happened to the names in it; nothing else forces anything, not even a
//! file's own name. A write to standard output is the acknowledgement. The harness compares what the operations come to
//! with the files that are there, so no call is overlooked.
//!
//! A crash may come before any operation. [`model`] says which of the operations before it may be lost:
//!
//! - `kill`: none;
//! - `journal`: names change in order, and of each file a beginning of its operations survives, however short;
//! - `weak`: every operation that was not forced is there or not, by itself. All combinations are tried for up to 13 of
//!   them; for more, every beginning, all but one or two, only one or two, and draws from a fixed seed.
//!
//! Each different state is written into memory ([`materialise`]) and looked at as the next session would ([`check`]),
//! with the library in this process: what `list`, `log` and `resume` say must be the state after some number of events,
//! not fewer than were acknowledged and not more than were begun; then the command again, and another record; then every
//! invariant of `docs/durability.md`. [`reference`] knows what is right, from the same commands without a crash.
//!
//! **On top of it.** [`nested`]: a power cut inside the command that recovers from a power cut, and one after a command
//! that made good what a killed one began. [`real_cut`]: real file systems that are shut down at the instant of a kill.
//! [`failing_flush`]: a device without room, so that a flush fails for real.
//!
//! **Proof of the harness.** Debug builds of flow make mistakes on purpose; the tests fail when these are not noticed.
//!
//! A new command is a new row in [`commands`], in [`modes`] when it changes modes, in [`interviews`], or in a file of its
//! own, as [`exec`], [`mod@prune`] and [`repair`].

mod campaign;
mod check;
mod commands;
mod disk;
mod enumerate;
mod exec;
mod failing_flush;
mod history;
mod interviews;
mod materialise;
mod model;
mod modes;
mod nested;
mod prune;
mod real_cut;
mod recorded;
mod reference;
mod repair;
#[cfg(test)]
mod tests;
mod trace;

#[allow(unused_imports, reason = "for the campaign, which runs all of it")]
pub use campaign::{
    Job, crashes_in_crashes, cut_command, cut_every_exec, cut_every_interview_command, cut_every_mode_command,
    cut_every_prune, every_command, real_cuts,
};
#[allow(unused_imports, reason = "for the campaign, which runs all of it")]
pub use enumerate::Row;
