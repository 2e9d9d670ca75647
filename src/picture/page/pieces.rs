//! Pieces that several pages have.

use chrono::Timelike as _;
use maud::{Markup, html};

use crate::model::{Problem, RunId, Timestamp};
use crate::picture::page::document::{Page, Part, Place};
use crate::picture::words::{clean, count, day_and_time, shortened};

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
    // Of several projects each has its own heading.
    let project = match projects {
        [(name, _)] => Some(name.clone()),
        _ => None,
    };
    let names: Vec<_> = projects.iter().map(|(name, _)| name.as_str()).collect();
    Page { title: page_title(title, Some(&of_projects(&names))), main, part, project }
}

/// The names of projects, as a title has room for them.
pub(super) fn of_projects(names: &[&str]) -> String {
    const NAMED: usize = 3;
    match names {
        [first, more @ ..] if names.len() > NAMED => format!("{} and {} more", clean(first), count(more.len())),
        names => names.iter().map(|name| clean(name)).collect::<Vec<_>>().join(", "),
    }
}

/// The title of a page about something of a project.
pub(super) fn page_title(what: &str, project: Option<&str>) -> String {
    match project {
        Some(project) => format!("{} · {} · flow", clean(what), clean(project)),
        None => format!("{} · flow", clean(what)),
    }
}

/// How exactly a point in time is shown.
#[derive(Debug, Clone, Copy)]
pub(super) enum Clock {
    Minute,
    Second,
}

/// A point in time, in UTC; the script says it in the reader's own time.
pub(super) fn time(at: Timestamp, clock: Clock) -> Markup {
    let (name, words) = match clock {
        Clock::Minute => ("minute", day_and_time(at)),
        Clock::Second => ("second", format!("{}:{:02}", day_and_time(at), at.as_datetime().second())),
    };
    html! { time.dim datetime=(at) data-clock=(name) { (words) } }
}

/// In which time a part of a page speaks.
pub(super) fn zone() -> Markup {
    html! { span.dim { " · " span data-zone { "times in UTC" } } }
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

/// A sentence in which commands stand between backticks.
pub(super) fn with_commands(text: &str) -> Markup {
    let parts: Vec<_> = text.split('`').collect();
    html! {
        @for (at, part) in parts.iter().enumerate() {
            @let is_closed = at + 1 < parts.len();
            @if at % 2 == 0 { (part) } @else if is_closed { code { (part) } } @else { "`" (part) }
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

/// A run by its title, with its short name.
pub(super) fn titled_link(project: &str, run: &RunId, title: &str, name: &str) -> Markup {
    html! {
        a href={ "/" (project) "/runs/" (run) } title=(run) { (shortened(title, 120)) }
        @if title != name { " " span.dim { (clean(name)) } }
    }
}
