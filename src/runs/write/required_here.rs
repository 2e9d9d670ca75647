//! What a workflow requires only in projects that name the command.

use crate::machine::Machine;
use crate::runs::context::OpenedProject;
use crate::runs::error::Result;

/// The definition for a run that begins in `project`: what it requires only where the project names the command is required
/// from now on, or not at all. So a later change of the configuration takes nothing away from the run.
///
/// # Errors
/// `invalid_config` if it matters what the configuration names, and that cannot be read.
pub(in crate::runs) fn as_project_asks(project: Option<&OpenedProject>, machine: Machine) -> Result<Machine> {
    if !machine.asks_where_named() {
        return Ok(machine);
    }
    let mut named = Vec::new();
    if let Some(project) = project {
        for command in project.catalog().named_commands()? {
            named.push(command.name);
        }
    }
    Ok(machine.asking_for(&named))
}

/// Warnings about commands that the workflow requires and the project does not name.
pub(in crate::runs) fn unnamed_commands(project: &OpenedProject, machine: &Machine) -> Vec<String> {
    let mut warnings = Vec::new();
    if machine.requires().is_empty() {
        return warnings;
    }
    // One that cannot be read is reported where it is needed.
    let Ok(named) = project.catalog().named_commands() else { return warnings };
    for requirement in machine.requires() {
        if named.iter().all(|command| command.name != requirement.exec) {
            let (phase, exec) = (&requirement.state, &requirement.exec);
            warnings.push(format!(
                "`{phase}` requires `{exec}`, and `commands` in .flow/config.yaml names no such command"
            ));
        }
    }
    warnings
}
