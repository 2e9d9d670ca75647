//! `trust`: accepts the commands that the project's configuration names.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::catalog::NamedCommand;
use crate::model::{ActivityId, Help, Kind, Problem, Suggestion, command_line, quoted};
use crate::runs::accepted::{Thing, accept, is_accepted};
use crate::runs::context::{Context, OpenedProject};
use crate::runs::error::Result;
use crate::runs::person::refuse_named_agents;

/// Whether to accept them.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TrustRequest {
    /// Whether to accept the commands as they are now; otherwise they are only shown.
    pub accept: bool,
}

/// The report of `trust`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TrustReport {
    /// The commands that the configuration names.
    pub commands: Vec<TrustedCommand>,
    /// What is odd about the configuration.
    pub warnings: Vec<String>,
}

/// A command that the configuration names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TrustedCommand {
    /// Its name.
    pub name: String,
    /// The program and its arguments, as a line for a shell.
    pub command: String,
    /// Whether this command was accepted on this machine.
    pub accepted: bool,
}

/// Shows the commands that the project names, and accepts them if that is wanted. They are accepted for this project on
/// this machine as they are: another command under the same name has to be accepted again.
///
/// # Errors
/// `needs_approval` if an agent would accept them; `invalid_config`; `not_kept` when it cannot be noted that they were accepted.
pub fn trust(cx: &Context, request: &TrustRequest) -> Result<TrustReport> {
    if request.accept {
        refuse_named_agents(cx)?;
    }
    let project = cx.project()?;
    let named = project.catalog().named_commands()?;
    if request.accept {
        let things: Vec<_> = named.iter().map(thing).collect();
        if let Err(why) = accept(&project, &things) {
            let message =
                format!("cannot note in the state directory of the user that the commands were accepted: {why}");
            return Err(Problem::new(Kind::Io, "not_kept", message)
                .help("see that XDG_STATE_HOME or HOME names a directory that can be written")
                .into());
        }
    }
    let mut commands = Vec::new();
    for one in &named {
        commands.push(TrustedCommand {
            name: one.name.clone(),
            command: command_line(&one.argv),
            accepted: is_accepted(&project, &[thing(one)]),
        });
    }
    Ok(TrustReport { commands, warnings: project.catalog().warnings() })
}

/// The command that the project calls `name`, if it was accepted.
///
/// # Errors
/// `command_not_found` if no command has the name, `command_not_trusted` if it was not accepted.
pub(in crate::runs) fn trusted(project: &OpenedProject, name: &str) -> Result<Vec<String>> {
    let named = project.catalog().named_commands()?;
    let Some(found) = named.iter().find(|one| one.name == name) else {
        let message = format!("the project names no command {}", quoted(name));
        return Err(Problem::new(Kind::NotFound, "command_not_found", message)
            .help(how_to_name(project, &named, Some(name)))
            .into());
    };
    if is_accepted(project, &[thing(found)]) {
        return Ok(found.argv.clone());
    }
    let message = format!("the command {name} was not accepted on this machine: {}", command_line(&found.argv));
    let help = Help::from("it was chosen by an author of .flow/config.yaml: ") + person_accepts();
    Err(Problem::new(Kind::NeedsHuman, "command_not_trusted", message).help(help).into())
}

/// The error for a caller who names no command.
pub(in crate::runs) fn nothing_to_run(project: &OpenedProject) -> Result<Problem> {
    let named = project.catalog().named_commands()?;
    let problem = Problem::new(Kind::Usage, "usage", "there is no command to run");
    Ok(problem.help(how_to_name(project, &named, None)))
}

/// How a command is accepted. It is a person's decision, so nothing that an agent could carry out is suggested.
fn person_accepts() -> &'static str {
    "a person reads it and accepts it with `flow trust`"
}

/// Which commands there are, and how another one is run.
fn how_to_name(project: &OpenedProject, named: &[NamedCommand], wanted: Option<&str>) -> Help {
    let known: Vec<_> = named.iter().map(|one| one.name.as_str()).collect();
    let other = Suggestion::flow("exec").value("--").value(wanted.unwrap_or("make")) + " runs any other one";
    if !known.is_empty() {
        return Help::from(format!(".flow/config.yaml names {}; ", known.join(", "))) + other;
    }
    if let Some(warning) = project.catalog().warnings().into_iter().next() {
        return warning.into();
    }
    let name = wanted.filter(|name| ActivityId::new(*name).is_ok()).unwrap_or("test");
    Help::from(format!("`commands: {{{name}: make {name}}}` in .flow/config.yaml names one, then "))
        + person_accepts()
        + "; "
        + other
}

fn thing(command: &NamedCommand) -> Thing {
    Thing::named_command(&command.name, &command.argv)
}
