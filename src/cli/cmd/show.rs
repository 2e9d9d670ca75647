//! `show`.

use serde_json::{Map, Value};

use crate::cli::args::ShowArgs;
use crate::cli::exit::Exit;
use crate::cli::out::Out;
use crate::cli::page::{self, Page};
use crate::runs::{self, Context};

pub(super) fn run(cx: &Context, args: ShowArgs, out: &mut Out) -> Exit {
    let run = match super::meant(cx, args.run, out, true) {
        Ok(run) => run,
        Err(exit) => return exit,
    };
    match runs::show(cx, run.as_deref(), None, args.at) {
        Ok(shown) => out.answer(&shown, || page(&shown)),
        Err(error) => out.error(&error),
    }
}

fn text(shown: &Map<String, Value>, section: &str, key: &str) -> Option<String> {
    plain(shown.get(section)?.get(key)?)
}

fn plain(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) if text.is_empty() => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

fn page(shown: &Map<String, Value>) -> String {
    let mut page = Page::clipping();
    let status = text(shown, "state", "status").unwrap_or_default();
    page.head(page::STRONG, &status, &text(shown, "metadata", "id").unwrap_or_default());
    for (label, section, key) in [
        ("workflow", "metadata", "workflow"),
        ("goal", "metadata", "goal"),
        ("phase", "state", "current_phase"),
        (if status == "active" { "note" } else { "blocked" }, "state", "blocked_reason"),
        ("held by", "state", "session"),
        ("started", "metadata", "created_at"),
        ("changed", "state", "updated_at"),
        ("event", "state", "last_seq"),
        ("repository", "context", "repo"),
        ("branch", "context", "branch"),
        ("issue", "context", "issue"),
        ("pr", "context", "pr"),
        ("feature", "context", "feature"),
        ("journal", "context", "journal"),
    ] {
        if let Some(value) = text(shown, section, key) {
            page.field(label, &value);
        }
    }
    table(shown, "steps", "phases", &["step", "status", "skip_reason"], &mut page);
    units(shown, &mut page);
    questions(shown, &mut page);
    table(shown, "activities", "activities", &["number", "id", "phase", "status", "summary"], &mut page);
    table(shown, "artifacts", "artifacts", &["path", "url", "step", "label"], &mut page);
    for note in shown.get("notes").and_then(Value::as_array).into_iter().flatten() {
        page.field("note", &plain(note).unwrap_or_default());
    }
    page.finish()
}

/// What waits for an answer.
fn questions(shown: &Map<String, Value>, page: &mut Page) {
    let open = shown.get("state").and_then(|state| state.get("questions")).and_then(Value::as_object);
    for (who, prompt) in open.into_iter().flatten() {
        page.field("question", &format!("{who}: {}", plain(prompt).unwrap_or_default()));
    }
}

/// What goes on within the phases.
fn units(shown: &Map<String, Value>, page: &mut Page) {
    let steps = shown.get("steps").and_then(Value::as_array).into_iter().flatten();
    let units = steps.filter_map(|step| Some((step.get("step")?, step.get("units")?.as_array()?)));
    let row = |phase: &Value, unit: &Value| {
        let cell = |key: &str| unit.get(key).and_then(plain).unwrap_or_default();
        let step = cell("step");
        vec![
            cell("unit"),
            if plain(phase).as_ref() == Some(&step) {
                step
            } else {
                format!("{step} in {}", plain(phase).unwrap_or_default())
            },
            cell("status"),
        ]
    };
    let rows: Vec<_> = units.flat_map(|(phase, units)| units.iter().map(move |unit| row(phase, unit))).collect();
    if !rows.is_empty() {
        page.line("  units");
        page.table(4, &rows);
    }
}

fn table(shown: &Map<String, Value>, key: &str, title: &str, columns: &[&str], page: &mut Page) {
    let Some(items) = shown.get(key).and_then(Value::as_array).filter(|items| !items.is_empty()) else {
        return;
    };
    page.line(&format!("  {title}"));
    let cell = |item: &Value, column: &&str| item.get(column).and_then(plain).unwrap_or_default();
    let rows: Vec<Vec<String>> =
        items.iter().map(|item| columns.iter().map(|column| cell(item, column)).collect()).collect();
    page.table(4, &rows);
}
