//! The pages of interviews: all that runs wait for, with their other questions; and one with its questions and answers.

use std::path::Path;

use maud::{Markup, html};
use serde::Serialize;

use crate::interviews::pad::Fill;
use crate::interviews::{
    EntryStatus, InterviewListReport, InterviewNext, InterviewStatusReport, KnownInterview, OpenInterview, OpenQuestion,
};
use crate::model::{Timestamp, percent_encoded};
use crate::picture::page::act::act_on_interview;
use crate::picture::page::document::{Page, Part, Place};
use crate::picture::page::pieces::{OfProjects, by_project, cell, command, page_title, titled_link};
use crate::picture::words::{age, clean, count, shortened};

/// The interviews and questions of a project.
#[derive(Debug, Clone, Serialize)]
pub struct ProjectInterviews {
    /// Its name, which is the first part of its addresses.
    pub project: String,
    /// Those that its runs wait for, and the others that began in it.
    pub interviews: InterviewListReport,
}

/// The interviews of these projects.
#[must_use]
pub fn interviews_page(projects: &OfProjects<ProjectInterviews>, now: Timestamp) -> Page {
    by_project(Part::Interviews, "Interviews and questions", projects, |name, found| open(name, &found.interviews, now))
}

fn open(project: &str, found: &InterviewListReport, now: Timestamp) -> Markup {
    html! {
        section data-key={ (project) "/interviews" } {
            h2 { "Interviews " span.dim { (count(found.interviews.len())) } }
            @if found.interviews.is_empty() { p.dim { "No run waits for an interview." } }
            @else {
                table.cards {
                    thead { tr { th { "Document" } th { "Run" } th { "Step" } th { "Progress" } th { "Question" } th { "Changed" } } }
                    tbody { @for interview in &found.interviews { (interview_row(project, interview, now)) } }
                }
            }
        }
        @if !found.documents.is_empty() {
            section data-key={ (project) "/documents" } {
                h2 { "Interviews without an open run " span.dim { (count(found.documents.len())) } }
                table.cards {
                    thead { tr { th { "Document" } th { "Question" } } }
                    tbody { @for known in &found.documents { (known_row(known)) } }
                }
            }
        }
        section data-key={ (project) "/questions" } {
            h2 { "Other questions " span.dim { (count(found.questions.len())) } }
            @if found.questions.is_empty() { p.dim { "No run asks anything else." } }
            @else {
                table.cards {
                    thead { tr { th { "Run" } th { "Step" } th { "Question" } th { "Changed" } } }
                    tbody { @for question in &found.questions { (question_row(project, question, now)) } }
                }
            }
        }
    }
}

fn known_row(one: &KnownInterview) -> Markup {
    let document = one.document.to_string_lossy();
    html! {
        tr data-key={ "d" (document) } {
            (cell("Document", html! { (shortened(&document, 120)) }))
            (cell("Question", question(one.error.as_deref(), one.next.as_ref())))
        }
    }
}

/// The open question, or why it cannot be read.
fn question(error: Option<&str>, next: Option<&InterviewNext>) -> Markup {
    html! {
        @match (error, next) {
            (Some(error), _) => span.bad { "✕ " (shortened(error, 400)) },
            (None, Some(next)) => (shortened(next.words(), 400)),
            (None, None) => {}
        }
    }
}

fn interview_row(project: &str, one: &OpenInterview, now: Timestamp) -> Markup {
    let document = one.document.to_string_lossy();
    html! {
        tr data-key={ "i" (one.run_id) "/" (document) } {
            (cell("Document", html! { a href=(address(project, &one.document)) { (shortened(&document, 120)) } }))
            (cell("Run", titled_link(project, &one.run_id, &one.title, &one.name)))
            (cell("Step", html! { @if let Some(step) = &one.step { (step) } }))
            (cell("Progress", html! { @if let Some(next) = &one.next { (progress(next)) } }))
            (cell("Question", question(one.error.as_deref(), one.next.as_ref())))
            (cell("Changed", html! { time datetime=(one.updated_at) { (age(one.updated_at, now)) " ago" } }))
        }
    }
}

