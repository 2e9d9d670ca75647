//! Puts flow's handlers into the text of a settings file, and takes them out again.
//!
//! All other bytes stay. A new handler goes behind all others of its event, because Codex recognises the handlers that it
//! trusts by their position.

use serde_json::{Value, json};

use crate::codec::{JsonFault, JsonNode, JsonText, Layout, Place, Rest, parse_json};
use crate::hooks::settings::AgentHost;
use crate::hooks::settings::command::{self, Call};
use crate::hooks::settings::error::{EditFault, SHAPE, STRICT, WHOLE};
use crate::hooks::settings::host::{self, Event};
use crate::hooks::settings::{script, whole};
use crate::host as hosts;

/// What the settings are to have.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    pub(super) host: AgentHost,
    /// Whether the event `stop` continues a run.
    pub(super) continues: bool,
    /// Whether flow writes the status line.
    pub(super) status_line: bool,
}

/// What became of the status line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StatusLine {
    /// flow writes it.
    Ours,
    /// Another program does, and stays.
    Other,
}

/// A text of settings, edited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edited {
    /// The new text; `None` if the file is not needed any more.
    pub(super) text: Option<String>,
    /// The events whose handlers of flow are new, changed or gone.
    pub(super) events: Vec<String>,
    pub(super) status_line: Option<StatusLine>,
}

/// A handler of an event.
pub(super) struct Handler<'n> {
    pub(super) group: usize,
    pub(super) position: usize,
    pub(super) node: &'n JsonNode,
    pub(super) command: Option<String>,
    /// Which of the event's causes it is for; none if it is for all of them.
    pub(super) matcher: Option<String>,
}

impl Handler<'_> {
    /// What the handler calls, if it is flow's.
    pub(super) fn call(&self) -> Option<Call> {
        self.command.as_deref().and_then(command::call).filter(|call| *call != Call::StatusLine)
    }
}

impl From<JsonFault> for EditFault {
    fn from(fault: JsonFault) -> Self {
        Self { place: fault.place, reason: fault.reason, help: STRICT }
    }
}

const MARK: char = '\u{feff}';
pub(super) const HOOKS: &str = "hooks";
pub(super) const STATUS_LINE: &str = "statusLine";

/// The text behind a byte order mark, which Claude Code skips.
pub(super) fn unmarked(host: AgentHost, text: &str) -> Result<(&str, &str), EditFault> {
    let body = text.strip_prefix(MARK).unwrap_or(text);
    let mark = &text[..text.len() - body.len()];
    if host.hooks().only_keys.is_some() && !mark.is_empty() {
        return Err(EditFault {
            place: Place { line: 1, column: 1 },
            reason: format!("{} does not read a file that begins with a byte order mark", host.title()),
            help: STRICT,
        });
    }
    Ok((mark, body))
}

/// Whether a text says nothing.
pub(super) fn is_blank(body: &str) -> bool {
    body.chars().all(|c| " \t\r\n".contains(c))
}

/// Refuses settings that their host does not read, although they are JSON.
pub(super) fn check(host: AgentHost, json: &JsonText<'_>) -> Result<(), EditFault> {
    check_keys(host, json)?;
    json.root().get(HOOKS).map_or(Ok(()), |hooks| check_hooks(json, hooks))?;
    match whole::fault(host, json) {
        Some((node, reason)) => Err(EditFault { help: WHOLE, ..fault(json, node, &reason) }),
        None => Ok(()),
    }
}

fn check_keys(host: AgentHost, json: &JsonText<'_>) -> Result<(), EditFault> {
    let root = json.root();
    let members = root.members().ok_or_else(|| fault(json, root, "the settings are not an object"))?;
    let is_known = |key: &str| host.hooks().only_keys.is_none_or(|known| known.contains(&key));
    match members.iter().find(|member| !is_known(&member.key)) {
        Some(other) => {
            let reason = format!("{} does not read a file with the key {:?}", host.title(), other.key);
            Err(fault(json, &other.value, &reason))
        }
        None => Ok(()),
    }
}

