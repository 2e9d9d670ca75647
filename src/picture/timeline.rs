//! A timeline as an SVG.
//!
//! Its classes are `lane`, `unit`, `mark`, `rule`, `fold`, and `bar` with one of `done`, `failed`, `skipped`, `running`,
//! `left`, `waits`, `doubt`. Colours come from the style sheet; shapes and words say the same.

use maud::{Markup, PreEscaped, html};

use crate::engine::{Lane, Span, SpanState, Timeline};
use crate::model::{StepStatus, Timestamp};
use crate::picture::axis::Axis;
use crate::picture::words::{clean, duration, shortened};

/// The width of the names of lanes, of the axis, and of the words behind the last bar.
const NAMES: f64 = 130.0;
const WIDTH: f64 = 640.0;
const BEHIND: f64 = 110.0;
/// The heights of a step, of a unit, and of the marks above.
const STEP: f64 = 28.0;
const UNIT: f64 = 20.0;
const TOP: f64 = 30.0;
/// The most lanes; a workflow may have thousands of states.
const LANES: usize = 200;
/// Bars of one look that are closer than this are drawn as one.
const CLOSE: f64 = 0.75;

/// A bar of a lane, and what to say of it.
pub(super) struct Bar<'t> {
    pub(super) x: f64,
    pub(super) width: f64,
    pub(super) look: &'static str,
    first: &'t Span,
    pub(super) last: &'t Span,
}

/// Draws `timeline`. Lanes of steps that the run never entered are named; beyond two hundred lanes the rest is counted.
#[must_use]
pub fn timeline_svg(timeline: &Timeline) -> Markup {
    drawn(timeline, None)
}

/// Draws `timeline` as a file of its own, with this style sheet. Its background has the class `paper`.
pub(super) fn timeline_alone(timeline: &Timeline, style: &str) -> Markup {
    drawn(timeline, Some(style))
}

fn drawn(timeline: &Timeline, style: Option<&str>) -> Markup {
    let axis = Axis::new(timeline, WIDTH);
    let lanes = &timeline.lanes[..timeline.lanes.len().min(LANES)];
    let mut y = TOP;
    let rows: Vec<(f64, f64, &Lane)> = lanes
        .iter()
        .map(|lane| {
            let height = if lane.below.is_some() { UNIT } else { STEP };
            y += height;
            (y - height, height, lane)
        })
        .collect();
    let (bottom, width) = (y, NAMES + axis.width() + BEHIND);
    let (width, height) = (round(width), round(bottom + 26.0));
    let left_out = timeline.lanes.len() - lanes.len();
    html! {
        svg.timeline xmlns=[style.map(|_| "http://www.w3.org/2000/svg")]
            viewBox=[style.map(|_| format!("0 0 {width} {height}"))]
            width=(width) height=(height) role="img" aria-label=(in_words(timeline)) {
            @if let Some(style) = style {
                title { (in_words(timeline)) }
                style { (PreEscaped(style)) }
                rect.paper width=(width) height=(height) {}
            }
            defs {
                pattern #hatch width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)" {
                    path.hatch d="M0 0v6" {}
                }
                pattern #folded width="8" height="8" patternUnits="userSpaceOnUse" patternTransform="rotate(45)" {
                    path.folds d="M0 0v8" {}
                }
            }
            @for mark in axis.marks() {
                text.mark x=(round(NAMES + mark.at)) y="14" { (mark.label) }
                path.rule d={ "M" (round(NAMES + mark.at)) " 20V" (round(bottom)) } {}
            }
            @for gap in axis.gaps() {
                @let length = duration(gap.fold.from.milliseconds_until(gap.fold.to));
                rect.fold x=(round(NAMES + gap.at)) y="20" width=(gap.width) height=(round(bottom - 20.0))
                    fill="url(#folded)" { title { "nothing happened for " (length) } }
                text.mark x=(round(NAMES + gap.at - 4.0)) y=(round(bottom + 14.0)) { (length) }
            }
            @for (y, height, lane) in rows {
                (lane_row(lane, &axis, timeline, y, height))
            }
            @if left_out > 0 {
                text.mark x="0" y=(round(bottom + 22.0)) { (left_out) " more steps are not drawn" }
            }
        }
    }
}

