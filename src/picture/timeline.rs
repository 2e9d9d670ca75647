//! A timeline as an SVG.
//!
//! A bar is recorded work; where the run was in a step is a thin line, and waiting is an empty bar. Its classes are `lane`,
//! `unit`, `mark`, `rule`, `fold`, `stay`, and `bar` with one of `done`, `failed`, `skipped`, `running`, `left`, `waits`,
//! `doubt`. Colours come from the style sheet; shapes and words say the same.

use maud::{Markup, PreEscaped, html};

use crate::engine::{Lane, Span, SpanState, Timeline, WaitState};
use crate::model::{Seq, StepStatus, Timestamp};
use crate::picture::axis::Axis;
use crate::picture::text::rounded;
use crate::picture::words::{clean, duration, shortened};

/// The width of the names of lanes, of the axis, and of the words behind the last bar. Together they fit beside the diagram in a
/// window of 1280 pixels.
const NAMES: f64 = 130.0;
const WIDTH: f64 = 606.0;
const BEHIND: f64 = 126.0;
/// The heights of a step, of a unit, and of the marks above.
const STEP: f64 = 28.0;
const UNIT: f64 = 20.0;
const TOP: f64 = 30.0;
/// The most lanes; a workflow may have thousands of states.
const LANES: usize = 200;
/// Bars of one look that are closer than this are drawn as one.
const CLOSE: f64 = 0.75;
/// The least width of a bar with a word in it.
const WITHIN: f64 = 50.0;
/// The least width of a bar, which is that of a point.
const LEAST: f64 = 2.0;

/// A bar of a lane, and what to say of it.
pub(super) struct Bar {
    pub(super) x: f64,
    pub(super) width: f64,
    pub(super) look: &'static str,
    /// What stands in it, if there is room.
    within: &'static str,
    /// How many spans it stands for.
    spans: usize,
    /// What to say of them.
    about: String,
    last: Seq,
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
    let mut rows: Vec<(f64, f64, &Lane)> = Vec::with_capacity(lanes.len());
    for lane in lanes {
        let height = if lane.below.is_some() { UNIT } else { STEP };
        rows.push((y, height, lane));
        y += height;
    }
    let (bottom, width) = (y, NAMES + axis.width + BEHIND);
    let (width, height) = (rounded(width), rounded(bottom + 26.0));
    let left_out = timeline.lanes.len() - lanes.len();
    html! {
        svg.timeline xmlns=[style.map(|_| "http://www.w3.org/2000/svg")]
            viewBox=(format!("0 0 {width} {height}"))
            width=(width) height=(height) role="img" aria-label=(in_words(timeline)) {
            @if let Some(style) = style {
                // A file has no page around it that would name it and give it colours.
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
                // In a page, the script says it in the reader's own time.
                @let clock = if mark.names_day() { "minute" } else { "time" };
                @let (at, clock) = if style.is_none() { (Some(mark.time), Some(clock)) } else { (None, None) };
                text.mark data-at=[at] data-clock=[clock] x=(rounded(NAMES + mark.at)) y="14" { (mark.label) }
                path.rule d={ "M" (rounded(NAMES + mark.at)) " 20V" (rounded(bottom)) } {}
            }
            @for (gap, label) in axis.gaps().zip(axis.label_places()) {
                @let length = gap.length();
                rect.fold x=(rounded(NAMES + gap.at)) y="20" width=(gap.width) height=(rounded(bottom - 20.0))
                    fill="url(#folded)" { title { "nothing happened for " (length) } }
                // Without room for it, the fold says it to the pointer.
                @if let Some(at) = label {
                    text.mark x=(rounded(NAMES + at)) y=(rounded(bottom + 14.0)) { (length) }
                }
            }
            @for (y, height, lane) in rows {
                (lane_row(lane, &axis, timeline, y, height))
            }
            @if left_out > 0 {
                text.mark x="0" y=(rounded(bottom + 22.0)) { (left_out) " more steps are not drawn" }
            }
        }
    }
}

