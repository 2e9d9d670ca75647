//! The activities of a run: one row each, which opens to all that was recorded of its attempts.

use maud::{Markup, html};

use crate::engine::{Attempt, EvidenceState};
use crate::model::{ActivityStatus, command_line};
use crate::picture::page::pieces::{Clock, time};
use crate::picture::page::run::evidence::evidence_of;
use crate::picture::page::run::looks::look_of_activity;
use crate::picture::page::run::view::RunPage;
use crate::picture::usage::usage_in_words;
use crate::picture::words::{clean, clean_lines, count, duration, shortened};
use crate::runs::{CardGroup, ShownActivity, Try};

/// The most characters of a text, and of a command's output.
const TEXT: usize = 4000;
/// The most files that are named.
const FILES: usize = 50;
/// The most changed files that are named.
const CHANGED: usize = 10;

pub(super) fn activities(view: &RunPage<'_>) -> Markup {
    let (all, id) = (view.all_activities, &view.run.card.run.head.run_id);
    if all == 0 {
        return html! {};
    }
    html! {
        section data-key="activities" {
            h2 { "Activities " span.dim { (count(all)) " · what changed last comes first" } }
            @for activity in view.activities { (row(view, activity)) }
            @if view.activities.len() < all {
                p.dim { "The latest " (count(view.activities.len())) " of " (count(all)) ". All: "
                    code { "flow show " (id) } }
            }
        }
    }
}

fn row(view: &RunPage<'_>, activity: &ShownActivity) -> Markup {
    let Some(latest) = activity.tries.first() else { return html! {} };
    let (symbol, class, word) = look(view, latest);
    let phase = activity.phase.as_ref().map_or("", |phase| phase.as_str());
    let all = activity.tries.len() + activity.earlier;
    html! {
        details.activity data-key={ "a" (phase) "/" (clean(&activity.id)) } {
            summary {
                span class={ "tag " (class) } { (symbol) " " (word) }
                b { (clean(&activity.id)) }
                span.dim { (phase) }
                span {
                    (shortened(latest.summary().unwrap_or_default(), 300))
                    span.dim { (latest.last.seen_or_claimed().replace(',', " ·")) }
                    @if let Some(state) = view.evidence_states.get(&latest.last.number) { span.dim { " · " (state.freshness) } }
                    @if all > 1 { span.dim { " · attempt " (all) } }
                }
                span.dim { @if let Some(took) = latest.took_ms() { (duration(took)) } }
                @if let Some(at) = latest.to.or(latest.last.at) { (time(at, Clock::Minute)) } @else { span {} }
            }
            @for (nth, one) in activity.tries.iter().enumerate() {
                @if all > 1 {
                    @let (symbol, class, word) = look(view, one);
                    p.try { "Attempt " (all - nth) " " span class=(class) { (symbol) " " (word) } }
                }
                (recorded(view, one))
            }
            @if activity.earlier > 0 { p.dim { (count(activity.earlier)) " earlier attempts" } }
        }
    }
}

fn look(view: &RunPage<'_>, one: &Try) -> (&'static str, &'static str, String) {
    match look_of_activity(one.last.status, one.last.exit_code) {
        (_, _, word) if one.last.status == ActivityStatus::Running && view.run.card.group == CardGroup::AtWork => {
            ("●", "run", word)
        }
        look => look,
    }
}

/// Everything that was recorded of an attempt.
fn recorded(view: &RunPage<'_>, one: &Try) -> Markup {
    let last = &one.last;
    html! {
        dl.recorded {
            @if let Some(summary) = one.summary() { dt { "outcome" } dd { (shortened(summary, TEXT)) } }
            (what_ran(last))
            @if let Some(state) = view.evidence_states.get(&last.number) { (holds(view, state)) }
            @if let Some(from) = one.from {
                dt { "began" } dd { (time(from, Clock::Second)) }
            }
            @if let Some(to) = one.to {
                dt { "ended" }
                dd { (time(to, Clock::Second)) @if let Some(took) = one.took_ms() { span.dim { ", after " (duration(took)) } } }
            }
            @if let Some(usage) = &last.usage { dt { "used" } dd { (usage_in_words(usage)) } }
            dt { "recorded" }
            dd {
                (last.number)
                @if let Some(begun) = &one.begun { ", begun as " (begun.number) }
                @if let Some(seq) = last.seq { ", event " (seq) }
                @match &one.session { Some(session) => { " by session " (session) }, None => " without a session" }
                @if let Some(kind) = one.kind { " · " (kind) }
            }
            @if let Some(confidence) = one.confidence { dt { "confidence" } dd { (confidence) } }
            (decided(last))
            @let shown = evidence_of(view, last.number);
            @if !shown.is_empty() {
                dt { "evidence" }
                dd { @for (nth, item) in shown.iter().enumerate() { @if nth > 0 { " · " } (item) } }
            }
            @if !one.files.is_empty() {
                dt { "files" }
                dd {
                    @for file in one.files.iter().take(FILES) { code { (shortened(file, 300)) } " " }
                    @if one.files.len() > FILES { span.dim { "and " (count(one.files.len() - FILES)) " more" } }
                }
            }
            @if let Some(output) = &one.output {
                dt { "output" } dd { pre { (clean_lines(&shortened(output, TEXT))) } }
            }
        }
    }
}

/// The command that the work was, if flow ran it; otherwise the exit status that was recorded.
fn what_ran(last: &Attempt) -> Markup {
    let exit = last.exit_code.map(|code| format!("exit {code}"));
    let Some(exec) = &last.exec else {
        return html! { @if let Some(exit) = exit { dt { "exit status" } dd { (exit) span.dim { " as recorded" } } } };
    };
    html! {
        dt { "ran" }
        dd {
            code { (shortened(&command_line(&exec.argv), TEXT)) }
            @if let Some(exit) = exit { ", " (exit) }
            span.dim {
                " " (if exec.end.is_some() { "seen by flow" } else { "begun by flow" })
                @if let Some(tree) = &exec.before { " on files " (shortened(&tree.sha256, 7)) }
                ", in " (clean(&exec.dir))
            }
        }
    }
}

/// Whether what was seen holds for the files, as of when the page was made.
fn holds(view: &RunPage<'_>, state: &EvidenceState) -> Markup {
    html! {
        dt { "holds" }
        dd {
            (state.freshness) ": "
            (clean(state.why.as_deref().unwrap_or(EvidenceState::what_is_the_same([state]))))
            @for (nth, path) in state.changed.iter().take(CHANGED).enumerate() {
                (if nth == 0 { " " } else { ", " }) code { (shortened(path, 300)) }
            }
            @if state.changed.len() > CHANGED || state.more_changed { " and more" }
            span.dim { " looked at " (time(view.now, Clock::Minute)) }
        }
    }
}

fn decided(last: &Attempt) -> Markup {
    html! {
        @if let Some(approval) = &last.approval {
            dt { "decided" } dd { "by " (clean(&approval.by)) " " (approval.how) ", having seen event " (approval.seen) }
        }
        @if !last.settles.is_empty() { dt { "settles" } dd { (shortened(&last.settles.join(", "), 300)) } }
    }
}
