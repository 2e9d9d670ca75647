//! What is installed in a file of settings.

use serde_json::Value;

use crate::codec::{JsonNode, JsonText, Place};
use crate::hooks::settings::AgentHost;
use crate::hooks::settings::command::{self, Call};
use crate::hooks::settings::edit;
use crate::hooks::settings::error::SettingsFault;
use crate::hooks::settings::file::SettingsFile;
use crate::hooks::settings::host::{HOOKS, STATUS_LINE};
use crate::hooks::settings::script::{self, PluginScript};

/// What a file of settings has of flow.
#[derive(Debug, Default)]
pub(super) struct InstalledHooks {
    pub(super) handlers: Vec<FoundHandler>,
    /// Whether flow writes the status line.
    pub(super) status_line: bool,
    /// Whether all hooks are turned off here.
    pub(super) all_off: bool,
    /// Whose script it is, where the file is one.
    pub(super) script: Option<PluginScript>,
}

/// A handler that calls flow.
#[derive(Debug)]
pub(super) struct FoundHandler {
    pub(super) event: String,
    pub(super) group: usize,
    pub(super) position: usize,
    pub(super) command: String,
    /// What it calls; none if the command line is someone's own.
    pub(super) call: Option<Call>,
    /// Which of the event's causes it is for; none if it is for all of them.
    pub(super) matcher: Option<String>,
    /// Its time limit in seconds.
    pub(super) timeout: Option<f64>,
    /// Whether handlers of others stand behind it.
    pub(super) is_before_others: bool,
    pub(super) place: Place,
}

impl InstalledHooks {
    /// Whether flow has put anything here.
    pub(super) fn has_hooks(&self) -> bool {
        self.script.is_some() || !self.handlers.is_empty()
    }

    /// The handlers whose command lines flow or its instructions wrote.
    pub(super) fn ours(&self) -> impl Iterator<Item = &FoundHandler> {
        self.handlers.iter().filter(|handler| handler.call.is_some())
    }

    /// The events for which the host would not call flow every time.
    pub(super) fn missing_events(&self, host: AgentHost) -> Vec<&'static str> {
        let events = host.hooks().events.iter().map(|event| event.name);
        events.filter(|event| !self.handlers.iter().any(|handler| handler.serves(event))).collect()
    }
}

impl FoundHandler {
    /// The command line that this version of flow would write; `None` for an event that it does not answer.
    fn wanted(&self, host: AgentHost) -> Option<String> {
        let event = host.all_events().into_iter().find(|event| event.name == self.event)?;
        let stop = self.call.as_ref().map(Call::stop).unwrap_or_default();
        Some(command::hook(host, event, stop))
    }

    /// Whether flow answers its event.
    pub(super) fn is_answered(&self, host: AgentHost) -> bool {
        self.wanted(host).is_some()
    }

    /// Whether it is as this version of flow writes it.
    pub(super) fn is_current(&self, host: AgentHost) -> bool {
        let Some(wanted) = self.wanted(host) else { return false };
        command::in_place_of(&self.command, &wanted) == self.command && self.has_timeout(host)
    }

    /// Whether it is flow's, and answers each `event`, whatever caused it.
    pub(super) fn serves(&self, event: &str) -> bool {
        self.call.is_some() && self.event == event && self.matcher.is_none()
    }

    /// Whether something causes both.
    pub(super) fn meets(&self, other: &Self) -> bool {
        let (ours, others) = (&self.matcher, &other.matcher);
        self.event == other.event && (ours == others || ours.is_none() || others.is_none())
    }

    /// Whether it has flow's time limit.
    pub(super) fn has_timeout(&self, host: AgentHost) -> bool {
        host.handler().is_some_and(|handler| self.timeout == Some(f64::from(handler.limit)))
    }
}

/// Looks into `text`.
pub(super) fn installed_hooks(settings: &SettingsFile, text: &str) -> Result<InstalledHooks, SettingsFault> {
    let Some(written) = settings.host.handler() else {
        let script = if text.is_empty() { None } else { Some(script::recognize(text)?) };
        return Ok(InstalledHooks { script, ..InstalledHooks::default() });
    };
    let (_, body) = edit::unmarked(settings.host, text)?;
    if edit::is_blank(body) {
        return Ok(InstalledHooks::default());
    }
    let json = JsonText::parse(body)?;
    edit::check(settings.host, &json)?;
    let root = json.root();
    let mut found = InstalledHooks {
        all_off: root.get("disableAllHooks").is_some_and(|node| json.value(node) == Value::Bool(true)),
        status_line: root.get(STATUS_LINE).is_some_and(|node| edit::is_our_status_line(&json, node)),
        ..InstalledHooks::default()
    };
    let Some(events) = root.get(HOOKS).and_then(JsonNode::members) else { return Ok(found) };
    for event in events {
        let all = match edit::handlers(settings.host, &json, &event.key, &event.value) {
            Ok(all) => all,
            // What is wrong in an event that flow does not answer is its owner's.
            Err(_) if !settings.host.hooks().events.iter().any(|answered| answered.name == event.key) => continue,
            Err(fault) => return Err(fault),
        };
        let first = found.handlers.len();
        for handler in all {
            let call = handler.call();
            let command = handler.command.unwrap_or_default();
            if command::call(&command).is_none() && !command::mentions_flow(&command) {
                // Those of flow that came before this one stand before it.
                for ours in &mut found.handlers[first..] {
                    ours.is_before_others = true;
                }
                continue;
            }
            found.handlers.push(FoundHandler {
                event: event.key.clone(),
                group: handler.group,
                position: handler.position,
                command,
                call,
                matcher: handler.matcher,
                timeout: handler.node.get(written.timeout).and_then(|node| json.value(node).as_f64()),
                is_before_others: false,
                place: json.place(handler.node),
            });
        }
    }
    Ok(found)
}
