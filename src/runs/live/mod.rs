//! Runs as they change: the feeds of the dashboard and the terminal, one run in full, and its export.

pub(crate) mod asking;
pub(crate) mod cards;
pub(crate) mod export;
pub(crate) mod feed;
pub(crate) mod feed_run;
pub(crate) mod keeper;
pub(crate) mod observe;
pub(crate) mod phases;
pub(crate) mod stats;
