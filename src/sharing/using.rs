//! `remote use`: the user accepts a store for the runs of a project.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::{Kind, Problem};
use crate::runs::open::shared::request_to_read;
use crate::runs::{Context, OpenedProject, Result};
use crate::sharing::chosen::NamedStore;
use crate::sharing::config::name_store;
use crate::sharing::name::StoreName;
use crate::sharing::probing::{probe, reach};
use crate::store::{RefreshScope, RunStore as _, SharedRuns as _, StoreError, StoreFlaw};

/// The store to use.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UseRequest {
    /// Its name, such as `git:origin`.
    pub store: String,
}

/// The report of `remote use`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct UseReport {
    /// The name of the store.
    pub store: String,
    /// Its address, without what logs in.
    pub address: String,
    /// Who can read the runs, in words.
    pub readers: String,
    /// Whether `.flow/config.yaml` was changed; it should be committed then.
    #[serde(rename = "named")]
    pub changed_configuration: bool,
    /// How many runs are shared there.
    pub runs: usize,
    /// Problems that did not stop the command.
    pub warnings: Vec<String>,
}

/// Tries a store that the project does not name yet, notes that the user accepted its exact address, names it in the
/// project's configuration, and brings copies of its runs. Idempotent.
///
/// # Errors
/// `invalid_store`, `no_remote`, `store_broken` for a store that does not keep its promises, `store_not_reached`.
pub fn use_store(cx: &Context, request: &UseRequest) -> Result<UseReport> {
    let name: StoreName = request.store.parse()?;
    let store = NamedStore::find(cx, &cx.root()?, name)?;
    // Only now: a name of no store leaves no `.flow` behind.
    let project = cx.project_or_init()?;
    // Where the configuration names it, it was tried before.
    let is_named = project.catalog().store()?.is_some_and(|named| named == store.name.to_string());
    if is_named {
        // Before anything changes: with another address, the copies here are put aside.
        reach(&project, &store)?;
    } else {
        refuse_only_copies(&project)?;
        probe(&project, &store)?;
    }
    if let Err(why) = store.accept(&project) {
        let message = format!("cannot note that {} was accepted: {why}", store.name);
        return Err(Problem::new(Kind::Io, "io_error", message)
            .help("flow needs to write below XDG_STATE_HOME, or HOME/.local/state; nothing was changed")
            .into());
    }
    let changed_configuration = name_store(&project, &store.name)?;
    let shared = store.open(&project)?;
    let refresh = |scope| shared.refresh(scope, &cx.write_request(cx.now(), shared.patience()));
    let warnings = match refresh(RefreshScope::All) {
        // Runs that are over may be very many, and work goes on with open ones.
        Err(error @ (StoreError::TooMuch { .. } | StoreError::Unreached { .. })) => {
            let mut told = refresh(RefreshScope::Open)?;
            told.push(format!("{error}; copies of open runs are here, and not of all that are over"));
            told
        }
        told => told?,
    };
    Ok(UseReport {
        store: store.name.to_string(),
        readers: store.readers(),
        address: store.shown_address(),
        changed_configuration,
        runs: shared.ids_in_store()?,
        warnings,
    })
}

/// Refuses to put copies aside that the store has lost which is in use until now. It is asked if it can be.
fn refuse_only_copies(project: &OpenedProject) -> Result<()> {
    let Some(shared) = project.runs().shared().accepted() else { return Ok(()) };
    for flaw in shared.flaws(None, &|_| Vec::new(), &request_to_read(project)?).unwrap_or_default() {
        if let StoreFlaw::Lost { run } = flaw {
            return Err(StoreError::Lost { run, at: shared.address() }.into());
        }
    }
    Ok(())
}
