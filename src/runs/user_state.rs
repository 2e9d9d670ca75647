//! The directory in which flow keeps what only this user's machine knows: `flow` in the user's state directory. Never in a
//! project: a cloned repository could bring it.

use std::path::Path;

use crate::disk::{Dir, DiskError, Links, Trust};
use crate::model::Explain as _;
use crate::runs::context::Context;

const NAME: &str = "flow";

/// The directory, if it is there.
pub(super) fn user_state(cx: &Context) -> Option<Dir> {
    let home = cx.env.state_home.as_ref()?;
    Dir::open_path(&*cx.disk, &home.join(NAME), Trust::OwnFiles).ok()
}

/// The directory; what is missing is created.
///
/// # Errors
/// The reason why it cannot be used, as the end of a sentence.
pub(crate) fn make_user_state(cx: &Context) -> Result<Dir, String> {
    let home = cx.env.state_home.as_ref().ok_or("neither XDG_STATE_HOME nor HOME names a directory")?;
    make_in(cx, home).map_err(|error| error.one_line())
}

fn make_in(cx: &Context, home: &Path) -> Result<Dir, DiskError> {
    let exists = home.ancestors().find(|dir| cx.disk.look(dir, Links::Follow).is_ok()).unwrap_or(home);
    let mut dir = Dir::open_path(&*cx.disk, exists, Trust::OwnFiles)?;
    for name in home.strip_prefix(exists).into_iter().flat_map(Path::components) {
        dir = dir.ensure_dir(&name.as_os_str().to_string_lossy())?.0;
    }
    Ok(dir.ensure_dir(NAME)?.0)
}
