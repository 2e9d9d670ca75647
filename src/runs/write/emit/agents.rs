//! Steps of sub-agents, as the agents' own definitions have them.

use crate::catalog::{Catalog, FoundWorkflow, Origin};
use crate::engine::{Refusal, Report, ReportRefusal, StepFault};
use crate::machine::Notation;
use crate::model::StateName;

/// Refuses a step of an agent whose definition is found and lacks it. Other agents' steps are not checked.
pub(in crate::runs) fn check_steps(catalog: &Catalog, reports: &[Report]) -> Result<(), Refusal> {
    for report in reports {
        for step in report.step.iter().cloned().chain(report.parent_of_agent()) {
            check_step(catalog, step)?;
        }
    }
    Ok(())
}

fn check_step(catalog: &Catalog, step: StateName) -> Result<(), Refusal> {
    let Some((agent, state)) = step.as_str().split_once(':') else { return Ok(()) };
    let Ok(FoundWorkflow { machine, .. }) = catalog.find(agent) else { return Ok(()) };
    if StateName::new(state).is_ok_and(|state| machine.contains(&state)) {
        return Ok(());
    }
    let near = machine.suggest(state).and_then(|near| StateName::new(format!("{agent}:{near}")).ok());
    Err(ReportRefusal::UnknownStep(Box::new(StepFault {
        workflow: machine.id().clone(),
        known: machine.states().iter().map(|state| state.name.clone()).collect(),
        current: None,
        suggestion: near,
        over: false,
        step,
    }))
    .into())
}

/// Adds to a refusal of a step without an agent which agent has it. Skills report on a page with both, and their texts
/// leave the agent out.
pub(in crate::runs) fn with_agent(catalog: &Catalog, mut refusal: Refusal) -> Refusal {
    if let Refusal::Report(ReportRefusal::UnknownStep(fault)) = &mut refusal
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
        let is_agent = found.text.contains(&named)
            || matches!(&found.origin, Origin::Project(path) if path.parent().is_some_and(|dir| dir.ends_with("agents")));
        if !is_agent || !found.machine.contains(state) {
            continue;
        }
        // Several agents have it, so neither can be the one that is meant for sure.
        if step.is_some() {
            return None;
        }
        step = StateName::new(named).ok();
    }
    step
}