fn lane_row(lane: &Lane, axis: &Axis, timeline: &Timeline, y: f64, height: f64) -> Markup {
    let (bars, waits) = (bars(lane, axis, timeline.to), waits(lane, axis, timeline.to));
    let is_unit = lane.below.is_some();
    let name = lane.name();
    let (indent, letters) = if is_unit { (14.0, 15) } else { (0.0, 17) };
    let base = rounded(y + height / 2.0 + 4.0);
    let stays: Vec<_> = stays(lane, axis, timeline.to).collect();
    let ends = stays.iter().map(|(_, end)| *end).chain(waits.iter().chain(&bars).map(|bar| bar.x + bar.width));
    let end = ends.fold(0.0, f64::max);
    html! {
        text class=(if is_unit { "lane unit" } else { "lane" }) x=(indent) y=(base) {
            (shortened(name, letters)) title { (clean(name)) " (" (clean(lane.step.as_str())) ")" }
        }
        @if lane.is_empty() {
            text.mark x=(rounded(NAMES)) y=(base) { "not started" }
        }
        @for (from, to) in &stays {
            path.stay d={ "M" (rounded(NAMES + from)) " " (rounded(y + height / 2.0)) "H" (rounded(NAMES + to)) } {}
        }
        @for bar in waits.iter().chain(&bars) {
            // Doubt has a pattern as well, for those who do not see its colour.
            @let fill = (bar.look == "doubt").then_some("url(#hatch)");
            rect class={ "bar " (bar.look) } x=(rounded(NAMES + bar.x)) y=(rounded(y + 4.0)) width=(rounded(bar.width))
                height=(rounded(height - 8.0)) rx="3" fill=[fill] { title { (bar.in_words()) } }
            @if !bar.within.is_empty() && bar.width > WITHIN {
                text.within x=(rounded(NAMES + bar.x + 4.0)) y=(base) { (bar.within) }
            }
        }
        @let outcome = outcome_of(lane, timeline.to);
        @if !outcome.is_empty() {
            text.mark x=(rounded(NAMES + end + 6.0)) y=(base) { (outcome) }
        }
    }
}

/// Where the run was in the step: beginnings and ends of lines.
pub(super) fn stays(lane: &Lane, axis: &Axis, now: Timestamp) -> impl Iterator<Item = (f64, f64)> {
    let places = lane.stays.iter().map(move |stay| (axis.place(stay.from), axis.place(stay.to.unwrap_or(now))));
    let mut lines: Vec<(f64, f64)> = Vec::new();
    for (from, to) in places {
        match lines.last_mut() {
            Some(before) if from - before.1 < CLOSE => before.1 = before.1.max(to),
            _ => lines.push((from, to)),
        }
    }
    lines.into_iter()
}

/// The bars of recorded work.
pub(super) fn bars(lane: &Lane, axis: &Axis, now: Timestamp) -> Vec<Bar> {
    // Collected once: a lane may have thousands of spans, and few of them are open.
    let open: Vec<&Span> = lane.spans.iter().filter(|span| span.to.is_none()).collect();
    let mut bars = Vec::new();
    for span in &lane.spans {
        let about = of_span(lane, span, now);
        // An attempt whose span ended goes on if a later span of it is open.
        let goes_on = open.iter().any(|one| one.activity == span.activity && one.attempt == span.attempt);
        let (x, width) = place(axis, span.stretch(now));
        add_or_join(
            &mut bars,
            Bar { x, width, look: look(span, goes_on), within: "", spans: 1, about, last: span.last },
        );
    }
    bars
}

/// The bars of waiting.
pub(super) fn waits(lane: &Lane, axis: &Axis, now: Timestamp) -> Vec<Bar> {
    let mut bars = Vec::new();
    for wait in &lane.waits {
        let (from, to) = wait.stretch(now);
        let within = match wait.state {
            WaitState::Waiting => "waits",
            WaitState::Blocked => "blocked",
        };
        let took = duration(from.milliseconds_until(to));
        let about = format!("{}: {within} for {took} (events {} to {})", clean(lane.name()), wait.first, wait.last);
        let (x, width) = place(axis, (from, to));
        add_or_join(&mut bars, Bar { x, width, look: "waits", within, spans: 1, about, last: wait.last });
    }
    bars
}

/// The left side and the width of a bar.
fn place(axis: &Axis, (from, to): (Timestamp, Timestamp)) -> (f64, f64) {
    let x = axis.place(from);
    (x, (axis.place(to) - x).max(LEAST))
}

/// Adds a bar. Neighbours that look alike and cannot be told apart become one.
fn add_or_join(bars: &mut Vec<Bar>, next: Bar) {
    let end = next.x + next.width;
    match bars.last_mut() {
        Some(bar) if bar.look == next.look && end - (bar.x + bar.width) < CLOSE => {
            bar.width = bar.width.max(end - bar.x);
            bar.spans += next.spans;
            bar.last = bar.last.max(next.last);
        }
        _ => bars.push(next),
    }
}

impl Bar {
    fn in_words(&self) -> String {
        let Self { about, last, .. } = self;
        match self.spans - 1 {
            0 => about.clone(),
            more => format!("{about}, and {more} more up to event {last}"),
        }
    }
}

/// How a span looks; `goes_on` says that its attempt does.
fn look(span: &Span, goes_on: bool) -> &'static str {
    match (span.state, span.outcome) {
        (SpanState::InDoubt, _) => "doubt",
        (SpanState::Running, Some(StepStatus::Failed)) => "failed",
        (SpanState::Running, Some(StepStatus::Skipped)) => "skipped",
        (SpanState::Running, Some(_)) => "done",
        (SpanState::Running, None) if goes_on => "running",
        (SpanState::Running, None) => "left",
    }
}

