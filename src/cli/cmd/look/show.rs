//! `show`.

use serde_json::Value;

use crate::cli::args::ShowArgs;
use crate::cli::cmd::look::seen::seen_table;
use crate::cli::cmd::look::usage::usage_table;
use crate::cli::cmd::meant::meant;
use crate::cli::out::{CliResult, Out};
use crate::cli::page::{self, TextPage, or_dash, or_empty};
use crate::engine::LeftUndone;
use crate::picture::usage_in_words;
use crate::runs::{self, Context, Sharing, ShowReport, ShowRequest};

pub(in crate::cli::cmd) fn run(cx: &Context, args: ShowArgs, out: &mut Out) -> CliResult {
    let run = Some(meant(cx, args.run, out, true)?);
    let shown = runs::show(cx, &ShowRequest { run, at: args.at, session: None })?;
    Ok(out.answer(&shown, |page| fill(&shown, page)))
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
pub(in crate::cli::cmd) fn left_undone(left: &LeftUndone) -> Vec<String> {
    vec![or_dash(left.number), or_dash(left.id.as_ref()), left.phase.to_string(), left.in_words().to_owned()]
}

fn fill(shown: &ShowReport, page: &mut TextPage) {
    page.cut_long_values();
    page.fit_to_columns();
    let status = text(shown, "state", "status").unwrap_or_default();
    let doing = shown.doing.map_or(status.as_str(), |doing| doing.as_str());
    page.head(page::STRONG, doing, &text(shown, "metadata", "id").unwrap_or_default());
    for (label, section, key) in [
        ("workflow", "metadata", "workflow"),
        ("goal", "metadata", "goal"),
        ("fork of", "state", "forked_from"),
        ("phase", "state", "current_phase"),
        // The end of a session leaves its reason on a run that stays active.
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
        page.each(label, text(shown, section, key));
    }
    page.each("why", shown.end_reason.clone());
    page.each("shared in", shown.sharing.as_ref().map(|sharing| sharing.store.clone()));
    page.each("as of", shown.sharing.as_ref().and_then(Sharing::shown_as_of));
    table("phases", shown.steps.iter().map(|step| vec![step.step.to_string(), step.status.to_string()]), page);
    units(shown, page);
    questions(shown, page);
    // A column in which nothing stands would only take room.
    let is_used = shown.activities.iter().any(|activity| activity.usage.is_some());
    let activities = shown.activities.iter().map(|activity| {
        let (number, id) = (activity.number.to_string(), activity.id.clone());
        let mut status = activity.status.with_exit_code(activity.exit_code);
        status += &activity.seen_or_claimed();
        if !activity.settles.is_empty() {
            status += &format!(", settles {}", activity.settles.join(", "));
        }
        let mut row = vec![number, id, or_empty(activity.phase.as_ref()), status];
        if is_used {
            row.push(or_empty(activity.usage.as_deref().map(usage_in_words)));
        }
        row.push(or_empty(activity.summary.as_ref()));
        row
    });
    table("activities", activities, page);
    usage_table(&shown.usage, page);
    seen_table("evidence", &shown.evidence, page);
    let skipped = shown.skipped.iter();
    let skipped = skipped.map(|skip| {
        vec![skip.phase.to_string(), or_empty(skip.exec.as_ref()), format!("event {}", skip.seq), skip.reason.clone()]
    });
    table("passed over", skipped, page);
    table("left undone", shown.left_undone.iter().map(left_undone), page);
    let approvals = shown.approvals.iter().map(|one| {
        let verdict = if one.approved { "approved" } else { "rejected" };
        let phase = or_empty(one.phase.as_ref());
        let by = format!("by {} {}, who had seen event {}", one.approval.by, one.approval.how, one.approval.seen);
        vec![one.number.to_string(), phase, verdict.to_owned(), by, or_empty(one.reason.as_ref())]
    });
    table("decisions", approvals, page);
    let artifacts = shown.artifacts.iter().map(|artifact| {
        let [path, url, label] = ["path", "url", "label"].map(|key| or_empty(artifact.data.get(key).and_then(plain)));
        vec![path, url, or_empty(artifact.step.as_ref()), label]
    });
    table("artifacts", artifacts, page);
    page.each("note", &shown.notes);
}

/// The questions that wait for an answer.
fn questions(shown: &ShowReport, page: &mut TextPage) {
    let Some(open) = shown.document.get("state").and_then(|state| state["questions"].as_object()) else { return };
    for (who, prompt) in open {
        page.field("question", &format!("{who}: {}", or_empty(plain(prompt))));
    }
}

/// The state of the units of work in each phase.
fn units(shown: &ShowReport, page: &mut TextPage) {
    let mut rows = Vec::new();
    for phase in &shown.steps {
        for unit in &phase.units {
            let step = &phase.step;
            let place = if unit.step == *step { step.to_string() } else { format!("{} in {step}", unit.step) };
            let said = or_empty(unit.open_message());
            rows.push(vec![or_empty(unit.unit.as_ref()), place, unit.status.to_string(), said]);
        }
    }
    table("units", rows, page);
}

fn table(title: &str, rows: impl IntoIterator<Item = Vec<String>>, page: &mut TextPage) {
    let mut rows = rows.into_iter().peekable();
    // A heading without rows would only take room.
    if rows.peek().is_some() {
        page.line(&format!("  {title}"));
        page.table(4, rows);
    }
}
