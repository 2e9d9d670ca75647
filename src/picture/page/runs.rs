//! The page of all runs, grouped by what a person has to do.

use std::cmp::Reverse;

use maud::{Markup, html};
use serde::Serialize;

use crate::model::{RunStatus, SessionId, StateName, Timestamp, percent_encoded};
use crate::picture::page::document::{Page, Part};
use crate::picture::page::pieces::{of_projects, with_commands};
use crate::picture::tone::Tone;
use crate::picture::words::{age, clean, count, shortened, waits_for, why_no_command};
use crate::runs::{Card, CardFilter, CardGroup, CardSort, CardsReport, Need, PhasePlace, ShortNames, UnseenStore};

/// The cards of a project, and how its pages are addressed.
#[derive(Debug, Clone, Serialize)]
pub struct ProjectCards {
    /// Its name, which is the first part of its addresses.
    pub project: String,
    /// A card for each of its runs, and what cannot be read.
    pub cards: CardsReport,
    /// The names of their runs.
    #[serde(skip)]
    pub(crate) names: ShortNames,
}

/// A group with its runs, of all projects: what needs a person comes first, whichever project it is of.
struct MergedGroup<'a> {
    group: CardGroup,
    total: usize,
    rows: Vec<(&'a ProjectCards, &'a Card)>,
}

fn merged<'a>(projects: &'a [ProjectCards], group: CardGroup, filter: &CardFilter) -> MergedGroup<'a> {
    let mut merged = MergedGroup { group, total: 0, rows: Vec::new() };
    for project in projects {
        for found in project.cards.groups.iter().filter(|found| found.group == group) {
            merged.total += found.total;
            merged.rows.extend(found.cards.iter().map(|card| (project, card)));
        }
    }
    if projects.len() > 1 {
        merged.rows.sort_by_key(|(_, card)| Reverse((filter.sort.key(&card.run), &card.run.head.run_id)));
    }
    merged
}

/// All runs of these projects that `filter` takes.
#[must_use]
pub fn runs_page(projects: &[ProjectCards], filter: &CardFilter, now: Timestamp) -> Page {
    let needs: usize = projects.iter().map(|project| project.cards.needs_a_person()).sum();
    let groups = CardGroup::ALL.map(|group| merged(projects, group, filter));
    let is_narrowed = filter.is_narrow();
    let is_empty = groups.iter().all(|group| group.total == 0)
        && projects.iter().all(|project| project.cards.unreadable.is_empty());
    let main = html! {
        h1 data-key="title" { (heading(needs, filter)) }
        (jump(&groups, filter))
        (search(projects, filter))
        @for group in &groups {
            @let is_asked = filter.group.is_none_or(|only| only == group.group);
            @if is_asked && (group.total > 0 || group.group == CardGroup::Waits) {
                (group_section(projects, group, filter, now))
            }
        }
        (unreadable(projects))
        @for project in projects {
            @if let Some(UnseenStore { store, told, .. }) = &project.cards.unseen_store {
                p data-key={ (project.project) "/unseen" } {
                    "The shared runs in " (store) " are not seen here: " (with_commands(told)) "."
                }
            }
        }
        @for project in projects {
            @if let Some(away) = &project.cards.store_away {
                p data-key={ (project.project) "/away" } { (clean(away)) "." }
            }
        }
        @if is_empty {
            @let is_seen = projects.iter().all(|project| project.cards.unseen_store.is_none());
            @let begin = if is_seen { "flow start WORKFLOW" } else { "flow start WORKFLOW --local" };
            p.dim { (if is_narrowed { "No run here matches the search. " } else { "No runs here. " }) code { (begin) } " begins one." }
        }
    };
    let names: Vec<_> = projects.iter().map(|project| project.project.as_str()).collect();
    let name = format!("{} · flow", of_projects(&names));
    // Tabs are told apart by it: how many runs need the reader does not depend on what is searched for.
    let title = if needs > 0 && !filter.is_narrow() { format!("({needs}) {name}") } else { name };
    let project = match projects {
        [project] => Some(project.project.clone()),
        _ => None,
    };
    Page { title, main, part: Part::Runs, project }
}

