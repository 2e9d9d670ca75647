//! Entries that are put into a JSON text of a host, and taken out again: members of an object, or items of an array.

use serde_json::{Map, Value};

use crate::codec::{JsonLayout, JsonNode, JsonText, Rest};
use crate::hooks::settings::AgentHost;
use crate::hooks::settings::edit::{EditedSettings, is_blank, unmarked, without_root};
use crate::hooks::settings::error::{SHAPE, SettingsFault};

/// Entries, and where they belong.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entries {
    pub(super) host: AgentHost,
    /// The keys from the root to the object or array.
    pub(super) path: &'static [&'static str],
    pub(super) entries: EntryList,
}

/// What is put there.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum EntryList {
    /// A member of an object.
    Member(&'static str, Value),
    /// Items of an array of texts.
    Items(Vec<String>),
}

impl Entries {
    /// `text` with these entries behind those that are there. What is there already stays as it is.
    pub(super) fn put(&self, text: Option<&str>) -> Result<EditedSettings, SettingsFault> {
        let (mark, body) = unmarked(self.host, text.unwrap_or_default())?;
        if is_blank(body) {
            // As for hooks: a file that was there and blank gets no line break at its end.
            let end = if text.is_some() { "" } else { "\n" };
            let names = self.names();
            let text = Some(format!("{mark}{body}{:#}{end}", self.nested(0, &names)));
            return Ok(EditedSettings { text, entries: names, ..EditedSettings::default() });
        }
        let mut json = JsonText::parse(body)?;
        let root = json.root().clone();
        let mut node = &root;
        let mut layout = json.layout(node, &JsonLayout::Lines(String::new()));
        for (depth, key) in self.path.iter().enumerate() {
            self.check_object(&json, node, depth)?;
            let Some(inner) = node.get(key) else {
                let names = self.names();
                json.append(node, &layout, &[(key, self.nested(depth + 1, &names))]);
                let text = Some(format!("{mark}{}", json.finish()));
                return Ok(EditedSettings { text, entries: names, ..EditedSettings::default() });
            };
            node = inner;
            layout = json.layout(node, &layout);
        }
        // What a person wrote there already is not put in, so `--undo` leaves it.
        let missing = self.missing(&json, node)?;
        let entries: Vec<_> = missing.iter().map(|name| (name.as_str(), self.value(name))).collect();
        let is_taken = self.is_taken(&json, node);
        if !entries.is_empty() {
            json.append(node, &layout, &entries);
        }
        Ok(EditedSettings {
            text: Some(format!("{mark}{}", json.finish())),
            entries: missing,
            is_taken,
            status_line: None,
        })
    }

    /// `text` without these entries; only without those that `known` names, if it is given.
    pub(super) fn take(&self, text: Option<&str>, known: Option<&[String]>) -> Result<EditedSettings, SettingsFault> {
        let Some(whole) = text else { return Ok(EditedSettings::of_text(None)) };
        let (mark, body) = unmarked(self.host, whole)?;
        if is_blank(body) {
            return Ok(EditedSettings::of_text(text));
        }
        let mut json = JsonText::parse(body)?;
        let root = json.root().clone();
        let mut outer = Vec::new();
        let mut node = &root;
        for key in self.path {
            let Some(inner) = node.get(key) else { return Ok(EditedSettings::of_text(text)) };
            outer.push((node, key));
            node = inner;
        }
        let (gone, entries) = self.present(&json, node, known);
        if gone.is_empty() {
            return Ok(EditedSettings::of_text(text));
        }
        let mut rest = json.take_out(node, |at| gone.contains(&at));
        // What was made for these entries goes with them, the inner objects first.
        for (node, key) in outer.into_iter().rev() {
            if rest == Rest::Stays {
                break;
            }
            let members = node.members().unwrap_or_default();
            rest = json.take_out(node, |at| members[at].key == *key);
        }
        let text = match rest {
            Rest::Stays => Some(format!("{mark}{}", json.finish())),
            Rest::Nothing => without_root(mark, json),
        };
        Ok(EditedSettings { text, entries, ..EditedSettings::default() })
    }

    /// The keys or items.
    fn names(&self) -> Vec<String> {
        match &self.entries {
            EntryList::Member(key, _) => vec![(*key).to_owned()],
            EntryList::Items(items) => items.clone(),
        }
    }

    fn value(&self, name: &str) -> Value {
        match &self.entries {
            EntryList::Member(_, value) => value.clone(),
            EntryList::Items(_) => Value::from(name),
        }
    }

    /// What stands at this depth of the path when only these entries are there.
    fn nested(&self, depth: usize, names: &[String]) -> Value {
        let mut value = match &self.entries {
            EntryList::Member(key, value) => Value::Object(Map::from_iter([((*key).to_owned(), value.clone())])),
            EntryList::Items(_) => Value::from(names),
        };
        for key in self.path[depth..].iter().rev() {
            value = Value::Object(Map::from_iter([((*key).to_owned(), value)]));
        }
        value
    }

    /// The entries that `node` does not have.
    fn missing(&self, json: &JsonText<'_>, node: &JsonNode) -> Result<Vec<String>, SettingsFault> {
        match &self.entries {
            EntryList::Member(key, _) => {
                self.check_object(json, node, self.path.len())?;
                Ok(if node.get(key).is_none() { self.names() } else { Vec::new() })
            }
            EntryList::Items(items) => {
                let Some(there) = node.items() else {
                    return Err(self.wrong(json, node, self.path.len(), "is not an array"));
                };
                let there: Vec<Value> = there.iter().map(|item| json.value(&item.value)).collect();
                let mut missing = items.clone();
                missing.retain(|item| !there.contains(&Value::from(item.as_str())));
                Ok(missing)
            }
        }
    }

