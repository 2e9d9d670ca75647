//! Which run a reading command is about.

use crate::cli::args::RunArg;
use crate::cli::out::Out;
use crate::runs::{self, Context};

/// Finds the run that a reading command is about. If the command line names none, a line on standard error says which
/// run was chosen and why; for the only one that can be meant, only when the answer itself does not say (`says_which`).
pub(super) fn meant(cx: &Context, run: RunArg, out: &Out, says_which: bool) -> runs::Result<String> {
    let meant = runs::meant_run(cx, run.name().as_deref(), None)?;
    if let Some(why) = meant.why
        && !(meant.is_sure && says_which)
    {
        out.aside(&format!("{} ({why})\n", meant.run_id));
    }
    Ok(meant.run_id.to_string())
}
