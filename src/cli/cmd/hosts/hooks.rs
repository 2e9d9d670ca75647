//! `hooks install | uninstall | status | doctor | plugin | skill`.

use crate::cli::args::HooksCommand;
use crate::cli::exit::Exit;
use crate::cli::out::{CliResult, Out};
use crate::cli::page::{BAD, CARE, FAINT, GOOD, TextPage, place};
use crate::hooks::settings::{
    self, ChangeOutcome, HandlerTrust, HandlerVersion, HooksChangeReport, HooksDoctorReport, HooksDoctorRequest,
    HooksFilesReport, HooksInstallRequest, HooksPluginRequest, HooksSkillRequest, HooksStatusReport,
    HooksStatusRequest, HooksUninstallRequest, InstallState, Rules, SettingsChange, SettingsStatus, StatusLineOutcome,
};

use crate::runs::{Context, Result};

pub(in crate::cli::cmd) fn run(cx: &Context, command: HooksCommand, out: &mut Out) -> CliResult {
    match command {
        HooksCommand::Install { place, dry_run, continues, gates, status_line } => {
            let (host, scope) = (place.host, place.scope.into());
            let request = HooksInstallRequest { host, scope, dry_run, continues, gates, status_line };
            changed(settings::install(cx, &request), out)
        }
        HooksCommand::Uninstall { place, dry_run } => {
            let (host, scope) = (place.host, place.scope.into());
            changed(settings::uninstall(cx, &HooksUninstallRequest { host, scope, dry_run }), out)
        }
        HooksCommand::Status { host, scope } => {
            let report = settings::status(cx, &HooksStatusRequest { host, scope: scope.map(Into::into) })?;
            Ok(out.answer(&report, |page| status(&report, page)))
        }
        HooksCommand::Doctor { host } => {
            let report = settings::doctor(cx, &HooksDoctorRequest { host })?;
            let status = if report.ok { Exit::Done } else { Exit::Refused };
            Ok(out.answer(&report, |page| findings(&report, page)).then(status))
        }
        HooksCommand::Plugin { dir, replace } => {
            written(settings::plugin(cx, &HooksPluginRequest { dir, replace }), out)
        }
        HooksCommand::Skill { dir, replace } => written(settings::skill(cx, &HooksSkillRequest { dir, replace }), out),
    }
}

fn written(report: Result<HooksFilesReport>, out: &mut Out) -> CliResult {
    let report = report?;
    // The files are there even if the answer cannot be written.
    out.committed(format!("the files in {} are written", report.dir.display()));
    Ok(out.answer(&report, |page| {
        for file in &report.files {
            page.head(GOOD, outcome(file.outcome, false), &report.dir.join(&file.path).display().to_string());
        }
        for (at, line) in report.next.iter().enumerate() {
            page.field(if at == 0 { "next" } else { "" }, line);
        }
    }))
}

pub(in crate::cli::cmd) fn outcome(outcome: ChangeOutcome, is_planned: bool) -> &'static str {
    match (outcome, is_planned) {
        (ChangeOutcome::Created, false) => "created",
        (ChangeOutcome::Created, true) => "would be created",
        (ChangeOutcome::Changed, false) => "changed",
        (ChangeOutcome::Changed, true) => "would be changed",
        (ChangeOutcome::Unchanged, _) => "unchanged",
        (ChangeOutcome::Removed, false) => "removed",
        (ChangeOutcome::Removed, true) => "would be removed",
    }
}

fn findings(report: &HooksDoctorReport, page: &mut TextPage) {
    for finding in &report.findings {
        let about = match (&finding.path, finding.host) {
            (Some(path), _) => format!("{}  {}{}", finding.code, path.display(), place(finding.line, None)),
            (None, Some(host)) => format!("{}  {}", finding.code, host.title()),
            (None, None) => finding.code.to_owned(),
        };
        page.head(BAD, "finding", &about);
        page.line(&format!("  {}", finding.message));
        page.line(&format!("  help: {}", finding.help));
    }
    for call in &report.last_calls {
        page.line(&format!("last {} of {}: {}", call.event, call.host.title(), call.at));
    }
    if report.ok {
        let asked = if report.asked_codex { "" } else { "; Codex was not asked which hooks it trusts" };
        page.head(GOOD, "ok", &format!("nothing is wrong{asked}"));
    }
}

