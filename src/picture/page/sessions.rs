//! The page of all sessions: who works, with which runs and in which modes; and the policy of modes.

use maud::{Markup, html};
use serde::Serialize;

use crate::model::{SessionId, Timestamp};
use crate::modes::{HeldRun, ListedMode, PolicyReport, SessionsReport, ShownSession};
use crate::picture::page::document::{Page, Part};
use crate::picture::page::pieces::{OfProjects, by_project, cell, run_link, titled_link};
use crate::picture::page::runs::look_of_group;
use crate::picture::words::{age, clean, shortened};
use crate::runs::HolderLife;

/// The sessions of a project, and the policy of its modes.
#[derive(Debug, Clone, Serialize)]
pub struct ProjectSessions {
    /// Its name, which is the first part of its addresses.
    pub project: String,
    /// Its sessions.
    pub sessions: SessionsReport,
    /// Its policy; null if its file cannot be used.
    pub policy: Option<PolicyReport>,
}

/// The sessions of these projects.
#[must_use]
pub fn sessions_page(projects: &OfProjects<ProjectSessions>, now: Timestamp) -> Page {
    by_project(Part::Sessions, "Sessions", projects, |name, found| {
        // What it says matters to those who use modes.
        let has_modes = found.sessions.sessions.iter().any(|session| !session.modes.is_empty());
        html! {
            (sessions(found, now))
            @if has_modes && let Some(known) = &found.policy { (policy(known, name)) }
        }
    })
}

fn sessions(found: &ProjectSessions, now: Timestamp) -> Markup {
    let ProjectSessions { project, sessions, .. } = found;
    html! {
        section data-key={ (project) "/sessions" } {
            @if sessions.sessions.is_empty() {
                p.dim { "No session holds a run or has a mode." }
            } @else {
                table.cards {
                    thead { tr { th { "Session" } th { "Process" } th { "Runs" } th { "Modes" } th { "Last change" } } }
                    tbody { @for session in &sessions.sessions { (row(project, session, now)) } }
                }
            }
            @for warning in &sessions.warnings { p.need { "▲ " (shortened(warning, 600)) } }
        }
    }
}

fn row(project: &str, session: &ShownSession, now: Timestamp) -> Markup {
    let name = session.session.as_ref().map_or("everyone", SessionId::as_str);
    html! {
        tr data-key={ "s" (name) } {
            (cell("Session", html! { b { (clean(name)) } @if session.session.is_none() { span.dim { " (root scope)" } } }))
            (cell("Process", life(session.life)))
            (cell("Runs", html! { @for run in &session.runs { div { (held(project, run)) } } }))
            (cell("Modes", html! { @for mode in &session.modes { div { (mode_line(project, mode)) } } }))
            (cell("Last change", html! { @if let Some(at) = session.updated_at { time datetime=(at) { (age(at, now)) " ago" } } }))
        }
    }
}

fn life(life: Option<HolderLife>) -> Markup {
    match life {
        Some(HolderLife::Alive) => html! { span class="tag run" { "● alive" } },
        Some(HolderLife::Dead) => html! { span class="tag bad" { "✕ gone" } },
        Some(HolderLife::Ended) => html! { span class="tag dim" { "◦ ended" } },
        Some(HolderLife::Unknown) => html! { span class="tag dim" { "◦ process state unknown" } },
        None => html! {},
    }
}

fn held(project: &str, run: &HeldRun) -> Markup {
    let (symbol, class) = look_of_group(run.group);
    html! {
        span class=(class) title=(run.group.title()) { (symbol) } " " (titled_link(project, &run.head.run_id, &run.title, &run.name))
        span.dim { " " (run.head.workflow) @if let Some(phase) = &run.head.phase { ", in " (phase) } }
    }
}

fn mode_line(project: &str, mode: &ListedMode) -> Markup {
    let outcome = mode.outcome.map_or("inactive", |outcome| outcome.as_str());
    html! {
        @if mode.active { span.run { "● " } b { (mode.mode) } } @else { span.dim { "◦ " (mode.mode) " " (outcome) } }
        @if mode.active && let Some(phase) = &mode.current_phase { span.dim { " in " (clean(phase)) } }
        @if let Some(run) = mode.run_id.as_ref().and_then(|run| run.parse().ok()) { span.dim { " on " } (run_link(project, &run)) }
        @if let Some(error) = &mode.error { span.bad { " ✕ " (shortened(error, 300)) } }
        @for note in &mode.notes { div.dim { (shortened(note, 300)) } }
    }
}

/// What happens to requests for a mode while another one is active.
fn policy(policy: &PolicyReport, project: &str) -> Markup {
    html! {
        section data-key={ (project) "/policy" } {
            h2 { "Which modes may be active together " span.dim {
                @match &policy.path { Some(path) => code { (clean(&path.to_string_lossy())) }, None => "the shipped policy" }
                ": a row for each active mode, a column for each requested one"
            } }
            div.scroll tabindex="0" role="region" aria-label="Policy of modes" {
                table.policy {
                    thead { tr { th { "Active" } @for mode in &policy.modes { th scope="col" { (mode.mode) } } } }
                    tbody { @for row in &policy.table {
                        tr { th scope="row" { (row.active) } @for word in &row.requested { td { (verdict(word)) } } }
                    } }
                }
            }
            p.dim { "✓ both are active · ↻ the active one is completed first · = it is active already · ✕ refused. The second
                sign of a cell counts when the review was clean; " code { "flow mode policy" } " has the rules." }
        }
    }
}

fn verdict(word: &str) -> Markup {
    html! {
        span.tag title=(word.replace('_', " ").replace('|', ", or ")) {
            @for word in word.split('|') { @let (symbol, class) = sign(word); span class=(class) { (symbol) } }
        }
    }
}

fn sign(word: &str) -> (&'static str, &'static str) {
    match word {
        "start" | "overlap" => ("✓", "done"),
        "auto_complete" => ("↻", "run"),
        "no_change" => ("=", "dim"),
        _ => ("✕", "bad"),
    }
}
