//! `interview`.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use crate::cli::args::{AnswerSource, BeginArgs, InterviewCommand};
use crate::cli::cmd::record::source;
use crate::cli::exit::Exit;
use crate::cli::out::{CliResult, Out};
use crate::cli::page::{CARE, GOOD, TextPage, or_empty};
use crate::cli::person::Person;
use crate::cli::prompt::Prompt;
use crate::interviews::pad::{InterviewAnswer, InterviewQuestion, SectionChange as InterviewChange};
use crate::interviews::{
    self, AnswerRequest, EntryStatus, Error, FinishRequest, InterviewAnswerReport, InterviewFault, InterviewListReport,
    InterviewNext, InterviewRequest, InterviewRunReport, InterviewStartReport, InterviewStatusReport, InterviewStep,
    InterviewStop, Replaces, Result, TalkRequest, read_content,
};
use crate::model::{Kind, Problem};
use crate::runs::{self, Context, Source};

pub(super) fn run(cx: &Context, command: InterviewCommand, out: &mut Out) -> CliResult {
    match command {
        InterviewCommand::Start(begin) => start(cx, begin, out),
        InterviewCommand::Next { document } => {
            let next = interviews::next(cx, &document)?;
            Ok(out.answer(&next, |page| of_next(page, &next)))
        }
        InterviewCommand::Answer { given, question, asked, topic, replace } => {
            let asked = topic.zip(asked).map(|(topic, asked)| InterviewQuestion { topic, asked });
            let (document, given) = given.read().map_err(|why| runs::Error::Usage(why.to_owned()))?;
            let (text, question) = answer_text(cx, &document, given, question, asked.as_ref(), out)?;
            let answer = InterviewAnswer::Given(text);
            let replaces = if replace { Replaces::Anything } else { Replaces::Nothing };
            answer_with(cx, AnswerRequest { document, question, asked, answer, replaces }, out)
        }
        InterviewCommand::Skip { document, reason, question } => {
            let answer = InterviewAnswer::Skipped(reason.unwrap_or_default());
            answer_with(cx, AnswerRequest { document, question, asked: None, answer, replaces: Replaces::Nothing }, out)
        }
        InterviewCommand::List => {
            let report = interviews::list(cx)?;
            if report.interviews.is_empty() && report.documents.is_empty() && report.questions.is_empty() {
                out.aside("no interview is open, and no open run asks a question\n");
            }
            Ok(out.answer(&report, |page| list(&report, page)))
        }
        InterviewCommand::Status { document } => {
            let report = interviews::status(cx, &document)?;
            Ok(out.answer(&report, |page| status(&report, page)))
        }
        InterviewCommand::Finish { document, content, early } => finish(cx, document, content, early, out),
        InterviewCommand::Abandon { document, yes } => abandon(cx, document, yes, out),
        InterviewCommand::Run { begin, agent, timeout, record, replay } => {
            let request = TalkRequest { interview: request(begin), agent, timeout, record, replay };
            talk(cx, &request, out)
        }
    }
}

fn list(report: &InterviewListReport, page: &mut TextPage) {
    page.cut_long_values();
    page.fit_to_columns();
    if !report.interviews.is_empty() {
        page.head(CARE, "Interviews", &report.interviews.len().to_string());
        let rows = report.interviews.iter().map(|one| {
            let question = question_or_error(one.next.as_ref(), one.error.as_deref());
            [one.document.display().to_string(), one.run_id.to_string(), question]
        });
        page.table(2, rows);
    }
    if !report.documents.is_empty() {
        page.head(CARE, "Without an open run", &report.documents.len().to_string());
        let rows = report.documents.iter().map(|one| {
            [one.document.display().to_string(), question_or_error(one.next.as_ref(), one.error.as_deref())]
        });
        page.table(2, rows);
    }
    if !report.questions.is_empty() {
        page.head(CARE, "Questions", &report.questions.len().to_string());
        let rows = report.questions.iter().map(|one| {
            let step = match &one.unit {
                Some(unit) => format!("{} ({unit})", one.step),
                None => one.step.to_string(),
            };
            [one.run_id.to_string(), step, one.prompt.clone()]
        });
        page.table(2, rows);
    }
}

fn question_or_error(next: Option<&InterviewNext>, error: Option<&str>) -> String {
    match (error, next) {
        (Some(error), _) => error.to_owned(),
        (None, Some(next)) => next.words().to_owned(),
        (None, None) => String::new(),
    }
}

fn request(begin: BeginArgs) -> InterviewRequest {
    InterviewRequest { document: begin.document, script: begin.script, run: begin.run_id, force: begin.force }
}

