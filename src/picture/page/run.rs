//! The page of one run: where it is and why, what to do next, when work happened, and what came out.

pub(super) mod activities;
pub(super) mod evidence;
pub(super) mod log;
pub(super) mod looks;
pub(super) mod next;
pub(super) mod timeline;
pub(super) mod usage;
pub(super) mod view;
pub(super) mod workflow;

use maud::{Markup, html};

use crate::picture::page::document::{Page, Part};
use crate::picture::page::pieces::{Clock, page_title, run_link, time};
use crate::picture::page::run::activities::activities;
use crate::picture::page::run::evidence::evidence;
use crate::picture::page::run::log::log;
use crate::picture::page::run::next::next;
use crate::picture::page::run::timeline::{slider, timeline};
use crate::picture::page::run::usage::usage;
use crate::picture::page::run::view::RunPage;
use crate::picture::page::run::workflow::workflow;
use crate::picture::page::runs::look_of;
use crate::picture::words::{age, duration, shortened};
use crate::runs::HolderLife;

/// The page of a run.
#[must_use]
pub fn run_page(view: &RunPage<'_>) -> Page {
    let run = view.run;
    let main = html! {
        h1 data-key="title" { (shortened(&run.card.run.title(), 400)) }
        p.dim.about data-key="about" { (about(view)) }
        p.facts data-key="facts" { (facts(view)) }
        (next(view))
        div.two {
            div {
                (timeline(view))
                (slider(view))
                (activities(view))
                (usage(view))
                (evidence(view))
            }
            (workflow(view))
        }
        (log(view))
    };
    let (symbol, ..) = look_of(&run.card);
    let what = format!("{symbol} {}", shortened(&run.card.run.title(), 100));
    Page {
        title: page_title(&what, view.project()),
        main,
        part: Part::Runs,
        project: view.project().map(str::to_owned),
    }
}

fn about(view: &RunPage<'_>) -> Markup {
    let run = view.run;
    let card = &run.card.run;
    html! {
        code { (card.head.run_id) } " · " (card.head.workflow)
        @if let Some(from) = &card.forked_from {
            " · fork of "
            @match view.project() {
                Some(project) => (run_link(project, &from.run_id)),
                None => code { (from.run_id) },
            }
            " at event " (from.seq)
        }
        @if let Some(issue) = &card.issue { " · issue " (issue) }
        @if let Some(pr) = card.pr { " · pull request " (pr) }
        @if let Some(feature) = &card.feature { " · " (shortened(feature, 80)) }
        @if let Some(branch) = run.branch.as_ref().filter(|branch| !branch.is_empty()) {
            " · branch " (shortened(branch, 80))
        }
    }
}

fn facts(view: &RunPage<'_>) -> Markup {
    let run = view.run;
    let card = &run.card.run;
    let now = view.as_of();
    html! {
        @if run.card.group.is_open() && let Some(phase) = &card.head.phase {
            "In " b { (phase) }
            @if let Some(since) = run.phase_since { " for " (age(since, now)) }
            " · "
        }
        // Of a run that is open, what comes next says how it stands.
        @if card.head.is_over() { (card.head.word()) " · " }
        "started " (age(card.head.created_at, now)) " ago"
        @if run.timeline.worked_ms > 0 { " · worked on for " (duration(run.timeline.worked_ms)) }
        @if let Some(session) = &card.session {
            " · held by " b { (session) }
            @match run.card.holder {
                Some(HolderLife::Dead) => { " " span.bad { "(its process is gone)" } }
                Some(HolderLife::Ended) => " (it ended)",
                Some(HolderLife::Unknown) if run.at.is_none() => { " (process state unknown)" }
                _ => {}
            }
        }
        @if let Some(sharing) = &card.sharing {
            " · shared in " (sharing.store)
            @if !sharing.as_of.reached { " " span.need { "(not reached; as of event " (sharing.as_of.seq) ")" } }
        }
        @if run.at.is_some() { " · " span.need { "as of " (time(run.shown_at, Clock::Second)) } }
    }
}
