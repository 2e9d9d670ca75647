//! The server, in builds with the feature `mcp`.

mod answer;
mod call;
mod commands;
mod completion;
mod exec;
mod handler;
mod interview;
mod lines;
mod message;
mod offer;
mod prompts;
mod resources;
mod schema;
mod serve;
mod state;
mod tool;
mod tools;

pub use serve::serve;