/// The settings with flow's handlers; `text` is `None` for a missing file.
pub(super) fn install(text: Option<&str>, wanted: &Wanted) -> Result<Edited, EditFault> {
    let Some(handler) = wanted.host.handler() else {
        text.map(script::judge).transpose()?;
        return Ok(Edited { text: Some(script::text()), events: Vec::new(), status_line: None });
    };
    let (mark, body) = unmarked(wanted.host, text.unwrap_or_default())?;
    if is_blank(body) {
        return Ok(wanted.alone(handler, &format!("{mark}{body}"), text.is_some()));
    }
    let mut json = JsonText::parse(body)?;
    let root = json.root().clone();
    check(wanted.host, &json)?;
    let layout = json.layout(&root, &Layout::Lines(String::new()));
    let mut edited = Edited { text: None, events: Vec::new(), status_line: None };
    let mut new = Vec::new();
    match root.get(HOOKS) {
        Some(hooks) => edited.events = wanted.edit_hooks(&mut json, handler, hooks, &layout)?,
        None => {
            new.push((HOOKS, wanted.hooks(handler)));
            let beside = beside(handler).into_iter().filter(|(key, _)| root.get(key).is_none());
            new.extend(beside);
            edited.events = wanted.events(|_| false).iter().map(|event| event.0.to_owned()).collect();
        }
    }
    edited.status_line = wanted.edit_status_line(&mut json, &root, &mut new);
    if !new.is_empty() {
        json.append(&root, &layout, &new);
    }
    edited.text = Some(format!("{mark}{}", json.finish()));
    Ok(edited)
}

impl Wanted {
    fn command(&self, event: Event, continues: bool) -> String {
        command::hook(self.host, event, continues)
    }

    /// The events that get a handler; one that has a handler of flow keeps it.
    fn events(&self, has_ours: impl Fn(&str) -> bool) -> Vec<Event> {
        let stop = self.host.hooks().stop.filter(|stop| self.continues || has_ours(stop.0));
        self.host.hooks().events.iter().copied().chain(stop).collect()
    }

    /// What an event's list gets.
    fn item(&self, handler: &hosts::Handler, event: Event) -> Value {
        let mut item = serde_json::Map::new();
        if handler.is_typed {
            item.insert("type".to_owned(), json!("command"));
        }
        item.insert(handler.command.to_owned(), json!(self.command(event, self.continues)));
        item.insert(handler.timeout.to_owned(), json!(handler.limit));
        if self.host.is_flat() { Value::Object(item) } else { json!({ HOOKS: [item] }) }
    }

    fn hooks(&self, handler: &hosts::Handler) -> Value {
        let events = self.events(|_| false).into_iter();
        Value::Object(events.map(|event| (event.0.to_owned(), json!([self.item(handler, event)]))).collect())
    }

    fn status_line(&self) -> Value {
        json!({ "type": "command", "command": command::status_line() })
    }

    /// A text with nothing but flow's handlers. A file that was there and blank gets no line break at its end, so that it
    /// stays when they are taken out.
    fn alone(&self, handler: &hosts::Handler, blank: &str, exists: bool) -> Edited {
        let mut whole = json!({ HOOKS: self.hooks(handler) });
        for (key, value) in beside(handler) {
            whole[key] = value;
        }
        let status_line = (self.status_line && self.host.hooks().has_status_line).then(|| {
            whole[STATUS_LINE] = self.status_line();
            StatusLine::Ours
        });
        let events = self.events(|_| false).iter().map(|event| event.0.to_owned()).collect();
        let end = if exists { "" } else { "\n" };
        Edited { text: Some(format!("{blank}{whole:#}{end}")), events, status_line }
    }

    /// Gives each event its handler, and says which ones changed.
    fn edit_hooks(
        &self,
        json: &mut JsonText<'_>,
        handler: &hosts::Handler,
        hooks: &JsonNode,
        outer: &Layout,
    ) -> Result<Vec<String>, EditFault> {
        let layout = json.layout(hooks, outer);
        let has_ours = |name: &str| hooks.get(name).is_some_and(|event| !ours(self.host, json, event).is_empty());
        let events = self.events(has_ours);
        let (mut new, mut changed) = (Vec::new(), Vec::new());
        for event in events {
            let is_changed = match hooks.get(event.0) {
                None => {
                    new.push((event.0, json!([self.item(handler, event)])));
                    true
                }
                Some(node) => self.edit_event(json, handler, event, node, &layout)?,
            };
            changed.extend(is_changed.then(|| event.0.to_owned()));
        }
        if !new.is_empty() {
            json.append(hooks, &layout, &new);
        }
        Ok(changed)
    }

    fn edit_event(
        &self,
        json: &mut JsonText<'_>,
        written: &hosts::Handler,
        event: Event,
        node: &JsonNode,
        outer: &Layout,
    ) -> Result<bool, EditFault> {
        let handlers = handlers(self.host, json, event.0, node)?;
        let ours: Vec<_> = handlers.into_iter().filter_map(|handler| Some((handler.call()?, handler))).collect();
        let mut is_changed = ours.iter().all(|(_, handler)| handler.matcher.is_some());
        if is_changed {
            let layout = json.layout(node, outer);
            json.append(node, &layout, &[("", self.item(written, event))]);
        }
        for (call, handler) in ours {
            let continues = self.continues || call == Call::Hook { continues: true };
            is_changed |= renew(json, written, &handler, &self.command(event, continues));
        }
        Ok(is_changed)
    }

