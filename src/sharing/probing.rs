//! `remote probe`: tries whether a store keeps its promises.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::{Kind, Problem};
use crate::runs::{Context, OpenedProject, Result};
use crate::sharing::chosen::{NamedStore, store_in_use};
use crate::store::shared::{self, BrokenPromise};
use crate::store::{Address, RefreshScope};

/// How long a trial may take: some servers let the losers of a race wait for seconds.
const WAIT: Duration = Duration::from_secs(300);

/// How long a store may take to answer once.
const ONE_ANSWER: Duration = Duration::from_secs(30);

/// The report of `remote probe`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ProbeReport {
    /// The name of the store.
    pub store: String,
    /// Its address, without what logs in.
    pub address: String,
}

/// Tries the store that the project names, or the one that is `named`: sixteen writers race for positions of runs that are
/// made for that and removed again. It finds gross mistakes only.
///
/// # Errors
/// `store_broken`, `store_not_reached`, `no_store`, `store_not_accepted`.
pub fn probe_store(cx: &Context, named: Option<&str>) -> Result<ProbeReport> {
    let project = cx.project()?;
    let store = match named {
        Some(named) => NamedStore::find(cx, project.root(), named.parse()?)?,
        None => store_in_use(&project)?,
    };
    probe(&project, &store)?;
    Ok(ProbeReport { store: store.name.to_string(), address: store.shown_address() })
}

/// Asks the store once.
///
/// # Errors
/// `store_not_reached`.
pub(super) fn reach(project: &OpenedProject, store: &NamedStore) -> Result<()> {
    let wait = project.cx.options.lock_wait.unwrap_or(ONE_ANSWER);
    match store.carrier(project)?.tips(RefreshScope::Open, wait) {
        Ok(_) => Ok(()),
        Err(error) => Err(error.at(Address::new(store.name.to_string())).into()),
    }
}

pub(super) fn probe(project: &OpenedProject, store: &NamedStore) -> Result<()> {
    let carrier = store.carrier(project)?;
    let wait = project.cx.options.lock_wait.unwrap_or(WAIT);
    match shared::probe(&*carrier, project.cx.now(), wait) {
        Ok(()) => Ok(()),
        Err(BrokenPromise::NoAnswer(why)) => Err(why.at(Address::new(store.name.to_string())).into()),
        Err(broken) => {
            let message = format!("{} cannot keep shared runs: {broken}", store.name);
            Err(Problem::new(Kind::Refused, "store_broken", message)
                .help("mend that, or use another store; nothing was changed")
                .into())
        }
    }
}
