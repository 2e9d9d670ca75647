//! The runs, grouped by what a person has to do.

use crate::model::Timestamp;
use crate::picture::{self, FittedColumns, RunColumns, age, columns, count, hint, look_of, look_of_group, waits_for};
use crate::runs::{Card, CardFilter, CardGroup, CardsOfGroup, CardsReport, ShortNames, UnseenStore};
use crate::watch::line::{Look, PageLine, cell};

/// The columns before each run, for the mark of the chosen one.
const BEFORE: &str = "  ";
/// Between the heading of a group and its hint.
const BEHIND: &str = "  ";
/// The columns of a row behind its state.
const COLUMNS: RunColumns = RunColumns { title: 1, name: 2, phase: 3, age: 4, reason: 5 };
const CELLS: usize = 6;

/// How many runs need a person.
pub(in crate::watch) fn list_title(cards: &CardsReport, filter: &CardFilter) -> PageLine {
    PageLine::new().with(Look::Strong, picture::heading(cards.needs_a_person(), filter))
}

/// The groups with their runs, in at most this many columns.
pub(in crate::watch) fn list(
    cards: &CardsReport,
    names: &ShortNames,
    filter: &CardFilter,
    now: Timestamp,
    width: usize,
) -> Vec<PageLine> {
    let mut rows = Vec::new();
    for card in cards.groups.iter().flat_map(|group| &group.cards) {
        rows.push(ListRow::of(card, names, now));
    }
    // One table for all groups, so that their columns stand below each other.
    let table = FittedColumns::of(rows.iter().map(|row| &row.cells), &COLUMNS.steps(), BEFORE.len(), width);
    let mut lines = Vec::new();
    for group in &cards.groups {
        let is_asked = filter.group.is_none() || filter.group == Some(group.group);
        // That nothing waits for a person is worth a heading, too.
        if !is_asked || (group.total == 0 && group.group != CardGroup::Waits) {
            continue;
        }
        lines.push(PageLine::new());
        lines.push(heading(group, width));
        for card in &group.cards {
            lines.push(ListRow::of(card, names, now).line(&table).about(card.run.head.run_id.clone()));
        }
        lines.extend(left_out(group));
    }
    if !cards.unreadable.is_empty() {
        lines.push(PageLine::new());
        let total = count(cards.unreadable.len());
        lines.push(PageLine::new().with(Look::Bad, "✕ Cannot be read").plain(" ").plain(total));
        for run in &cards.unreadable {
            let line = PageLine::new().plain(BEFORE).with(Look::Bad, "✕ ");
            lines.push(line.plain(&run.run_id).plain("  ").dim(&run.reason));
        }
    }
    if let Some(UnseenStore { store, told, .. }) = &cards.unseen_store {
        lines.push(PageLine::new());
        lines.push(PageLine::new().plain(format!("{BEFORE}The shared runs in {store} are not seen here: {told}.")));
    }
    if let Some(away) = &cards.store_away {
        lines.push(PageLine::new());
        lines.push(PageLine::new().plain(BEFORE).with(Look::Bad, "✕ ").plain(away));
    }
    if cards.groups.iter().all(|group| group.total == 0) && cards.unreadable.is_empty() {
        let found = if filter.is_narrow() { "No run here matches the search." } else { "No runs here." };
        let begin = if cards.unseen_store.is_some() { "flow start WORKFLOW --local" } else { "flow start WORKFLOW" };
        lines.push(PageLine::new().dim(format!("{BEFORE}{found} `{begin}` begins one.")));
    }
    lines
}

fn heading(group: &CardsOfGroup, width: usize) -> PageLine {
    let (symbol, class) = look_of_group(group.group);
    let title = format!("{symbol} {}", group.group.title());
    let line = PageLine::new().with(Look::of_class(class), title).plain(" ").with(Look::Strong, count(group.total));
    match hint(group.group) {
        Some(hint) if columns(&line.text()) + BEHIND.len() + columns(hint) <= width => line.plain(BEHIND).dim(hint),
        _ => line,
    }
}

/// How many runs of a group are not shown.
fn left_out(group: &CardsOfGroup) -> Option<PageLine> {
    let more = group.total - group.cards.len().min(group.total);
    // Without any run shown, the heading says how many there are.
    if more == 0 || group.cards.is_empty() {
        return None;
    }
    Some(PageLine::new().dim(format!("{BEFORE}and {} more: `flow list` has all", count(more))))
}

/// A run as cells: its state, what it is about, its name, its phase, its age, and what it waits for.
struct ListRow {
    look: Look,
    cells: [String; CELLS],
}

impl ListRow {
    fn of(card: &Card, names: &ShortNames, now: Timestamp) -> Self {
        let head = &card.run.head;
        let (symbol, class, word) = look_of(card);
        let phase = match (&head.phase, card.place) {
            (Some(phase), Some(place)) => format!("{phase} {}/{}", place.number, place.of),
            (Some(phase), None) => phase.to_string(),
            (None, _) => String::new(),
        };
        let cells = [
            format!("{symbol} {word}"),
            card.run.title(),
            names.of_run(&head.run_id).to_owned(),
            phase,
            age(head.updated_at, now),
            waits_for(card, now),
        ];
        Self { look: Look::of_class(class), cells }
    }

