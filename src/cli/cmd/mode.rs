//! `mode request | list | show | write | clear | cancel | outcome | prompt | policy`.

use std::io::{self, IsTerminal, Read};
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::cli::args::{ModeCommand, ReviewArg, ScopeArgs};
use crate::cli::cmd::record::source;
use crate::cli::exit::Exit;
use crate::cli::out::{CliResult, Out};
use crate::cli::page::{self, TextPage, or_dash, unquoted};
use crate::model::{ModeName, limits};
use crate::modes::policy::ModeKind;
use crate::modes::{
    self, DecidedBy, Error, ModeDecision, ModeEndReport, ModeEndRequest, ModeListReport, ModeListRequest,
    ModePromptReport, ModePromptRequest, ModeRequest, ModeRequestReport, ModeScope, ModeShowReport, ModeShowRequest,
    ModeWriteRequest, OutcomeReport, PolicyReport,
};
use crate::runs::{self, Context, Source};

pub(super) fn run(cx: &Context, command: ModeCommand, out: &mut Out) -> CliResult {
    match command {
        ModeCommand::Request { mode, scope, review, run_id } => {
            let review_clean = review.map(ReviewArg::is_clean);
            let request = ModeRequest { mode, scope: whose(scope), review_clean, run: run_id };
            Ok(requested(&modes::request(cx, &request)?, out))
        }
        ModeCommand::List { scope, all } => {
            let report = modes::list(cx, &ModeListRequest { scope: whose(scope), all })?;
            out.warnings(&report.warnings);
            Ok(out.answer(&report, |page| list(&report, all, page)))
        }
        ModeCommand::Show { mode, scope } => {
            let report = modes::show(cx, &ModeShowRequest { mode, scope: whose(scope) })?;
            let exit = out.answer(&report, |page| shown(&report, page));
            Ok(if report.exists { exit } else { Exit::NotFound })
        }
        command @ ModeCommand::Write { .. } => write(cx, command, out),
        ModeCommand::Clear { mode, scope, all } => {
            let request = ModeEndRequest { mode, scope: whose(scope), all };
            Ok(ended(&modes::clear(cx, &request)?, "cleared", out))
        }
        ModeCommand::Cancel { mode, scope, all } => {
            let request = ModeEndRequest { mode, scope: whose(scope), all };
            Ok(ended(&modes::cancel(cx, &request)?, "cancelled", out))
        }
        ModeCommand::Outcome { file } => {
            let read = source(cx, Path::new(&file))?;
            let report = modes::outcome(&read.origin, read.text.as_bytes())?;
            Ok(out.answer(&report, |page| outcome(&report, page)))
        }
        ModeCommand::Prompt { text, scope } => {
            let text = match text {
                Some(text) if text != "-" => text,
                _ => prompt_of_hook()?,
            };
            Ok(prompt(&modes::prompt(cx, &ModePromptRequest::read(&text, whose(scope))?)?, out))
        }
        ModeCommand::Policy { table } => {
            let report = modes::table(cx)?;
            Ok(out.answer(&report, |page| policy(&report, table, page)))
        }
    }
}

fn whose(scope: ScopeArgs) -> ModeScope {
    ModeScope { session: scope.session, root: scope.root }
}

fn requested(report: &ModeRequestReport, out: &mut Out) -> Exit {
    if report.changed {
        out.committed(report.message.clone());
    }
    out.warnings(&report.warnings);
    let is_denied = report.decision == ModeDecision::Deny;
    // The policy has answered, so a refusal is not an error of the command.
    let status = if is_denied { Exit::Refused } else { Exit::Done };
    let shown = out.answer(report, |page| {
        let style = if is_denied { page::BAD } else { page::GOOD };
        page.head(style, report.decision.as_str(), &report.message);
        page.field("active", &names(&report.active));
    });
    shown.then(status)
}

