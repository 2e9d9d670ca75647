//! One run: where it is and why, what to do next, when work happened, and what came out.

use crate::model::{StateName, StepStatus, Suggestion, Timestamp};
use crate::picture::{
    age, columns, count, decision, duration, for_whom, look_of_activity, look_of_step, look_of_verdict, timeline_text,
    title_in_doubt, totals_in_words, verdict_reason, ways_shown,
};
use crate::runs::{Card, HolderLife, Need, RunReport, ShownActivity, ShownStep};
use crate::watch::line::{Look, PageLine, cell, wrapped};
use crate::watch::pages::log;
use crate::watch::shown::ShownRun;

/// The most lines of a text that a user wrote.
const PARAGRAPH: usize = 12;
/// The widest name of a step, and the widest bars.
const NAME: usize = 24;
const BARS: usize = 60;

/// The page of a run, in at most this many columns where lines can be broken.
pub(in crate::watch) fn run(facts: &ShownRun, now: Timestamp, width: usize) -> Vec<PageLine> {
    let run = &facts.report;
    let mut lines = head(run, now, width);
    lines.push(PageLine::new());
    lines.extend(next(run, now, width));
    section(&mut lines, "Steps", "", run.steps.iter().flat_map(step).collect());
    section(&mut lines, "Timeline", &folded(run), timeline(run, width));
    let activities = facts.activities.iter().flat_map(activity).collect();
    section(&mut lines, "Activities", "", activities);
    let latest: Vec<_> = facts.log.events.iter().map(log::line).collect();
    let events = usize::try_from(run.last.0).unwrap_or(usize::MAX);
    section(&mut lines, "Log", &format!("the latest of {} events, times in UTC", count(events)), latest);
    lines
}

/// Adds a section, unless it is empty.
fn section(lines: &mut Vec<PageLine>, title: &str, about: &str, section: Vec<PageLine>) {
    if !section.is_empty() {
        lines.push(PageLine::new());
        lines.push(PageLine::new().with(Look::Strong, title).plain("  ").dim(about));
        lines.extend(section);
    }
}

fn paragraph(text: &str, width: usize, look: Look) -> Vec<PageLine> {
    let mut lines = Vec::new();
    for line in wrapped(text, width) {
        if lines.len() == PARAGRAPH {
            lines.push(PageLine::new().dim("…"));
            break;
        }
        lines.push(PageLine::new().with(look, line));
    }
    lines
}

fn head(run: &RunReport, now: Timestamp, width: usize) -> Vec<PageLine> {
    let card = &run.card.run;
    let mut lines = paragraph(&card.title(), width, Look::Strong);
    let mut about = vec![card.head.workflow.to_string()];
    about.extend(card.issue.as_ref().map(|issue| format!("issue {issue}")));
    about.extend(card.pr.map(|pr| format!("pull request {pr}")));
    about.extend(card.feature.clone());
    if let Some(branch) = &run.branch
        && !branch.is_empty()
    {
        about.push(format!("branch {branch}"));
    }
    lines.extend(paragraph(&about.join(" · "), width, Look::Dim));
    let mut facts = Vec::new();
    if let Some(phase) = &card.head.phase
        && run.card.group.is_open()
    {
        let since = run.phase_since.map(|since| format!(" for {}", age(since, now))).unwrap_or_default();
        facts.push(format!("in {phase}{since}"));
    }
    // Of a run that is open, what comes next says how it stands.
    if card.head.is_over() {
        facts.push(card.head.word().to_owned());
    }
    facts.push(format!("started {} ago", age(card.head.created_at, now)));
    if run.timeline.worked_ms > 0 {
        facts.push(format!("worked on for {}", duration(run.timeline.worked_ms)));
    }
    let used = totals_in_words(&run.usage.sum.totals);
    if !used.is_empty() {
        facts.push(format!("used {used}"));
    }
    if let Some(session) = &card.session {
        let life = match run.card.holder {
            Some(HolderLife::Dead) => " (its process is gone)",
            Some(HolderLife::Ended) => " (it ended)",
            Some(HolderLife::Unknown) => " (process state unknown)",
            _ => "",
        };
        facts.push(format!("held by {session}{life}"));
    }
    lines.extend(paragraph(&facts.join(" · "), width, Look::Plain));
    lines
}