fn lane_row(lane: &Lane, axis: &Axis, timeline: &Timeline, y: f64, height: f64) -> Markup {
    let bars = bars(lane, axis, timeline.to);
    let is_unit = lane.below.is_some();
    let name = lane.name();
    let (indent, letters) = if is_unit { (14.0, 15) } else { (0.0, 17) };
    let base = round(y + height / 2.0 + 4.0);
    html! {
        text class=(if is_unit { "lane unit" } else { "lane" }) x=(indent) y=(base) {
            (shortened(name, letters)) title { (clean(name)) " (" (clean(lane.step.as_str())) ")" }
        }
        @if bars.is_empty() {
            text.mark x=(round(NAMES)) y=(base) { "not started" }
        }
        @for bar in &bars {
            @let fill = (bar.look == "doubt").then_some("url(#hatch)");
            rect class={ "bar " (bar.look) } x=(round(NAMES + bar.x)) y=(round(y + 4.0)) width=(round(bar.width))
                height=(round(height - 8.0)) rx="3" fill=[fill] { title { (of_bar(lane, bar, timeline.to)) } }
            @if matches!(bar.look, "waits") && bar.width > 50.0 {
                text.within x=(round(NAMES + bar.x + 4.0)) y=(base) { (state_in_words(bar.first.state)) }
            }
        }
        @if let Some(last) = bars.last() {
            text.mark x=(round(NAMES + last.x + last.width + 6.0)) y=(base) { (outcome_of(lane, last.last, timeline.to)) }
        }
    }
}

/// The bars of a lane. Neighbours that look alike and cannot be told apart become one.
pub(super) fn bars<'t>(lane: &'t Lane, axis: &Axis, now: Timestamp) -> Vec<Bar<'t>> {
    let mut bars: Vec<Bar<'t>> = Vec::new();
    for span in &lane.spans {
        let (from, to) = (axis.place(span.from), axis.place(span.to.unwrap_or(now)));
        let look = look(lane, span);
        if let Some(bar) = bars.last_mut().filter(|bar| bar.look == look && to - (bar.x + bar.width) < CLOSE) {
            bar.width = bar.width.max(to - bar.x);
            bar.last = span;
            continue;
        }
        bars.push(Bar { x: from, width: (to - from).max(2.0), look, first: span, last: span });
    }
    bars
}

fn look(lane: &Lane, span: &Span) -> &'static str {
    let goes_on = lane.spans.last().is_some_and(|last| last.to.is_none() && last.attempt == span.attempt);
    match (span.state, span.outcome) {
        (SpanState::Waiting | SpanState::Blocked, _) => "waits",
        (SpanState::InDoubt, _) => "doubt",
        (SpanState::Running, Some(StepStatus::Failed)) => "failed",
        (SpanState::Running, Some(StepStatus::Skipped)) => "skipped",
        (SpanState::Running, Some(_)) => "done",
        (SpanState::Running, None) if goes_on => "running",
        (SpanState::Running, None) => "left",
    }
}

fn state_in_words(state: SpanState) -> &'static str {
    match state {
        SpanState::Running => "at work",
        SpanState::Waiting => "waits",
        SpanState::Blocked => "blocked",
        SpanState::InDoubt => "outcome unknown",
    }
}

fn outcome_in_words(span: &Span) -> &'static str {
    match span.outcome {
        Some(StepStatus::Failed) => "✕",
        Some(StepStatus::Skipped) => "– skipped",
        Some(_) => "✓",
        None if span.to.is_none() => "…",
        None => "– left",
    }
}

/// The duration of the last attempt, and how it ended.
pub(super) fn outcome_of(lane: &Lane, last: &Span, now: Timestamp) -> String {
    let begun = lane.latest_began().unwrap_or(last.from);
    let took = duration(begun.milliseconds_until(last.to.unwrap_or(now)));
    let attempts = if last.attempt > 1 { format!(" ×{}", last.attempt) } else { String::new() };
    format!("{} {took}{attempts}", outcome_in_words(last))
}

