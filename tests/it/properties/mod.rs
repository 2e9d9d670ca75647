//! What holds for every input, whatever its bytes: one function for each parser of what others write.
//!
//! Each takes bytes and panics when its promise is broken. `cargo test` calls them with the files of `fuzz/corpus/`,
//! and the fuzzer (`fuzz/`, of which this is the library) with whatever it can think of. So nothing here may name the
//! rest of the tests.

pub mod activity;
pub mod emit;
pub mod event_line;
pub mod graph;
pub mod hook;
pub mod interview;
pub mod journal;
pub mod log;
pub mod markdown;
pub mod mermaid;
pub mod prompt;
pub mod run_yaml;
pub mod settings;
mod text;
pub mod workflow;

/// Panics when `bytes` break a promise.
pub type Property = fn(&[u8]);

/// Every property under the name of its fuzz target and its corpus.
pub const ALL: [(&str, Property); 14] = [
    ("event_line", event_line::holds),
    ("log", log::holds),
    ("run_yaml", run_yaml::holds),
    ("activity", activity::holds),
    ("workflow", workflow::holds),
    ("mermaid", mermaid::holds),
    ("markdown", markdown::holds),
    ("graph", graph::holds),
    ("emit", emit::holds),
    ("hook", hook::holds),
    ("prompt", prompt::holds),
    ("settings", settings::holds),
    ("journal", journal::holds),
    ("interview", interview::holds),
];
