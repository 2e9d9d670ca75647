//! The workflow of a run: where it has been, where it is, and what it left behind.

use std::collections::BTreeMap;

use maud::{Markup, html};

use crate::model::StepStatus;
use crate::picture::diagram::diagram;
use crate::picture::page::run::looks::{decision, look_of_step};
use crate::picture::page::run::view::RunPage;
use crate::picture::page::runs::tone;
use crate::picture::svg::{Mark, Marks, Progress, diagram_svg};
use crate::picture::words::{clean, count, shortened};
use crate::runs::{RunReport, ShownStep};

pub(super) fn workflow(view: &RunPage<'_>) -> Markup {
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

fn step_line(step: &ShownStep) -> Markup {
    html! {
        li aria-current=[step.current.then_some("step")] {
            (look_of_step(step.status).0) " " (step.step) " " span.dim { (step.status) }
            @if !step.units.is_empty() {
                ul { @for unit in &step.units {
                    li { (clean(unit.unit.as_ref().map_or(unit.step.as_str(), |unit| unit.as_str()))) " "
                        span.dim {
                            (unit.status)
                            @if let Some(said) = unit.open_message() { ": " (shortened(said, 400)) }
                        } }
                } }
            }
        }
    }
}
