//! `hud`.

use std::time::Duration;

use crate::cli::args::HudArgs;
use crate::cli::cmd::stdin::{SHORT_WAIT, given};
use crate::cli::exit::Exit;
use crate::cli::out::Out;
use crate::cli::page::{age, brief, clean};
use crate::hooks::{HudReport, HudRequest, hud};
use crate::model::Timestamp;
use crate::runs::{Context, Error, RunPosition, reader_left};

/// How often `--watch` looks.
const PAUSE: Duration = Duration::from_secs(1);

pub(super) fn run(cx: &Context, args: HudArgs, out: &mut Out) -> Exit {
    if let Some(unknown) = args.format.as_deref().and_then(unknown_name) {
        let known = FIELDS.map(|(name, _)| name).join(", ");
        return out.error(&Error::Usage(format!("--format: {{{unknown}}} is not known; known are {known}")));
    }
    let given = HudRequest::read(&given(SHORT_WAIT));
    let request = HudRequest { session: args.session.clone().or(given.session), ..given };
    let mut shown = None;
    loop {
        let report = match hud(cx, &request) {
            Ok(report) => report,
            Err(error) => return out.error(&error),
        };
        let line = line(&report, args.format.as_deref(), cx.now());
        if shown.as_ref() != Some(&line) {
            let exit = out.answer(&report, || if line.is_empty() { String::new() } else { format!("{line}\n") });
            if !args.watch || exit != Exit::Done {
                return exit;
            }
            shown = Some(line);
        }
        if reader_left(PAUSE) {
            return Exit::Done;
        }
    }
}

/// How a field of a line is made; empty if there is nothing to show.
type Field = fn(&HudReport, Timestamp) -> String;

/// The fields of `--format`.
const FIELDS: [(&str, Field); 13] = [
    ("run", |report, _| of_run(report, |run| run.run_id.to_string())),
    ("name", |report, _| text(report.name.as_ref())),
    ("workflow", |report, _| of_run(report, |run| text(run.workflow.as_ref()))),
    ("status", |report, _| of_run(report, |run| text(run.status.as_ref()))),
    ("phase", |report, _| of_run(report, |run| text(run.phase.as_ref()))),
    ("place", |report, _| of_run(report, place)),
    ("branch", |report, _| of_run(report, branch)),
    ("verdict", |report, _| of_run(report, |run| run.verdict.as_str().to_owned())),
    ("undone", |report, _| of_run(report, undone)),
    ("age", |report, now| of_run(report, |run| run.updated_at.map(|at| age(at, now)).unwrap_or_default())),
    ("modes", |report, _| report.modes.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")),
    ("elsewhere", |report, _| elsewhere(report)),
    ("others", |report, _| text(Some(report.others).filter(|&others| others > 0).as_ref())),
];

fn of_run(report: &HudReport, field: impl Fn(&RunPosition) -> String) -> String {
    report.run.as_ref().map(field).unwrap_or_default()
}

fn field(name: &str, report: &HudReport, now: Timestamp) -> String {
    let field = FIELDS.iter().find(|(known, _)| *known == name);
    field.map(|(_, of)| of(report, now)).unwrap_or_default()
}

fn line(report: &HudReport, format: Option<&str>, now: Timestamp) -> String {
    let field = |name: &str| clean(&brief(&field(name, report, now))).into_owned();
    let Some(format) = format else {
        let place = [field("phase"), field("place")].join(" ");
        let place = place.trim().to_owned();
        let names = ["branch", "verdict", "undone", "modes", "age", "elsewhere"];
        let fields = [field("name"), place].into_iter().chain(names.map(field));
        return fields.filter(|field| !field.is_empty()).collect::<Vec<_>>().join("  ");
    };
    pieces(format).map(|(text, name)| format!("{text}{}", name.map(field).unwrap_or_default())).collect()
}

/// The pieces of a format: a text, and the name of the field behind it.
fn pieces(format: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
    let mut rest = Some(format);
    std::iter::from_fn(move || {
        let text = rest.take()?;
        match text.split_once('{').and_then(|(before, behind)| Some((before, behind.split_once('}')?))) {
            Some((before, (name, behind))) => {
                rest = Some(behind);
                Some((before, Some(name)))
            }
            None => Some((text, None)),
        }
    })
}

fn unknown_name(format: &str) -> Option<&str> {
    let mut names = pieces(format).filter_map(|(_, name)| name);
    names.find(|name| !FIELDS.iter().any(|(known, _)| known == name))
}

fn text(value: Option<&impl ToString>) -> String {
    value.map(ToString::to_string).unwrap_or_default()
}

fn branch(run: &RunPosition) -> String {
    run.other_branch.as_ref().map(|branch| format!("branch {branch}")).unwrap_or_default()
}

/// The open runs of other worktrees, named if there are few.
fn elsewhere(report: &HudReport) -> String {
    let mut runs = report.worktrees.iter().flat_map(|worktree| {
        let place = worktree.path.file_name().unwrap_or_default().to_string_lossy();
        worktree.runs.iter().map(move |run| format!("{}@{place}", run.head.run_id.name()))
    });
    let first = runs.next().map(|first| format!("+ {first}")).unwrap_or_default();
    match runs.count() {
        0 => first,
        n => format!("{first} and {n} more"),
    }
}

fn undone(run: &RunPosition) -> String {
    if run.undone == 0 { String::new() } else { format!("{} undone", run.undone) }
}

fn place(run: &RunPosition) -> String {
    match (run.phase_number, run.phases) {
        (Some(number), Some(all)) => format!("{number}/{all}"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_is_text_with_fields() {
        let pieces = |format| pieces(format).collect::<Vec<_>>();
        assert_eq!(pieces("a{run} {phase}"), [("a", Some("run")), (" ", Some("phase")), ("", None)]);
        assert_eq!(pieces("{"), [("{", None)]);
        assert_eq!(unknown_name("{run}{what}"), Some("what"));
        assert_eq!(unknown_name("} {modes"), None);
    }

    #[test]
    fn an_age_is_told_in_its_largest_unit() {
        let at: Timestamp = "2026-05-20T14:30:00Z".parse().unwrap();
        for (now, wanted) in [
            ("2026-05-20T14:29:00Z", "now"),
            ("2026-05-20T14:30:59Z", "now"),
            ("2026-05-20T15:29:59Z", "59m"),
            ("2026-05-21T14:29:59Z", "23h"),
            ("2026-05-30T14:30:00Z", "10d"),
        ] {
            assert_eq!(age(at, now.parse().unwrap()), wanted);
        }
    }
}
