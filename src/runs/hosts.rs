//! What hooks of agents' hosts remember, in the project's cache.

use crate::codec::digest;
#[cfg(feature = "mcp")]
use crate::model::SessionId;
use crate::runs::context::Context;
use crate::runs::error::Result;

/// A short digest of a text, to notice another one. Not for secrets.
#[must_use]
pub(crate) fn text_digest(text: &str) -> String {
    digest(text.as_bytes())
}

/// The note `name` about a session; `None` if there is none, or no project.
pub(crate) fn host_note(cx: &Context, name: &str) -> Option<String> {
    cx.project().ok()?.host_note(name)
}

/// Writes the note `name` about a session.
///
/// # Errors
/// When there is no project, or when it cannot be written.
pub(crate) fn keep_host_note(cx: &Context, name: &str, text: &str) -> Result<()> {
    Ok(cx.project()?.keep_host_note(name, text)?)
}

/// The session of the host that started this process, as the host's hooks noted it; `None` if no hook noted one.
///
/// A server that lives longer than a session needs it: the variables of its environment name the session in which it was
/// started.
#[cfg(feature = "mcp")]
#[must_use]
pub(crate) fn session_of_host(_cx: &Context) -> Option<SessionId> {
    // Notes about sessions do not name a process yet.
    None
}

/// Adds a line to the log of trouble that hooks had. Without a project, or when it cannot be written, nothing happens.
pub(crate) fn log_hook(cx: &Context, what: &str) {
    let what: String = what.chars().map(|c| if c.is_control() { ' ' } else { c }).take(LINE).collect();
    if let Ok(project) = cx.project() {
        let _ = project.log_hook(&format!("{} {what}\n", cx.now()));
    }
}

/// Longest line of the log, in characters.
const LINE: usize = 500;
