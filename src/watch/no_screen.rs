//! Replaces `screen/` in a build without the feature `watch`.

use crate::runs::Context;
use crate::watch::{Error, Result, Watching};

/// Refuses: this build has no screen.
///
/// # Errors
/// Always.
pub fn screen(_: &Context, _: &Watching) -> Result<()> {
    Err(Error::NoScreen)
}
