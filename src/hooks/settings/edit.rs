//! Puts flow's handlers into the text of a settings file, and takes them out again.
//!
//! All other bytes stay. A new handler is put after the last one of its event, because Codex recognises the handlers that
//! it trusts by their position.

use std::slice;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::codec::{JsonFault, JsonLayout, JsonNode, JsonText, Rest, parse_json};
use crate::hooks::settings::AgentHost;
use crate::hooks::settings::command::{self, Call};
use crate::hooks::settings::error::{SHAPE, STRICT, SettingsFault, WHOLE};
use crate::hooks::settings::host::{HOOKS, STATUS_LINE, has_matcher};
use crate::hooks::settings::{script, whole};
use crate::host::{Handler, HostEvent};
use crate::runs::StopOptions;

/// What the settings are to have.
#[derive(Debug, Clone, Copy)]
pub(super) struct WantedHooks {
    pub(super) host: AgentHost,
    /// What the event `stop` does.
    pub(super) stop: StopOptions,
    /// Whether flow writes the status line.
    pub(super) status_line: bool,
}

/// What an edit did to the status line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StatusLineOutcome {
    /// flow writes it.
    Installed,
    /// Another program writes it, and stays.
    Kept,
    /// flow no longer writes it.
    Removed,
}

/// A text of settings, edited.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct EditedSettings {
    /// The new text; `None` if the file can go.
    pub(super) text: Option<String>,
    /// What of flow is new, changed or gone: the events with its handlers, or the keys or items of an entry.
    pub(super) entries: Vec<String>,
    pub(super) status_line: Option<StatusLineOutcome>,
    /// Whether an entry of someone's own stands in the place of flow's.
    pub(super) is_taken: bool,
}

impl EditedSettings {
    /// This text, without entries to name.
    pub(super) fn of_text(text: Option<&str>) -> Self {
        Self { text: text.map(str::to_owned), ..Self::default() }
    }
}

/// A handler of an event.
pub(super) struct EventHandler<'n> {
    pub(super) group: usize,
    pub(super) position: usize,
    pub(super) node: &'n JsonNode,
    pub(super) command: Option<String>,
    /// Which of the event's causes it is for; none if it is for all of them.
    pub(super) matcher: Option<String>,
}

impl EventHandler<'_> {
    /// What the handler calls, if it is flow's.
    pub(super) fn call(&self) -> Option<Call> {
        match command::call(self.command.as_deref()?)? {
            // Someone who calls it at an event wants something else of it.
            Call::StatusLine => None,
            call => Some(call),
        }
    }
}

impl From<JsonFault> for SettingsFault {
    fn from(fault: JsonFault) -> Self {
        Self { place: fault.place, reason: fault.reason, help: STRICT }
    }
}

const MARK: char = '\u{feff}';

/// The text behind a byte order mark, which Claude Code skips.
pub(super) fn unmarked(host: AgentHost, text: &str) -> Result<(&str, &str), SettingsFault> {
    let body = text.strip_prefix(MARK).unwrap_or(text);
    let mark = &text[..text.len() - body.len()];
    if host.hooks().only_keys.is_some() && !mark.is_empty() {
        let reason = format!("{} does not read a file that begins with a byte order mark", host.title());
        return Err(SettingsFault::of_file(reason, STRICT));
    }
    Ok((mark, body))
}

/// Whether the text holds only white space, or nothing at all.
pub(super) fn is_blank(body: &str) -> bool {
    body.chars().all(|c| " \t\r\n".contains(c))
}

/// Refuses settings that their host does not read, although they are JSON.
pub(super) fn check(host: AgentHost, json: &JsonText<'_>) -> Result<(), SettingsFault> {
    let root = json.root();
    let Some(members) = root.members() else { return Err(fault(json, root, "the settings are not an object")) };
    if let Some(known) = host.hooks().only_keys
        && let Some(other) = members.iter().find(|member| !known.contains(&member.key.as_str()))
    {
        let reason = format!("{} does not read a file with the key {:?}", host.title(), other.key);
        return Err(fault(json, &other.value, &reason));
    }
    if let Some(hooks) = root.get(HOOKS)
        && hooks.members().is_none()
    {
        return Err(SettingsFault { help: SHAPE, ..fault(json, hooks, "\"hooks\" is not an object") });
    }
    // A file that is out of effect already has no permissions either, and its owner has to know.
    match whole::fault(host, json) {
        Some((node, reason)) => Err(SettingsFault { help: WHOLE, ..fault(json, node, &reason) }),
        None => Ok(()),
    }
}

