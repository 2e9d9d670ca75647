//! What the work of listed runs used.

use std::collections::{BTreeMap, HashMap};

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::{RunId, UsageSum, WorkflowId};
use crate::runs::context::OpenedProject;
use crate::runs::error::Result;
use crate::runs::open::listed::ListedRun;
use crate::runs::open::reading::{Unreadable, read_runs};
use crate::runs::open::view::for_reading;

/// What the work of listed runs used, as it was reported.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ListUsage {
    /// All together.
    pub total: UsageSum,
    /// By workflow.
    pub workflows: Vec<WorkflowUsage>,
    /// By run, in the order of the list, without runs whose log cannot be read.
    pub runs: Vec<ListedUsage>,
}

/// What the work of the listed runs of a workflow used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WorkflowUsage {
    /// The workflow.
    pub workflow: WorkflowId,
    /// How many of its runs are listed.
    pub listed: usize,
    /// All together.
    #[serde(flatten)]
    pub sum: UsageSum,
}

/// What the work of a listed run used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ListedUsage {
    /// The run.
    pub run_id: RunId,
    /// All together.
    #[serde(flatten)]
    pub sum: UsageSum,
}

/// Reads what the work of these runs used. The sums are in no summary of a run: a record would have to rewrite them.
pub(super) fn usage_of(
    project: &OpenedProject,
    runs: &[ListedRun],
    unreadable: &mut Vec<Unreadable>,
) -> Result<ListUsage> {
    let ids: Vec<RunId> = runs.iter().map(|run| run.head.run_id.clone()).collect();
    let (read, failed) =
        read_runs(project, &ids, |run| Ok(Some((run.id().clone(), for_reading(project, run)?.history.usage().sum))))?;
    for one in failed {
        if unreadable.iter().all(|known| known.run_id != one.run_id) {
            unreadable.push(one);
        }
    }
    let mut sums: HashMap<RunId, UsageSum> = read.into_iter().collect();
    let mut usage = ListUsage::default();
    let mut workflows: BTreeMap<&WorkflowId, (usize, UsageSum)> = BTreeMap::new();
    for run in runs {
        let Some(sum) = sums.remove(&run.head.run_id) else { continue };
        usage.total.join(&sum);
        let (listed, of_workflow) = workflows.entry(&run.head.workflow).or_default();
        *listed += 1;
        of_workflow.join(&sum);
        usage.runs.push(ListedUsage { run_id: run.head.run_id.clone(), sum });
    }
    for (workflow, (listed, sum)) in workflows {
        usage.workflows.push(WorkflowUsage { workflow: workflow.clone(), listed, sum });
    }
    Ok(usage)
}