/// The text of the answer, from the arguments or standard input, and the number of its question. A person at the
/// terminal is shown that question, and the answer can go to no other one.
fn answer_text(
    cx: &Context,
    document: &Path,
    given: AnswerSource,
    question: Option<u32>,
    asked: Option<&InterviewQuestion>,
    out: &Out,
) -> Result<(String, Option<u32>)> {
    match given {
        AnswerSource::Text(text) => return Ok((text, question)),
        AnswerSource::Nothing if io::stdin().is_terminal() => {}
        _ => return Ok((Source::of_standard_input()?.text, question)),
    }
    let status = interviews::status(cx, document)?;
    let mut meant = question;
    let mut words = None;
    if let Some(own) = asked {
        words = Some(own.asked.clone());
    } else {
        // Without a number, the next question is meant.
        if let Some(next) = status.next.next_question {
            let number = status.next.metadata.question_number;
            if *meant.get_or_insert(number) == number {
                words = Some(next);
            }
        }
        if let Some(entry) = status.entries.into_iter().find(|entry| Some(entry.number) == meant) {
            words = Some(entry.asked);
        }
    }
    let mut prompt = Prompt::new(out);
    prompt.ask(&or_empty(words.map(|words| format!("{words}\n"))));
    let text = prompt.read(&[])?.ok_or_else(|| runs::Error::Usage("nothing was answered".to_owned()))?;
    Ok((text, meant))
}

fn start(cx: &Context, begin: BeginArgs, out: &mut Out) -> CliResult {
    let report = interviews::start(cx, &request(begin))?;
    if report.begun {
        out.committed(format!("the interview in {} was begun", report.document.display()));
    }
    out.warnings(&report.warnings);
    Ok(out.answer(&report, |page| started(&report, page)))
}

fn started(report: &InterviewStartReport, page: &mut TextPage) {
    let word = match (report.begun, report.next.kind) {
        (true, _) => "begun",
        (false, InterviewStep::Skip) => "nothing to ask",
        (false, _) => "goes on",
    };
    let mode = report.mode.as_str();
    page.head(GOOD, word, &format!("{}  {mode}  {}", report.document.display(), report.script));
    of_next(page, &report.next);
}

/// The next question or the next command, for people.
fn of_next(page: &mut TextPage, next: &InterviewNext) {
    let progress = next.metadata;
    match next.kind {
        InterviewStep::NextQuestion => {
            let topic = next.topic.as_deref().unwrap_or_default();
            page.head(CARE, &format!("question {} of {}", progress.question_number, progress.total_questions), topic);
            for line in next.next_question.as_deref().unwrap_or_default().lines() {
                page.line(&format!("  {line}"));
            }
        }
        _ => page.line(next.message.as_deref().unwrap_or_default()),
    }
    page.each("next", &next.command);
}

fn answer_with(cx: &Context, request: AnswerRequest, out: &mut Out) -> CliResult {
    let report = interviews::answer(cx, &request)?;
    let number = report.question;
    out.committed(format!("question {number} is {} in {}", report.status.as_str(), report.document.display()));
    out.warnings(&report.warnings);
    Ok(out.answer(&report, |page| answered(&report, page)))
}

fn answered(report: &InterviewAnswerReport, page: &mut TextPage) {
    let again = if report.repeated { " (as it was)" } else { "" };
    page.head(GOOD, report.status.as_str(), &format!("{} {}{again}", report.question, report.topic));
    of_next(page, &report.next);
}

fn status(report: &InterviewStatusReport, page: &mut TextPage) {
    let mode = report.mode.as_str();
    page.head(CARE, mode, &format!("{}  {}", report.document.display(), report.script));
    page.each("started", &report.started);
    page.each("run", &report.run_id);
    let rows = report.entries.iter().map(|entry| {
        // An open question may have a draft, which is not an answer.
        let said = match entry.status {
            EntryStatus::Open => "",
            _ => entry.answer.as_deref().unwrap_or_default(),
        };
        let said = said.lines().next().unwrap_or_default().chars().take(60).collect::<String>();
        [format!("Q{}", entry.number), entry.status.as_str().to_owned(), entry.topic.clone(), said]
    });
    page.table(2, rows);
    let rows = report.sections.iter().map(|section| {
        let line = or_empty(section.line.map(|line| format!("line {line}")));
        [section.fill.as_str().to_owned(), section.heading.clone(), line]
    });
    page.line("sections");
    page.table(2, rows);
    for problem in &report.problems {
        page.head(CARE, "unreadable", &format!("line {}: {}", problem.line, problem.message));
    }
    of_next(page, &report.next);
}

