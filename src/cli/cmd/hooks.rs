//! `hooks install | uninstall | status`.

use crate::cli::args::{HooksArgs, HooksCommand};
use crate::cli::exit::Exit;
use crate::cli::out::Out;
use crate::cli::page::{self, BAD, CARE, FAINT, GOOD, Page};
use crate::hooks::settings::{
    self, AgentHost, ChangeOutcome, HandlerVersion, HooksChangeReport, HooksInstallRequest, HooksStatusReport, HooksStatusRequest,
    HooksUninstallRequest, Installed, SettingsChange, SettingsStatus, StatusLineOutcome, Trust,
};
use crate::runs::Context;

pub(super) fn run(cx: &Context, args: HooksArgs, out: &mut Out) -> Exit {
    match args.command {
        HooksCommand::Install { place, dry_run, continues, status_line } => {
            let (host, scope) = (place.host.into(), place.scope.into());
            changed(settings::install(cx, &HooksInstallRequest { host, scope, dry_run, continues, status_line }), out)
        }
        HooksCommand::Uninstall { place, dry_run } => {
            let (host, scope) = (place.host.into(), place.scope.into());
            changed(settings::uninstall(cx, &HooksUninstallRequest { host, scope, dry_run }), out)
        }
        HooksCommand::Status { host, scope } => {
            let request = HooksStatusRequest { host: host.into(), scope: scope.map(Into::into) };
            match settings::status(cx, &request) {
                Ok(report) => out.answer(&report, || status(&report)),
                Err(error) => out.error(&error),
            }
        }
    }
}

fn changed(report: settings::Result<HooksChangeReport>, out: &mut Out) -> Exit {
    let report = match report {
        Ok(report) => report,
        Err(error) => return out.error(&error),
    };
    let is_written = |file: &SettingsChange| !report.dry_run && file.outcome != ChangeOutcome::Unchanged;
    if let Some(file) = report.files.iter().find(|file| is_written(file)) {
        out.committed(format!("{} is written", file.path.display()));
    }
    out.answer(&report, || change(&report))
}

fn change(report: &HooksChangeReport) -> String {
    let mut text = String::new();
    for file in &report.files {
        let mut page = Page::default();
        let (done, planned) = match file.outcome {
            ChangeOutcome::Created => ("created", "would be created"),
            ChangeOutcome::Changed => ("changed", "would be changed"),
            ChangeOutcome::Unchanged => ("unchanged", "unchanged"),
            ChangeOutcome::Removed => ("removed", "would be removed"),
        };
        page.head(GOOD, if report.dry_run { planned } else { done }, &file.path.display().to_string());
        if !file.events.is_empty() {
            page.field(file.host.as_str(), &file.events.join(", "));
        }
        match file.status_line {
            None => {}
            Some(StatusLineOutcome::Installed) => page.field("statusline", "flow writes it"),
            Some(StatusLineOutcome::Removed) => page.field("statusline", "flow does not write it any more"),
            Some(StatusLineOutcome::Kept) => page.field("statusline", "another program writes it, and stays"),
        }
        if let Some(trust) = &file.trust {
            page.field("trust", trust);
        }
        if !file.allow.is_empty() {
            page.field("allow", &allowed(file));
        }
        text += &page.finish();
        text += &page::clean_lines(file.diff.as_deref().unwrap_or_default());
    }
    text
}

/// The rules as they stand in the host's own settings.
fn allowed(file: &SettingsChange) -> String {
    match file.host {
        AgentHost::ClaudeCode => file.allow.iter().map(|rule| format!("{rule:?}")).collect::<Vec<_>>().join(", "),
        AgentHost::Codex => file.allow.join(", "),
    }
}

fn status(report: &HooksStatusReport) -> String {
    let mut page = Page::default();
    for file in &report.files {
        of_file(file, &mut page);
    }
    for plugin in &report.plugins {
        page.head(GOOD, "plugin", &format!("{} in {}", plugin.plugin, plugin.host.title()));
    }
    page.finish()
}

fn of_file(file: &SettingsStatus, page: &mut Page) {
    let (style, word) = match file.installed {
        Installed::Yes => (GOOD, "installed"),
        Installed::Partly => (CARE, "partly"),
        Installed::No => (FAINT, "not installed"),
        Installed::Unknown => (BAD, "unreadable"),
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
            Trust::NotNeeded => "",
            Trust::Noted => "trust is noted",
            Trust::NotNoted => "not trusted",
        };
        let notes: Vec<_> = [version, trust].into_iter().filter(|note| !note.is_empty()).collect();
        vec![handler.event.clone(), notes.join(", "), handler.command.clone()]
    });
    page.table(2, &rows.collect::<Vec<_>>());
    for (label, shown) in [
        ("missing", file.missing.join(", ")),
        ("statusline", if file.status_line { "flow writes it".to_owned() } else { String::new() }),
    ] {
        if !shown.is_empty() {
            page.field(label, &shown);
        }
    }
}
