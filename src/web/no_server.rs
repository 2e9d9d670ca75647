//! Replaces `server/` in a build without the feature `serve`.

use crate::runs::Context;
use crate::web::{Error, Result, ServeReport, Serving};

/// Refuses: this build has no server.
///
/// # Errors
/// Always.
pub fn serve(_: &Context, _: &Serving, _: impl FnOnce(&ServeReport)) -> Result<()> {
    Err(Error::NoServer)
}
