//! Replaces `server/` in a build without the feature `mcp`.

use std::io::{BufRead, Write};

use crate::mcp::{Error, Offer, Result};
use crate::runs::Context;

/// Refuses: this build has no server.
///
/// # Errors
/// Always.
pub fn serve(_: &Context, _: Offer, _: impl BufRead + Send + 'static, _: impl Write + Send + 'static) -> Result<()> {
    Err(Error::NoMcp)
}
