//! `hud`.

use std::time::Duration;

use crate::cli::args::HudArgs;
use crate::cli::cmd::stdin::{SHORT_WAIT, given};
use crate::cli::exit::Exit;
use crate::cli::out::{CliResult, Out};
use crate::cli::page::{brief, clean, or_empty, width};
use crate::engine::Verdict;
use crate::hooks::{HudReport, HudRequest, hud};
use crate::model::{RunId, Timestamp};
use crate::picture::{age, cut};
use crate::runs::{Context, Error, RunPosition, Unreadable, UnseenStore, columns, place_name, reader_left};

/// How often `--watch` looks.
const PAUSE: Duration = Duration::from_secs(1);

pub(in crate::cli::cmd) fn run(cx: &Context, args: HudArgs, out: &mut Out) -> CliResult {
    // Told before a host draws a line with a gap in it.
    if let Some(unknown) = args.format.as_deref().and_then(unknown_name) {
        let known = FIELDS.map(|(name, _)| name).join(", ");
        return Err(Error::Usage(format!("--format: {{{unknown}}} is not known; known are {known}")).into());
    }
    let mut request = HudRequest::read(&given(SHORT_WAIT));
    if args.session.is_some() {
        request.session = args.session;
    }
    let mut shown = None;
    loop {
        let report = hud(cx, &request)?;
        let line = line(&report, args.format.as_deref(), cx.now(), columns().unwrap_or(usize::MAX));
        // A host draws the line again for each one that it reads.
        if shown.as_ref() != Some(&line) {
            let exit = out.answer(&report, |page| {
                // An empty line takes the place of the one before it.
                if !line.is_empty() || shown.is_some() {
                    page.raw(&line);
                }
            });
            if !args.watch || exit != Exit::Done {
                return Ok(exit);
            }
            shown = Some(line);
        }
        if reader_left(PAUSE) {
            return Ok(Exit::Done);
        }
    }
}

/// How a field of a line is made; empty if there is nothing to show.
type Field = fn(&HudReport, Timestamp) -> String;