/// How the work in a lane stands, how long it took, and how often it was tried.
pub(super) fn outcome_of(lane: &Lane, now: Timestamp) -> String {
    let waits = lane.waits.last().is_some_and(|wait| wait.to.is_none());
    let Some(span) = lane.decisive() else { return if waits { "▲".to_owned() } else { String::new() } };
    let symbol = match (span.state, span.outcome) {
        _ if waits => "▲",
        (_, Some(StepStatus::Failed)) => "✕",
        (_, Some(StepStatus::Skipped)) => "– skipped",
        (_, Some(_)) => "✓",
        (SpanState::InDoubt, None) => "?",
        (SpanState::Running, None) if span.to.is_none() => "…",
        (SpanState::Running, None) => "–",
    };
    let mut words = symbol.to_owned();
    let worked = lane.worked_ms(now);
    if worked > 0 {
        words = format!("{words} {}", duration(worked));
    }
    if span.attempt > 1 {
        words = format!("{words} ×{}", span.attempt);
    }
    words
}

fn of_span(lane: &Lane, span: &Span, now: Timestamp) -> String {
    let (from, to) = span.stretch(now);
    let took = duration(from.milliseconds_until(to));
    let state = match span.state {
        SpanState::Running if span.is_point() => "recorded, its beginning is not known".to_owned(),
        SpanState::Running => format!("at work for {took}"),
        SpanState::InDoubt if span.is_point() => "begun, outcome unknown".to_owned(),
        SpanState::InDoubt => format!("begun, seen for {took}, outcome unknown"),
    };
    let outcome = span.outcome.map(|outcome| format!(", {outcome}")).unwrap_or_default();
    let (work, Span { attempt, first, last, .. }) = (clean(lane.work_of(span)), span);
    format!("{work}, attempt {attempt}: {state}{outcome} (events {first} to {last})")
}

/// The timeline as a sentence, for those who do not see it.
fn in_words(timeline: &Timeline) -> String {
    let entered = timeline.lanes.iter().filter(|lane| lane.below.is_none() && !lane.is_empty());
    let steps = entered.take(20).map(|lane| {
        let outcome = outcome_of(lane, timeline.to);
        format!("{} {outcome}", clean(lane.step.as_str())).trim_end().to_owned()
    });
    format!("Timeline: {}", steps.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Fold, Stay, Wait};

    fn at(text: &str) -> Timestamp {
        format!("2026-05-{text}:00Z").parse().unwrap()
    }

    fn span(attempt: u32, state: SpanState, from: &str, to: Option<&str>, outcome: Option<StepStatus>) -> Span {
        let (activity, first, last) = (None, Seq(1), Seq(2));
        Span { activity, attempt, state, from: at(from), to: to.map(at), outcome, first, last }
    }

    fn lane(step: &str, spans: Vec<Span>) -> Lane {
        Lane { step: step.parse().unwrap(), unit: None, below: None, stays: Vec::new(), waits: Vec::new(), spans }
    }

    fn stay(from: &str, to: Option<&str>) -> Stay {
        Stay { from: at(from), to: to.map(at) }
    }

    fn timeline() -> Timeline {
        use SpanState::{InDoubt, Running};
        let done = Some(StepStatus::Completed);
        let code = vec![
            span(1, Running, "20T10:20", Some("20T11:00"), Some(StepStatus::Failed)),
            span(2, Running, "21T09:00", Some("21T09:20"), done),
            Span { activity: Some("docs".to_owned()), ..span(1, Running, "21T09:30", Some("21T09:30"), done) },
            Span { activity: Some("tests".to_owned()), ..span(1, InDoubt, "21T10:20", Some("21T10:30"), None) },
        ];
        let blocked = Wait {
            state: WaitState::Blocked,
            from: at("21T09:20"),
            to: Some(at("21T10:20")),
            first: Seq(3),
            last: Seq(4),
        };
        let task = span(1, Running, "21T09:00", Some("21T09:10"), done);
        let unit = Lane {
            unit: Some("<b>T1</b>".parse().unwrap()),
            below: Some("code".parse().unwrap()),
            ..lane("code", vec![task])
        };
        let explore = lane("explore", vec![span(1, Running, "20T10:00", Some("20T10:10"), done)]);
        Timeline {
            from: at("20T10:00"),
            to: at("21T10:40"),
            worked_ms: 0,
            lanes: vec![
                Lane { stays: vec![stay("20T10:00", Some("20T10:20"))], ..explore },
                Lane { stays: vec![stay("20T10:20", None)], waits: vec![blocked], ..lane("code", code) },
                unit,
                Lane { stays: vec![stay("21T10:30", None)], ..lane("review", Vec::new()) },
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
