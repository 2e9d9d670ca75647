//! `flow demo`: shows the program at work on real files, in a project to throw away. It runs the program as a user does, by
//! commands in a shell.

mod board;
mod demonstration;
mod player;
mod story;

pub use demonstration::{DemoReport, DemoRequest, demo};
pub use player::DemoLine;