/// The fields of `--format`.
const FIELDS: [(&str, Field); 18] = [
    ("title", |report, _| of_run(report, title)),
    ("run", |report, _| of_run(report, |run| run.run_id.to_string())),
    ("name", |report, _| or_empty(report.name.as_ref())),
    ("workflow", |report, _| of_run(report, |run| or_empty(run.workflow.as_ref()))),
    ("status", |report, _| of_run(report, |run| or_empty(run.status))),
    ("phase", |report, _| of_run(report, |run| or_empty(run.phase.as_ref()))),
    ("place", |report, _| of_run(report, place)),
    ("branch", |report, _| of_run(report, branch)),
    ("state", |report, _| of_run(report, |run| or_empty(run.state.as_ref()))),
    ("verdict", |report, _| of_run(report, |run| run.verdict.as_str().to_owned())),
    ("waits", |report, _| waits(report)),
    ("undone", |report, _| of_run(report, undone)),
    ("age", |report, now| of_run(report, |run| or_empty(run.updated_at.map(|at| age_in_minutes(at, now))))),
    ("modes", |report, _| report.modes.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")),
    ("unreadable", |report, _| unreadable(report)),
    ("elsewhere", |report, _| elsewhere(report)),
    ("store", |report, _| or_empty(report.unseen_store.as_ref().map(unseen))),
    ("others", |report, _| if report.others > 0 { report.others.to_string() } else { String::new() }),
];

fn unseen(UnseenStore { store, acceptable, .. }: &UnseenStore) -> String {
    format!("{store} {}", if *acceptable { "not accepted" } else { "cannot be used" })
}

fn of_run(report: &HudReport, field: impl Fn(&RunPosition) -> String) -> String {
    or_empty(report.run.as_ref().map(field))
}

fn field(name: &str, report: &HudReport, now: Timestamp) -> String {
    match FIELDS.iter().find(|(known, _)| *known == name) {
        // A host shows the line as it is, so no field may break or colour it.
        Some((_, value)) => clean(&brief(&value(report, now))).into_owned(),
        None => String::new(),
    }
}

/// What a line does without where it has no room, in this order; the name says which run it is, too.
const LEFT_OUT: [&str; 5] = ["title", "waits", "age", "branch", "modes"];

fn line(report: &HudReport, format: Option<&str>, now: Timestamp, room: usize) -> String {
    if let Some(format) = format {
        let mut line = String::new();
        for (text, name) in pieces(format) {
            line += text;
            line += &or_empty(name.map(|name| field(name, report, now)));
        }
        return line;
    }
    let place = [field("phase", report, now), field("place", report, now)].join(" ");
    let of = |name| (name, field(name, report, now));
    let mut fields = vec![of("title"), of("name"), ("place", place.trim().to_owned())];
    // Of a run that cannot be read, the verdict is all that is known.
    let is_read = report.run.as_ref().is_some_and(|run| run.state.is_some());
    fields.extend(
        [
            "branch",
            if is_read { "state" } else { "verdict" },
            "waits",
            "undone",
            "modes",
            "age",
            "unreadable",
            "elsewhere",
            "store",
        ]
        .map(of),
    );
    fields.retain(|(_, text)| !text.is_empty());
    // A run without a goal may be called by its workflow alone.
    if let [("title", title), ("name", name), ..] = &fields[..]
        && title == name
    {
        fields.remove(0);
    }
    let joined = |fields: &[(&str, String)]| {
        let texts: Vec<_> = fields.iter().map(|(_, text)| text.as_str()).collect();
        texts.join("  ")
    };
    for dropped in LEFT_OUT {
        if width(&joined(&fields)) <= room || fields.len() == 1 {
            break;
        }
        fields.retain(|(name, _)| *name != dropped);
    }
    cut(&joined(&fields), room)
}

/// The pieces of a format: a text, and the name of the field behind it.
fn pieces(format: &str) -> Vec<(&str, Option<&str>)> {
    let mut pieces = Vec::new();
    let mut rest = format;
    while let Some((text, behind)) = rest.split_once('{')
        && let Some((name, behind)) = behind.split_once('}')
    {
        pieces.push((text, Some(name)));
        rest = behind;
    }
    // A bracket that is not closed is text.
    pieces.push((rest, None));
    pieces
}

fn unknown_name(format: &str) -> Option<&str> {
    let mut names = pieces(format).into_iter().filter_map(|(_, name)| name);
    names.find(|name| !FIELDS.iter().any(|(known, _)| known == name))
}

/// What the run is about, as far as a status line has room for it.
fn title(run: &RunPosition) -> String {
    const ROOM: usize = 32;
    or_empty(run.title.as_ref().map(|title| cut(title, ROOM)))
}

fn branch(run: &RunPosition) -> String {
    or_empty(run.other_branch.as_ref().map(|branch| format!("branch {branch}")))
}

/// What cannot be read: runs, of which a status line has room for one, or modes.
fn unreadable(report: &HudReport) -> String {
    match report.unreadable.as_slice() {
        [] if report.modes_unreadable.is_some() => "modes  unreadable".to_owned(),
        [] => String::new(),
        [only] => format!("{}  unreadable", name_of(report, only)),
        [first, more @ ..] => format!("{} and {} more  unreadable", name_of(report, first), more.len()),
    }
}

/// The short name of a run that cannot be read. Its directory may have a name that is none of a run.
fn name_of(report: &HudReport, run: &Unreadable) -> String {
    match RunId::new(run.run_id.as_str()) {
        Ok(id) => report.names.of_run(&id).to_owned(),
        Err(_) => run.run_id.clone(),
    }
}

/// The open runs of other worktrees, named if there are few.
fn elsewhere(report: &HudReport) -> String {
    let mut runs = Vec::new();
    for worktree in &report.worktrees {
        let place = place_name(&worktree.path);
        runs.extend(worktree.runs.iter().map(|run| format!("{}@{place}", worktree.names.of_run(&run.head.run_id))));
    }
    // A status line has room for one of them.
    match runs.as_slice() {
        [] => String::new(),
        [only] => format!("+ {only}"),
        [first, more @ ..] => format!("+ {first} and {} more", more.len()),
    }
}

/// What the run waits for, or what went wrong, as far as a status line has room for it.
fn waits(report: &HudReport) -> String {
    const ROOM: usize = 40;
    let Some(run) = &report.run else { return String::new() };
    if let Some(cause) = &run.cause {
        return cut(&cause.in_words(), ROOM);
    }
    if let Some(process) = run.process {
        return format!("process {process} still works on it");
    }
    match &report.reason {
        // At a gate, for instance, nothing was recorded of what a person has to do.
        Some(reason) if run.verdict == Verdict::NeedsHuman => cut(reason, ROOM),
        _ => String::new(),
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

/// How long ago it was. A line that shows seconds would be another one every second.
fn age_in_minutes(at: Timestamp, now: Timestamp) -> String {
    if at.minutes_until(now) == 0 { "now".to_owned() } else { age(at, now) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_is_text_with_fields() {
        assert_eq!(pieces("a{run} {phase}"), [("a", Some("run")), (" ", Some("phase")), ("", None)]);
        assert_eq!(pieces("{"), [("{", None)]);
        assert_eq!(unknown_name("{run}{what}"), Some("what"));
        assert_eq!(unknown_name("} {modes"), None);
    }

    #[test]
    fn an_age_changes_once_a_minute_at_most() {
        let at: Timestamp = "2026-05-20T14:30:00Z".parse().unwrap();
        for (now, wanted) in [
            ("2026-05-20T14:29:00Z", "now"),
            ("2026-05-20T14:30:59Z", "now"),
            ("2026-05-20T15:29:59Z", "59 min"),
            ("2026-05-21T14:29:59Z", "23 h"),
            ("2026-05-30T14:30:00Z", "10 d"),
        ] {
            assert_eq!(age_in_minutes(at, now.parse().unwrap()), wanted);
        }
    }
}
