//! Replaces `server/` in a build without the feature `serve`.

use crate::model::{Kind, Problem};
use crate::runs::{Context, Result};
use crate::web::{ServeReport, Serving};

/// Refuses: this build has no server.
///
/// # Errors
/// Always.
pub fn serve(_: &Context, _: &Serving, _: impl FnOnce(&ServeReport)) -> Result<()> {
    Err(Problem::new(Kind::Usage, "no_server", "this build of flow has no dashboard")
        .help("install a flow that is built with the feature `serve`")
        .into())
}
