//! What only a person may do.

use crate::runs::context::Context;
use crate::runs::error::{Error, Result};

/// Refuses a process that an agent began, or may have begun.
///
/// # Errors
/// `needs_approval`, which names the variable or process.
pub fn refuse_agents(cx: &Context) -> Result<()> {
    match cx.begun_by() {
        Some(sign) => {
            Err(Error::needs_approval(format!("a person decides, and {sign} shows that an agent began this")))
        }
        None => Ok(()),
    }
}
