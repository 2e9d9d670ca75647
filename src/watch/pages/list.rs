//! The runs, grouped by what a person has to do.

use crate::model::Timestamp;
use crate::picture::{self, age, columns, count, cut_front, hint, look_of, look_of_group, waits_for};
use crate::runs::{Card, CardFilter, CardGroup, CardsOfGroup, CardsReport, ShortNames, UnseenStore};
use crate::watch::line::{Look, PageLine, cell};

/// The columns before each run, for the mark of the chosen one.
const BEFORE: &str = "  ";
/// The widest cells of a row: state, title, name, phase and age.
const WIDEST: [usize; CELLS] = [14, 48, 30, 20, 14];
const CELLS: usize = 5;
/// The places of the cells that give way where there is no room.
const TITLE: usize = 1;
const NAME: usize = 2;
const PHASE: usize = 3;
/// The least room for a title beside a phase and a reason, beside a reason alone, and without either.
const TITLES: [usize; 3] = [24, 18, 10];
/// The least room for a name beside a reason: one long name must not take the reasons from all rows.
const NAME_BESIDE: usize = 20;
/// The least room for a reason.
const REASON: usize = 16;
/// The columns between cells.
const GAP: usize = 2;

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
    let shown: Vec<_> = cards.groups.iter().flat_map(|group| &group.cards).collect();
    // One table for all groups, so that their columns stand below each other.
    let table = Table::of(&shown.iter().map(|card| ListRow::of(card, names, now)).collect::<Vec<_>>(), width);
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
            lines.push(table.line(&ListRow::of(card, names, now)).about(card.run.head.run_id.clone()));
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
        Some(hint) if columns(&line.text()) + GAP + columns(hint) <= width => line.plain("  ").dim(hint),
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

/// A run as cells.
struct ListRow {
    look: Look,
    /// Its state, what it is about, its name, its phase and its age.
    cells: [String; CELLS],
    about: String,
}

impl ListRow {
    fn of(card: &Card, names: &ShortNames, now: Timestamp) -> Self {
        let head = &card.run.head;
        let (symbol, class, word) = look_of(card);
        let about = waits_for(card, now);
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
        ];
        Self { look: Look::of_class(class), cells, about }
    }
}

/// The widths of the cells of all rows; 0 for what has no room.
struct Table {
    cells: [usize; CELLS],
    about: usize,
}

impl Table {
    fn of(rows: &[ListRow], width: usize) -> Self {
        let mut table = Self { cells: [0; CELLS], about: 0 };
        for row in rows {
            for (at, text) in row.cells.iter().enumerate() {
                table.cells[at] = table.cells[at].max(columns(text).min(WIDEST[at]));
            }
        }
        // What is left out can be seen on the page of the run. The phase goes first, as in `flow list`: why a run waits says more.
        let (natural, name, beside) = (table.cells[TITLE], table.cells[NAME], width.saturating_sub(REASON));
        table.narrow(TITLE, TITLES[0], beside);
        table.narrow(NAME, NAME_BESIDE, beside);
        if table.taken() > beside {
            table.cells[PHASE] = 0;
        }
        table.narrow(TITLE, TITLES[1], beside);
        if table.taken() <= beside {
            // What the reasons leave over is for titles.
            let reasons = rows.iter().map(|row| columns(&row.about)).max().unwrap_or(0).max(REASON);
            let over = (width - table.taken()).saturating_sub(reasons);
            table.cells[TITLE] = natural.min(table.cells[TITLE] + over);
            table.about = width - table.taken();
            return table;
        }
        // The title and the name get the room of the reason. The last cell needs no gap.
        table.cells[TITLE] = natural;
        table.cells[NAME] = name;
        table.narrow(TITLE, TITLES[2], width + GAP);
        if table.taken() > width + GAP {
            table.cells[TITLE] = 0;
        }
        // The name is cut, but stays: without it the run cannot be named.
        table.narrow(NAME, 8, width + GAP);
        table
    }

    /// Narrows a cell, down to `least`, as far as the line takes more than `room`.
    fn narrow(&mut self, at: usize, least: usize, room: usize) {
        let over = self.taken().saturating_sub(room);
        let narrowed = self.cells[at].saturating_sub(over).max(least);
        self.cells[at] = self.cells[at].min(narrowed);
    }

    /// How many columns all but the reason take, each with a gap.
    fn taken(&self) -> usize {
        let shown = self.cells.iter().filter(|cell| **cell > 0).count();
        BEFORE.len() + self.cells.iter().sum::<usize>() + shown * GAP
    }

    fn line(&self, row: &ListRow) -> PageLine {
        let looks = [row.look, Look::Strong, Look::Plain, Look::Plain, Look::Dim];
        let mut line = PageLine::new();
        for (at, look) in looks.into_iter().enumerate() {
            // Before the first cell, the mark of the chosen run has as much room as a gap.
            if self.cells[at] > 0 {
                // Names differ at their ends.
                let text = if at == NAME { cut_front(&row.cells[at], self.cells[at]) } else { row.cells[at].clone() };
                line = line.plain(BEFORE).with(look, cell(&text, self.cells[at]));
            }
        }
        if self.about > 0 {
            line = line.plain(BEFORE).with(Look::Plain, cell(&row.about, self.about));
        }
        line
    }
}

#[cfg(test)]
pub(in crate::watch) mod tests {
    use super::*;
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
        assert_eq!(shown(&CardFilter::default(), 40)[2], "  ▲ blocked  debug       waiting  12 min");
        assert_eq!(shown(&CardFilter::default(), 30)[2], "  ▲ blocked  waiting  12 min");
    }

    #[test]
    fn in_eighty_columns_the_phase_gives_way_to_what_a_run_waits_for() {
        let (mut cards, _) = cards(&CardFilter::default());
        for card in cards.groups.iter_mut().flat_map(|group| &mut group.cards) {
            card.run.goal = Some("Copy the rows of the old table to the new one in one pass".to_owned());
        }
        let lines = list(&cards, &ShortNames::default(), &CardFilter::default(), now(), 80);
        let waits = lines[2].cut(80).text();
        assert_eq!(waits.trim_end(), "  ▲ blocked  Copy the rows of the ol…  waiting  12 min  no \u{fffd}[31maccess");
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
