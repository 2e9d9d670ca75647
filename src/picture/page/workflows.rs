//! The pages of workflows: all of them, and one with its diagram, its problems and the runs in each state.

use maud::{Markup, html};
use serde::Serialize;

use crate::machine::{Diagnostic, Machine, Severity};
use crate::model::{Timestamp, percent_encoded};
use crate::picture::diagram::diagram;
use crate::picture::page::document::{Page, Part, Place};
use crate::picture::page::pieces::{OfProjects, by_project, cell, command, page_title};
use crate::picture::page::runs::row as run_row;
use crate::picture::svg::{Mark, Marks, Progress, diagram_svg};
use crate::picture::tone::Tone;
use crate::picture::usage::totals_in_words;
use crate::picture::words::{clean, count, duration, shortened};
use crate::runs::{Card, PhaseUse, PhaseUses, ShortNames, WorkflowEntry, WorkflowReport, WorkflowUse};

/// The workflows of a project, and how many runs each has.
#[derive(Debug, Clone, Serialize)]
pub struct ProjectWorkflows {
    /// Its name, which is the first part of its addresses.
    pub project: String,
    /// The workflows by id, each with its runs.
    pub workflows: Vec<UsedWorkflow>,
}

/// A workflow and its runs.
#[derive(Debug, Clone, Serialize)]
pub struct UsedWorkflow {
    /// The definition, as lists name it.
    #[serde(flatten)]
    pub workflow: WorkflowEntry,
    /// How many runs follow it, and how they went.
    pub runs: WorkflowUse,
}

/// The workflows of these projects.
#[must_use]
pub fn workflows_page(projects: &OfProjects<ProjectWorkflows>) -> Page {
    by_project(Part::Workflows, "Workflows", projects, |name, found| {
        let (agents, own): (Vec<_>, Vec<_>) = found.workflows.iter().partition(|used| used.workflow.is_agent);
        html! {
            (table(name, "workflows", &own))
            @if !agents.is_empty() {
                h2 { "Agents that skills call " span.dim { "they report into the run of the skill" } }
                (table(name, "agents", &agents))
            }
        }
    })
}

fn table(project: &str, key: &str, workflows: &[&UsedWorkflow]) -> Markup {
    html! {
        table.cards data-key={ (project) "/" (key) } {
            thead { tr { th { "Workflow" } th { "Notation" } th { "Runs" } th { "Origin" } th { "Purpose" } } }
            tbody { @for used in workflows { (row(project, used)) } }
        }
    }
}

fn row(project: &str, used: &UsedWorkflow) -> Markup {
    let (entry, runs) = (&used.workflow, &used.runs);
    html! {
        tr data-key={ "w" (entry.id) } {
            (cell("Workflow", html! { a href={ "/" (project) "/workflows/" (percent_encoded(&entry.id)) } { (clean(&entry.id)) } }))
            (cell("Notation", html! { (entry.notation) }))
            (cell("Runs", went(runs)))
            (cell("Origin", html! { (shortened(&entry.origin, 120)) }))
            (cell("Purpose", html! {
                @match (&entry.error, &entry.description) {
                    (Some(error), _) => span.bad { "✕ " (shortened(error, 300)) },
                    (None, description) => (shortened(description.as_deref().unwrap_or_default(), 300)),
                }
            }))
        }
    }
}

/// What the page of a workflow shows.
#[derive(Debug)]
pub struct WorkflowPage<'a> {
    /// The project, as in addresses.
    pub project: &'a str,
    /// The definition, as `workflow show` reports it.
    pub workflow: &'a WorkflowReport,
    /// Its name in the catalog.
    pub name: &'a str,
    /// Its machine; none if it does not compile.
    pub machine: Option<&'a Machine>,
    /// How many runs follow it, and how they went.
    pub runs: &'a WorkflowUse,
    /// What its latest runs show of its phases.
    pub phases: &'a PhaseUses,
    /// Its open runs.
    pub cards: &'a [Card],
    /// The names of these.
    pub(crate) names: &'a ShortNames,
    /// The time.
    pub now: Timestamp,
}

/// The page of a workflow.
#[must_use]
pub fn workflow_page(view: &WorkflowPage<'_>) -> Page {
    let WorkflowPage { workflow, runs, .. } = view;
    let main = html! {
        h1 { (clean(view.name)) }
        @if let Some(purpose) = &workflow.description { p { (shortened(purpose, 1000)) } }
        p.dim.about { (workflow.notation) " · " (shortened(&workflow.origin, 200)) }
        p.facts data-key="facts" { (went(runs)) }
        (used(view.phases))
        @if view.machine.is_some() { (command(&format!("flow start {}", crate::model::quoted(view.name)), Place::Served)) }
        (problems(&workflow.diagnostics))
        div.two {
            div { (states(view)) (open_runs(view)) }
            (picture(view))
        }
        (command(&format!("flow workflow show {}", crate::model::quoted(view.name)), Place::Served))
    };
    let (title, project) = (page_title(view.name, Some(view.project)), Some(view.project.to_owned()));
    Page { title, main, part: Part::Workflows, project }
}

/// How its runs went.
fn went(runs: &WorkflowUse) -> Markup {
    html! {
        (count(runs.open)) " open, " (count(runs.over)) " over"
        @if runs.over > 0 {
            ": " (count(runs.completed)) " completed, " (count(runs.failed)) " failed, "
            (count(runs.over - runs.completed - runs.failed)) " cancelled"
        }
        @if let Some(took) = runs.took_ms { " · usually takes " b { (duration(took)) } }
    }
}