/// What it needs, and the next safe action.
fn next(run: &RunReport, now: Timestamp, width: usize) -> Vec<PageLine> {
    let (symbol, class, title) = look_of_verdict(&run.card);
    let mut lines = vec![PageLine::new().with(Look::of_class(class), format!("{symbol} {title}"))];
    lines.extend(paragraph(&verdict_reason(&run.card, now), width, Look::Plain));
    if let Some(title) = title_in_doubt(&run.card) {
        lines.extend(paragraph(title, width, Look::Strong));
    }
    if let Some(cause) = &run.card.cause
        && !run.card.reason.contains(&cause.text)
    {
        lines.extend(paragraph(&cause.in_words(), width, Look::Strong));
    }
    let next = &run.card.next;
    if let Some(text) = &next.description {
        lines.extend(paragraph(text, width, Look::Dim));
    }
    if let Some(first) = &next.command {
        lines.extend(command(first, width));
    }
    lines.extend(ways(&run.card, width));
    for note in &run.notes {
        lines.extend(paragraph(&format!("note: {note}"), width, Look::Dim));
    }
    // The last one is the reason of a run that asks.
    for question in run.questions.iter().rev().skip(usize::from(run.card.need == Some(Need::Question))) {
        lines.extend(paragraph(
            &format!("Question of {}: {}", question.question.step, question.question.prompt),
            width,
            Look::Plain,
        ));
    }
    for left in &run.card.left_undone {
        lines.extend(paragraph(&format!("Left undone: {left}"), width, Look::Dim));
    }
    for skip in &run.skipped {
        lines.extend(paragraph(&format!("Passed over: {}: {}", skip.phase, skip.reason), width, Look::Dim));
    }
    for one in &run.approvals {
        lines.extend(paragraph(&format!("Decided: {}", decision(one)), width, Look::Dim));
    }
    if let Some(drift) = &run.drift {
        let place = if drift.at_position { "where the run is" } else { "not where it is" };
        lines.extend(paragraph(&format!("The definition changed since the run began, {place}"), width, Look::Dim));
    }
    lines
}

/// What else may be done, and when: one command at most, so that the timeline stays on the screen.
fn ways(card: &Card, width: usize) -> Vec<PageLine> {
    let mut lines = Vec::new();
    if let Some(first) = &card.next.first {
        lines.extend(paragraph(&format!("First {first}"), width, Look::Plain));
    }
    let (first, more) = card.next.alternatives.split_at(ways_shown(card, 1));
    for way in first {
        lines.extend(paragraph(&format!("When {}{}:", way.when, for_whom(way)), width, Look::Dim));
        lines.extend(command(&way.command, width));
    }
    if !more.is_empty() {
        let whens: Vec<_> = more.iter().map(|way| way.when.as_str()).collect();
        let text = format!("When {}: `flow resume {}` has the commands", whens.join("; "), card.run.head.run_id);
        lines.extend(paragraph(&text, width, Look::Dim));
    }
    lines
}

/// A command to copy. Where it is broken into lines, a shell still takes it as one.
fn command(command: &Suggestion, width: usize) -> Vec<PageLine> {
    const BEFORE: [&str; 2] = ["  $ ", "      "];
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in shell_words(&format!("{command:#}")) {
        // A backslash stands at the end of a line that goes on.
        let is_full = BEFORE[1].len() + columns(&line) + columns(&word) + " \\".len() + 1 > width;
        if is_full && !line.is_empty() {
            lines.push(format!("{line} \\"));
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(&word);
    }
    lines.push(line);
    let mut shown = Vec::new();
    for (nth, line) in lines.into_iter().enumerate() {
        shown.push(PageLine::new().dim(BEFORE[nth.min(1)]).with(Look::Strong, line));
    }
    shown
}

/// The words of a command line, as they are written in it.
fn shell_words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let (mut is_quoted, mut is_escaped) = (false, false);
    // Within `$'…'` a backslash stands before a quote that does not end it.
    let mut has_escapes = true;
    for c in line.chars() {
        if c == ' ' && !is_quoted && !is_escaped {
            words.push(String::new());
            continue;
        }
        let word = words.last_mut().expect("there is one from the beginning");
        if c == '\'' && !is_escaped {
            is_quoted = !is_quoted;
            has_escapes = !is_quoted || word.ends_with('$');
        }
        is_escaped = c == '\\' && has_escapes && !is_escaped;
        word.push(c);
    }
    words
}

fn step(step: &ShownStep) -> Vec<PageLine> {
    let (symbol, class) = look_of_step(step.status);
    let mark = if step.current { "▶ " } else { "  " };
    let look = if step.current { Look::Strong } else { Look::Plain };
    let mut lines = vec![
        PageLine::new()
            .with(look, mark)
            .with(Look::of_class(class), format!("{symbol} "))
            .with(look, step.step.as_str())
            .dim(format!("  {}", status_words(step.status)))
            .dim(if step.current { ", the run is here" } else { "" }),
    ];
    for unit in &step.units {
        let (symbol, class) = look_of_step(unit.status);
        let line = PageLine::new().plain("      ").with(Look::of_class(class), format!("{symbol} "));
        let line = match &unit.unit {
            Some(name) => line.plain(name.as_str()),
            None => line.plain(unit.step.as_str()),
        };
        let said = unit.open_message().map(|said| format!(": {said}")).unwrap_or_default();
        lines.push(line.dim(format!("  {}{said}", status_words(unit.status))));
    }
    lines
}

/// A status without the mark between its words.
pub(super) fn status_words(status: StepStatus) -> String {
    status.to_string().replace('_', " ")
}

