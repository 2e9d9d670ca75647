//! What `flow setup` puts into a file, and how it is taken out again.

use schemars::JsonSchema;
use serde::Serialize;

use crate::codec::TomlText;
use crate::hooks::settings::AgentHost;
use crate::hooks::settings::edit::{self, EditedSettings, WantedHooks};
use crate::hooks::settings::error::SettingsFault;
use crate::hooks::settings::setup::entries::Entries;
use crate::runs::StopOptions;

/// A part of the setup of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SetupPart {
    /// Hooks, which report to flow what the host does.
    Hooks,
    /// Skills, which say how an agent works with flow.
    Skills,
    /// The entry that makes the host start `flow mcp`.
    Tools,
    /// Rules by which the agent may call flow without asking.
    Permissions,
}

/// A part of the setup in a file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Piece {
    pub(super) part: SetupPart,
    pub(super) content: PieceContent,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum PieceContent {
    /// The handlers of a host.
    Handlers(AgentHost),
    /// Entries of a JSON text.
    Entries(Entries),
    /// The entry of `flow mcp` in a TOML text.
    TomlServer,
    /// A file of flow's own.
    File(String),
}

/// The entry of `flow mcp` in Codex's configuration.
const TOML_SERVER: [&str; 3] = ["[mcp_servers.flow]", "command = \"flow\"", "args = [\"mcp\"]"];

/// What to do about servers that are written in one line.
const TABLES: &str = "write each server as a table, `[mcp_servers.NAME]`, or add flow's by hand";

impl Piece {
    /// `text` with this piece.
    pub(super) fn put(&self, text: Option<&str>) -> Result<EditedSettings, SettingsFault> {
        match &self.content {
            PieceContent::Handlers(host) => {
                let wanted = WantedHooks { host: *host, stop: StopOptions::default(), status_line: false };
                edit::install(text, &wanted)
            }
            PieceContent::Entries(entries) => entries.put(text),
            PieceContent::TomlServer => put_server(text),
            PieceContent::File(wanted) => Ok(match text {
                Some(text) if text != wanted => {
                    EditedSettings { is_taken: true, ..EditedSettings::of_text(Some(text)) }
                }
                _ => EditedSettings::of_text(Some(wanted)),
            }),
        }
    }

    /// Whether its entries have to be noted to be told from those that others wrote.
    pub(super) fn is_noted(&self) -> bool {
        matches!(self.content, PieceContent::Entries(_) | PieceContent::TomlServer)
    }

    /// `text` without this piece. `known` names the entries that were put in; without it all that look like flow's go.
    pub(super) fn take(&self, text: Option<&str>, known: Option<&[String]>) -> Result<EditedSettings, SettingsFault> {
        let Some(there) = text else { return Ok(EditedSettings::of_text(None)) };
        match &self.content {
            PieceContent::Handlers(host) => edit::uninstall(*host, there),
            PieceContent::Entries(entries) => entries.take(text, known),
            PieceContent::TomlServer if known.is_some_and(<[String]>::is_empty) => Ok(EditedSettings::of_text(text)),
            PieceContent::TomlServer => Ok(take_server(there)),
            PieceContent::File(wanted) if there == wanted => Ok(EditedSettings::of_text(None)),
            PieceContent::File(_) => Ok(EditedSettings { is_taken: true, ..EditedSettings::of_text(text) }),
        }
    }
}

/// The entry behind everything else. A text whose last line does not end gets an entry that does not end either, so that
/// taking it out gives the same bytes.
fn put_server(text: Option<&str>) -> Result<EditedSettings, SettingsFault> {
    let old = text.unwrap_or_default();
    let Some(toml) = TomlText::parse(old) else {
        return Err(SettingsFault::of_file("the file is not TOML", "correct it"));
    };
    if has_server(&toml) {
        // What cannot be taken out again is not as flow writes it.
        let is_taken = take_server(old).is_taken;
        return Ok(EditedSettings { is_taken, ..EditedSettings::of_text(text) });
    }
    // A block of text, since no library writes TOML and keeps every byte.
    let block = &blocks(old)[0];
    let new = match old {
        "" if text.is_none() => block.trim_start().to_owned(),
        "" => block.trim().to_owned(),
        _ if old.ends_with('\n') => format!("{old}{block}"),
        _ => format!("{old}{}{}", newline(old), block.trim_end()),
    };
    // Only the parser can say whether both fit together.
    if TomlText::parse(&new).is_none() {
        return Err(SettingsFault::of_file("`mcp_servers` is not a table to which one can be added", TABLES));
    }
    Ok(EditedSettings { text: Some(new), entries: vec!["flow".to_owned()], ..EditedSettings::default() })
}