    fn line(&self, table: &FittedColumns<CELLS>) -> PageLine {
        let looks = [self.look, Look::Strong, Look::Plain, Look::Plain, Look::Dim, Look::Plain];
        let mut line = PageLine::new();
        for (at, text, width) in table.cells(&self.cells) {
            // Before the first cell, the mark of the chosen run has as much room as a gap.
            line = line.plain(BEFORE).with(looks[at], cell(&text, width));
        }
        line
    }
}

#[cfg(test)]
pub(in crate::watch) mod tests {
    use super::*;
    use crate::picture::columns;
    use crate::runs::{self, Feed, RecordRequest, StartRequest, StatusRequest, StatusVerb};
    use crate::watch::shown::ShownRun;

    /// The cards of a project with a run that waits, two that can go on and one that is over; and the first run.
    pub(in crate::watch) fn cards(filter: &CardFilter) -> (CardsReport, ShownRun) {
        project(|feed| {
            let id = "waiting".parse().unwrap();
            (feed.cards(filter), ShownRun::read(feed, &id, 100, true).unwrap())
        })
    }

    fn project<T>(look: impl FnOnce(&mut Feed) -> T) -> T {
        use crate::host::{Clock, Env, Git, Ids};
        let dir = tempfile::tempdir().unwrap();
        let options = runs::Options { project: Some(dir.path().to_owned()), ..runs::Options::default() };
        let clock = Clock::fixed("2026-05-20T14:30:00Z".parse().unwrap());
        let cx = runs::Context::new(clock, Ids::random(), Env::default(), Git::default(), options);
        for id in ["waiting", "ready", "evil", "over"] {
            let goal = (id == "evil").then(|| "a\u{1b}]52;c;eA==\u{7}b\u{202e}c".to_owned());
            let request =
                StartRequest { workflow: "debug".into(), id: Some(id.parse().unwrap()), goal, ..Default::default() };
            runs::start(&cx, &request).unwrap();
        }
        let record = RecordRequest {
            run: Some("waiting".into()),
            id: Some("look-around".parse().unwrap()),
            ..RecordRequest::default()
        };
        runs::record_activity(&cx, &record).unwrap();
        let status = |verb, run: &str, reason: &str| StatusRequest {
            run: Some(run.into()),
            reason: Some(reason.into()),
            ..StatusRequest::new(verb)
        };
        runs::change_status(&cx, &status(StatusVerb::Block, "waiting", "no \u{1b}[31maccess")).unwrap();
        runs::change_status(&cx, &status(StatusVerb::Cancel, "over", "enough")).unwrap();
        look(&mut Feed::open(&cx).unwrap())
    }

    fn now() -> Timestamp {
        "2026-05-20T14:43:00Z".parse().unwrap()
    }

    fn shown(filter: &CardFilter, width: usize) -> Vec<String> {
        let (cards, _) = cards(filter);
        let lines = list(&cards, &ShortNames::default(), filter, now(), width);
        lines.iter().map(|line| line.cut(width).text().trim_end().to_owned()).collect()
    }

    #[test]
    fn runs_are_listed_by_what_a_person_has_to_do() {
        let shown = shown(&CardFilter::default(), 100);
        assert_eq!(shown[1], "▲ Waits for you 1");
        assert_eq!(shown[2], "  ▲ blocked  debug            waiting  preflight 1/5  12 min  no \u{fffd}[31maccess");
        assert!(shown.contains(&"◦ Can go on 2".to_owned()), "{shown:#?}");
        assert_eq!(shown.last().unwrap(), "✓ Over 1");
    }

    #[test]
    fn what_has_no_room_is_left_out_before_the_run_is() {
        for width in [1, 2, 10, 20, 40, 60] {
            let shown = shown(&CardFilter::default(), width);
            assert!(shown.iter().all(|line| columns(line) <= width), "{width}: {shown:#?}");
        }
        assert_eq!(shown(&CardFilter::default(), 40)[2], "  ▲ blocked  debug            waiting");
        assert_eq!(shown(&CardFilter::default(), 30)[2], "  ▲ blocked  debug     waiting");
    }

    #[test]
    fn in_eighty_columns_the_title_and_the_phase_are_narrowed_and_the_age_stays() {
        let (mut cards, _) = cards(&CardFilter::default());
        for card in cards.groups.iter_mut().flat_map(|group| &mut group.cards) {
            card.run.goal = Some("Copy the rows of the old table to the new one in one pass".to_owned());
        }
        let lines = list(&cards, &ShortNames::default(), &CardFilter::default(), now(), 80);
        let waits = lines[2].cut(80).text();
        assert_eq!(
            waits.trim_end(),
            "  ▲ blocked  Copy the rows o…  waiting  pref… 1/5  12 min  no \u{fffd}[31maccess"
        );
    }

    #[test]
    fn a_search_that_finds_nothing_says_so() {
        let filter = CardFilter { search: Some("elsewhere".to_owned()), ..CardFilter::default() };
        assert!(shown(&filter, 100).last().unwrap().contains("No run here matches the search"));
    }

    #[test]
    fn a_store_that_was_not_accepted_is_told() {
        let (mut cards, _) = cards(&CardFilter::default());
        let told = "`flow remote use git:origin` accepts it".to_owned();
        cards.unseen_store = Some(UnseenStore { store: "git:origin".to_owned(), acceptable: true, told });
        let lines = list(&cards, &ShortNames::default(), &CardFilter::default(), now(), 100);
        let told = "  The shared runs in git:origin are not seen here: `flow remote use git:origin` accepts it.";
        assert_eq!(lines.last().unwrap().text().trim_end(), told);
    }
}
