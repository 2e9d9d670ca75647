//! The policy of modes: `.flow/modes.yaml`, or the shipped one.

use std::path::PathBuf;

use crate::catalog::{Catalog, Origin, flaws_of_file, read_proved};
use crate::codec::{DocumentKind, Violation};
use crate::modes::error::{Error, Result};
use crate::modes::policy::Policy;

/// The name of the file in `.flow`.
pub(crate) const POLICY_FILE: &str = "modes.yaml";
const SHIPPED: &str = include_str!("../../workflows/modes.yaml");

/// The policy of the project, and its origin.
///
/// # Errors
/// [`Error::Policy`] when the policy of the project is invalid. The shipped policy is not used instead: it could allow
/// what the project forbids.
pub fn policy_of(catalog: &Catalog) -> Result<(Policy, Origin)> {
    let folder = catalog.own(None)?;
    let found = match &folder {
        Some(folder) => match folder.read(POLICY_FILE) {
            Ok(text) => text.map(|text| (text, folder.join(POLICY_FILE))),
            Err(error) => {
                return Err(Error::Policy { path: folder.join(POLICY_FILE), violations: flaws_of_file(error)? });
            }
        },
        None => None,
    };
    let (text, path, origin) = match found {
        Some((text, path)) => (text, path.clone(), Origin::Project(path)),
        None => (SHIPPED.to_owned(), PathBuf::from("workflows").join(POLICY_FILE), Origin::Shipped),
    };
    match read_policy(&text) {
        Ok(policy) => Ok((policy, origin)),
        Err(violations) => Err(Error::Policy { path, violations }),
    }
}

/// Whether the project has a policy of its own, which may be one that cannot be used.
///
/// # Errors
/// When `.flow` cannot be read.
pub(crate) fn is_own(catalog: &Catalog) -> Result<bool> {
    match catalog.own(None)? {
        Some(folder) => Ok(!matches!(folder.read(POLICY_FILE), Ok(None))),
        None => Ok(false),
    }
}

/// Reads and checks a policy.
///
/// # Errors
/// Everything that is wrong with it.
pub(crate) fn read_policy(text: &str) -> Result<Policy, Vec<Violation>> {
    read_proved(text, DocumentKind::Modes, Policy::build)
}
