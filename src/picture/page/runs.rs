//! The page of all runs, grouped by what a person has to do.

use maud::{Markup, html};
use serde::Serialize;

use crate::model::{RunStatus, SessionId, StateName, Timestamp};
use crate::picture::page::document::{Page, Part};
use crate::picture::page::pieces::encoded;
use crate::picture::tone::Tone;
use crate::picture::words::{age, clean, count, shortened, waits_for, why_no_command};
use crate::runs::{Card, CardFilter, CardGroup, CardsOfGroup, CardsReport, Need};

/// The cards of a project, and how its pages are addressed.
#[derive(Debug, Clone, Serialize)]
pub struct ProjectCards {
    /// Its name, which is the first part of its addresses.
    pub project: String,
    /// Its cards.
    pub cards: CardsReport,
}

/// All runs of these projects that `filter` takes.
#[must_use]
pub fn runs_page(projects: &[ProjectCards], filter: &CardFilter, now: Timestamp) -> Page {
    let needs: usize = projects.iter().map(|project| project.cards.needs_a_person()).sum();
    let title = title(needs);
    let main = html! {
        h1 data-key="title" { (title) }
        (search(projects, filter))
        @for project in projects {
            @if projects.len() > 1 { h2.project { (clean(&project.project)) } }
            @for group in &project.cards.groups {
                @let is_asked = filter.group.is_none_or(|only| only == group.group);
                @if is_asked && (group.total > 0 || group.group == CardGroup::Waits && projects.len() == 1) {
                    (group_section(project, group, filter, now))
                }
            }
            @if !project.cards.unreadable.is_empty() { (unreadable(project)) }
            @if project.cards.groups.iter().all(|group| group.total == 0) && project.cards.unreadable.is_empty() {
                @let is_narrowed = filter.search.is_some() || filter.workflow.is_some();
                p.dim { (if is_narrowed { "No run here matches the search. " } else { "No runs here. " }) code { "flow start WORKFLOW" } " begins one." }
            }
        }
    };
    let name = match projects {
        [project] => format!("{} · flow", clean(&project.project)),
        _ => "flow".to_owned(),
    };
    let title = if needs > 0 { format!("({needs}) {name}") } else { name };
    let project = match projects {
        [project] => Some(project.project.clone()),
        _ => None,
    };
    Page { title, main, part: Part::Runs, project }
}

fn search(projects: &[ProjectCards], filter: &CardFilter) -> Markup {
    let mut workflows: Vec<&String> = projects.iter().flat_map(|project| &project.cards.workflows).collect();
    workflows.sort_unstable();
    workflows.dedup();
    let (mut open, mut over) = (0, 0);
    for group in projects.iter().flat_map(|project| &project.cards.groups) {
        if group.group.is_open() {
            open += group.total;
        }
        if group.group == CardGroup::Over {
            over += group.total;
        }
    }
    let is_over = filter.group == Some(CardGroup::Over);
    html! {
        form.bar method="get" action="/" role="search" data-key="search" {
            input type="search" name="search" aria-label="Search" placeholder="Search runs, workflows, goals…   /"
                value=(filter.search.as_deref().unwrap_or_default());
            select name="workflow" aria-label="Workflow" {
                option value="" { "Every workflow" }
                @for workflow in workflows {
                    option value=(workflow) selected[filter.workflow.as_ref() == Some(workflow)] { (clean(workflow)) }
                }
            }
            a.pill href=(address(filter, None, 0)) aria-current=[(filter.group.is_none()).then_some("true")] {
                "Open " (count(open))
            }
            a.pill href=(address(filter, Some(CardGroup::Over), 0)) aria-current=[is_over.then_some("true")] {
                "Over " (count(over))
            }
        }
    }
}

/// The address of this page with another group and another beginning.
fn address(filter: &CardFilter, group: Option<CardGroup>, skip: usize) -> String {
    let mut query: Vec<(&str, String)> = Vec::new();
    query.extend(filter.search.clone().map(|text| ("search", text)));
    query.extend(filter.workflow.clone().map(|text| ("workflow", text)));
    query.extend(group.map(|group| ("group", group.as_str().to_owned())));
    if skip > 0 {
        query.push(("skip", skip.to_string()));
    }
    let pairs = query.iter().map(|(key, value)| format!("{key}={}", encoded(value)));
    let query = pairs.collect::<Vec<_>>().join("&");
    if query.is_empty() { "/".to_owned() } else { format!("/?{query}") }
}

