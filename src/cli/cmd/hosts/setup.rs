//! `setup`: shows the change, asks, and makes it.

use crate::cli::args::SetupArgs;
use crate::cli::cmd::hosts::hooks::outcome as outcome_in_words;
use crate::cli::exit::Exit;
use crate::cli::out::{CliResult, Out};
use crate::cli::page::{CARE, FAINT, GOOD, TextPage};
use crate::cli::person::can_be_asked;
use crate::cli::prompt::Prompt;
use crate::hooks::settings::{
    ChangeOutcome, SetupFile, SetupPart, SetupReport, SetupRequest, carry_out_setup, plan_setup,
};
use crate::runs::Context;

pub(in crate::cli::cmd) fn run(cx: &Context, args: &SetupArgs, out: &mut Out) -> CliResult {
    let request = SetupRequest { hosts: args.hosts.clone(), user: args.user, undo: args.undo };
    let plan = plan_setup(cx, &request)?;
    if !args.yes && !plan.is_empty() {
        if !can_be_asked(out) {
            let shown = out.answer(plan.report(), |page| change(plan.report(), page));
            return Ok(out.only_shown(shown, "nothing is changed; --yes makes this change\n"));
        }
        out.aside_page(|page| change(plan.report(), page));
        let question = if plan.report().undo { "Take this out?" } else { "Make this change?" };
        if !Prompt::new(out).agrees(question) {
            out.aside("nothing is changed\n");
            return Ok(Exit::Refused);
        }
    }
    let report = carry_out_setup(cx, plan)?;
    if !report.files.is_empty() {
        out.committed("the files are written".to_owned());
    }
    Ok(out.answer(&report, |page| done(&report, page)))
}

/// What would change: the diff, and below it the files, so that the last lines on the screen are the whole list.
fn change(report: &SetupReport, page: &mut TextPage) {
    page.lines(&report.diff);
    heads(report, page);
}

/// What was changed, and what is left to a person.
fn done(report: &SetupReport, page: &mut TextPage) {
    heads(report, page);
    page.each("trust", &report.trust);
    for finding in &report.findings {
        page.head(CARE, "to do", &format!("{}  {}", finding.code, finding.message));
        page.line(&format!("  help: {}", finding.help));
    }
    if let Some(say) = &report.say {
        page.line(&format!("now say to your agent: {say}"));
    }
}

fn heads(report: &SetupReport, page: &mut TextPage) {
    if let Some(flow) = &report.flow {
        page.head(
            GOOD,
            verb(report, if report.undo { ChangeOutcome::Removed } else { ChangeOutcome::Created }),
            &flow.display().to_string(),
        );
    }
    for file in &report.files {
        of_file(report, file, page);
    }
    for skipped in &report.skipped {
        page.head(FAINT, "left out", &format!("{}: {}", skipped.host.title(), skipped.reason));
    }
    if report.flow.is_none() && report.files.is_empty() {
        page.line(if report.undo { "nothing of flow is here" } else { "everything is set up" });
    }
}

fn of_file(report: &SetupReport, file: &SetupFile, page: &mut TextPage) {
    let path = file.path.display().to_string();
    if file.outcome != ChangeOutcome::Unchanged {
        page.head(GOOD, verb(report, file.outcome), &format!("{path}  ({})", parts(&file.parts)));
    }
    if !file.kept.is_empty() {
        let what = parts(&file.kept);
        page.head(CARE, "kept", &format!("{path}: someone changed what flow would write there ({what})"));
    }
}

fn verb(report: &SetupReport, outcome: ChangeOutcome) -> &'static str {
    outcome_in_words(outcome, !report.written)
}

fn parts(parts: &[SetupPart]) -> String {
    let words = parts.iter().map(|part| match part {
        SetupPart::Hooks => "hooks",
        SetupPart::Skills => "skill",
        SetupPart::Tools => "tools",
        SetupPart::Permissions => "permissions",
    });
    words.collect::<Vec<_>>().join(", ")
}
