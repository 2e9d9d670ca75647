//! Pages in HTML: the same functions give the pages of `flow serve`, their live changes and the report in one file.
//!
//! No page has a `style=` attribute or a script of its own, and all text is escaped. Elements with `data-key` are the
//! parts that change: a browser puts a newer version in the place of the part with the same key.

mod act;
mod file;
mod interviews;
mod markdown;
mod run;
mod runs;
mod sessions;
mod workflows;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::model::{Problem, RunId};
use crate::picture::words::{clean, shortened};

pub use file::file_page;
pub use interviews::{ProjectInterviews, interview_page, interviews_page};
pub(crate) use run::decision;
pub(super) use run::marks;
pub use run::{LOG_PAGE, RunPage, run_page};
pub(crate) use run::{look_of_activity, look_of_step};
use runs::row as run_row;
pub use runs::{ProjectCards, runs_page};
pub(crate) use runs::{hint, look_of, look_of_group, title};
pub use sessions::{ProjectSessions, sessions_page};
pub use workflows::{ProjectWorkflows, UsedWorkflow, WorkflowPage, workflow_page, workflows_page};

/// The style sheet of all pages.
pub const STYLE: &str = include_str!("style.css");

/// A page without what surrounds it.
#[derive(Debug)]
pub struct Page {
    /// The title of the document.
    pub title: String,
    /// The content of `main`.
    pub main: Markup,
    /// What of the site it belongs to.
    pub part: Part,
}

/// A part of the site, as its navigation names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The runs.
    Runs,
    /// The sessions.
    Sessions,
    /// The workflows.
    Workflows,
    /// The interviews.
    Interviews,
    /// None.
    Other,
}

impl Part {
    const ALL: [(Self, &'static str, &'static str); 4] = [
        (Self::Runs, "/", "Runs"),
        (Self::Sessions, "/sessions", "Sessions"),
        (Self::Workflows, "/workflows", "Workflows"),
        (Self::Interviews, "/interviews", "Interviews"),
    ];
}

/// Where a page will be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// On the server, with its navigation and its live changes.
    Served,
    /// In a file of its own.
    Alone,
}

/// The whole document of a page.
#[must_use]
pub fn document(page: &Page, place: Place) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width,initial-scale=1";
                title { (page.title) }
                @match place {
                    Place::Served => {
                        link rel="icon" href="/flow.svg";
                        link rel="stylesheet" href="/flow.css";
                        script type="module" src="/flow.js" {}
                    }
                    Place::Alone => {
                        meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'";
                        style { (PreEscaped(STYLE)) }
                    }
                }
            }
            body {
                @if place == Place::Served { (header(page.part)) }
                main data-key="main" { (page.main) }
                @if place == Place::Served { (keys()) (act::confirmation()) p #said role="status" {} }
            }
        }
    }
}

fn header(part: Part) -> Markup {
    html! {
        header data-key="header" {
            a.home href="/" { "flow" }
            nav aria-label="Pages" {
                @for (one, path, name) in Part::ALL {
                    a href=(path) aria-current=[(one == part).then_some("page")] { (name) }
                }
            }
            button #notify type="button" hidden { "Notify me" }
            span #live role="status" { "not live" }
        }
    }
}

/// The keys that the script knows, for `?`.
fn keys() -> Markup {
    let keys = [
        ("j k", "next and previous run"),
        ("Enter", "open it"),
        ("Esc", "back to all runs"),
        ("/", "search"),
        ("g r", "all runs"),
        ("g s, g w, g i", "sessions, workflows, interviews"),
        ("y", "copy the command, if there is one to run unread"),
        ("[ ]", "one event back, one on"),
        ("?", "these keys"),
    ];
    html! {
        dialog #keys aria-label="Keys" { dl { @for (key, what) in keys { dt { (key) } dd { (what) } } } }
    }
}

/// The page that a browser gets before it has shown its token: it holds nothing of any project.
#[must_use]
pub fn shell() -> Markup {
    let main = html! {
        p.dim #state { "Loading…" }
        noscript {
            p { "This page needs a script that is part of flow. Without one, read the same in a terminal: "
                code { "flow attention" } ", " code { "flow show" } "." }
        }
    };
    document(&Page { title: "flow".to_owned(), main, part: Part::Other }, Place::Served)
}

/// What each project has, by its name, or why that cannot be read.
pub type OfProjects<T> = [(String, Result<T, Problem>)];

/// A page with a part for each project.
fn by_project<T>(part: Part, title: &str, projects: &OfProjects<T>, show: impl Fn(&str, &T) -> Markup) -> Page {
    let main = html! {
        h1 { (title) }
        @for (name, found) in projects {
            @if projects.len() > 1 { h2.project { (clean(name)) } }
            @match found {
                Ok(found) => (show(name, found)),
                Err(problem) => p.bad { "✕ " (shortened(&problem.one_line(), 600)) },
            }
        }
    };
    Page { title: format!("{title} · flow"), main, part }
}

/// The page for an address at which there is nothing, or for something that went wrong: one sentence.
#[must_use]
pub fn message_page(title: &str, message: &str) -> Page {
    let main = html! { h1 { (title) } p { (message) } p { a href="/" { "All runs" } } };
    Page { title: format!("{title} · flow"), main, part: Part::Other }
}

/// A command that can be copied: on the server with a button, which needs a script.
fn command(text: &str, place: Place) -> Markup {
    html! {
        div.cmd {
            code tabindex="0" aria-label="Command" { (text) }
            @if place == Place::Served { button type="button" data-copy=(text) { "Copy" } }
        }
    }
}

/// A cell of a table whose rows become cards on a small screen.
fn cell(name: &str, content: Markup) -> Markup {
    html! { td data-name=(name) { div { (content) } } }
}

fn run_link(project: &str, run: &RunId) -> Markup {
    html! { a href={ "/" (project) "/runs/" (run) } { (run) } }
}

/// A value in the query of an address.
fn encoded(text: &str) -> String {
    let bytes = text.bytes().map(|byte| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    });
    bytes.collect()
}