fn group_section(project: &ProjectCards, group: &CardsOfGroup, filter: &CardFilter, now: Timestamp) -> Markup {
    let (symbol, class) = look_of_group(group.group);
    let shown = filter.skip + group.cards.len();
    html! {
        section.group data-key={ (project.project) "/" (group.group.as_str()) } {
            h2 {
                span class=(class) { (symbol) " " (group.group.title()) } " " (count(group.total))
                @if let Some(hint) = hint(group.group) { span.dim { " " (hint) } }
            }
            @if !group.cards.is_empty() {
                ul.rows {
                    @for card in &group.cards { (row(&project.project, card, now)) }
                }
            }
            @if filter.skip > 0 || shown < group.total {
                p.more {
                    @if filter.skip > 0 {
                        a href=(address(filter, Some(group.group), filter.skip.saturating_sub(filter.limit))) { "Newer" } " "
                    }
                    @if shown < group.total {
                        a href=(address(filter, Some(group.group), shown)) {
                            @if group.cards.is_empty() { "Show them" } @else { "Older" }
                        }
                    }
                    @if !group.cards.is_empty() {
                        span.dim { " " (count(filter.skip + 1)) " to " (count(shown)) " of " (count(group.total)) }
                    }
                }
            }
        }
    }
}

/// The title of a list in which this many runs need a person.
pub(crate) fn title(needs: usize) -> String {
    match needs {
        0 => "No run needs you".to_owned(),
        1 => "1 run needs you".to_owned(),
        _ => format!("{} runs need you", count(needs)),
    }
}

/// What a group means, where its title does not say it.
pub(crate) fn hint(group: CardGroup) -> Option<&'static str> {
    match group {
        CardGroup::InDoubt => Some("begun, and the outcome is unknown"),
        CardGroup::LeftBehind => Some("the session that worked on it ended or died"),
        _ => None,
    }
}

/// How the state is marked in which a run is.
pub(super) fn tone(card: &Card) -> Tone {
    match card.group {
        _ if matches!(card.need, Some(Need::Damaged | Need::Joined | Need::Rewound | Need::Failing)) => Tone::Damaged,
        group => tone_of_group(group),
    }
}

fn tone_of_group(group: CardGroup) -> Tone {
    match group {
        CardGroup::Waits => Tone::Waits,
        CardGroup::InDoubt => Tone::Doubt,
        CardGroup::LeftBehind => Tone::LeftBehind,
        CardGroup::AtWork => Tone::Work,
        CardGroup::CanGoOn | CardGroup::Over => Tone::Ready,
    }
}

/// The shape and the class of a group.
pub(crate) fn look_of_group(group: CardGroup) -> (&'static str, &'static str) {
    let tone = tone_of_group(group);
    if group == CardGroup::Over { ("✓", tone.class()) } else { (tone.symbol(), tone.class()) }
}

/// The shape, the class and the word for what a run needs or does.
pub(crate) fn look_of(card: &Card) -> (&'static str, &'static str, String) {
    if let Some(need) = card.need {
        return (tone(card).symbol(), tone(card).class(), need.as_str().to_owned());
    }
    let (symbol, class) = look_of_group(card.group);
    match (card.group, card.run.head.status) {
        (CardGroup::AtWork, _) => {
            (symbol, class, card.run.session.as_ref().map_or("at work", SessionId::as_str).to_owned())
        }
        (CardGroup::Over, RunStatus::Failed) => (Tone::Damaged.symbol(), Tone::Damaged.class(), "failed".to_owned()),
        (CardGroup::Over, RunStatus::Cancelled) => ("–", class, "cancelled".to_owned()),
        (CardGroup::Over, status) => (symbol, class, status.to_string()),
        _ => (symbol, class, "ready".to_owned()),
    }
}

/// A run in a list.
pub(super) fn row(project: &str, card: &Card, now: Timestamp) -> Markup {
    let run = &card.run;
    let (symbol, class, word) = look_of(card);
    let (title, about) = (run.title(), waits_for(card, now));
    html! {
        @let command = card.next.command.as_ref();
        @let why_none = command.is_none().then(|| why_no_command(&card.next));
        li.row data-key={ (project) "/" (run.head.run_id) } data-command=[command] data-none=[why_none] {
            span class={ "tag " (class) } { (symbol) " " (shortened(&word, 24)) }
            div.what {
                a href={ "/" (project) "/runs/" (run.head.run_id) } { (shortened(&title, 120)) }
                p.dim {
                    @if !title.contains(run.head.workflow.as_str()) { (run.head.workflow) " · " }
                    @if let Some(issue) = run.issue.as_ref().filter(|_| run.goal.is_some()) { "issue " (issue) " · " }
                    (run.head.run_id)
                }
            }
            span.reason { (shortened(&about, 160)) }
            span.phase {
                (run.head.phase.as_ref().map_or("", StateName::as_str))
                @if let Some(place) = card.place { " " (place.number) "/" (place.of) }
            }
            time.dim datetime=(run.head.updated_at) title=(run.head.updated_at) { (age(run.head.updated_at, now)) }
        }
    }
}

fn unreadable(project: &ProjectCards) -> Markup {
    html! {
        section.group data-key={ (project.project) "/unreadable" } {
            h2 { span.bad { "✕ Cannot be read" } " " (count(project.cards.unreadable.len())) }
            ul.rows {
                @for run in &project.cards.unreadable {
                    li.row data-key={ (project.project) "/" (run.run_id) } {
                        span class="tag bad" { "✕ unreadable" }
                        a href={ "/" (project.project) "/runs/" (run.run_id) } { (run.run_id) }
                        span.reason { (shortened(&run.reason, 400)) }
                    }
                }
            }
        }
    }
}
