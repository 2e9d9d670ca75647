//! The file that flow writes whole, for a host that runs scripts instead of commands: OpenCode.
//!
//! Its first line has the digest of the rest, so what another version of flow wrote differs from what a person edited.

use crate::codec::digest;
use crate::hooks::settings::error::SettingsFault;

const PLUGIN: &str = include_str!("opencode.js");
const MARK: &str = "// Written by `flow hooks install`; ";

/// Whose script it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PluginScript {
    /// This version of flow writes it.
    Current,
    /// Another version of flow wrote it.
    Other,
}

/// The script.
pub(super) fn text() -> String {
    format!("{MARK}{}\n{PLUGIN}", digest(PLUGIN.as_bytes()))
}

/// Whose script `found` is; a fault if flow did not write it.
pub(super) fn recognize(found: &str) -> Result<PluginScript, SettingsFault> {
    if found == text() {
        return Ok(PluginScript::Current);
    }
    // A text that still has the digest in its first line was written by flow, and edited by no one since.
    if let Some(rest) = found.strip_prefix(MARK)
        && let Some((sum, script)) = rest.split_once('\n')
        && sum == digest(script.as_bytes())
    {
        return Ok(PluginScript::Other);
    }
    Err(SettingsFault::of_file("this is not what flow wrote: someone has edited it, or it is another's", EDITED))
}

/// What to do about a script that someone has edited.
const EDITED: &str = "keep it under another name, or delete it to have flow write its own";
