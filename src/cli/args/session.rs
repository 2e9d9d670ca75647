//! Arguments of `hook`, `hud` and `session-end`.

use clap::Args;

use crate::cli::args::values::text;
use crate::model::SessionId;

/// What the help of `hook` says behind the options.
pub(super) const HOOK_TIMES: &str = "\
Times:
  A hook waits 0.1 s for another writer, 1 s for the modes that a prompt asks for, unless --lock-timeout says otherwise,
  and reads runs for 0.5 s at most.";

// Arguments of `hook`.
#[derive(Debug, Args)]
pub(crate) struct HookArgs {
    /// claude-code, codex, qwen, gemini-cli, copilot, opencode, or auto: the one that shows, else Codex
    #[arg(value_name = "HOST")]
    pub(crate) host: String,
    /// session-start, user-prompt-submit, pre-compact, stop, subagent-start, subagent-stop or session-end
    #[arg(value_name = "EVENT")]
    pub(crate) event: String,
    /// At stop: let the session go on once after each prompt, if its run can go on
    #[arg(long = "continue")]
    pub(crate) may_go_on: bool,
}

// Arguments of `hud`.
#[derive(Debug, Args)]
pub(crate) struct HudArgs {
    /// The session [default: the session_id on standard input, else FLOW_SESSION]
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<SessionId>,
    /// The line, with {run}, {name}, {workflow}, {status}, {phase}, {place}, {verdict}, {modes}, {age} and {others}
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, value_parser = text)]
    pub(crate) format: Option<String>,
    /// Print the line again whenever it changes
    #[arg(long)]
    pub(crate) watch: bool,
}

// Arguments of `session-end`.
#[derive(Debug, Args)]
pub(crate) struct SessionEndArgs {
    /// The session that ends [default: the hook's session_id on standard input, else FLOW_SESSION or the host's variable]
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<SessionId>,
    /// Without a session, mark the runs that nobody holds; so does standard input from a terminal or /dev/null
    #[arg(long)]
    pub(crate) unowned: bool,
}
