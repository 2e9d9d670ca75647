//! Runs that several machines share: a carrier keeps their logs in one place, and `.flow/shared` has copies of them.
//!
//! A copy is a run of the local store, with the same files, so that everything that reads files works on it. Its log is a
//! prefix of the shared one. It is never flushed, since it can be read again at any time. A commit goes in this order:
//!
//! 1. lock the copy, so that the writers of one machine wait for each other here and never race at the carrier;
//! 2. decide on the copy, and seal the lines;
//! 3. [`Carrier::put`] them behind the last position of the copy: **the commit point**;
//! 4. append the same lines to the copy, and show them in its files.
//!
//! Where another machine has that position, its lines are appended to the copy, and the decision is made once more. Where
//! the carrier's answer is lost, the writer finds out who has the position before anything else: until then it tries the
//! same lines in the same place, so that a request that arrives late can do no harm.
//!
//! A copy may be behind. So it may be the reason of a commit, which the carrier refuses then, but never of a refusal: see
//! [`StoredRun::is_current`](super::StoredRun::is_current).

mod carrier;
mod copy;
mod delegate;
mod displaced;
mod flaws;
mod hidden;
mod moving;
mod probe;
mod run;
mod settle;
mod store;
mod unaccepted;
mod writer;

pub use carrier::{Carrier, LeftMark, LinesBehind, LogFault, NoAnswer, Put, PutAnswer, Tip, window_of};
pub use copy::{ShowEvents, ShownText};
pub use probe::{BrokenPromise, probe};
pub(crate) use settle::left_until;
pub use store::Shared;
pub use unaccepted::UnacceptedRuns;
