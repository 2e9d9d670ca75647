//! The command line: it parses arguments, calls a verb, and prints text or JSON. It contains no rules of its own.

mod args;
mod cmd;
mod complete;
mod document;
mod examples;
mod exit;
mod help;
mod out;
mod page;
mod person;
mod program;
mod progress;
mod prompt;
mod shell;
mod terminal;
mod topics;
mod usage;
mod verbs;

pub use args::Cli;
pub use exit::Exit;
pub use program::{ProgramResult, main, within};
