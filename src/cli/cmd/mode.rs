//! `mode request | list | show | write | clear | cancel | outcome | prompt | policy`.

use std::io::{self, IsTerminal, Read};
use std::path::Path;

use serde_json::{Map, Value};

use crate::cli::args::{ModeCommand, ReviewArg, ScopeArgs};
use crate::cli::cmd::record::source;
use crate::cli::exit::Exit;
use crate::cli::out::Out;
use crate::cli::page::{self, Page};
use crate::model::{ModeName, limits};
use crate::modes::{
    self, DecidedBy, Error, ModeDecision, ModeEndReport, ModeEndRequest, ModeListReport, ModeListRequest,
    ModePromptReport, ModePromptRequest, ModeRequest, ModeRequestReport, ModeScope, ModeShowReport, ModeShowRequest,
    ModeWriteReport, ModeWriteRequest, OutcomeReport, PolicyReport,
};
use crate::runs::{self, Context, Source};

pub(super) fn run(cx: &Context, command: ModeCommand, out: &mut Out) -> Exit {
    match command {
        ModeCommand::Request { mode, scope, review, run_id } => {
            let review_clean = review.map(ReviewArg::is_clean);
            let request = ModeRequest { mode, scope: whose(scope), review_clean, run: run_id };
            answered(out, modes::request(cx, &request), requested)
        }
        ModeCommand::List { scope, all } => {
            let request = ModeListRequest { scope: whose(scope), all };
            answered(out, modes::list(cx, &request), |report, out| {
                out.warnings(&report.warnings);
                out.answer(report, || list(report, all))
            })
        }
        ModeCommand::Show { mode, scope } => {
            let request = ModeShowRequest { mode, scope: whose(scope) };
            answered(out, modes::show(cx, &request), |report, out| {
                let exit = out.answer(report, || shown(report));
                if report.exists { exit } else { Exit::NotFound }
            })
        }
        command @ ModeCommand::Write { .. } => write(cx, command, out),
        ModeCommand::Clear { mode, scope, all } => {
            let request = ModeEndRequest { mode, scope: whose(scope), all };
            answered(out, modes::clear(cx, &request), |report, out| ended(report, "cleared", out))
        }
        ModeCommand::Cancel { mode, scope, all } => {
            let request = ModeEndRequest { mode, scope: whose(scope), all };
            answered(out, modes::cancel(cx, &request), |report, out| ended(report, "cancelled", out))
        }
        ModeCommand::Outcome { file } => {
            let told = source(cx, Path::new(&file))
                .map_err(Error::Run)
                .and_then(|read| modes::outcome(&read.origin, read.text.as_bytes()));
            answered(out, told, |report, out| out.answer(report, || outcome(report)))
        }
        ModeCommand::Prompt { text, scope } => {
            let text = text.filter(|text| text != "-").map_or_else(prompt_of_hook, Ok);
            let told = text
                .map_err(Error::Run)
                .and_then(|text| ModePromptRequest::read(&text, whose(scope)))
                .and_then(|request| modes::prompt(cx, &request));
            answered(out, told, prompt)
        }
        ModeCommand::Policy { table } => {
            answered(out, modes::table(cx), |report, out| out.answer(report, || policy(report, table)))
        }
    }
}

fn whose(scope: ScopeArgs) -> ModeScope {
    ModeScope { session: scope.session, root: scope.root }
}

fn answered<T>(out: &mut Out, result: Result<T, Error>, tell: impl FnOnce(&T, &mut Out) -> Exit) -> Exit {
    match result {
        Ok(report) => tell(&report, out),
        Err(error) => out.error(&error),
    }
}

fn requested(report: &ModeRequestReport, out: &mut Out) -> Exit {
    if report.changed {
        out.committed(report.message.clone());
    }
    out.warnings(&report.warnings);
    let exit = out.answer(report, || {
        let mut page = Page::default();
        let style = if report.decision == ModeDecision::Deny { page::BAD } else { page::GOOD };
        page.head(style, report.decision.as_str(), &report.message);
        page.field("active", &names(&report.active));
        page.finish()
    });
    match report.decision {
        ModeDecision::Deny if exit == Exit::Done => Exit::Refused,
        _ => exit,
    }
}

