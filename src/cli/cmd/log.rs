//! `log`.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::cli::args::LogArgs;
use crate::cli::exit::Exit;
use crate::cli::out::Out;
use crate::cli::page::{Page, clip};
use crate::model::{Seq, answer_in};
use crate::runs::{self, Context, LogReport, LogRequest, reader_left};

/// How often `log --follow` reads the log.
const PAUSE: Duration = Duration::from_millis(200);

pub(super) fn run(cx: &Context, args: LogArgs, out: &mut Out) -> Exit {
    let run = match super::meant(cx, args.run, out, false) {
        Ok(run) => run,
        Err(exit) => return exit,
    };
    let request = LogRequest { run, after: Seq(args.after), limit: args.limit, session: None };
    if args.follow {
        return follow(cx, &request, out);
    }
    match runs::log(cx, &request) {
        Ok(report) => out.answer(&report, || page(&report)),
        Err(error) => out.error(&error),
    }
}

/// Prints events until the run is over or removed, or until the reader of standard output is gone.
fn follow(cx: &Context, request: &LogRequest, out: &mut Out) -> Exit {
    let mut follow = match runs::follow(cx, request) {
        Ok(follow) => follow,
        Err(error) => return out.error(&error),
    };
    loop {
        // Ask before polling: events that were logged before the run ended are printed then.
        let over = follow.is_over();
        let report = match follow.poll() {
            Ok(report) => report,
            Err(error) => return out.error(&error),
        };
        for event in &report.events {
            let exit = out.answer(event, || format!("{}\n", clip(&line(event))));
            // A reader that closes the pipe ends the command; that is not an error.
            if exit != Exit::Done || reader_left(Duration::ZERO) {
                return exit;
            }
        }
        match over {
            Ok(false) => {}
            Ok(true) => return Exit::Done,
            Err(error) => return out.error(&error),
        }
        if reader_left(PAUSE) {
            return Exit::Done;
        }
    }
}

fn page(report: &LogReport) -> String {
    let mut page = Page::clipping();
    report.events.iter().for_each(|event| page.line(&line(event)));
    for skipped in &report.skipped {
        page.line(&format!("line {}  {}  {}", skipped.line, skipped.why, skipped.text));
    }
    if report.more_skipped > 0 {
        page.line(&format!("{} more lines are not events", report.more_skipped));
    }
    page.finish()
}

/// Reports on steps, in one line.
fn reports(event: &Map<String, Value>) -> String {
    let text = |report: &Value, key: &str| report.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let reports = event.get("reports").and_then(Value::as_array).into_iter().flatten().map(|report| {
        let data = report.get("data").cloned().unwrap_or_default();
        let what = match text(report, "type").as_str() {
            "status_change" => text(&data, "status"),
            "artifact_registered" => format!("{}{}", text(&data, "path"), text(&data, "url")),
            "waiting_for_user" => format!("asks: {}", text(&data, "prompt")),
            "user_answered" => format!("answer: {}", data.as_object().map(answer_in).unwrap_or_default()),
            "btw_update" => text(&data, "message"),
            other => other.to_owned(),
        };
        let words = [text(report, "step"), text(report, "unit"), what];
        words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    });
    let mut all = reports.collect::<Vec<_>>().join("; ");
    if event.get("ends").and_then(Value::as_bool) == Some(true) {
        all.push_str("; the run is completed");
    }
    all
}

/// The phases that an event skipped, and why.
fn skipped(event: &Map<String, Value>) -> String {
    let Some(skipped) = event.get("skipped").and_then(Value::as_object) else { return String::new() };
    let phases = skipped.get("phases").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let reason = skipped.get("reason").and_then(Value::as_str).unwrap_or_default();
    format!("; left undone: {} ({reason})", phases.collect::<Vec<_>>().join(", "))
}

/// An event in one line: position, time, type, and what matters for its type.
fn line(event: &Map<String, Value>) -> String {
    let text = |key: &str| event.get(key).and_then(Value::as_str).unwrap_or_default();
    let inner = |outer: &str, section: &str, key: &str| {
        event.get(outer).and_then(|value| value.get(section)?.get(key)?.as_str()).unwrap_or_default()
    };
    let seq = event.get("seq").and_then(Value::as_u64).unwrap_or_default();
    let about = match text("type") {
        "run_started" if text("phase").is_empty() => text("workflow").to_owned(),
        "run_started" => format!("{} in {}", text("workflow"), text("phase")),
        "emitted" => reports(event),
        "activity_recorded" => {
            let advanced = match text("advanced_to") {
                "" => String::new(),
                phase => format!(", on to {phase}"),
            };
            let (id, status) = (inner("activity", "metadata", "id"), inner("activity", "activity", "status"));
            format!("{} {id} {status} in {}{advanced}{}", text("number"), text("phase"), skipped(event))
        }
        "session_end" => text("session").to_owned(),
        "run_claimed" => {
            let epoch = event.get("epoch").and_then(Value::as_u64).unwrap_or_default();
            format!("by {}, epoch {epoch}", text("session"))
        }
        "run_edited" => {
            let changes = event.get("changes").and_then(Value::as_object);
            let keys: Vec<_> = changes.into_iter().flatten().map(|(key, _)| key.as_str()).collect();
            if keys.is_empty() { "comments or own keys".to_owned() } else { keys.join(", ") }
        }
        "workflow_adopted" => {
            let lines = event.get("differences").and_then(Value::as_array).into_iter().flatten();
            lines.filter_map(Value::as_str).collect::<Vec<_>>().join("; ")
        }
        "log_repaired" => {
            let lost = event.get("lost").and_then(Value::as_array).map_or(0, Vec::len);
            let renumbered = event.get("renumbered").and_then(Value::as_array).map_or(0, Vec::len);
            format!("{} (ranges lost: {lost}, lines renumbered: {renumbered})", text("reason"))
        }
        _ => format!("{}{}", text("reason"), skipped(event)),
    };
    let line = format!("{seq:>4}  {}  {:<18} {about}", text("at"), text("type"));
    crate::cli::page::clean(line.trim_end()).into_owned()
}
