//! The page of one run: where it is and why, what to do next, when work happened, and what came out.

use std::collections::{BTreeMap, HashSet};

use maud::{Markup, html};

use crate::engine::Attempt;
use crate::machine::Machine;
use crate::model::{ActivityStatus, Event, StepStatus, Timestamp};
use crate::picture::diagram::diagram;
use crate::picture::event::event_in_words;
use crate::picture::page::act::acts_on_run;
use crate::picture::page::document::{Page, Part, Place};
use crate::picture::page::file::file_address;
use crate::picture::page::pieces::{cell, command};
use crate::picture::page::runs::{look_of, look_of_group, tone};
use crate::picture::svg::{Mark, Marks, Progress, diagram_svg};
use crate::picture::timeline::timeline_svg;
use crate::picture::words::{
    age, clean, count, day_and_time, duration, for_whom, reason_now, shortened, why_no_command,
};
use crate::runs::{
    Alternative, EvidenceItem, EvidenceKind, EvidenceOrigin, HolderLife, LogReport, Need, NextReport, RunReport,
    ShownApproval, ShownQuestion, ShownStep,
};

/// So many ways to go on are shown where only a person knows which one it is; the others are folded.
const WAYS: usize = 3;

/// What the page of a run shows.
#[derive(Debug)]
pub struct RunPage<'a> {
    /// The run.
    pub run: &'a RunReport,
    /// The latest records of activities, the latest first.
    pub activities: &'a [Attempt],
    /// What it refers to as evidence and artifacts.
    pub evidence: &'a [EvidenceItem],
    /// A part of its log.
    pub log: &'a LogReport,
    /// Its workflow; none if it has no state machine.
    pub machine: Option<&'a Machine>,
    /// The address of the page, if it is served.
    pub address: Option<String>,
    /// The time.
    pub now: Timestamp,
    /// Whether the server lets the page act.
    pub actions: bool,
}

impl RunPage<'_> {
    fn place(&self) -> Place {
        if self.address.is_some() { Place::Served } else { Place::Alone }
    }

    /// Whether the commands are those of now. What was to be done at an earlier time may be wrong today.
    fn is_live(&self) -> bool {
        self.address.is_some() && self.run.at.is_none()
    }
}

/// The page of a run.
#[must_use]
pub fn run_page(view: &RunPage<'_>) -> Page {
    let run = view.run;
    let main = html! {
        h1 data-key="title" { (shortened(&run.card.run.title(), 400)) }
        p.dim.about data-key="about" { (about(run)) }
        p.facts data-key="facts" { (facts(view)) }
        (next(view))
        div.two {
            div {
                (timeline(view))
                (slider(view))
            }
            (workflow(view))
        }
        (activities(view))
        (evidence(view))
        (log(view))
    };
    let (symbol, ..) = look_of(&run.card);
    let project = view.address.iter().flat_map(|address| address.split('/').nth(1)).map(|name| format!(" · {name}"));
    let title = format!("{symbol} {}{} · flow", run.card.run.head.run_id, project.collect::<String>());
    Page { title, main, part: Part::Runs }
}