    fn is_taken(&self, json: &JsonText<'_>, node: &JsonNode) -> bool {
        match &self.entries {
            EntryList::Member(key, value) => node.get(key).is_some_and(|there| json.value(there) != *value),
            EntryList::Items(_) => false,
        }
    }

    /// Where the entries are in `node`, as flow writes them, and their names. Of equal items, flow's is the last one.
    fn present(&self, json: &JsonText<'_>, node: &JsonNode, known: Option<&[String]>) -> (Vec<usize>, Vec<String>) {
        let (mut places, mut names) = (Vec::new(), Vec::new());
        // An item of an array has an empty key.
        let (entries, key) = match &self.entries {
            EntryList::Member(key, _) => (node.members(), *key),
            EntryList::Items(_) => (node.items(), ""),
        };
        let entries = entries.unwrap_or_default();
        for name in self.names() {
            // What was there before flow came was not noted, and stays.
            if let Some(known) = known
                && !known.contains(&name)
            {
                continue;
            }
            let value = self.value(&name);
            if let Some(at) = entries.iter().rposition(|entry| entry.key == key && json.value(&entry.value) == value) {
                places.push(at);
                names.push(name);
            }
        }
        (places, names)
    }

    fn check_object(&self, json: &JsonText<'_>, node: &JsonNode, depth: usize) -> Result<(), SettingsFault> {
        match node.members() {
            Some(_) => Ok(()),
            None => Err(self.wrong(json, node, depth, "is not an object")),
        }
    }

    fn wrong(&self, json: &JsonText<'_>, node: &JsonNode, depth: usize, what: &str) -> SettingsFault {
        let name = match self.path[..depth].last() {
            Some(key) => format!("{key:?}"),
            None => "the whole value".to_owned(),
        };
        SettingsFault { place: json.place(node), reason: format!("{name} {what}"), help: SHAPE }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn server() -> Entries {
        let value = json!({ "command": "flow", "args": ["mcp"] });
        Entries { host: AgentHost::ClaudeCode, path: &["mcpServers"], entries: EntryList::Member("flow", value) }
    }

    fn rules() -> Entries {
        let items = ["Bash(flow list:*)", "Bash(flow show:*)"].map(str::to_owned).to_vec();
        Entries { host: AgentHost::ClaudeCode, path: &["permissions", "allow"], entries: EntryList::Items(items) }
    }

    #[test]
    fn what_is_put_in_is_taken_out_to_the_byte() {
        for text in [
            None,
            Some(""),
            Some("\n"),
            Some("{}"),
            Some("{ }\n"),
            Some("{\n  \"a\": 1\n}\n"),
            Some("{\"mcpServers\":{},\"permissions\":{\"allow\":[]}}"),
            Some("{\n\t\"permissions\": {\n\t\t\"deny\": [\"x\"]\n\t},\n\t\"mcpServers\": {\n\t\t\"b\": {}\n\t}\n}"),
            Some("{\r\n  \"permissions\": {\r\n    \"allow\": [\r\n      \"Bash(ls)\"\r\n    ]\r\n  }\r\n}\r\n"),
            Some("{\"permissions\": {\"allow\": [\"Bash(flow list:*)\", \"x\"]}}"),
            Some("\u{feff}{\"mcpServers\": {\"flow\": {\"command\": \"flow\", \"args\": [\"mcp\"]}}}"),
        ] {
            let server_in = server().put(text).unwrap();
            let both = rules().put(server_in.text.as_deref()).unwrap();
            let again = rules().put(both.text.as_deref()).unwrap();
            assert_eq!((again.text.as_ref(), again.entries), (both.text.as_ref(), Vec::new()));
            let back = rules().take(both.text.as_deref(), Some(&both.entries)).unwrap();
            assert_eq!(back.text, server_in.text, "{text:?}");
            let back = server().take(back.text.as_deref(), Some(&server_in.entries)).unwrap();
            assert_eq!(back.text.as_deref(), text, "{:?}", both.text);
        }
    }

    #[test]
    fn without_a_note_what_looks_like_flow_s_is_taken_out_and_what_was_changed_stays() {
        let text = r#"{"mcpServers": {"flow": {"command": "flow", "args": ["mcp"]}}, "permissions": {"allow": ["a", "Bash(flow list:*)"]}}"#;
        let taken = rules().take(Some(text), None).unwrap();
        assert_eq!(taken.entries, ["Bash(flow list:*)"]);
        let taken = server().take(taken.text.as_deref(), None).unwrap();
        assert_eq!(taken.text.as_deref(), Some(r#"{"permissions": {"allow": ["a"]}}"#));
        let own = r#"{"mcpServers": {"flow": {"command": "/opt/flow", "args": ["mcp"]}}}"#;
        assert_eq!(server().take(Some(own), None).unwrap().text.as_deref(), Some(own));
        assert!(server().put(Some(own)).unwrap().is_taken);
    }

    #[test]
    fn settings_of_another_shape_are_refused() {
        for (text, wanted) in [
            ("[]", "the whole value is not an object"),
            (r#"{"permissions": 3}"#, "\"permissions\" is not an object"),
            (r#"{"permissions": {"allow": {}}}"#, "\"allow\" is not an array"),
        ] {
            assert_eq!(rules().put(Some(text)).unwrap_err().reason, wanted);
        }
        assert!(server().put(Some("{,}")).is_err());
    }
}
