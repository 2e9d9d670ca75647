//! When work happened, and the run as of an earlier event.

use maud::{Markup, html};

use crate::picture::page::pieces::zone;
use crate::picture::page::run::view::RunPage;
use crate::picture::timeline::timeline_svg;
use crate::picture::words::duration;

pub(super) fn timeline(view: &RunPage<'_>) -> Markup {
    let timeline = &view.run.timeline;
    // A long run has many; the first ones say enough.
    let folds: Vec<_> =
        timeline.folds.iter().map(|fold| duration(fold.from.milliseconds_until(fold.to))).take(4).collect();
    html! {
        section data-key="timeline" {
            h2 { "Timeline"
                @if !folds.is_empty() {
                    span.dim { " without the " (folds.join(", "))
                        @if timeline.folds.len() > folds.len() { ", …" } " in which nothing happened" }
                }
                (zone())
            }
            div.scroll tabindex="0" role="region" aria-label="Timeline" { (timeline_svg(timeline)) }
        }
    }
}

/// The run as of an earlier event.
pub(super) fn slider(view: &RunPage<'_>) -> Markup {
    let Some(address) = &view.address else { return html! {} };
    let run = view.run;
    let at = run.at.unwrap_or(run.last);
    html! {
        form.slider method="get" action=(address) data-key="slider" {
            label for="at" { "As of event" }
            input #at type="range" name="at" min="1" max=(run.last) value=(at);
            output { (at) " of " (run.last) @if run.at.is_none() { " · now" } }
            @if run.at.is_some() { a href=(address) { "Now" } }
        }
    }
}
