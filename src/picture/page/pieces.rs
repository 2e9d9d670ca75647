//! Pieces that several pages have.

use maud::{Markup, html};

use crate::model::{Problem, RunId};
use crate::picture::page::document::{Page, Part, Place};
use crate::picture::words::{clean, shortened};

/// What each project has, by its name, or why that cannot be read.
pub type OfProjects<T> = [(String, Result<T, Problem>)];

/// A page with a part for each project.
pub(super) fn by_project<T>(
    part: Part,
    title: &str,
    projects: &OfProjects<T>,
    show: impl Fn(&str, &T) -> Markup,
) -> Page {
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

/// A command that can be copied: on the server with a button, which needs a script.
pub(super) fn command(text: &str, place: Place) -> Markup {
    html! {
        div.cmd {
            code tabindex="0" aria-label="Command" { (text) }
            @if place == Place::Served { button type="button" data-copy=(text) { "Copy" } }
        }
    }
}

/// A cell of a table whose rows become cards on a small screen.
pub(super) fn cell(name: &str, content: Markup) -> Markup {
    html! { td data-name=(name) { div { (content) } } }
}

pub(super) fn run_link(project: &str, run: &RunId) -> Markup {
    html! { a href={ "/" (project) "/runs/" (run) } { (run) } }
}

/// A value in the query of an address.
pub(super) fn encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => encoded.push(char::from(byte)),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}
