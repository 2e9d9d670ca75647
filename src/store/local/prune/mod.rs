//! Takes runs that are over out of `.flow/runs`, each with one rename, so that it is in one place at any moment, whole:
//!
//! 1. lock the project, so that no run begins; note the ids in `pruned.jsonl` and flush it;
//! 2. lock a run, judge it once more, rename its directory: into the runs of the other directory, or into `.prune.tmp`, which
//!    nothing reads;
//! 3. flush both directories, that of the new name first; then delete what is in `.prune.tmp`.
//!
//! A line about a run that is in its place counts as none. So a death between 1 and 2 leaves a run that was not pruned, and
//! after 2 the run is gone for every reader. What is left in `.prune.tmp` goes with the next prune.

mod notes;
mod removal;

pub use removal::PrunePlace;