fn names(modes: &[ModeName]) -> String {
    let names: Vec<&str> = modes.iter().map(ModeName::as_str).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

fn list(report: &ModeListReport, all: bool) -> String {
    let mut page = Page::default();
    if report.modes.is_empty() {
        page.line("no mode has begun here");
        return page.finish();
    }
    let rows = report.modes.iter().map(|mode| {
        let phase = mode.current_phase.clone().unwrap_or_else(|| "-".to_owned());
        let mut row = vec![mode.mode.to_string(), mode.state().to_owned(), phase];
        if all || report.scope.0.is_some() {
            row.push(mode.scope.to_string());
        }
        if mode.scope != report.scope && !all {
            row.push(mode.decided_by.why.clone());
        }
        row.extend(mode.decided_by.hides.iter().map(|file| format!("hides {}", file.display())));
        row.extend(mode.run_id.iter().map(|run| format!("run {run}")));
        row.extend(mode.error.iter().chain(&mode.notes).cloned());
        row
    });
    page.table(0, &rows.collect::<Vec<_>>());
    page.finish()
}

fn shown(report: &ModeShowReport) -> String {
    let mut page = Page::default();
    let Some(state) = &report.state else {
        page.line(&format!("{} has no file here ({})", report.mode, report.scope));
        report.decided_by.iter().for_each(|decided| of_decided(&mut page, decided));
        return page.finish();
    };
    page.head(page::STRONG, report.mode.as_str(), &report.scope.to_string());
    for (field, value) in state {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        page.field(field, &text);
    }
    page.field("ended", report.outcome.map_or("no", |outcome| outcome.as_str()));
    report.decided_by.iter().for_each(|decided| of_decided(&mut page, decided));
    report.notes.iter().for_each(|note| page.field("note", note));
    page.finish()
}

/// The file that decides whether the mode is active, and why.
fn of_decided(page: &mut Page, decided: &DecidedBy) {
    let state = match decided.active {
        Some(true) => "active",
        Some(false) => "not active",
        None => "unreadable",
    };
    page.field("decided by", &format!("{} ({state}): {}", decided.path.display(), decided.why));
    decided.hides.iter().for_each(|file| page.field("hides", &file.display().to_string()));
}

fn write(cx: &Context, command: ModeCommand, out: &mut Out) -> Exit {
    let ModeCommand::Write { mode, scope, data, active, phase, iteration, outcome, run_id, review } = command else {
        return Exit::Usage;
    };
    let fields = fields(data).map(|mut fields| {
        let given = [
            ("active", active.map(Value::from)),
            ("current_phase", phase.map(Value::from)),
            ("iteration", iteration.map(Value::from)),
            ("lifecycle_outcome", outcome.map(Value::from)),
            ("run_id", run_id.map(Value::from)),
        ];
        fields.extend(given.into_iter().filter_map(|(field, value)| Some((field.to_owned(), value?))));
        fields
    });
    let review_clean = review.map(ReviewArg::is_clean);
    let written = fields
        .and_then(|fields| modes::write(cx, &ModeWriteRequest { mode, scope: whose(scope), fields, review_clean }));
    answered(out, written, |report: &ModeWriteReport, out| {
        if report.changed {
            out.committed(format!("{} is written", report.path.display()));
        }
        out.warnings(&report.warnings);
        out.answer(report, || {
            let mut page = Page::default();
            let what = if report.changed { "is written" } else { "says so already" };
            page.line(&format!("{} {what}", report.path.display()));
            if !report.completed.is_empty() {
                page.field("completed", &names(&report.completed));
            }
            page.finish()
        })
    })
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
    let told: Vec<String> = report.ended.iter().map(|ended| format!("{} ({})", ended.mode, ended.scope)).collect();
    if report.changed {
        out.committed(format!("{word}: {}", told.join(", ")));
    }
    out.warnings(&report.warnings);
    out.answer(report, || {
        let mut page = Page::default();
        match told.is_empty() {
            true => page.line("nothing to end"),
            false => page.line(&format!("{word}: {}", told.join(", "))),
        }
        page.field("active", &names(&report.active));
        page.finish()
    })
}

fn outcome(report: &OutcomeReport) -> String {
    let mut page = Page::default();
    page.line(report.outcome.map_or("it goes on", |outcome| outcome.as_str()));
    report.notes.iter().for_each(|note| page.field("note", note));
    page.finish()
}

/// The prompt on standard input: plain text, or the JSON that a hook gets.
fn prompt_of_hook() -> Result<String, runs::Error> {
    let fault = |source| runs::Error::Input { origin: "standard input".to_owned(), source };
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
    let exit = out.answer(report, || {
        let mut page = Page::default();
        if report.messages.is_empty() {
            page.line("the prompt asks for no skill");
        }
        report.messages.iter().for_each(|message| page.line(message));
        page.finish()
    });
    if report.error.is_some() && exit == Exit::Done { Exit::Refused } else { exit }
}

fn policy(report: &PolicyReport, table: bool) -> String {
    let mut page = Page::default();
    let from = report.path.as_ref().map_or("shipped".to_owned(), |path| path.display().to_string());
    page.head(page::STRONG, "policy", &from);
    if !table {
        let rows = report.modes.iter().map(|mode| {
            let kind = match mode.kind {
                crate::modes::policy::Kind::Planning => "planning",
                crate::modes::policy::Kind::Execution => "execution",
            };
            vec![mode.mode.to_string(), kind.to_owned(), mode.aliases.join(", ")]
        });
        page.table(2, &rows.collect::<Vec<_>>());
        return page.finish();
    }
    let mut rows = vec![vec!["active \\ asked".to_owned()]];
    rows[0].extend(report.modes.iter().map(|mode| mode.mode.to_string()));
    for row in &report.table {
        let cells = row.requested.iter().map(|word| sign(word));
        rows.push([row.active.to_string()].into_iter().chain(cells).collect());
    }
    page.table(0, &rows);
    page.line("= no change   A the active one is completed   O both are active   D denied   R denied, no rollback");
    page.line("a second sign behind | is for a review that is clean");
    page.finish()
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