fn names(modes: &[ModeName]) -> String {
    let names: Vec<&str> = modes.iter().map(ModeName::as_str).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

fn list(report: &ModeListReport, all: bool, page: &mut TextPage) {
    if report.modes.is_empty() {
        page.line("no mode of the policy has begun here");
        return;
    }
    let mut rows = Vec::new();
    for mode in &report.modes {
        let mut row = vec![mode.mode.to_string(), mode.state().to_owned(), or_dash(mode.current_phase.as_ref())];
        if all || report.scope.0.is_some() {
            row.push(mode.scope.to_string());
        }
        // Where every scope is listed, its name says why a mode is here.
        if mode.scope != report.scope && !all {
            row.push(mode.decided_by.why.clone());
        }
        row.extend(mode.decided_by.hides.iter().map(|file| format!("hides {}", file.display())));
        row.extend(mode.run_id.iter().map(|run| format!("run {run}")));
        row.extend(mode.error.iter().chain(&mode.notes).cloned());
        rows.push(row);
    }
    page.table(0, rows);
}

fn shown(report: &ModeShowReport, page: &mut TextPage) {
    let Some(state) = &report.state else {
        page.line(&format!("{} has no file here ({})", report.mode, report.scope));
        of_decided(page, report.decided_by.as_ref());
        return;
    };
    page.head(page::STRONG, report.mode.as_str(), &report.scope.to_string());
    for (field, value) in state {
        page.field(field, &unquoted(value));
    }
    page.field("ended", report.outcome.map_or("no", |outcome| outcome.as_str()));
    of_decided(page, report.decided_by.as_ref());
    page.each("note", &report.notes);
}

/// The file that decides whether the mode is active, and why.
fn of_decided(page: &mut TextPage, decided: Option<&DecidedBy>) {
    let Some(decided) = decided else { return };
    let state = match decided.active {
        Some(true) => "active",
        Some(false) => "not active",
        None => "unreadable",
    };
    page.field("decided by", &format!("{} ({state}): {}", decided.path.display(), decided.why));
    page.each("hides", decided.hides.as_ref().map(|file| file.display()));
}

fn write(cx: &Context, command: ModeCommand, out: &mut Out) -> CliResult {
    let ModeCommand::Write { mode, scope, data, active, phase, iteration, outcome, run_id, review } = command else {
        return Ok(Exit::Usage);
    };
    let mut fields = fields(data)?;
    // An option counts more than the same field in the JSON.
    for (field, value) in [
        ("active", json!(active)),
        ("current_phase", json!(phase)),
        ("iteration", json!(iteration)),
        ("lifecycle_outcome", json!(outcome)),
        ("run_id", json!(run_id)),
    ] {
        if !value.is_null() {
            fields.insert(field.to_owned(), value);
        }
    }
    let review_clean = review.map(ReviewArg::is_clean);
    let report = modes::write(cx, &ModeWriteRequest { mode, scope: whose(scope), fields, review_clean })?;
    if report.changed {
        out.committed(format!("{} is written", report.path.display()));
    }
    out.warnings(&report.warnings);
    Ok(out.answer(&report, |page| {
        let what = if report.changed { "is written" } else { "says so already" };
        page.line(&format!("{} {what}", report.path.display()));
        if !report.completed.is_empty() {
            page.field("completed", &names(&report.completed));
        }
    }))
}

/// The fields that the caller gave as JSON.
fn fields(data: Option<String>) -> Result<Map<String, Value>, Error> {
    match data {
        None => Ok(Map::new()),
        Some(data) if data == "-" => ModeWriteRequest::read_fields(Source::of_standard_input()?),
        Some(text) => ModeWriteRequest::read_fields(Source { origin: "--data".to_owned(), text }),
    }
}

fn ended(report: &ModeEndReport, word: &str, out: &mut Out) -> Exit {
    let ended: Vec<String> = report.ended.iter().map(|ended| format!("{} ({})", ended.mode, ended.scope)).collect();
    let line = if ended.is_empty() { "nothing to end".to_owned() } else { format!("{word}: {}", ended.join(", ")) };
    if report.changed {
        out.committed(format!("{word}: {}", ended.join(", ")));
    }
    out.warnings(&report.warnings);
    out.answer(report, |page| {
        page.line(&line);
        page.field("active", &names(&report.active));
    })
}

fn outcome(report: &OutcomeReport, page: &mut TextPage) {
    page.line(report.outcome.map_or("it goes on", |outcome| outcome.as_str()));
    page.each("note", &report.notes);
}

/// The prompt on standard input: plain text, or the JSON that a hook gets.
fn prompt_of_hook() -> Result<String, runs::Error> {
    let fault = |error| runs::Error::input("standard input", &error);
    // At a terminal nothing would come, and the command would seem to hang.
    if io::stdin().is_terminal() {
        return Err(runs::Error::Usage("give the prompt as an argument or on standard input".to_owned()));
    }
    let mut bytes = Vec::new();
    let bound = limits::HOOK_BYTES as u64 + 1;
    io::stdin().lock().take(bound).read_to_end(&mut bytes).map_err(fault)?;
    if bytes.len() > limits::HOOK_BYTES {
        let long = format!("is larger than {} bytes", limits::HOOK_BYTES);
        return Err(fault(io::Error::new(io::ErrorKind::FileTooLarge, long)));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn prompt(report: &ModePromptReport, out: &mut Out) -> Exit {
    if report.changed {
        out.committed(format!("active: {}", names(&report.active)));
    }
    out.warnings(&report.warnings);
    let shown = out.answer(report, |page| {
        if report.messages.is_empty() {
            page.line("the prompt asks for no skill");
        }
        for message in &report.messages {
            page.line(message);
        }
    });
    shown.then(if report.error.is_some() { Exit::Refused } else { Exit::Done })
}

fn policy(report: &PolicyReport, table: bool, page: &mut TextPage) {
    let from = match &report.path {
        Some(path) => path.display().to_string(),
        None => "shipped".to_owned(),
    };
    page.head(page::STRONG, "policy", &from);
    if !table {
        let rows = report.modes.iter().map(|mode| {
            let kind = match mode.kind {
                ModeKind::Planning => "planning",
                ModeKind::Execution => "execution",
            };
            [mode.mode.to_string(), kind.to_owned(), mode.aliases.join(", ")]
        });
        page.table(2, rows);
        return;
    }
    let mut head = vec!["active \\ asked".to_owned()];
    head.extend(report.modes.iter().map(|mode| mode.mode.to_string()));
    let mut rows = vec![head];
    for row in &report.table {
        let mut cells = vec![row.active.to_string()];
        cells.extend(row.requested.iter().map(|word| sign(word)));
        rows.push(cells);
    }
    page.table(0, rows);
    page.line("= no change   A the active one is completed   O both are active   D denied   R denied, no rollback");
    page.line("behind | stands what happens if the review was clean");
}

/// The sign of a rule in the table.
fn sign(word: &str) -> String {
    let signs = word.split('|').map(|word| match word {
        "no_change" => "=",
        "auto_complete" => "A",
        "overlap" => "O",
        "deny_overlap" => "D",
        "deny_rollback" => "R",
        other => other,
    });
    signs.collect::<Vec<_>>().join("|")
}
