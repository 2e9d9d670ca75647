//! `mode policy`.

use crate::catalog::Origin;
use crate::ops::error::Result;
use crate::ops::flow::Flow;
use crate::policy::{Admission, DenialKind, Mode, Policy};
use crate::report::{PolicyMode, PolicyReport, PolicyRow};

impl Flow {
    /// The policy that holds here, with its whole table.
    ///
    /// # Errors
    /// When the project has a policy that cannot be used.
    pub fn mode_policy(&self) -> Result<PolicyReport> {
        let project = self.project();
        let (policy, origin) = self.catalog(project.as_ref().ok()).policy()?;
        let modes = policy.modes().iter().map(|mode| PolicyMode {
            mode: mode.name.clone(),
            kind: mode.kind,
            aliases: mode.aliases.clone(),
        });
        let row = |active: &Mode| PolicyRow {
            active: active.name.clone(),
            requested: policy.modes().iter().map(|requested| cell(&policy, active, requested)).collect(),
        };
        let path = match origin {
            Origin::Shipped => None,
            Origin::Project(path) => Some(match &project {
                Ok(project) => Self::relative(project, &path),
                Err(_) => path,
            }),
        };
        Ok(PolicyReport { path, modes: modes.collect(), table: policy.modes().iter().map(row).collect() })
    }
}

/// What happens, and what else when a condition holds.
fn cell(policy: &Policy, active: &Mode, requested: &Mode) -> String {
    let words = [false, true].map(|holds| {
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
    });
    if words[0] == words[1] { words[0].to_owned() } else { words.join("|") }
}
