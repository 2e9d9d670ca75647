//! What happened in a run, as later decisions need it.

pub(in crate::engine) mod attempt;
pub(in crate::engine) mod demands;
pub(in crate::engine) mod failures;
pub(in crate::engine) mod fork;
pub(in crate::engine) mod history;
pub(in crate::engine) mod interviews;
pub(in crate::engine) mod phases;
pub(in crate::engine) mod progress;
pub(in crate::engine) mod recap;
pub(in crate::engine) mod units;
pub(in crate::engine) mod usage;
pub(in crate::engine) mod work;
pub(in crate::engine) mod workers;
