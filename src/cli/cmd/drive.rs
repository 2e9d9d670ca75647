//! `drive`.

use crate::cli::args::DriveArgs;
use crate::cli::exit::Exit;
use crate::cli::out::Out;
use crate::cli::page::Page;
use crate::cli::prompt::Prompt;
use crate::ops::{Choose, DriveRequest, Flow, Person};
use crate::report::{DriveReport, DriveStop};

pub(super) fn run(flow: &Flow, args: DriveArgs, out: &mut Out) -> Exit {
    let choose = match (args.choose, args.choose_url) {
        (Some(command), _) => Choose::Command(command),
        (None, Some(url)) => match flow.endpoint(url) {
            Ok(endpoint) => Choose::Endpoint(endpoint),
            Err(error) => return out.error(&error),
        },
        (None, None) => Choose::Nobody,
    };
    let request = DriveRequest {
        graph: args.graph,
        run: args.run_id,
        on: args.on,
        types: args.types,
        choose,
        max_iter: usize::try_from(args.max_iter).unwrap_or(usize::MAX),
        timeout: args.timeout,
        goal: args.goal,
        session: args.session,
    };
    let driven = flow.drive(&request, &mut Caller { prompt: Prompt::new(out) });
    match driven {
        Ok(report) => {
            out.committed(format!("{} states were run and recorded in {}", report.ran, report.run_id));
            out.warnings(&report.warnings);
            let exit = out.answer(&report, || page(&report));
            match (exit, report.stop) {
                (Exit::Done, DriveStop::Failed) => Exit::Refused,
                (Exit::Done, DriveStop::NeedsHuman | DriveStop::Limit) => Exit::NeedsHuman,
                (exit, _) => exit,
            }
        }
        Err(error) => out.error(&error),
    }
}

fn page(report: &DriveReport) -> String {
    let mut page = Page::default();
    page.line(&format!("{}: {}  {}", report.stop.as_str(), report.run_id, report.workflow));
    page.line(&format!("  {}", report.reason));
    page.finish()
}

/// Whoever called the command.
struct Caller<'a> {
    prompt: Prompt<'a>,
}

impl Person for Caller<'_> {
    fn ask(&mut self, prompt: &str) -> Option<String> {
        self.prompt.read_here(prompt)
    }

    fn tell(&mut self, line: &str) {
        self.prompt.tell(&format!("{line}\n"));
    }
}
