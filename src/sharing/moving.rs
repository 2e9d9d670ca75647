//! `remote push` and `remote fetch`: one run goes to the store, or comes from there.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::{Kind, Problem, RunId, Seq, Suggestion};
use crate::runs::open::name::{Purpose, open_run};
use crate::runs::{Context, OpenedProject, Result, adopt_edits, bring_evidence, work_of};
use crate::sharing::chosen::store_in_use;
use crate::store::{BroughtEvidence, RefreshScope, RunStore as _, StoreError, StoredRun, WriteRequest};

/// The run to move into the store.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PushRequest {
    /// Its id, or another name of it.
    #[serde(rename = "run_id")]
    pub run: String,
    /// Whether it may be moved while another open run there is about the same work.
    #[serde(default)]
    pub another: bool,
}

/// The run to bring.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FetchRequest {
    /// Its id, or another name of it.
    #[serde(rename = "run_id")]
    pub run: String,
}

/// The report of `remote push`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PushReport {
    /// The run.
    pub run_id: RunId,
    /// The store that has it now.
    pub store: String,
    /// Its last event.
    pub seq: Seq,
    /// Problems that did not stop the command.
    pub warnings: Vec<String>,
}

/// The report of `remote fetch`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FetchReport {
    /// The run.
    pub run_id: RunId,
    /// The store that has it.
    pub store: String,
    /// Its last event.
    pub seq: Seq,
    /// The files of evidence that came with it, by their names in `evidence/`.
    pub evidence: Vec<String>,
    /// Problems that did not stop the command.
    pub warnings: Vec<String>,
}

/// Moves a run of this checkout into the store that the project uses. A shared run that the store has lost is put there
/// again, from the copy here. Repeating it goes on where it stopped.
///
/// # Errors
/// Those of [`crate::store::shared::Shared::take_in`], of names of runs, `no_store`, `store_not_accepted`.
pub fn push(cx: &Context, request: &PushRequest) -> Result<PushReport> {
    let project = cx.offline().project()?;
    let store = store_in_use(&project)?;
    let shared = store.open(&project)?;
    let write = cx.write_request(cx.now(), project.commit_wait()?);
    let run = open_or_list(&project, &request.run, &write)?;
    // A shared run of this id that is shorter does not count.
    let run = if shared.goes_on(run.id(), &write)? { project.local_runs().open(run.id())? } else { run };
    if run.as_of().is_none() {
        // What a person typed into run.yaml is in no log yet.
        adopt_edits(&project, &*run)?;
    }
    // One that was shared already takes what is free.
    let takes_nothing = request.another && run.as_of().is_none();
    let work = if takes_nothing { Vec::new() } else { work_of(&project, &*run)? };
    let seq = match shared.take_in(run.id(), work, &write) {
        Ok(seq) => seq,
        Err(StoreError::WorkTaken { run: other, about }) => {
            let message = format!("{other} is open in {} and is about {about} as well", store.name);
            let help = Suggestion::flow("resume").value(&other)
                + " goes on with it; end one of both, and try again, or have two with --another";
            return Err(Problem::new(Kind::Refused, "run_open", message).help(help).into());
        }
        Err(error) => return Err(error.into()),
    };
    let mut warnings = Vec::new();
    // Its files are beside the copy now.
    let copy = shared.open(run.id())?;
    let limit = copy.evidence_limit();
    for (name, bytes) in copy.evidence()? {
        if bytes > limit as u64 {
            let store = &store.name;
            warnings
                .push(format!("evidence/{name} stays here: it is {bytes} bytes long, and {store} keeps up to {limit}"));
        }
    }
    Ok(PushReport { run_id: run.id().clone(), store: store.name.to_string(), seq, warnings })
}

/// Opens the run of this name. One that the store has and does not list is brought by its whole id, and listed again.
fn open_or_list(project: &OpenedProject, name: &str, request: &WriteRequest) -> Result<Box<dyn StoredRun>> {
    if let Ok(id) = RunId::new(name)
        && let Some(shared) = project.runs().shared().accepted()
        && shared.bring_unlisted(&id, request)?
    {
        let work = work_of(project, &*project.runs().open(&id)?)?;
        shared.put_again(&id, work, request)?;
    }
    open_run(project, name, Purpose::Write)
}

/// Brings the copy of a shared run up to date, and the evidence that other machines recorded.
///
/// # Errors
/// Those of names of runs, `store_not_reached`, `no_store`, `store_not_accepted`.
pub fn fetch(cx: &Context, request: &FetchRequest) -> Result<FetchReport> {
    let project = cx.project()?;
    let store = store_in_use(&project)?;
    let write = cx.write_request(cx.now(), project.commit_wait()?);
    let shared = project.runs().shared().accepted();
    let mut warnings = shared.map_or(Ok(Vec::new()), |shared| shared.refresh(RefreshScope::All, &write))?;
    let run = open_or_list(&project, &request.run, &write)?;
    // It may have been current already, and a process that was killed may not have shown that.
    warnings.extend(run.catch_up(&write)?);
    let seq = run.last()?;
    let BroughtEvidence { came: evidence, lacking } = bring_evidence(&*run, &write)?;
    for name in lacking {
        warnings.push(format!("{} does not have evidence/{name}", store.name));
    }
    Ok(FetchReport { run_id: run.id().clone(), store: store.name.to_string(), seq, evidence, warnings })
}
