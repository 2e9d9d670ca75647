//! A page, and the document around it.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::picture::page::act;
use crate::picture::words::clean;

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
    /// The project that it is about, if there is one.
    pub project: Option<String>,
}

/// A part of the site, as its navigation names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The list of runs, which is the front page.
    Runs,
    /// The list of sessions.
    Sessions,
    /// The list of workflows, and how runs went through them.
    Workflows,
    /// The interviews that wait for answers.
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
                        // No server sends a header with this file, so it says itself that nothing else is loaded.
                        meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'";
                        // A browser reads no entities in a style sheet.
                        style { (PreEscaped(STYLE)) }
                    }
                }
            }
            body {
                @if place == Place::Served { (header(page)) }
                main data-key="main" { (page.main) }
                @if place == Place::Served { (keys()) (act::confirmation()) p #said role="status" {} }
            }
        }
    }
}

fn header(page: &Page) -> Markup {
    html! {
        header data-key="header" {
            a.home href="/" { "flow" }
            nav aria-label="Pages" {
                @if let Some(project) = &page.project { span.dim { (clean(project)) } }
                @for (one, path, name) in Part::ALL {
                    a href=(path) aria-current=[(one == page.part).then_some("page")] { (name) }
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
    document(&Page { title: "flow".to_owned(), main, part: Part::Other, project: None }, Place::Served)
}

/// The page for an address at which there is nothing, or for something that went wrong: one sentence.
#[must_use]
pub fn message_page(title: &str, message: &str) -> Page {
    let main = html! { h1 { (title) } p { (message) } p { a href="/" { "All runs" } } };
    Page { title: format!("{title} · flow"), main, part: Part::Other, project: None }
}