/// What a list is about in which this many runs need a person.
pub(crate) fn heading(needs: usize, filter: &CardFilter) -> String {
    match (filter.group, needs) {
        (Some(CardGroup::Over), _) => "Runs that are over".to_owned(),
        (_, 0) if filter.is_narrow() => "No run that matches needs you".to_owned(),
        (_, 1) if filter.is_narrow() => "1 run that matches needs you".to_owned(),
        _ if filter.is_narrow() => format!("{} runs that match need you", count(needs)),
        (_, 0) => "No run needs you".to_owned(),
        (_, 1) => "1 run needs you".to_owned(),
        _ => format!("{} runs need you", count(needs)),
    }
}

/// Links to the groups, where there are several. The place is there in any case: what stands behind it must not move while
/// the reader types in it.
fn jump(groups: &[MergedGroup<'_>], filter: &CardFilter) -> Markup {
    let mut shown: Vec<_> = groups.iter().filter(|group| group.total > 0).collect();
    if filter.group.is_some() || shown.len() == 1 {
        shown.clear();
    }
    html! {
        p.jump data-key="jump" {
            @for group in shown {
                @let (symbol, class) = look_of_group(group.group);
                @let is_here = group.group.is_open();
                @let to = if is_here { format!("#{}", group.group) } else { address(filter, Some(group.group), 0) };
                a.(class) href=(to) { (symbol) " " (group.group.title()) " " b { (count(group.total)) } }
            }
        }
    }
}

/// The most parts of a bar that can be told apart in its column.
const PARTS: usize = 16;

/// How runs end.
const ENDS: [RunStatus; 3] = [RunStatus::Completed, RunStatus::Failed, RunStatus::Cancelled];
/// The orders of a list.
const SORTS: [(CardSort, &str); 3] =
    [(CardSort::Changed, "Changed last"), (CardSort::Started, "Started last"), (CardSort::Longest, "Took longest")];

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
            @if is_over {
                select name="status" aria-label="Status" {
                    option value="" { "Every end" }
                    @for status in ENDS {
                        option value=(status) selected[filter.status == Some(status)] { (status) }
                    }
                }
            }
            select name="sort" aria-label="Order" {
                @for (sort, words) in SORTS {
                    option value=(if sort == CardSort::Changed { "" } else { sort.as_str() }) selected[filter.sort == sort] { (words) }
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
    // How a run ended is asked of those that are over alone.
    if group == Some(CardGroup::Over) {
        query.extend(filter.status.map(|status| ("status", status.to_string())));
    }
    if filter.sort != CardSort::Changed {
        query.push(("sort", filter.sort.to_string()));
    }
    if skip > 0 {
        query.push(("skip", skip.to_string()));
    }
    let pairs = query.iter().map(|(key, value)| format!("{key}={}", percent_encoded(value)));
    let query = pairs.collect::<Vec<_>>().join("&");
    if query.is_empty() { "/".to_owned() } else { format!("/?{query}") }
}

fn group_section(projects: &[ProjectCards], group: &MergedGroup<'_>, filter: &CardFilter, now: Timestamp) -> Markup {
    let (symbol, class) = look_of_group(group.group);
    let whose = match projects {
        [project] => project.project.as_str(),
        _ => "all",
    };
    // Each project leaves out as many.
    let skipped = filter.skip * projects.len();
    let shown = skipped.min(group.total) + group.rows.len();
    html! {
        section.group #(group.group) data-key={ (whose) "/" (group.group.as_str()) } {
            h2 {
                span class=(class) { (symbol) " " (group.group.title()) } " " (count(group.total))
                @if let Some(hint) = hint(group.group) { span.dim { " " (hint) } }
            }
            @if !group.rows.is_empty() {
                @if group.group == CardGroup::Over {
                    div.heads.dim { span { "Status" } span { "Run" } span { "How long it took" } span { "Phase" } span { "Ended" } }
                }
                ul.rows {
                    @for (project, card) in &group.rows { (row(&project.project, card, &project.names, now, projects.len() > 1)) }
                }
            }
            @if filter.skip > 0 || shown < group.total {
                p.more {
                    @if filter.skip > 0 {
                        a href=(address(filter, Some(group.group), filter.skip.saturating_sub(filter.limit))) { "Newer" } " "
                    }
                    @if shown < group.total {
                        a href=(address(filter, Some(group.group), if group.rows.is_empty() { 0 } else { filter.skip + filter.limit })) {
                            @if group.rows.is_empty() { "Show them" } @else { "Older" }
                        }
                    }
                    @if !group.rows.is_empty() && projects.len() == 1 {
                        span.dim { " " (count(filter.skip + 1)) " to " (count(shown)) " of " (count(group.total)) }
                    }
                }
            }
        }
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
        _ if card.need == Some(Need::Failing) => Tone::Failing,
        _ if matches!(card.need, Some(Need::Damaged | Need::Joined | Need::Rewound)) => Tone::Damaged,
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
    let word = card.word().to_owned();
    if card.need.is_some() {
        return (tone(card).symbol(), tone(card).class(), word);
    }
    let (symbol, class) = look_of_group(card.group);
    match (card.group, card.run.head.status) {
        // The title of the group says that it is at work.
        (CardGroup::AtWork, _) => (symbol, class, card.run.session.as_ref().map_or(word, SessionId::to_string)),
        (CardGroup::Over, RunStatus::Failed) => (Tone::Failing.symbol(), Tone::Failing.class(), word),
        (CardGroup::Over, RunStatus::Cancelled) => ("–", class, word),
        _ => (symbol, class, word),
    }
}

/// The shape, the class and the title of what a run's own page says first: that of its group, unless something is wrong with it.
pub(crate) fn look_of_verdict(card: &Card) -> (&'static str, &'static str, String) {
    let tone = tone(card);
    if matches!(tone, Tone::Failing | Tone::Damaged) && card.group.is_open() {
        let mut title = card.word().to_owned();
        title[..1].make_ascii_uppercase();
        return (tone.symbol(), tone.class(), title);
    }
    let (symbol, class) = look_of_group(card.group);
    (symbol, class, card.group.title().to_owned())
}

/// A run in a list.
pub(super) fn row(project: &str, card: &Card, names: &ShortNames, now: Timestamp, names_project: bool) -> Markup {
    let run = &card.run;
    let (symbol, class, word) = look_of(card);
    let title = run.title();
    let about = waits_for(card, now);
    html! {
        @let command = card.next.command.as_ref();
        @let why_none = command.is_none().then(|| why_no_command(&card.next));
        li.row data-key={ (project) "/" (run.head.run_id) } data-command=[command] data-none=[why_none] {
            span class={ "tag " (class) } { (symbol) " " (shortened(&word, 24)) }
            div.what {
                a href={ "/" (project) "/runs/" (run.head.run_id) } { (shortened(&title, 120)) }
                p.dim {
                    @if names_project { b { (clean(project)) } " · " }
                    @if !title.contains(run.head.workflow.as_str()) { (run.head.workflow) " · " }
                    @if run.goal.is_some() && let Some(issue) = &run.issue { "issue " (issue) " · " }
                    span title=(run.head.run_id) { (names.of_run(&run.head.run_id)) }
                }
            }
            span.reason { (with_commands(&shortened(&about, 160))) }
            span.phase {
                @if let Some(place) = card.place { (bar(place, class)) }
                (run.head.phase.as_ref().map_or("", StateName::as_str))
                @if let Some(place) = card.place { " " (place.number) "/" (place.of) }
            }
            time.dim datetime=(run.head.updated_at) title=(run.head.updated_at) { (age(run.head.updated_at, now)) }
        }
    }
}

/// The place of a phase as a bar of as many parts as there are phases, for the eye alone: its numbers stand beside it.
fn bar(place: PhasePlace, class: &str) -> Markup {
    html! {
        @if place.of <= PARTS {
            span.place.(class) aria-hidden="true" {
                @for number in 1..=place.of {
                    span.done[number < place.number].here[number == place.number] {}
                }
            }
        }
    }
}

fn unreadable(projects: &[ProjectCards]) -> Markup {
    let all: usize = projects.iter().map(|project| project.cards.unreadable.len()).sum();
    html! {
        @if all > 0 {
            section.group data-key="all/unreadable" {
                h2 { span.bad { "✕ Cannot be read" } " " (count(all)) }
                ul.rows {
                    @for project in projects {
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
    }
}
