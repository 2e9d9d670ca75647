//! What is kept in `.flow/.cache`: it can be made again at any time, is never flushed, and may be deleted.

mod carrier;
pub(in crate::store::local) mod finished;
mod interview_note;
pub(in crate::store::local) mod open_runs;
mod pushing;
mod recaps;
mod tree;
mod whole_copy;

pub(crate) use tree::TreeCache;