/// The settings with flow's handlers; `text` is `None` for a missing file.
pub(super) fn install(text: Option<&str>, wanted: &WantedHooks) -> Result<EditedSettings, SettingsFault> {
    let Some(handler) = wanted.host.handler() else {
        // A script is replaced whole, so one that someone has edited is refused.
        text.map(script::recognize).transpose()?;
        return Ok(EditedSettings { text: Some(script::text()), ..EditedSettings::default() });
    };
    let (mark, body) = unmarked(wanted.host, text.unwrap_or_default())?;
    if is_blank(body) {
        return Ok(wanted.alone(handler, &format!("{mark}{body}"), text.is_some()));
    }
    let mut json = JsonText::parse(body)?;
    let root = json.root().clone();
    check(wanted.host, &json)?;
    let layout = json.layout(&root, &JsonLayout::Lines(String::new()));
    let mut edited = EditedSettings::default();
    let mut new = Vec::new();
    if let Some(hooks) = root.get(HOOKS) {
        edited.entries = wanted.edit_hooks(&mut json, handler, hooks, &layout)?;
    } else {
        new.push((HOOKS, wanted.hooks(handler)));
        // A member that a person wrote stays: it stands before the hooks, so an uninstall leaves it, too.
        new.extend(beside(handler).into_iter().filter(|(key, _)| root.get(key).is_none()));
        edited.entries = wanted.event_names();
    }
    edited.status_line = wanted.edit_status_line(&mut json, &root, &mut new);
    if !new.is_empty() {
        json.append(&root, &layout, &new);
    }
    edited.text = Some(format!("{mark}{}", json.finish()));
    Ok(edited)
}

impl WantedHooks {
    fn command(&self, event: HostEvent, stop: StopOptions) -> String {
        command::hook(self.host, event, stop)
    }

    /// The events that get a handler.
    fn events(&self, with_stop: bool) -> Vec<HostEvent> {
        let mut events = self.host.hooks().events.to_vec();
        if with_stop {
            events.extend(self.host.hooks().stop);
        }
        events
    }

    /// The names of the events that get a handler where there was none.
    fn event_names(&self) -> Vec<String> {
        self.events(self.stop.any()).iter().map(|event| event.name.to_owned()).collect()
    }

    /// What an event's list gets.
    fn item(&self, handler: &Handler, event: HostEvent) -> Value {
        let mut item = Map::new();
        if handler.is_typed {
            item.insert("type".to_owned(), json!("command"));
        }
        item.insert(handler.command.to_owned(), json!(self.command(event, self.stop)));
        item.insert(handler.timeout.to_owned(), json!(handler.limit));
        if self.host.is_flat() { Value::Object(item) } else { json!({ HOOKS: [item] }) }
    }

    fn hooks(&self, handler: &Handler) -> Value {
        let events = self.events(self.stop.any()).into_iter();
        Value::Object(events.map(|event| (event.name.to_owned(), json!([self.item(handler, event)]))).collect())
    }

    fn status_line(&self) -> Value {
        json!({ "type": "command", "command": command::status_line() })
    }

    /// A text with nothing but flow's handlers. A file that was there and blank gets no line break at its end, so that it
    /// stays when they are taken out.
    fn alone(&self, handler: &Handler, blank: &str, exists: bool) -> EditedSettings {
        let mut whole = json!({ HOOKS: self.hooks(handler) });
        for (key, value) in beside(handler) {
            whole[key] = value;
        }
        let mut edited = EditedSettings { entries: self.event_names(), ..EditedSettings::default() };
        if self.status_line && self.host.hooks().has_status_line {
            whole[STATUS_LINE] = self.status_line();
            edited.status_line = Some(StatusLineOutcome::Installed);
        }
        let end = if exists { "" } else { "\n" };
        edited.text = Some(format!("{blank}{whole:#}{end}"));
        edited
    }

    /// Gives each event its handler, and says which ones changed.
    fn edit_hooks(
        &self,
        json: &mut JsonText<'_>,
        handler: &Handler,
        hooks: &JsonNode,
        outer: &JsonLayout,
    ) -> Result<Vec<String>, SettingsFault> {
        let layout = json.layout(hooks, outer);
        // An event that has a handler of flow keeps it: people install again after an update, without all options.
        let stop = self.host.hooks().stop.and_then(|stop| hooks.get(stop.name));
        let keeps_stop = stop.is_some_and(|event| !ours(self.host, json, event).is_empty());
        let (mut new, mut changed) = (Vec::new(), Vec::new());
        for event in self.events(self.stop.any() || keeps_stop) {
            let is_changed = match hooks.get(event.name) {
                None => {
                    new.push((event.name, json!([self.item(handler, event)])));
                    true
                }
                Some(node) => self.edit_event(json, handler, event, node, &layout)?,
            };
            if is_changed {
                changed.push(event.name.to_owned());
            }
        }
        if !new.is_empty() {
            json.append(hooks, &layout, &new);
        }
        Ok(changed)
    }

