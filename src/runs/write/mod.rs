//! The verbs that change runs, and the transaction by which they do it.

pub(crate) mod adopt;
pub(crate) mod answer;
pub(crate) mod approve;
pub(crate) mod batch;
pub(in crate::runs) mod begun;
pub(crate) mod claim;
pub(crate) mod emit;
pub(crate) mod exec;
pub(crate) mod fork;
pub(in crate::runs) mod journal;
mod kept;
mod missing;
mod new_run;
pub(crate) mod next;
pub(crate) mod payload;
pub(crate) mod prune;
mod questions;
pub(crate) mod record;
pub(in crate::runs) mod required_here;
pub(crate) mod set;
pub(crate) mod source;
pub(crate) mod start;
pub(crate) mod status;
mod token;
pub(crate) mod transaction;