    fn edit_status_line(
        &self,
        json: &mut JsonText<'_>,
        root: &JsonNode,
        new: &mut Vec<(&str, Value)>,
    ) -> Option<StatusLine> {
        if !self.host.hooks().has_status_line {
            return None;
        }
        match root.get(STATUS_LINE) {
            Some(node) if is_our_status_line(json, node) => {
                let old = node.get("command").map(|node| json.value(node)).unwrap_or_default();
                let command = command::in_place_of(old.as_str().unwrap_or_default(), &command::status_line());
                put(json, node, "command", &Value::from(command));
                Some(StatusLine::Ours)
            }
            Some(_) => self.status_line.then_some(StatusLine::Other),
            None => self.status_line.then(|| {
                new.push((STATUS_LINE, self.status_line()));
                StatusLine::Ours
            }),
        }
    }
}

/// What a file needs besides the hooks.
fn beside(handler: &hosts::Handler) -> Vec<(&'static str, Value)> {
    let parsed = |text: &str| parse_json(text).unwrap_or_default();
    handler.beside.iter().map(|(key, text)| (*key, parsed(text))).collect()
}

/// Gives a handler of flow this command and its timeout; a path to the program and everything else in it stays.
fn renew(json: &mut JsonText<'_>, written: &hosts::Handler, handler: &Handler<'_>, command: &str) -> bool {
    let command = command::in_place_of(handler.command.as_deref().unwrap_or_default(), command);
    let command = put(json, handler.node, written.command, &Value::from(command));
    put(json, handler.node, written.timeout, &Value::from(written.limit)) || command
}

/// Gives a member of an object this value, and says whether it had another one.
fn put(json: &mut JsonText<'_>, object: &JsonNode, key: &str, value: &Value) -> bool {
    match object.get(key) {
        Some(node) if json.value(node) == *value => return false,
        Some(node) => json.replace(node, value),
        None => {
            let layout = json.layout(object, &Layout::Line);
            json.append(object, &layout, &[(key, value.clone())]);
        }
    }
    true
}

/// Refuses hooks that are not an object.
fn check_hooks(json: &JsonText<'_>, hooks: &JsonNode) -> Result<(), EditFault> {
    match hooks.members() {
        Some(_) => Ok(()),
        None => Err(EditFault { help: SHAPE, ..fault(json, hooks, "\"hooks\" is not an object") }),
    }
}

/// The handlers of an event. Where the host has no groups, each is alone in one.
pub(super) fn handlers<'n>(
    host: AgentHost,
    json: &JsonText<'_>,
    name: &str,
    event: &'n JsonNode,
) -> Result<Vec<Handler<'n>>, EditFault> {
    let wrong = |node, what: &str| EditFault { help: SHAPE, ..fault(json, node, &format!("in {name:?}, {what}")) };
    let key = host.handler().map_or("command", |handler| handler.command);
    let groups = event.items().ok_or_else(|| wrong(event, "the value is not an array"))?;
    let mut found = Vec::new();
    for (group, entry) in groups.iter().enumerate() {
        let mut matcher = None;
        let items: Vec<&JsonNode> = if host.is_flat() {
            vec![&entry.value]
        } else {
            let hooks = entry.value.get(HOOKS).ok_or_else(|| wrong(&entry.value, "an item has no \"hooks\""))?;
            matcher = self::matcher(json, name, &entry.value);
            let items = hooks.items().ok_or_else(|| wrong(hooks, "\"hooks\" is not an array"))?;
            items.iter().map(|item| &item.value).collect()
        };
        for (position, node) in items.into_iter().enumerate() {
            if node.members().is_none() {
                return Err(wrong(node, "a handler is not an object"));
            }
            let command = node.get(key).and_then(|node| json.value(node).as_str().map(str::to_owned));
            found.push(Handler { group, position, node, command, matcher: matcher.clone() });
        }
    }
    Ok(found)
}

/// The matcher of a group, unless it matches everything or the event has none.
fn matcher(json: &JsonText<'_>, event: &str, group: &JsonNode) -> Option<String> {
    let matcher = json.value(group.get("matcher").filter(|_| host::has_matcher(event))?);
    matcher.as_str().filter(|matcher| !["", "*"].contains(matcher)).map(str::to_owned)
}

/// Group and position of flow's handlers of an event; none if the event does not have the shape that hosts read.
fn ours(host: AgentHost, json: &JsonText<'_>, event: &JsonNode) -> Vec<(usize, usize)> {
    let all = handlers(host, json, "", event).unwrap_or_default();
    all.iter().filter(|handler| handler.call().is_some()).map(|handler| (handler.group, handler.position)).collect()
}