    fn edit_event(
        &self,
        json: &mut JsonText<'_>,
        written: &Handler,
        event: HostEvent,
        node: &JsonNode,
        outer: &JsonLayout,
    ) -> Result<bool, SettingsFault> {
        let handlers = handlers(self.host, json, event.name, node)?;
        let mut needs_one = true;
        let mut is_changed = false;
        for handler in handlers {
            let Some(call) = handler.call() else { continue };
            // A handler for some causes alone leaves the others without one.
            needs_one &= handler.matcher.is_some();
            is_changed |= renew(json, written, &handler, &self.command(event, self.stop.or(call.stop())));
        }
        if needs_one {
            let layout = json.layout(node, outer);
            json.append(node, &layout, &[("", self.item(written, event))]);
        }
        Ok(is_changed || needs_one)
    }

    fn edit_status_line(
        &self,
        json: &mut JsonText<'_>,
        root: &JsonNode,
        new: &mut Vec<(&str, Value)>,
    ) -> Option<StatusLineOutcome> {
        if !self.host.hooks().has_status_line {
            return None;
        }
        match root.get(STATUS_LINE) {
            // flow's own is brought up to date whether or not it was asked for.
            Some(node) if is_our_status_line(json, node) => {
                let old = node.get("command").map(|node| json.value(node)).unwrap_or_default();
                let command = command::in_place_of(old.as_str().unwrap_or_default(), &command::status_line());
                put(json, node, "command", &Value::from(command));
                Some(StatusLineOutcome::Installed)
            }
            _ if !self.status_line => None,
            Some(_) => Some(StatusLineOutcome::Kept),
            None => {
                new.push((STATUS_LINE, self.status_line()));
                Some(StatusLineOutcome::Installed)
            }
        }
    }
}

/// What a file needs besides the hooks.
fn beside(handler: &Handler) -> Vec<(&'static str, Value)> {
    handler.beside.iter().map(|(key, text)| (*key, parse_json(text).unwrap_or_default())).collect()
}

/// Gives a handler of flow this command and its timeout; a path to the program and everything else in it stays.
fn renew(json: &mut JsonText<'_>, written: &Handler, handler: &EventHandler<'_>, command: &str) -> bool {
    let command = command::in_place_of(handler.command.as_deref().unwrap_or_default(), command);
    let is_new_command = put(json, handler.node, written.command, &Value::from(command));
    put(json, handler.node, written.timeout, &Value::from(written.limit)) || is_new_command
}

/// Gives a member of an object this value, and says whether it had another one.
fn put(json: &mut JsonText<'_>, object: &JsonNode, key: &str, value: &Value) -> bool {
    match object.get(key) {
        Some(node) if json.value(node) == *value => return false,
        Some(node) => json.replace(node, value),
        None => {
            let layout = json.layout(object, &JsonLayout::Line);
            json.append(object, &layout, &[(key, value.clone())]);
        }
    }
    true
}

/// The handlers of an event. Where the host has no groups, each is alone in one.
pub(super) fn handlers<'n>(
    host: AgentHost,
    json: &JsonText<'_>,
    name: &str,
    event: &'n JsonNode,
) -> Result<Vec<EventHandler<'n>>, SettingsFault> {
    let key = host.handler().map_or("command", |handler| handler.command);
    let wrong = |node, what: &str| SettingsFault { help: SHAPE, ..fault(json, node, &format!("in {name:?}, {what}")) };
    let groups = event.items().ok_or_else(|| wrong(event, "the value is not an array"))?;
    let mut found = Vec::new();
    for (group, entry) in groups.iter().enumerate() {
        let (mut matcher, mut items) = (None, slice::from_ref(entry));
        if !host.is_flat() {
            let hooks = entry.value.get(HOOKS).ok_or_else(|| wrong(&entry.value, "an item has no \"hooks\""))?;
            items = hooks.items().ok_or_else(|| wrong(hooks, "\"hooks\" is not an array"))?;
            matcher = group_matcher(json, name, &entry.value);
        }
        for (position, item) in items.iter().enumerate() {
            let node = &item.value;
            if node.members().is_none() {
                return Err(wrong(node, "a handler is not an object"));
            }
            let command = node.get(key).and_then(|node| json.value(node).as_str().map(str::to_owned));
            found.push(EventHandler { group, position, node, command, matcher: matcher.clone() });
        }
    }
    Ok(found)
}