fn finish(cx: &Context, document: PathBuf, content: Option<PathBuf>, early: bool, out: &mut Out) -> CliResult {
    let content = match content {
        Some(path) => Some(read_content(&source(cx, &path)?)?),
        None => None,
    };
    let report = interviews::finish(cx, &FinishRequest { document, content, early, seen: None })?;
    out.committed(format!("{} is finished", report.document.display()));
    out.warnings(&report.warnings);
    Ok(out.answer(&report, |page| {
        let how = if report.already {
            "it was already, which its run knows now".to_owned()
        } else {
            format!("{} answered, {} skipped", report.answered, report.skipped)
        };
        page.head(GOOD, "finished", &format!("{}  {how}", report.document.display()));
        of_sections(page, &report.sections);
    }))
}

fn of_sections(page: &mut TextPage, sections: &[InterviewChange]) {
    page.table(2, sections.iter().map(|section| [section.how.as_str(), section.heading.as_str()]));
}

/// What stays of an interview that is given up.
const A_COPY: &str = "a copy with all answers is kept";
const ELSEWHERE: &str =
    "the document is not in this checkout, and if it is in another one, that one still has the interview";

fn abandon(cx: &Context, document: PathBuf, yes: bool, out: &mut Out) -> CliResult {
    let status = if yes { None } else { Some(interviews::status(cx, &document)) };
    let what = match status {
        Some(Ok(status)) => {
            let answers = status.entries.iter().filter(|entry| entry.status == EntryStatus::Answered).count();
            let what = match answers {
                1 => "1 answer leaves the document".to_owned(),
                _ => format!("{answers} answers leave the document"),
            };
            Some((what, A_COPY))
        }
        // An interview whose answers cannot be counted can still be abandoned.
        Some(Err(
            Error::UnknownScript { .. }
            | Error::Script { .. }
            | Error::Run(crate::runs::Error::Catalog(_))
            | Error::Stopped { fault: InterviewFault::Unreadable { .. }, .. },
        )) => Some(("What cannot be read leaves the document".to_owned(), A_COPY)),
        // The document is gone, so abandoning the interview loses nothing, unless it is in another checkout.
        Some(Err(Error::Stopped { fault: InterviewFault::Missing { .. }, .. })) => {
            let run = interviews::run_that_waits_elsewhere(cx, &document)?;
            run.map(|run| (format!("Run {run} no longer waits for it"), ELSEWHERE))
        }
        None => None,
        Some(Err(error)) => return Err(error.into()),
    };
    if let Some((what, stays)) = what {
        let question = format!("Give up the interview in {}? {what}; {stays}.", document.display());
        if !Prompt::new(out).agrees(&question) {
            let message = format!("abandoning the interview in {} needs a confirmation", document.display());
            return Err(Problem::new(Kind::NeedsHuman, "not_confirmed", message)
                .help(format!("confirm with --yes; {stays}"))
                .into());
        }
    }
    let report = interviews::abandon(cx, &document)?;
    out.committed(format!("the interview in {} was given up", report.document.display()));
    out.warnings(&report.warnings);
    Ok(out.answer(&report, |page| {
        page.head(GOOD, "abandoned", &report.document.display().to_string());
        match &report.copy {
            Some(copy) => page.field("copy", &copy.display().to_string()),
            None => page.line("  its document is gone, which its run knows now"),
        }
    }))
}

fn talk(cx: &Context, request: &TalkRequest, out: &mut Out) -> CliResult {
    let report = interviews::run(cx, request, &mut Person::new(out))?;
    out.committed(format!("{} questions were answered in {}", report.answered, report.document.display()));
    out.warnings(&report.warnings);
    let status = match report.stop {
        InterviewStop::Finished | InterviewStop::Nothing => Exit::Done,
        InterviewStop::Failed => Exit::Refused,
        InterviewStop::NeedsHuman => Exit::NeedsHuman,
    };
    Ok(out.answer(&report, |page| talked(&report, page)).then(status))
}

fn talked(report: &InterviewRunReport, page: &mut TextPage) {
    let word = match report.stop {
        InterviewStop::Finished => "finished",
        InterviewStop::Nothing => "nothing to ask",
        InterviewStop::NeedsHuman => "stopped",
        InterviewStop::Failed => "failed",
    };
    let style = if report.stop == InterviewStop::Finished { GOOD } else { CARE };
    page.head(style, word, &format!("{}  {}", report.document.display(), report.reason));
    of_sections(page, &report.sections);
}