fn question_row(project: &str, one: &OpenQuestion, now: Timestamp) -> Markup {
    html! {
        tr data-key={ "q" (one.run_id) "/" (one.step) "/" (one.unit.as_ref().map_or("", |unit| unit.as_str())) } {
            (cell("Run", titled_link(project, &one.run_id, &one.title, &one.name)))
            (cell("Step", html! { (one.step) @if let Some(unit) = &one.unit { " (" (clean(unit.as_str())) ")" } }))
            (cell("Question", html! { (shortened(&one.prompt, 1000)) }))
            (cell("Changed", html! { time datetime=(one.updated_at) { (age(one.updated_at, now)) " ago" } }))
        }
    }
}

fn address(project: &str, document: &Path) -> String {
    format!("/{project}/interview?document={}", percent_encoded(&document.to_string_lossy()))
}

fn progress(next: &InterviewNext) -> Markup {
    let metadata = &next.metadata;
    html! { "question " (metadata.question_number.min(metadata.total_questions)) " of " (metadata.total_questions) }
}

/// The page of an interview that a run waits for; `status` is what its document says. With `actions` it can be answered.
#[must_use]
pub fn interview_page(project: &str, one: &OpenInterview, status: &InterviewStatusReport, actions: bool) -> Page {
    let document = one.document.to_string_lossy();
    let main = html! {
        p.dim.about { "Interview " (clean(&status.script)) " for " (titled_link(project, &one.run_id, &one.title, &one.name))
            @if let Some(step) = &one.step { ", which waits in " (step) } }
        h1 { (clean(&document)) }
        section.next.need data-key="next" {
            p { b.need { "▲ " (progress(&status.next)) } " — "
                (shortened(status.next.words(), 2000)) }
            @if let Some(suggestion) = &status.next.command { (command(&suggestion.to_string(), Place::Served)) }
            @if actions { (act_on_interview(project, one, status)) }
        }
        @if !status.problems.is_empty() {
            ul.notes { @for fault in &status.problems { li.bad { "✕ line " (fault.line) ": " (shortened(&fault.message, 400)) } } }
        }
        section data-key="sections" {
            h2 { "Sections " span.dim { (count(status.sections.len())) } }
            ul.steps { @for section in &status.sections {
                @let (symbol, word) = look_of_fill(section.fill);
                li { (symbol) " " (shortened(&section.heading, 200)) span.dim { " " (word) } }
            } }
        }
        section data-key="entries" {
            h2 { "Questions and answers " span.dim { (count(status.entries.len())) } }
            @for entry in &status.entries {
                div.entry data-key={ "e" (entry.number) } {
                    h3 { (entry.number) ". " (shortened(&entry.asked, 1000)) span.dim { " " (shortened(&entry.topic, 120)) } }
                    @match (entry.status, &entry.answer) {
                        (EntryStatus::Open, _) => p.need { "▲ open" },
                        (EntryStatus::Skipped, why) => p.dim { "– skipped " (shortened(why.as_deref().unwrap_or_default(), 4000)) },
                        (EntryStatus::Answered, answer) => p.answer { (shortened(answer.as_deref().unwrap_or_default(), 4000)) },
                    }
                }
            }
        }
    };
    let title = page_title(&document, Some(project));
    Page { title, main, part: Part::Interviews, project: Some(project.to_owned()) }
}

fn look_of_fill(fill: Fill) -> (&'static str, &'static str) {
    match fill {
        Fill::Filled => ("✓", "filled"),
        Fill::Short => ("◐", "short"),
        Fill::Placeholder => ("◦", "only the placeholder"),
        Fill::Empty => ("◦", "empty"),
    }
}
