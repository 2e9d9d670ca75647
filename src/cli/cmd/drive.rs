//! `drive`.

use crate::cli::args::DriveArgs;
use crate::cli::exit::Exit;
use crate::cli::out::{CliResult, Out};
use crate::cli::page::TextPage;
use crate::cli::prompt::Prompt;
use crate::drive::{self, Choose, DriveReport, DriveRequest, DriveStop, Person, StateOutput};
use crate::runs::Context;

pub(super) fn run(cx: &Context, args: DriveArgs, out: &mut Out) -> CliResult {
    let DriveArgs { graph, run_id: run, on, dir, types, choose, choose_url, max_iter, timeout, goal, session } = args;
    let choose = match (choose, choose_url) {
        (Some(command), _) => Choose::Command(command),
        (None, Some(url)) => Choose::Endpoint(drive::endpoint(cx, url)?),
        (None, None) => Choose::Person,
    };
    let max_iter = usize::try_from(max_iter).unwrap_or(usize::MAX);
    let request = DriveRequest { graph, run, on, dir, types, choose, max_iter, timeout, goal, session };
    let mut caller = DriveAudience { prompt: Prompt::new(out), shown: None, is_silent: out.is_json() };
    let driven = drive::drive(cx, &request, &mut caller);
    if let Ok(DriveReport { given: Some(given), .. }) = &driven
        && caller.shown.as_ref() != Some(given)
    {
        // A question may be about output that was not shown yet.
        caller.learn(given);
    }
    let report = driven?;
    out.committed(format!("{} states were run and recorded in {}", report.ran, report.run_id));
    out.warnings(&report.warnings);
    let status = match report.stop {
        DriveStop::Ended => Exit::Done,
        DriveStop::Failed => Exit::Refused,
        DriveStop::NeedsHuman | DriveStop::NotReady | DriveStop::Limit => Exit::NeedsHuman,
    };
    Ok(out.answer(&report, |page| fill(&report, page)).then(status))
}

fn fill(report: &DriveReport, page: &mut TextPage) {
    page.line(&format!("{}: {}  {}", report.stop.as_str(), report.run_id, report.workflow));
    page.line(&format!("  {}", report.reason));
}

/// The output of a state, indented below the line that says that the state is done.
fn given_lines(given: &StateOutput) -> String {
    given.output.trim_end().lines().map(|line| format!("  {line}\n")).collect()
}

/// The caller of `drive`, who answers for states that a person does.
struct DriveAudience<'a> {
    prompt: Prompt<'a>,
    /// The output that was shown last.
    shown: Option<StateOutput>,
    /// Whether only questions are shown, and no output of states.
    is_silent: bool,
}

impl Person for DriveAudience<'_> {
    fn learn(&mut self, given: &StateOutput) {
        if !self.is_silent {
            self.prompt.tell(&given_lines(given));
            self.shown = Some(given.clone());
        }
    }

    fn ask(&mut self, last: Option<&StateOutput>, prompt: &str) -> Option<String> {
        // The question may be about output that scrolled away long ago, or that was not shown.
        match last {
            Some(last) if self.shown.as_ref() != Some(last) => {
                self.prompt.read_here(&format!("{}{prompt}", given_lines(last)))
            }
            _ => self.prompt.read_here(prompt),
        }
    }

    fn tell(&mut self, line: &str) {
        self.prompt.tell(&format!("{line}\n"));
    }
}