fn changed(report: Result<HooksChangeReport>, out: &mut Out) -> CliResult {
    let report = report?;
    if !report.dry_run
        && let Some(file) = report.files.iter().find(|file| file.outcome != ChangeOutcome::Unchanged)
    {
        out.committed(format!("{} is written", file.path.display()));
    }
    Ok(out.answer(&report, |page| change(&report, page)))
}

fn change(report: &HooksChangeReport, page: &mut TextPage) {
    for file in &report.files {
        page.head(GOOD, outcome(file.outcome, report.dry_run), &file.path.display().to_string());
        if !file.events.is_empty() {
            page.field(file.host.as_str(), &file.events.join(", "));
        }
        match file.status_line {
            None => {}
            Some(StatusLineOutcome::Installed) => page.field("statusline", "flow writes it"),
            Some(StatusLineOutcome::Removed) => page.field("statusline", "flow no longer writes it"),
            Some(StatusLineOutcome::Kept) => page.field("statusline", "another program writes it, and stays"),
        }
        page.each("trust", &file.trust);
        if !file.allow.is_empty() {
            allowed(file, page);
        }
        page.lines(file.diff.as_deref().unwrap_or_default());
    }
    for skipped in &report.skipped {
        let why = format!("{}: the plugin `{}` brings its hooks", skipped.host.title(), skipped.plugin);
        page.head(FAINT, "skipped", &why);
    }
}

/// The rules as they stand in the host's own settings.
fn allowed(file: &SettingsChange, page: &mut TextPage) {
    let (place, separator, shown): (_, _, Vec<_>) = match file.host.hooks().rules {
        Rules::List(place) => (place, ",", file.allow.iter().map(|rule| format!("{rule:?}")).collect()),
        Rules::Beginnings(place) => (place, "", file.allow.clone()),
        Rules::Unknown => return,
    };
    page.field("may allow", &format!("to let the agent call flow without asking, add to {place}:"));
    for (at, rule) in shown.iter().enumerate() {
        let end = if at + 1 < shown.len() { separator } else { "" };
        page.line(&format!("    {rule}{end}"));
    }
}

fn status(report: &HooksStatusReport, page: &mut TextPage) {
    for file in &report.files {
        of_file(file, page);
    }
    for plugin in &report.plugins {
        page.head(GOOD, "plugin", &format!("{} in {}", plugin.plugin, plugin.host.title()));
    }
}

fn of_file(file: &SettingsStatus, page: &mut TextPage) {
    let (style, word) = match file.installed {
        InstallState::Yes => (GOOD, "installed"),
        InstallState::Partly => (CARE, "partly"),
        InstallState::No => (FAINT, "not installed"),
        InstallState::Unknown => (BAD, "unreadable"),
    };
    page.head(style, word, &format!("{} {}  {}", file.host.as_str(), file.scope.as_str(), file.path.display()));
    if let Some(problem) = &file.problem {
        page.line(&format!("  {problem}"));
    }
    let rows = file.handlers.iter().map(|handler| {
        let version = match handler.version {
            HandlerVersion::Current => "",
            HandlerVersion::Other => "of another version of flow",
            HandlerVersion::Foreign => "someone's own",
        };
        let trust = match handler.trust {
            HandlerTrust::NotNeeded => "",
            HandlerTrust::Noted => "trust is noted",
            HandlerTrust::NotNoted => "no trust noted; `flow hooks doctor` asks Codex",
        };
        let mut notes = vec![version, trust];
        notes.retain(|note| !note.is_empty());
        [handler.event.clone(), notes.join(", "), handler.command.clone()]
    });
    page.table(2, rows);
    if !file.missing.is_empty() {
        page.field("missing", &file.missing.join(", "));
    }
    if file.status_line {
        page.field("statusline", "flow writes it");
    }
}