/// What the work of its latest runs used.
fn used(phases: &PhaseUses) -> Markup {
    html! {
        @if !phases.usage.totals.is_unknown() {
            p.facts data-key="usage" {
                "The latest " (count(phases.runs)) @if phases.runs == 1 { " run" } @else { " runs" } " used "
                (totals_in_words(&phases.usage.totals))
            }
        }
    }
}

fn problems(diagnostics: &[Diagnostic]) -> Markup {
    html! {
        @if !diagnostics.is_empty() {
            section data-key="problems" {
                h2 { "Problems " span.dim { (count(diagnostics.len())) } }
                ul { @for one in diagnostics {
                    li {
                        @match one.severity {
                            Severity::Error => span class="tag bad" { "✕ error" },
                            Severity::Warning => span class="tag need" { "▲ warning" },
                        }
                        " line " (one.place.line) ", column " (one.place.column) ": " (shortened(&one.message, 600))
                        @if let Some(help) = &one.help { span.dim { " – " (shortened(help, 600)) } }
                    }
                } }
            }
        }
    }
}

fn states(view: &WorkflowPage<'_>) -> Markup {
    let WorkflowPage { workflow, runs, .. } = view;
    html! {
        section data-key="states" {
            h2 { "States " span.dim { (count(workflow.states.len())) } }
            table.cards {
                thead { tr { th { "State" } th { "Open runs" } th { "Usually" } th { "Failed" } th { "Leads to" } th { "About" } } }
                tbody { @for state in &workflow.states {
                    tr data-key={ "q" (state.name) } {
                        (cell("State", html! {
                            (state.name)
                            @if workflow.initial.contains(&state.name) { span.dim { " begins" } }
                            @if workflow.terminal.contains(&state.name) { span.dim { " can end" } }
                            @if workflow.gates.contains(&state.name) { span.dim { " a person lets it go on" } }
                        }))
                        (cell("Open runs", html! { @if let Some(here) = runs.phases.get(&state.name) { (count(*here)) } }))
                        @let tells = view.phases.phases.get(&state.name);
                        (cell("Usually", html! { @if let Some(of) = tells { (usually(of)) } }))
                        (cell("Failed", html! {
                            @if let Some(of) = tells.filter(|of| of.attempts > 0) {
                                (count(of.failed)) span.dim { " of " (count(of.attempts)) }
                            }
                        }))
                        (cell("Leads to", html! {
                            @let next: Vec<_> = workflow.transitions.iter().filter(|way| way.from == state.name).collect();
                            @for (nth, way) in next.into_iter().enumerate() { @if nth > 0 { ", " } (way.to) }
                        }))
                        (cell("About", html! {
                            (shortened(state.label.as_deref().or(state.description.as_deref()).unwrap_or_default(), 300))
                        }))
                    }
                } }
            }
            @if view.phases.runs > 0 {
                p.dim { "How long runs usually are in a state, and how many attempts at its work failed, is that of the latest "
                    (count(view.phases.runs)) @if view.phases.runs == 1 { " run" } @else { " runs" } " here." }
            }
            @let gone: Vec<_> = runs.phases.iter().filter(|(phase, _)| workflow.states.iter().all(|state| state.name != **phase)).collect();
            @if !gone.is_empty() {
                p.need { "▲ Runs of an earlier version are in states that are gone: "
                    @for (nth, (phase, runs)) in gone.into_iter().enumerate() { @if nth > 0 { ", " } (phase) " (" (count(*runs)) ")" } }
            }
        }
    }
}

fn usually(of: &PhaseUse) -> Markup {
    html! {
        @if let Some(took) = of.took_ms { (duration(took)) }
        @if let Some(worked) = of.worked_ms { div.dim { "worked " (duration(worked)) } }
        @if !of.usage.totals.is_unknown() { div.dim { "used " (totals_in_words(&of.usage.totals)) } }
    }
}

fn open_runs(view: &WorkflowPage<'_>) -> Markup {
    html! {
        @if !view.cards.is_empty() {
            section.group data-key="runs" {
                h2 { "Open runs " (count(view.runs.open)) }
                ul.rows { @for card in view.cards { (run_row(view.project, card, view.names, view.now, false)) } }
                @if view.cards.len() < view.runs.open {
                    p.more { a href={ "/?workflow=" (percent_encoded(view.name)) } { "All of them" } }
                }
            }
        }
    }
}

/// The diagram, with the number of open runs in each state.
fn picture(view: &WorkflowPage<'_>) -> Markup {
    // Of a large machine, what is around the runs is drawn.
    let here: Vec<_> = view.runs.phases.keys().cloned().collect();
    let marks = view
        .runs
        .phases
        .iter()
        .map(|(phase, runs)| (phase.clone(), Mark { visits: *runs as u64, progress: Progress::Here(Tone::Ready) }));
    let marks = Marks { prefix: "workflow-".to_owned(), states: marks.collect() };
    html! {
        aside data-key="workflow" {
            h2 { "Diagram" }
            @match view.machine {
                Some(machine) => {
                    @let drawn = diagram(machine, &here);
                    div.scroll tabindex="0" role="region" aria-label="Diagram" { (diagram_svg(&drawn, &marks)) }
                    @if drawn.left_out > 0 { p.dim { (count(drawn.left_out)) " more states are not drawn" } }
                    @if view.runs.phases.values().any(|runs| *runs > 1) { p.dim { "×N: so many open runs are in this state" } }
                }
                None => p.dim { "It does not compile, so there is nothing to draw." },
            }
        }
    }
}
