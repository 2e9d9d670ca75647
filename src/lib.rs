//! The state of long-running workflows in plain files.
pub mod catalog;
pub mod cli;
pub mod codec;
pub mod engine;
pub mod host;
pub mod machine;
pub mod model;
pub mod ops;
pub mod report;
pub mod store;