/// The text without the entry, if it is as flow writes it.
fn take_server(text: &str) -> EditedSettings {
    for block in blocks(text) {
        let alone = block.trim_start();
        let unended = format!("{}{}", newline(text), block.trim_end());
        let rest = if text == alone {
            None
        } else if text == alone.trim_end() {
            Some(String::new())
        } else if let Some(at) = text.find(&block) {
            Some(format!("{}{}", &text[..at], &text[at + block.len()..]))
        } else if let Some(before) = text.strip_suffix(&unended) {
            Some(before.to_owned())
        } else if let Some(rest) = text.strip_prefix(alone) {
            Some(rest.to_owned())
        } else {
            continue;
        };
        return EditedSettings { text: rest, entries: vec!["flow".to_owned()], ..EditedSettings::default() };
    }
    let is_taken = matches!(TomlText::parse(text), Some(toml) if has_server(&toml));
    EditedSettings { is_taken, ..EditedSettings::of_text(Some(text)) }
}

fn has_server(toml: &TomlText) -> bool {
    toml.keys(&["mcp_servers"]).iter().any(|name| name == "flow")
}

/// The entry with the blank line before it, in the line ends of `text` and in the others, which an editor may have given it.
fn blocks(text: &str) -> [String; 2] {
    let newlines = if newline(text) == "\n" { ["\n", "\r\n"] } else { ["\r\n", "\n"] };
    newlines.map(|newline| format!("{newline}{}{newline}", TOML_SERVER.join(newline)))
}

fn newline(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_entry_in_toml_is_put_in_and_taken_out_to_the_byte() {
        let piece = Piece { part: SetupPart::Tools, content: PieceContent::TomlServer };
        for text in [
            None,
            Some(""),
            Some("model = \"x\"\n"),
            Some("model = \"x\""),
            Some("# only a comment"),
            Some("a = 1\r\n[mcp_servers.other]\r\ncommand = \"x\"\r\n"),
            Some("[mcp_servers]\nother = { command = \"x\" }\n\n"),
        ] {
            let put = piece.put(text).unwrap();
            assert!(put.text.as_deref().is_some_and(|new| TomlText::parse(new).is_some()), "{put:?}");
            let again = piece.put(put.text.as_deref()).unwrap();
            assert_eq!((again.text, again.is_taken), (put.text.clone(), false));
            assert_eq!(piece.take(put.text.as_deref(), Some(&put.entries)).unwrap().text.as_deref(), text);
            // What a person wrote behind it stays.
            let more = format!("{}\n[more]\n", put.text.unwrap());
            let rest = piece.take(Some(&more), None).unwrap().text.unwrap();
            assert!(!rest.contains("mcp_servers.flow") && rest.contains("[more]"), "{rest}");
        }
        let own = "[mcp_servers.flow]\ncommand = \"/opt/flow\"\n";
        assert!(piece.put(Some(own)).unwrap().is_taken);
        assert_eq!(piece.take(Some(own), None).unwrap().text.as_deref(), Some(own));
        assert!(piece.put(Some("mcp_servers = { a = { command = \"x\" } }\n")).is_err());
        assert!(piece.put(Some("[")).is_err());
    }

    #[test]
    fn a_file_of_flow_s_goes_and_one_that_was_changed_stays() {
        let piece = Piece { part: SetupPart::Skills, content: PieceContent::File("wanted\n".to_owned()) };
        let put = piece.put(None).unwrap();
        assert_eq!(put.text.as_deref(), Some("wanted\n"));
        assert_eq!(piece.take(put.text.as_deref(), None).unwrap().text, None);
        let changed = piece.put(Some("wanted, and more\n")).unwrap();
        assert!(changed.is_taken && changed.text.as_deref() == Some("wanted, and more\n"));
        assert!(piece.take(changed.text.as_deref(), None).unwrap().text.is_some());
    }
}
