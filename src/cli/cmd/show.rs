//! `show`.

use serde_json::Value;

use crate::cli::args::ShowArgs;
use crate::cli::exit::Exit;
use crate::cli::out::Out;
use crate::cli::page::{self, Page};
use crate::engine::LeftUndone;
use crate::runs::{self, Context, ShowReport, ShowRequest};

pub(super) fn run(cx: &Context, args: ShowArgs, out: &mut Out) -> Exit {
    let run = match super::meant(cx, args.run, out, true) {
        Ok(run) => run,
        Err(exit) => return exit,
    };
    match runs::show(cx, &ShowRequest { run, at: args.at, session: None }) {
        Ok(shown) => out.answer(&shown, || page(&shown)),
        Err(error) => out.error(&error),
    }
}

fn text(shown: &ShowReport, section: &str, key: &str) -> Option<String> {
    plain(shown.document.get(section)?.get(key)?)
}

fn plain(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) if text.is_empty() => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// A row about work that the run left undone.
pub(super) fn left_undone(left: &LeftUndone) -> Vec<String> {
    let number = left.number.map_or_else(|| "-".to_owned(), |number| number.to_string());
    vec![number, left.id.clone().unwrap_or_else(|| "-".to_owned()), left.phase.to_string(), left.status.to_string()]
}

fn page(shown: &ShowReport) -> String {
    let mut page = Page::clipping();
    let status = text(shown, "state", "status").unwrap_or_default();
    let doing = shown.doing.map_or_else(|| status.clone(), |doing| doing.as_str().to_owned());
    page.head(page::STRONG, &doing, &text(shown, "metadata", "id").unwrap_or_default());
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
    let steps = shown
        .steps
        .iter()
        .map(|step| vec![step.step.to_string(), step.status.to_string(), step.skip_reason.clone().unwrap_or_default()]);
    table("phases", steps, &mut page);
    units(shown, &mut page);
    questions(shown, &mut page);
    let activities = shown.activities.iter().map(|activity| {
        let phase = activity.phase.as_ref().map(ToString::to_string);
        let summary = activity.summary.clone();
        let head = [activity.number.to_string(), activity.id.clone(), phase.unwrap_or_default()];
        let status = activity.status.with_exit_code(activity.exit_code);
        head.into_iter().chain([status, summary.unwrap_or_default()]).collect()
    });
    table("activities", activities, &mut page);
    table("left undone", shown.left_undone.iter().map(left_undone), &mut page);
    let approvals = shown.approvals.iter().map(|one| {
        let verdict = if one.approved { "approved" } else { "rejected" };
        let phase = one.phase.as_ref().map(ToString::to_string).unwrap_or_default();
        let by = format!("by {} {}, who had seen event {}", one.approval.by, one.approval.how, one.approval.seen);
        vec![one.number.to_string(), phase, verdict.to_owned(), by, one.reason.clone().unwrap_or_default()]
    });
    table("decisions", approvals, &mut page);
    let artifacts = shown.artifacts.iter().map(|artifact| {
        let said = |key: &str| artifact.data.get(key).and_then(plain).unwrap_or_default();
        let step = artifact.step.as_ref().map(ToString::to_string);
        vec![said("path"), said("url"), step.unwrap_or_default(), said("label")]
    });
    table("artifacts", artifacts, &mut page);
    for note in &shown.notes {
        page.field("note", note);
    }
    page.finish()
}

/// The questions that wait for an answer.
fn questions(shown: &ShowReport, page: &mut Page) {
    let open = shown.document.get("state").and_then(|state| state.get("questions")).and_then(Value::as_object);
    for (who, prompt) in open.into_iter().flatten() {
        page.field("question", &format!("{who}: {}", plain(prompt).unwrap_or_default()));
    }
}

/// The state of the units of work in each phase.
fn units(shown: &ShowReport, page: &mut Page) {
    let units = shown.steps.iter().flat_map(|phase| phase.units.iter().map(|unit| (&phase.step, unit)));
    let rows = units.map(|(phase, unit)| {
        let place = if unit.step == *phase { phase.to_string() } else { format!("{} in {phase}", unit.step) };
        vec![unit.unit.as_ref().map(ToString::to_string).unwrap_or_default(), place, unit.status.to_string()]
    });
    table("units", rows, page);
}

fn table(title: &str, rows: impl Iterator<Item = Vec<String>>, page: &mut Page) {
    let rows: Vec<_> = rows.collect();
    if !rows.is_empty() {
        page.line(&format!("  {title}"));
        page.table(4, &rows);
    }
}
