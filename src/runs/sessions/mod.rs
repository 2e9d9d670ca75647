//! The sessions of agents: which runs they hold, what their hosts' hooks noted, and what happens when they begin, go on and
//! end.

pub(crate) mod begin;
pub(crate) mod conversation;
pub(crate) mod end;
pub(crate) mod going_on;
pub(crate) mod hosts;