fn about(run: &RunReport) -> Markup {
    let card = &run.card.run;
    html! {
        code { (card.head.run_id) } " · " (card.head.workflow)
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
    let now = if run.at.is_some() { run.shown_at } else { view.now };
    html! {
        @if let Some(phase) = card.head.phase.as_ref().filter(|_| run.card.group.is_open()) {
            "In " b { (phase) }
            @if let Some(since) = run.phase_since { " for " (age(since, now)) }
            " · "
        }
        (card.head.word()) " · started " (age(card.head.created_at, now)) " ago"
        @if run.timeline.worked_ms > 0 { " · worked on for " (duration(run.timeline.worked_ms)) }
        @if let Some(session) = &card.session {
            " · held by " b { (session) }
            @match run.card.holder {
                Some(HolderLife::Dead) => { " " span.bad { "(its process is gone)" } }
                Some(HolderLife::Unknown) if run.at.is_none() => { " (not known whether it lives)" }
                _ => {}
            }
        }
        @if let Some(sharing) = &card.sharing {
            " · shared in " (sharing.store)
            @if !sharing.as_of.reached { " " span.need { "(not reached; as of event " (sharing.as_of.seq) ")" } }
        }
        @if run.at.is_some() { " · " span.need { "as of " (day_and_time(run.shown_at)) " UTC" } }
    }
}

/// What it needs, and the next safe action.
fn next(view: &RunPage<'_>) -> Markup {
    let run = view.run;
    // Without a button: a command of an earlier time is not to be copied.
    let place = if view.is_live() { Place::Served } else { Place::Alone };
    let (symbol, class) = look_of_group(run.card.group);
    let next = &run.card.next;
    let now = if run.at.is_some() { run.shown_at } else { view.now };
    let reason = reason_now(&run.card.reason, run.card.begun_at, now);
    let to_copy = next.command.as_ref().filter(|_| view.is_live());
    let why_none = (view.address.is_some() && to_copy.is_none()).then(|| match run.at {
        Some(at) => format!("this is the run after event {at}, and its commands are those of then"),
        None => why_no_command(next).to_owned(),
    });
    html! {
        section.next.(class) data-key="next" data-command=[to_copy] data-none=[why_none] aria-labelledby="verdict" {
            p { b.(class) #verdict { (symbol) " " (run.card.group.title()) } " — " (shortened(&reason, 1000)) }
            @if let Some(description) = &next.description {
                p.dim { @if let Some(phase) = &next.phase { b { (phase) } ": " } (shortened(description, 600)) }
            }
            @if let Some(suggestion) = &next.command { (command(&suggestion.to_string(), place)) }
            (alternatives(next, place))
            @if !run.notes.is_empty() {
                ul.notes { @for note in &run.notes { li { (shortened(note, 600)) } } }
            }
            // The last one is the reason of a run that asks.
            @for ShownQuestion { question, .. } in run.questions.iter().rev().skip(usize::from(run.card.need == Some(Need::Question))) {
                p { b { "Question" } " of " (question.step)
                    @if let Some(unit) = &question.unit { " (" (clean(unit.as_str())) ")" } ": " (shortened(&question.prompt, 1000)) }
            }
            @if let Some(address) = view.address.as_ref().filter(|_| view.actions && view.is_live()) {
                (acts_on_run(run, address))
            }
        }
    }
}

/// What else may be done, and when: folded where the first thing to do is known, and where there is much of it.
fn alternatives(next: &NextReport, place: Place) -> Markup {
    let open = if next.command.is_some() { 0 } else { WAYS };
    let (first, more) = next.alternatives.split_at(open.min(next.alternatives.len()));
    let ways = |ways: &[Alternative]| {
        html! {
            @for way in ways {
                p.when { "When " (shortened(&way.when, 300)) (for_whom(way)) ":" }
                (command(&way.command.to_string(), place))
            }
        }
    };
    let whens: Vec<_> = more.iter().map(|way| way.when.as_str()).collect();
    html! {
        (ways(first))
        @if !more.is_empty() {
            details data-key="ways" {
                summary { "When " (shortened(&whens.join(", or "), 120)) }
                (ways(more))
            }
        }
    }
}

fn timeline(view: &RunPage<'_>) -> Markup {
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
                span.dim { " · times in UTC" }
            }
            div.scroll tabindex="0" role="region" aria-label="Timeline" { (timeline_svg(timeline)) }
        }
    }
}

