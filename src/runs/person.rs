//! What only a person may do.

use crate::runs::context::Context;
use crate::runs::error::{Error, Result};

/// Refuses a process that an agent began, or may have begun.
///
/// # Errors
/// `needs_approval`, which names the variable or process.
pub fn refuse_agents(cx: &Context) -> Result<()> {
    refuse_sign(cx.begun_by())
}

/// Refuses a process whose environment says that an agent began it. Above it there may be one, as above a test that a person
/// has it run.
///
/// # Errors
/// `needs_approval`, which names the variable.
pub(in crate::runs) fn refuse_named_agents(cx: &Context) -> Result<()> {
    refuse_sign(cx.told_of_agent())
}

fn refuse_sign(sign: Option<String>) -> Result<()> {
    match sign {
        Some(sign) => {
            Err(Error::needs_approval(format!("a person decides, and {sign} shows that an agent began this")))
        }
        None => Ok(()),
    }
}
