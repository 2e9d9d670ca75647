//! What readers are told about runs: the next safe action, lists, what needs a person, one run in detail.

pub(in crate::runs) mod attention;
pub(in crate::runs) mod brief;
pub(in crate::runs) mod card;
pub(in crate::runs) mod cause;
mod driven;
pub(in crate::runs) mod evidence;
pub(in crate::runs) mod gate;
pub(in crate::runs) mod in_time;
pub(in crate::runs) mod life;
pub(in crate::runs) mod list;
pub(in crate::runs) mod log;
pub(in crate::runs) mod needs;
pub(in crate::runs) mod outlook;
pub(in crate::runs) mod report;
pub(in crate::runs) mod resume;
pub(in crate::runs) mod seen;
pub(in crate::runs) mod show;
pub(in crate::runs) mod tries;
pub(in crate::runs) mod used;
pub(in crate::runs) mod wait;
