//! Which run is meant, and how it is read: without a lock, as recovery would leave it.

pub(crate) mod checkout;
pub(in crate::runs) mod copies;
pub(in crate::runs) mod damage;
pub(crate) mod fault;
pub(in crate::runs) mod kept;
pub(in crate::runs) mod listed;
pub(in crate::runs) mod listing;
pub(crate) mod name;
pub(in crate::runs) mod own_files;
pub(crate) mod pinned;
pub(in crate::runs) mod proof;
pub(crate) mod reading;
pub(crate) mod recap;
pub(in crate::runs) mod reference;
pub(in crate::runs) mod same_work;
pub(crate) mod select;
pub(crate) mod shared;
pub(crate) mod sparse;
pub(in crate::runs) mod tree;
pub(crate) mod view;
pub(crate) mod work;
pub(in crate::runs) mod worktrees;
