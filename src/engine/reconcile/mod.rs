//! Determines the state of a run from its `run.yaml` and its log.
//!
//! The state is what `run.yaml` shows as of its `last_seq`, plus the sealed events after it; a person's edits of
//! `run.yaml` count. [`reconcile`] computes the state, the repairs that a writer has to make first, and the faults.
//! Readers use the state, writers apply the repairs, `verify` checks that there are none, and the doctor reports them.
//! An earlier state of the run comes from a shorter log.
//!
//! A record must not cost more in a long run. So a writer first calls [`reconcile_end`], which reads only the log's
//! end, and returns no result if [`reconcile`] could give another one.
//!
//! This works on texts and logs as the codec reads them. Documents and digests would not suffice, because the text that
//! a writer writes keeps a person's comments and unknown keys.

mod fault;
mod histories;
mod position;
mod reconciled;
mod repair;
mod replay;
mod text;

pub use fault::Fault;
pub(crate) use histories::{blind_spots, histories, joined};
pub use reconciled::{Current, Reconciled, reconcile};
pub(crate) use reconciled::{has_other_line_ends, read_run, reconcile_end};
pub use repair::Repair;
pub(crate) use replay::Replay;
pub(crate) use text::{caught_up, is_repair, merge_save, rebuilt, text_of};