/// Whether flow writes the status line that `node` sets.
pub(super) fn is_our_status_line(json: &JsonText<'_>, node: &JsonNode) -> bool {
    let command = node.get("command").map(|node| json.value(node));
    command.as_ref().and_then(Value::as_str).and_then(command::call) == Some(Call::StatusLine)
}

/// The settings without flow's handlers and status line.
pub(super) fn uninstall(host: AgentHost, text: &str) -> Result<Edited, EditFault> {
    let same = |text: &str| Edited { text: Some(text.to_owned()), events: Vec::new(), status_line: None };
    let Some(handler) = host.handler() else {
        // What someone has edited stays.
        let text = script::judge(text).is_err().then(|| text.to_owned());
        return Ok(Edited { text, events: Vec::new(), status_line: None });
    };
    let (mark, body) = unmarked(host, text)?;
    if is_blank(body) {
        return Ok(same(text));
    }
    let mut json = JsonText::parse(body)?;
    let root = json.root().clone();
    let Some(members) = root.members() else { return Ok(same(text)) };
    let mut events = Vec::new();
    let hooks = root.get(HOOKS);
    let hooks_rest = hooks.map(|hooks| out_of_hooks(host, &mut json, hooks, &mut events));
    let status_line = root.get(STATUS_LINE).filter(|node| is_our_status_line(&json, node));
    // flow puts these behind hooks that it adds, and nowhere else.
    let place = members.iter().position(|member| member.key == HOOKS);
    let beside = beside(handler);
    let is_beside = |at: usize| {
        let value = beside.iter().find(|(key, _)| *key == members[at].key).map(|(_, value)| value);
        hooks_rest == Some(Rest::Nothing) && Some(at) > place && value == Some(&json.value(&members[at].value))
    };
    let gone: Vec<bool> = (0..members.len()).map(is_beside).collect();
    let is_gone = |at: usize| match members[at].key.as_str() {
        HOOKS => hooks_rest == Some(Rest::Nothing),
        STATUS_LINE => status_line.is_some(),
        _ => gone[at],
    };
    let status_line = status_line.map(|_| StatusLine::Ours);
    let text = match json.take_out(&root, is_gone) {
        Rest::Stays => Some(format!("{mark}{}", json.finish())),
        Rest::Nothing => without_root(mark, json),
    };
    Ok(Edited { text, events, status_line })
}

/// Takes flow's handlers out of all events.
fn out_of_hooks(host: AgentHost, json: &mut JsonText<'_>, hooks: &JsonNode, changed: &mut Vec<String>) -> Rest {
    let Some(events) = hooks.members() else { return Rest::Stays };
    let mut gone = Vec::new();
    for (at, event) in events.iter().enumerate() {
        let ours = ours(host, json, &event.value);
        if ours.is_empty() {
            continue;
        }
        changed.push(event.key.clone());
        if out_of_event(host, json, &event.value, &ours) == Rest::Nothing {
            gone.push(at);
        }
    }
    if gone.is_empty() { Rest::Stays } else { json.take_out(hooks, |at| gone.contains(&at)) }
}

fn out_of_event(host: AgentHost, json: &mut JsonText<'_>, event: &JsonNode, ours: &[(usize, usize)]) -> Rest {
    let groups = event.items().unwrap_or_default();
    let mut gone = Vec::new();
    for (at, group) in groups.iter().enumerate() {
        let is_ours = |position: usize| ours.contains(&(at, position));
        let Some(handlers) = group.value.get(HOOKS).filter(|_| !host.is_flat()) else {
            gone.extend(is_ours(0).then_some(at));
            continue;
        };
        let count = handlers.items().unwrap_or_default().len();
        match (0..count).filter(|position| is_ours(*position)).count() {
            0 => {}
            all if all == count => gone.push(at),
            _ => drop(json.take_out(handlers, is_ours)),
        }
    }
    if gone.is_empty() { Rest::Stays } else { json.take_out(event, |at| gone.contains(&at)) }
}

/// What is left when nothing but flow's handlers was there: no file if flow made it, else what it was before.
pub(super) fn without_root(mark: &str, mut json: JsonText<'_>) -> Option<String> {
    let (before, inner, after) = json.around();
    let is_made_by_flow = inner == "\n" && is_blank(before);
    match after {
        "\n" if is_made_by_flow && mark.is_empty() && before.is_empty() => None,
        "" if is_made_by_flow => Some(format!("{mark}{before}")),
        _ => {
            json.replace_root("{}");
            Some(format!("{mark}{}", json.finish()))
        }
    }
}

fn fault(json: &JsonText<'_>, node: &JsonNode, reason: &str) -> EditFault {
    EditFault { place: json.place(node), reason: reason.to_owned(), help: STRICT }
}
