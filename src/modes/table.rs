//! `mode policy`: the policy and its table.

use schemars::JsonSchema;
use serde::Serialize;

use crate::catalog::Origin;
use crate::model::ModeName;
use crate::modes::error::Result;
use crate::modes::load::policy_for_command;
use crate::modes::policy::{Admission, DenialKind, Mode, ModeKind, Policy};
use crate::runs::context::Context;

/// The report of `mode policy`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PolicyReport {
    /// The file of the policy; none for the shipped one.
    pub path: Option<std::path::PathBuf>,
    /// The modes.
    pub modes: Vec<PolicyMode>,
    /// A row for each active mode, with a column for each requested mode.
    pub table: Vec<PolicyRow>,
}

/// A mode of a policy.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PolicyMode {
    /// Its name.
    pub mode: ModeName,
    /// Planning or execution.
    pub kind: ModeKind,
    /// Other names.
    pub aliases: Vec<String>,
}

/// What happens to requests while one mode is active.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PolicyRow {
    /// The active mode.
    pub active: ModeName,
    /// For each requested mode: `no_change`, `overlap`, `auto_complete`, `deny_overlap`, `deny_rollback`, or two of
    /// them joined by `|`; the second one applies if the condition holds.
    pub requested: Vec<String>,
}

/// The policy of the project, with its whole table.
///
/// # Errors
/// When the policy of the project is invalid.
pub fn table(cx: &Context) -> Result<PolicyReport> {
    let project = cx.project();
    let (policy, origin) = policy_for_command(cx)?;
    let (mut modes, mut table) = (Vec::new(), Vec::new());
    for mode in policy.modes() {
        modes.push(PolicyMode { mode: mode.name.clone(), kind: mode.kind, aliases: mode.aliases.clone() });
        let requested = policy.modes().iter().map(|requested| cell(&policy, mode, requested)).collect();
        table.push(PolicyRow { active: mode.name.clone(), requested });
    }
    let path = match origin {
        Origin::Shipped => None,
        Origin::Project(path) => Some(match &project {
            Ok(project) => project.relative(&path),
            Err(_) => path,
        }),
    };
    Ok(PolicyReport { path, modes, table })
}

/// The result of a request, and the result if a condition holds.
fn cell(policy: &Policy, active: &Mode, requested: &Mode) -> String {
    let plain = word(policy, active, requested, false);
    let on_condition = word(policy, active, requested, true);
    if plain == on_condition { plain.to_owned() } else { format!("{plain}|{on_condition}") }
}

/// The result of a request, if every condition holds or none does.
fn word(policy: &Policy, active: &Mode, requested: &Mode, holds: bool) -> &'static str {
    match policy.admit(std::slice::from_ref(&active.name), &requested.name, &|_, _| holds) {
        Admission::Start => "start",
        Admission::NoChange => "no_change",
        Admission::Overlap => "overlap",
        Admission::AutoComplete(_) => "auto_complete",
        Admission::Deny(denial) => match denial.kind {
            DenialKind::Rollback => "deny_rollback",
            DenialKind::Overlap => "deny_overlap",
        },
    }
}
