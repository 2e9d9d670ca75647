//! Which checkout on which machine this is.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use crate::host::process::Holder;
use crate::model::hex;

/// Names the checkout with this top, as a digest.
pub(crate) fn checkout_place(top: &Path) -> String {
    let host = Holder::running(std::process::id()).map(|own| own.host).unwrap_or_default();
    // A clone that was made again in the same directory is another one.
    let inode = top.metadata().map(|meta| meta.ino()).unwrap_or_default();
    hex(&Sha256::digest(format!("{host}\n{inode}\n{}", top.display()))[..8])
}