/// The run as of an earlier event.
fn slider(view: &RunPage<'_>) -> Markup {
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

fn workflow(view: &RunPage<'_>) -> Markup {
    let run = view.run;
    let diagram = view.machine.map(|machine| diagram(machine, &run.here()));
    html! {
        aside data-key="workflow" {
            h2 { "Workflow" }
            @if let Some(diagram) = &diagram {
                div.scroll tabindex="0" role="region" aria-label="Diagram" { (diagram_svg(diagram, &marks(run))) }
                @let with_units: Vec<_> = run.steps.iter().filter(|step| !step.units.is_empty()).collect();
                @if !with_units.is_empty() {
                    ul.steps { @for step in with_units { (step_line(step)) } }
                }
                @if diagram.left_out > 0 { p.dim { (count(diagram.left_out)) " more states are not drawn" } }
            } @else {
                ul.steps { @for step in &run.steps { (step_line(step)) } }
            }
            @if let Some(drift) = &run.drift {
                details.drift {
                    summary {
                        "The definition changed since the run began: " (drift.differences.len())
                        @if drift.differences.len() == 1 { " difference, " } @else { " differences, " }
                        @if drift.at_position { b.need { "where the run is" } } @else { "none where it is" }
                    }
                    ul { @for difference in &drift.differences { li { (shortened(&difference.message, 400)) } } }
                }
            }
            @if !run.card.left_undone.is_empty() {
                h2 { "Left undone" }
                ul { @for left in &run.card.left_undone { li { (clean(&left.to_string())) } } }
            }
            @if !run.skipped.is_empty() {
                h2 { "Passed over with a reason" }
                ul { @for skip in &run.skipped { li { (skip.phase) ": " (shortened(&skip.reason, 300)) } } }
            }
            @if !run.approvals.is_empty() {
                h2 { "Decisions" }
                ul { @for one in &run.approvals { li { (shortened(&decision(one), 400)) } } }
            }
        }
    }
}

/// Where the run has been and is.
pub(in crate::picture) fn marks(run: &RunReport) -> Marks {
    let mut states = BTreeMap::new();
    for step in &run.steps {
        let progress = match step.status {
            StepStatus::Completed | StepStatus::Skipped if step.current => Progress::HereDone(tone(&run.card)),
            _ if step.current => Progress::Here(tone(&run.card)),
            StepStatus::Completed => Progress::Done,
            StepStatus::Skipped => Progress::Skipped,
            StepStatus::Failed => Progress::Failed,
            StepStatus::NotStarted | StepStatus::Running | StepStatus::Waiting => Progress::Untouched,
        };
        states.insert(step.step.clone(), Mark { visits: u64::from(run.visits(&step.step)), progress });
    }
    Marks { prefix: "workflow-".to_owned(), states }
}

/// The shape and the class of a step's status.
pub(crate) fn look_of_step(status: StepStatus) -> (&'static str, &'static str) {
    match status {
        StepStatus::Completed => ("✓", "done"),
        StepStatus::Failed => ("✕", "bad"),
        StepStatus::Running => ("●", "run"),
        StepStatus::Waiting => ("▲", "need"),
        StepStatus::Skipped => ("–", "dim"),
        StepStatus::NotStarted => ("◦", "dim"),
    }
}

/// A person's decision at a gate, in words.
pub(crate) fn decision(one: &ShownApproval) -> String {
    let phase = one.phase.as_ref().map_or("", |phase| phase.as_str());
    let verb = if one.approved { "approved" } else { "rejected" };
    let why = one.reason.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
    format!("{phase}: {verb} by {} {}, having seen event {}{why}", one.approval.by, one.approval.how, one.approval.seen)
}

fn step_line(step: &ShownStep) -> Markup {
    html! {
        li aria-current=[step.current.then_some("step")] {
            (look_of_step(step.status).0) " " (step.step) " " span.dim { (step.status) }
            @if !step.units.is_empty() {
                ul { @for unit in &step.units {
                    li { (clean(unit.unit.as_ref().map_or(unit.step.as_str(), |unit| unit.as_str()))) " "
                        span.dim { (unit.status) } }
                } }
            }
        }
    }
}

fn activities(view: &RunPage<'_>) -> Markup {
    let run = view.run;
    // Where flow saw nothing, there is nothing to tell the rest from.
    let tells = view.activities.iter().any(Attempt::is_seen);
    if run.activities == 0 {
        return html! {};
    }
    html! {
        section data-key="activities" {
            h2 { "Activities " span.dim { (count(run.activities)) } }
            table.cards {
                thead { tr { th { "No." } th { "Activity" } th { "Phase" } th { "Status" } th { "What came out" } } }
                tbody {
                    @for (attempt, is_old) in overtaken(view.activities) {
                        tr data-key={ "a" (attempt.number) } {
                            td.mono data-name="No." { (attempt.number) }
                            td.mono data-name="Activity" { (clean(&attempt.id)) }
                            td data-name="Phase" { (attempt.phase.as_ref().map_or("", |phase| phase.as_str())) }
                            td data-name="Status" {
                                (activity_status(attempt, is_old))
                                @if tells { span.dim { (attempt.seen_or_claimed().trim_start_matches(',')) } }
                            }
                            td data-name="What came out" { (shortened(attempt.summary.as_deref().unwrap_or_default(), 300)) }
                        }
                    }
                }
            }
            @if view.activities.len() < run.activities {
                p.dim { "The latest " (count(view.activities.len())) " of " (count(run.activities)) ". All: "
                    code { "flow show " (run.card.run.head.run_id) } }
            }
        }
    }
}

/// The shape, the class and the words of an activity's status.
pub(crate) fn look_of_activity(status: ActivityStatus, exit_code: Option<i64>) -> (&'static str, &'static str, String) {
    let (symbol, class, word) = match status {
        ActivityStatus::Passed => ("✓", "done", "passed"),
        ActivityStatus::Failed => ("✕", "bad", "failed"),
        ActivityStatus::Skipped => ("–", "dim", "skipped"),
        ActivityStatus::Running => ("◆", "doubt", "begun"),
        ActivityStatus::Blocked => ("▲", "need", "blocked"),
        ActivityStatus::Pending => ("◦", "dim", "planned"),
    };
    (symbol, class, status.word_with_exit_code(word, exit_code))
}

/// The records, each with whether a later one says how its work went on. `attempts` has the latest first.
fn overtaken(attempts: &[Attempt]) -> impl Iterator<Item = (&Attempt, bool)> {
    let mut later = HashSet::new();
    attempts.iter().map(move |attempt| (attempt, !later.insert((&attempt.id, &attempt.phase))))
}

fn activity_status(attempt: &Attempt, is_old: bool) -> Markup {
    let (symbol, class, word) = match look_of_activity(attempt.status, attempt.exit_code) {
        // Its outcome is known, so nothing is in doubt.
        (_, _, word) if is_old && attempt.status == ActivityStatus::Running => ("·", "dim", word),
        look => look,
    };
    html! { span class={ "tag " (class) } { (symbol) " " (word) } }
}

/// The most rows of evidence.
const EVIDENCE: usize = 200;

fn evidence(view: &RunPage<'_>) -> Markup {
    if view.evidence.is_empty() {
        return html! {};
    }
    html! {
        section data-key="evidence" {
            h2 { "Evidence and artifacts " span.dim { (count(view.evidence.len())) } }
            table.cards {
                thead { tr { th { "What" } th { "From" } th { "Size" } } }
                tbody { @for item in view.evidence.iter().take(EVIDENCE) {
                    tr {
                        (cell("What", evidence_link(view, item)))
                        (cell("From", origin(&item.origin)))
                        (cell("Size", html! {
                            @match (item.exists, item.bytes) {
                                (Some(false), _) => span class="tag bad" { "✕ missing" },
                                (_, Some(bytes)) => { (count(usize::try_from(bytes).unwrap_or(usize::MAX))) " bytes" }
                                (_, None) => {}
                            }
                        }))
                    }
                } }
            }
            @if view.evidence.len() > EVIDENCE {
                p.dim { "More is left out. All: " code { "flow evidence " (view.run.card.run.head.run_id) } }
            }
        }
    }
}

fn evidence_link(view: &RunPage<'_>, item: &EvidenceItem) -> Markup {
    let shown = shortened(&item.reference, 200);
    html! {
        @if let Some(label) = &item.label { (shortened(label, 200)) " " }
        @match (item.kind, &item.file, &view.address) {
            // Other people wrote the address, so the page behind it learns nothing of this one.
            (EvidenceKind::Link, ..) => a href=(item.reference) rel="noopener noreferrer" { (shown) },
            (_, Some(file), Some(address)) if item.exists == Some(true) => {
                a href={ (address) "/" (file_address(file)) } { (shown) }
            }
            (EvidenceKind::File, ..) => code { (shown) },
            (EvidenceKind::Text, ..) => (shown),
        }
    }
}

fn origin(origin: &EvidenceOrigin) -> Markup {
    match origin {
        EvidenceOrigin::Activity { number, id } => html! { (number) " " (clean(id)) },
        EvidenceOrigin::Artifact { step } => html! {
            "artifact" @if let Some(step) = step { " of " (step) }
        },
        EvidenceOrigin::Directory => html! { span.dim { "nothing refers to it" } },
    }
}

fn log(view: &RunPage<'_>) -> Markup {
    let events = &view.log.events;
    let (first, last) = (events.first().map_or(0, |event| event.seq.0), events.last().map_or(0, |event| event.seq.0));
    let is_alone = view.place() == Place::Alone;
    let total = if is_alone { view.run.at.unwrap_or(view.run.last).0 } else { view.run.last.0 };
    html! {
        section #log data-key="log" {
            h2 { "Log " span.dim { "events " (first) " to " (last) " of " (total) } }
            div.scroll tabindex="0" role="region" aria-label="Log" {
                table.log {
                    tbody {
                        @for event in view.log.events.iter().rev() { (event_row(event)) }
                    }
                }
            }
            @if let (Place::Served, Some(address)) = (view.place(), &view.address) {
                p.more {
                    @if last < total { a href={ (address) "?log=" (last + LOG_PAGE as u64) "#log" } { "Newer" } " " }
                    @if first > 1 { a href={ (address) "?log=" (first - 1) "#log" } { "Older" } }
                }
            }
            @if is_alone && first > 1 {
                p.dim { "Earlier events are left out. All: " code { "flow log " (view.run.card.run.head.run_id) } }
            }
            @if !view.log.skipped.is_empty() {
                p.bad { "✕ " (view.log.skipped.len() + view.log.more_skipped) " lines are not events of flow: "
                    code { "flow log " (view.run.card.run.head.run_id) } " shows them" }
            }
        }
    }
}

/// How many events a page of a log has.
pub const LOG_PAGE: usize = 50;

fn event_row(event: &Event) -> Markup {
    html! {
        tr data-key={ "e" (event.seq) "/" (event.id) } {
            td.mono { (event.seq) }
            td.dim { time datetime=(event.at) { (day_and_time(event.at)) } }
            td { (clean(event.kind.name())) }
            td { (shortened(&event_in_words(event), 400)) }
        }
    }
}
