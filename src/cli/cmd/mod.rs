//! One file for each command: it turns arguments into a request, and a report into text.

mod approve;
mod checks;
mod commands;
mod demo;
pub(super) mod dispatch;
mod drive;
mod emit;
mod fork;
mod hosts;
mod init;
mod interview;
mod list;
mod look;
mod meant;
mod mode;
mod next;
mod record;
mod remote;
mod resume;
mod run_rows;
mod set;
mod start;
mod status;
mod stdin;
mod workflow;
mod worktrees;