/// The matcher of a group, unless it matches everything or the event has none.
fn group_matcher(json: &JsonText<'_>, event: &str, group: &JsonNode) -> Option<String> {
    if !has_matcher(event) {
        return None;
    }
    match json.value(group.get("matcher")?).as_str() {
        None | Some("" | "*") => None,
        Some(matcher) => Some(matcher.to_owned()),
    }
}

/// flow's handlers of an event; none if the event does not have the shape that hosts read.
fn ours<'n>(host: AgentHost, json: &JsonText<'_>, event: &'n JsonNode) -> Vec<EventHandler<'n>> {
    let mut handlers = handlers(host, json, "", event).unwrap_or_default();
    handlers.retain(|handler| handler.call().is_some());
    handlers
}

/// Whether flow writes the status line that `node` sets.
pub(super) fn is_our_status_line(json: &JsonText<'_>, node: &JsonNode) -> bool {
    let Some(command) = node.get("command") else { return false };
    matches!(json.value(command).as_str(), Some(text) if command::call(text) == Some(Call::StatusLine))
}

/// The settings without flow's handlers and status line.
pub(super) fn uninstall(host: AgentHost, text: &str) -> Result<EditedSettings, SettingsFault> {
    let mut edited = EditedSettings::of_text(Some(text));
    let Some(handler) = host.handler() else {
        // What someone has edited stays.
        if script::recognize(text).is_ok() {
            edited.text = None;
        }
        return Ok(edited);
    };
    let (mark, body) = unmarked(host, text)?;
    if is_blank(body) {
        return Ok(edited);
    }
    let mut json = JsonText::parse(body)?;
    let root = json.root().clone();
    let Some(members) = root.members() else { return Ok(edited) };
    let hooks_go = match root.get(HOOKS) {
        Some(hooks) => out_of_hooks(host, &mut json, hooks, &mut edited.entries) == Rest::Nothing,
        None => false,
    };
    let place = members.iter().position(|member| member.key == HOOKS);
    let beside = beside(handler);
    let mut gone = Vec::new();
    for (at, member) in members.iter().enumerate() {
        let is_gone = match member.key.as_str() {
            HOOKS => hooks_go,
            STATUS_LINE => is_our_status_line(&json, &member.value),
            // flow puts these behind hooks that it adds, and nowhere else.
            key if hooks_go && Some(at) > place => beside.contains(&(key, json.value(&member.value))),
            _ => false,
        };
        if is_gone {
            gone.push(at);
            if member.key == STATUS_LINE {
                edited.status_line = Some(StatusLineOutcome::Removed);
            }
        }
    }
    edited.text = match json.take_out(&root, |at| gone.contains(&at)) {
        Rest::Stays => Some(format!("{mark}{}", json.finish())),
        Rest::Nothing => without_root(mark, json),
    };
    Ok(edited)
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
    // An object that was there and empty before stays.
    if gone.is_empty() { Rest::Stays } else { json.take_out(hooks, |at| gone.contains(&at)) }
}

fn out_of_event(host: AgentHost, json: &mut JsonText<'_>, event: &JsonNode, ours: &[EventHandler<'_>]) -> Rest {
    let groups = event.items().unwrap_or_default();
    let mut gone = Vec::new();
    for (at, group) in groups.iter().enumerate() {
        let here = ours.iter().filter(|handler| handler.group == at);
        let positions: Vec<usize> = here.map(|handler| handler.position).collect();
        if positions.is_empty() {
            continue;
        }
        // Without groups, the entry is the handler.
        let list = if host.is_flat() { None } else { group.value.get(HOOKS) };
        match list {
            Some(handlers) if positions.len() < handlers.items().unwrap_or_default().len() => {
                json.take_out(handlers, |position| positions.contains(&position));
            }
            _ => gone.push(at),
        }
    }
    if gone.is_empty() { Rest::Stays } else { json.take_out(event, |at| gone.contains(&at)) }
}

/// What is left when nothing but flow's handlers was there: no file if flow made it, else what it was before.
pub(super) fn without_root(mark: &str, mut json: JsonText<'_>) -> Option<String> {
    let (before, inner, after) = json.around();
    // How it is written shows whose file it is: a record beside the file would be lost with a clone.
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

fn fault(json: &JsonText<'_>, node: &JsonNode, reason: &str) -> SettingsFault {
    SettingsFault { place: json.place(node), reason: reason.to_owned(), help: STRICT }
}