fn folded(run: &RunReport) -> String {
    let mut folds = Vec::new();
    for fold in run.timeline.folds.iter().take(4) {
        folds.push(duration(fold.from.milliseconds_until(fold.to)));
    }
    if folds.is_empty() {
        return String::new();
    }
    let more = if run.timeline.folds.len() > folds.len() { ", …" } else { "" };
    format!("┊ without the {}{more} in which nothing happened", folds.join(", "))
}

fn timeline(run: &RunReport, width: usize) -> Vec<PageLine> {
    // The rest is for the outcome behind the bars.
    let room = width.saturating_sub(NAME).saturating_sub(20).clamp(8, BARS);
    let lanes = timeline_text(&run.timeline, room);
    let mut names = Vec::new();
    for lane in &lanes {
        // A unit stands below its step, a little to the right.
        names.push(format!("{}{}", if lane.is_unit { "  " } else { "" }, lane.name));
    }
    let widest = names.iter().map(|name| columns(name)).max().unwrap_or(0).min(NAME);
    let mut lines = Vec::new();
    for (lane, name) in lanes.iter().zip(&names) {
        let line = PageLine::new().plain(format!("  {}  ", cell(name, widest)));
        let line = line.with(if lane.is_unit { Look::Dim } else { Look::Plain }, &lane.bars);
        lines.push(line.dim(format!("  {}", lane.outcome)));
    }
    lines
}

/// An activity with its latest try, and how many there were.
fn activity(activity: &ShownActivity) -> Vec<PageLine> {
    let Some(latest) = activity.tries.first() else { return Vec::new() };
    let (symbol, class, words) = look_of_activity(latest.last.status, latest.last.exit_code);
    let status = format!("{symbol} {words}");
    let mut about = vec![activity.phase.as_ref().map_or("", StateName::as_str).to_owned()];
    about.extend(latest.took_ms().map(duration));
    let tries = activity.tries.len() + activity.earlier;
    if tries > 1 {
        about.push(format!("attempt {tries}"));
    }
    vec![
        PageLine::new()
            .dim(format!("  {:>4}  ", latest.last.number.to_string()))
            .with(Look::of_class(class), cell(&status, columns(&status).max(10)))
            .plain(" ")
            .with(Look::Strong, &activity.id)
            .dim(format!("  {}  ", about.join(" · ")))
            .plain(latest.summary().unwrap_or_default()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::{Alternative, CardFilter};
    use crate::watch::pages::{cards, diagram};

    fn text(lines: &[PageLine]) -> String {
        lines.iter().map(|line| format!("{}\n", line.text())).collect()
    }

    #[test]
    fn a_run_has_its_reason_its_command_its_steps_and_its_log() {
        let (_, facts) = cards(&CardFilter::default());
        let shown = text(&run(&facts, "2026-05-20T14:43:00Z".parse().unwrap(), 100));
        for part in [
            "debug\ndebug\nin preflight for 13 min · started 13 min ago",
            "▲ Waits for you\nblocked: no \u{fffd}[31maccess",
            "$ flow unblock waiting",
            "▶ ",
            "Timeline",
            "look-around",
            "passed",
        ] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
        assert!(!shown.contains('\u{1b}'), "{shown}");
    }

    #[test]
    fn in_doubt_it_says_where_to_look_first_and_prefers_no_outcome() {
        let (_, mut facts) = cards(&CardFilter::default());
        let card = &mut facts.report.card;
        let way = card.next.alternatives[0].clone();
        card.next.first = Some("look whether it was done".to_owned());
        card.next.command = None;
        card.next.alternatives = ["it was done", "it failed", "neither is known"]
            .map(|when| Alternative { when: when.to_owned(), ..way.clone() })
            .to_vec();
        let shown = text(&ways(card, 100));
        assert_eq!(
            shown,
            "First look whether it was done\n\
             When it was done; it failed; neither is known: `flow resume waiting` has the commands\n"
        );
    }

    #[test]
    fn a_command_is_broken_between_its_words_so_that_a_shell_takes_it_as_one() {
        let (_, facts) = cards(&CardFilter::default());
        let lines = command(&facts.report.card.next.alternatives[0].command, 36);
        assert_eq!(text(&lines), "  $ flow unblock waiting \\\n      --reason 'what was resolved'\n");
        assert_eq!(shell_words(r"a 'b c' 'd'\''e f'"), ["a", "'b c'", r"'d'\''e f'"]);
        assert_eq!(shell_words(r"$'a\' b' 'c\' d"), [r"$'a\' b'", r"'c\'", "d"]);
    }

    #[test]
    fn the_diagram_marks_where_the_run_is_and_where_states_lead() {
        let (_, facts) = cards(&CardFilter::default());
        let shown = text(&diagram(&facts.report, facts.diagram.as_ref().unwrap()));
        assert!(shown.contains("▶ ✓ preflight  here: done, blocked\n      → reproduce"), "{shown}");
        assert!(shown.contains("→ end"), "{shown}");
    }
}
