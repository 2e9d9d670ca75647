//! Steps of sub-agents, as the agents' own definitions have them.

use std::path::Path;

use crate::catalog::{Catalog, Found, Origin};
use crate::engine::{Refusal, Report, StepFault};
use crate::machine::Notation;
use crate::model::StateName;

/// Refuses a step of an agent whose definition is found and lacks it. Other agents' steps are not checked.
pub(in crate::runs) fn check_steps(catalog: &Catalog, reports: &[Report]) -> Result<(), Refusal> {
    for step in reports.iter().flat_map(|report| report.step.clone().into_iter().chain(report.parent_of_agent())) {
        let Some((agent, state)) = step.as_str().split_once(':') else { continue };
        let Ok(Found { machine, .. }) = catalog.find(agent) else { continue };
        if StateName::new(state).is_ok_and(|state| machine.contains(&state)) {
            continue;
        }
        let near = machine.suggest(state).and_then(|near| StateName::new(format!("{agent}:{near}")).ok());
        return Err(Refusal::UnknownStep(Box::new(StepFault {
            workflow: machine.id().clone(),
            known: machine.states().iter().map(|state| state.name.clone()).collect(),
            current: None,
            suggestion: near,
            over: false,
            step,
        })));
    }
    Ok(())
}

/// Adds to a refusal of a step without an agent which agent has it. Skills report on a page with both, and their texts
/// leave the agent out.
pub(in crate::runs) fn with_agent(catalog: &Catalog, mut refusal: Refusal) -> Refusal {
    if let Refusal::UnknownStep(fault) = &mut refusal
        && fault.step.agent().is_none()
        && let Some(step) = step_of_agent(catalog, &fault.step)
    {
        fault.suggestion = Some(step);
    }
    refusal
}

/// The step `state` of the only agent that has it.
fn step_of_agent(catalog: &Catalog, state: &StateName) -> Option<StateName> {
    let mut step = None;
    for entry in catalog.list().ok()? {
        if entry.notation != Notation::Mermaid || entry.error.is_some() {
            continue;
        }
        let Ok(found) = catalog.find(&entry.id) else { continue };
        let named = format!("{}:{state}", entry.id);
        // The definition of a skill has the same form. An agent's is where agents are, or says how its steps are named.
        let is_agent = is_among_agents(&found.origin) || found.text.contains(&named);
        if !is_agent || !found.machine.contains(state) {
            continue;
        }
        if step.is_some() {
            return None;
        }
        step = StateName::new(named).ok();
    }
    step
}

fn is_among_agents(origin: &Origin) -> bool {
    match origin {
        Origin::Shipped => false,
        Origin::Project(path) => path.parent().and_then(Path::file_name).is_some_and(|folder| folder == "agents"),
    }
}
