//! The policy of modes: `.flow/modes.yaml`, or the shipped one.

use std::path::PathBuf;

use crate::catalog::folder::Folder;
use crate::catalog::proved::read_proved;
use crate::catalog::{Catalog, CatalogError, Origin};
use crate::codec::{DocumentKind, Violation};
use crate::policy::Policy;

/// The name of the file.
pub(crate) const FILE: &str = "modes.yaml";
const SHIPPED: &str = include_str!("../../workflows/modes.yaml");

impl Catalog {
    /// The policy of the project, and where it comes from.
    ///
    /// # Errors
    /// [`CatalogError::Policy`] when the project has one that cannot be used: another policy in its place would be worse.
    pub fn policy(&self) -> Result<(Policy, Origin), CatalogError> {
        let folder = match &self.flow_dir {
            Some(flow_dir) => Folder::open(flow_dir, false)?,
            None => None,
        };
        let found = match &folder {
            Some(folder) => folder.read(FILE)?.map(|text| (text, folder.join(FILE))),
            None => None,
        };
        let (text, origin) = match found {
            Some((text, path)) => (text, Origin::Project(path)),
            None => (SHIPPED.to_owned(), Origin::Shipped),
        };
        let path = match &origin {
            Origin::Project(path) => path.clone(),
            Origin::Shipped => PathBuf::from("workflows").join(FILE),
        };
        let policy = read_policy(&text).map_err(|violations| CatalogError::Policy { path, violations })?;
        Ok((policy, origin))
    }
}

/// Reads and proves a policy.
///
/// # Errors
/// Everything that is wrong with it.
pub(crate) fn read_policy(text: &str) -> Result<Policy, Vec<Violation>> {
    read_proved(text, DocumentKind::Modes, Policy::build)
}
