//! Replaces `screen/` in a build without the feature `watch`.

use crate::model::{Kind, Problem};
use crate::runs::{Context, Result};
use crate::watch::Watching;

/// Refuses: this build has no screen.
///
/// # Errors
/// Always.
pub fn screen(_: &Context, _: &Watching) -> Result<()> {
    Err(Problem::new(Kind::Usage, "no_screen", "this build of flow cannot draw on a terminal")
        .help("use `--once` or `--json`, or install a flow that is built with the feature `watch`")
        .into())
}
