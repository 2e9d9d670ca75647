//! What a run needs, what went wrong, and the next safe action.

use maud::{Markup, html};

use crate::picture::page::act::acts_on_run;
use crate::picture::page::document::Place;
use crate::picture::page::pieces::{command, with_commands};
use crate::picture::page::run::evidence::evidence_of;
use crate::picture::page::run::view::RunPage;
use crate::picture::page::runs::look_of_verdict;
use crate::picture::words::{clean, for_whom, shortened, title_in_doubt, verdict_reason, ways_shown, why_no_command};
use crate::runs::{Alternative, Card, Need, ShownQuestion};

/// So many ways to go on are shown where only a person knows which one it is; the others are folded.
const WAYS: usize = 3;

/// What it needs, and the next safe action.
pub(super) fn next(view: &RunPage<'_>) -> Markup {
    let run = view.run;
    // Without a button: a command of an earlier time is not to be copied.
    let place = if view.is_live() { Place::Served } else { Place::Alone };
    let (symbol, class, title) = look_of_verdict(&run.card);
    let next = &run.card.next;
    let reason = verdict_reason(&run.card, view.as_of());
    let to_copy = next.command.as_ref().filter(|_| view.is_live());
    let why_none = (view.address.is_some() && to_copy.is_none()).then(|| match run.at {
        Some(at) => format!("this is the run after event {at}, and its commands are those of then"),
        None => why_no_command(next).to_owned(),
    });
    html! {
        section.next.(class) data-key="next" data-command=[to_copy] data-none=[why_none] aria-labelledby="verdict" {
            p { b.(class) #verdict { (symbol) " " (title) } " — " (with_commands(&shortened(&reason, 1000))) }
            @if let Some(title) = title_in_doubt(&run.card) { p.cause { (with_commands(&shortened(title, 1000))) } }
            (what_went_wrong(view))
            @if let Some(description) = &next.description {
                p.dim { @if let Some(phase) = &next.phase { b { (phase) } ": " } (with_commands(&shortened(description, 600))) }
            }
            @if let Some(suggestion) = &next.command { (command(&format!("{suggestion:#}"), place)) }
            @if let Some(first) = &next.first { p { b { "First" } " " (with_commands(&shortened(first, 600))) } }
            (alternatives(&run.card, place))
            @if !run.notes.is_empty() {
                ul.notes { @for note in &run.notes { li { (with_commands(&shortened(note, 600))) } } }
            }
            // The last one is the reason of a run that asks.
            @for ShownQuestion { question, .. } in run.questions.iter().rev().skip(usize::from(run.card.need == Some(Need::Question))) {
                p { b { "Question" } " of " (question.step)
                    @if let Some(unit) = &question.unit { " (" (clean(unit.as_str())) ")" } ": " (with_commands(&shortened(&question.prompt, 1000))) }
            }
            @if view.actions && view.is_live() && let Some(address) = &view.address {
                (acts_on_run(run, address))
            }
        }
    }
}

/// What else may be done, and when: folded where the first thing to do is known, and where there is much of it.
fn alternatives(card: &Card, place: Place) -> Markup {
    let (first, more) = card.next.alternatives.split_at(ways_shown(card, WAYS));
    let ways = |ways: &[Alternative]| {
        html! {
            @for way in ways {
                p.when { "When " (with_commands(&shortened(&way.when, 300))) (for_whom(way)) ":" }
                (command(&format!("{:#}", way.command), place))
            }
        }
    };
    let whens: Vec<_> = more.iter().map(|way| way.when.as_str()).collect();
    html! {
        (ways(first))
        @if !more.is_empty() {
            details data-key="ways" {
                summary { "When " (with_commands(&shortened(&whens.join(", or "), 120))) }
                (ways(more))
            }
        }
    }
}

/// What came out of the work that failed or is blocked, with what it refers to.
fn what_went_wrong(view: &RunPage<'_>) -> Markup {
    let Some(cause) = &view.run.card.cause else { return html! {} };
    let Some(number) = cause.number else { return html! {} };
    html! {
        p.cause {
            @if !view.run.card.reason.contains(&cause.text) { (with_commands(&shortened(&cause.text, 1000))) " " }
            span.dim { "– " (number) " " (clean(cause.activity.as_deref().unwrap_or_default()))
                @if let Some(code) = cause.exit_code { ", exit " (code) } }
            @for item in evidence_of(view, number) { span.dim { " · " } (item) }
        }
    }
}