fn of_bar(lane: &Lane, bar: &Bar<'_>, now: Timestamp) -> String {
    let name = clean(lane.name());
    let took = duration(bar.first.from.milliseconds_until(bar.last.to.unwrap_or(now)));
    let attempts = match (bar.first.attempt, bar.last.attempt) {
        (one, last) if one == last => format!("attempt {one}"),
        (one, last) => format!("attempts {one} to {last}"),
    };
    let state = state_in_words(bar.first.state);
    let outcome = bar.last.outcome.map(|outcome| format!(", {outcome}")).unwrap_or_default();
    format!("{name}, {attempts}: {state} for {took}{outcome} (events {} to {})", bar.first.first, bar.last.last)
}

/// The timeline as a sentence, for those who do not see it.
fn in_words(timeline: &Timeline) -> String {
    let entered = timeline.lanes.iter().filter(|lane| lane.below.is_none() && !lane.spans.is_empty());
    let steps = entered.take(20).filter_map(|lane| {
        let last = lane.spans.last()?;
        Some(format!("{} {}", clean(lane.step.as_str()), outcome_of(lane, last, timeline.to)))
    });
    format!("Timeline: {}", steps.collect::<Vec<_>>().join(", "))
}

/// A tenth of a pixel is enough.
fn round(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Fold;
    use crate::model::Seq;

    fn at(text: &str) -> Timestamp {
        format!("2026-05-{text}:00Z").parse().unwrap()
    }

    fn span(attempt: u32, state: SpanState, from: &str, to: Option<&str>, outcome: Option<StepStatus>) -> Span {
        Span { attempt, state, from: at(from), to: to.map(at), outcome, first: Seq(1), last: Seq(2) }
    }

    fn lane(step: &str, spans: Vec<Span>) -> Lane {
        Lane { step: step.parse().unwrap(), unit: None, below: None, spans }
    }

    fn timeline() -> Timeline {
        use SpanState::{Blocked, InDoubt, Running};
        let done = Some(StepStatus::Completed);
        let code = vec![
            span(1, Running, "20T10:20", Some("20T11:00"), Some(StepStatus::Failed)),
            span(2, Running, "21T09:00", Some("21T09:20"), None),
            span(2, Blocked, "21T09:20", Some("21T10:20"), None),
            span(2, InDoubt, "21T10:20", None, None),
        ];
        let task = span(1, Running, "21T09:00", Some("21T09:10"), done);
        let unit = Lane {
            unit: Some("<b>T1</b>".parse().unwrap()),
            below: Some("code".parse().unwrap()),
            ..lane("code", vec![task])
        };
        Timeline {
            from: at("20T10:00"),
            to: at("21T10:40"),
            worked_ms: 0,
            lanes: vec![
                lane("explore", vec![span(1, Running, "20T10:00", Some("20T10:20"), done)]),
                lane("code", code),
                unit,
                lane("verify", Vec::new()),
            ],
            sessions: Vec::new(),
            folds: vec![Fold { from: at("20T11:00"), to: at("21T09:00") }],
        }
    }

    #[test]
    fn a_timeline_is_drawn_with_words_beside_its_colours() {
        insta::assert_snapshot!(timeline_svg(&timeline()).into_string().replace("><", ">\n<"));
    }

    #[test]
    fn thousands_of_short_attempts_become_few_bars() {
        let spans = (0..10_000_u32).map(|attempt| {
            let from = at("20T10:00").later(i64::from(attempt) * 100);
            Span { from, to: Some(from.later(90)), ..span(attempt + 1, SpanState::Running, "20T10:00", None, None) }
        });
        let timeline = Timeline { lanes: vec![lane("code", spans.collect())], ..timeline() };
        assert!(timeline_svg(&timeline).into_string().matches("<rect").count() < 800);
    }

    #[test]
    fn a_workflow_of_thousands_of_steps_is_drawn_in_part() {
        let lanes = (0..5000).map(|step| lane(&format!("s{step}"), Vec::new())).collect();
        let drawn = timeline_svg(&Timeline { lanes, ..timeline() }).into_string();
        assert!(drawn.contains("4800 more steps are not drawn") && drawn.len() < 100_000);
    }
}
