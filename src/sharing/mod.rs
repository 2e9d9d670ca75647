//! Runs that several machines share: which store a project names, whether the user accepted it, and the verbs over it.
//!
//! The store itself is [`crate::store::shared`], and what keeps its logs is in [`crate::remote`]. A repository may name a store,
//! in `.flow/config.yaml`. It is used after the user accepted that exact address on this machine, with [`use_store`].

mod chosen;
mod config;
mod moving;
mod name;
mod probing;
mod status;
mod using;

pub use chosen::SharedStores;
pub use moving::{FetchReport, FetchRequest, PushReport, PushRequest, fetch, push};
pub use name::StoreName;
pub use probing::{ProbeReport, probe_store};
pub use status::{SharedRow, StoreStatusReport, store_status};
pub use using::{UseReport, UseRequest, use_store};
