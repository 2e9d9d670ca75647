//! The command lines in settings: those that flow writes, and how it recognises them later.

use std::path::{Path, PathBuf};

use crate::hooks::settings::AgentHost;
use crate::hooks::settings::host::STOP;
use crate::host::HostEvent;
use crate::runs::{Context, StopOptions};

/// Settings reach people who do not have flow, and stay when flow is gone: without it, their host would report a failing hook
/// at every prompt.
const GUARD: &str = "command -v flow >/dev/null || exit 0;";

/// What a command line of settings calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Call {
    /// `flow hook`.
    Hook(StopOptions),
    /// `flow session-end`, which earlier instructions named.
    SessionEnd,
    /// `flow hud`.
    StatusLine,
}

impl Call {
    /// Why it sends a session on at the event `stop`.
    pub(super) fn stop(&self) -> StopOptions {
        match self {
            Self::Hook(stop) => *stop,
            Self::SessionEnd | Self::StatusLine => StopOptions::default(),
        }
    }
}

/// The command line for `event`.
pub(super) fn hook(host: AgentHost, event: HostEvent, stop: StopOptions) -> String {
    let mut line = format!("{GUARD} exec flow hook {} {}", host.as_str(), event.answer);
    for (wanted, option) in [(stop.continues, " --continue"), (stop.gates, " --gate")] {
        if wanted && event.answer == STOP {
            line.push_str(option);
        }
    }
    line
}

/// The command line for the status line.
pub(super) fn status_line() -> String {
    format!("{GUARD} exec flow hud")
}

/// What `command` calls, if it is a command line that flow or its instructions wrote: with or without the guard, and with
/// any path to the program. A longer command line is someone's own.
pub(super) fn call(command: &str) -> Option<Call> {
    let words = shlex::split(unguarded(command))?;
    let (program, arguments) = words.split_first()?;
    if Path::new(program).file_name()? != "flow" {
        return None;
    }
    // An option more, a pipe or a redirection makes it a command line of its author's, which is never rewritten.
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["hook", host, event] if is_plain(host) && is_plain(event) => Some(Call::Hook(StopOptions::default())),
        ["hook", host, "stop", ref options @ ..] if is_plain(host) => Some(Call::Hook(stop_options(options)?)),
        ["session-end"] => Some(Call::SessionEnd),
        ["hud"] => Some(Call::StatusLine),
        _ => None,
    }
}

fn stop_options(words: &[&str]) -> Option<StopOptions> {
    match words {
        ["--continue"] => Some(StopOptions { continues: true, gates: false }),
        ["--gate"] => Some(StopOptions { continues: false, gates: true }),
        ["--continue", "--gate"] => Some(StopOptions { continues: true, gates: true }),
        _ => None,
    }
}

fn unguarded(command: &str) -> &str {
    let command = command.trim_start();
    let command = command.strip_prefix(GUARD).unwrap_or(command).trim_start();
    command.strip_prefix("exec ").unwrap_or(command)
}

/// What replaces `old`, a command line of flow, by `new`: a path to the program stays, with what stands before it.
pub(super) fn in_place_of(old: &str, new: &str) -> String {
    match (program(old), program(new)) {
        // Its author wrote the path because the host's `PATH` does not lead there.
        (Some((word, end)), Some((_, begin))) if word != "flow" => format!("{}{}", &old[..end], &new[begin..]),
        _ => new.to_owned(),
    }
}

/// The word that names the program, as it is written, and where it ends.
fn program(command: &str) -> Option<(&str, usize)> {
    let line = unguarded(command);
    // A blank inside of quotes ends no word: what stands before it does not parse.
    for end in line.match_indices([' ', '\t', '\n']).map(|(at, _)| at).chain([line.len()]) {
        if let Some([_]) = shlex::split(&line[..end]).as_deref() {
            return Some((&line[..end], command.len() - line.len() + end));
        }
    }
    None
}

/// The program of a command line, if it is a path and no file is there. A name without a path and one with variables are
/// left to the shell.
pub(super) fn missing_program(cx: &Context, command: &str) -> Option<String> {
    let word = shlex::split(program(command)?.0)?.pop()?;
    let path = match (word.strip_prefix("~/"), &cx.env.home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(&word),
    };
    if !path.is_absolute() || cx.disk.is_file(&path) { None } else { Some(word) }
}

/// Whether the command line is someone's own, and calls flow for an event.
pub(super) fn mentions_flow(command: &str) -> bool {
    call(command).is_none() && (command.contains("flow hook ") || command.contains("flow session-end"))
}

fn is_plain(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_lowercase()) && word.chars().all(|c| c.is_ascii_lowercase() || c == '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_flow_writes_is_recognised_and_what_others_write_is_not() {
        for host in AgentHost::ALL {
            for event in host.all_events() {
                for (continues, gates) in [(false, false), (true, false), (false, true), (true, true)] {
                    let stop = StopOptions { continues, gates };
                    let line = hook(host, event, stop);
                    let wanted = Some(Call::Hook(if event.answer == STOP { stop } else { StopOptions::default() }));
                    assert_eq!(call(&line), wanted);
                    // As earlier versions wrote it for the user.
                    assert_eq!(call(line.split_once("exec ").unwrap().1), wanted);
                }
            }
        }
        assert_eq!(call("flow session-end"), Some(Call::SessionEnd));
        assert_eq!(call("'/opt/my tools/flow' hook auto stop"), Some(Call::Hook(StopOptions::default())));
        assert_eq!(call(&status_line()), Some(Call::StatusLine));
        for other in [
            "",
            "flow",
            "overflow hook codex stop",
            "flow hook codex stop | tee log",
            "flow hook codex stop 2>/dev/null",
            "flow hook codex stop; true",
            "flow session-end --session s1",
            "echo flow hook codex stop",
            "printf '%s' \"$payload\" | flow session-end",
            "'",
        ] {
            assert_eq!(call(other), None, "{other}");
        }
        for (old, wanted) in [
            ("flow session-end", "flow hook codex stop"),
            ("/opt/flow session-end", "/opt/flow hook codex stop"),
            (" '/opt/my tools/flow'  session-end", " '/opt/my tools/flow' hook codex stop"),
            ("command -v flow >/dev/null || exit 0; exec flow session-end", "flow hook codex stop"),
        ] {
            assert_eq!(in_place_of(old, "flow hook codex stop"), wanted);
        }
        let guarded = hook(AgentHost::Codex, HostEvent { name: "Stop", answer: STOP }, StopOptions::default());
        assert_eq!(in_place_of("~/bin/flow session-end", &guarded), "~/bin/flow hook codex stop");
        assert_eq!(
            in_place_of(&guarded.replace("exec flow", "exec /f/flow"), &guarded),
            guarded.replace("exec flow", "exec /f/flow")
        );
        assert!(mentions_flow("flow hook codex stop; true") && !mentions_flow("flow hook codex stop"));
    }
}
