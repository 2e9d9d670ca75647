//! `session-end`: called by hooks, so it always exits 0, and soon.

use std::time::Instant;

use crate::cli::args::SessionEndArgs;
use crate::cli::cmd::stdin::{SHORT_WAIT, given};
use crate::cli::exit::Exit;
use crate::cli::out::Out;
use crate::hooks::HostInput;
use crate::runs::{self, Context, Error, HookInput, SessionEndRequest};

pub(in crate::cli::cmd) fn run(cx: &Context, args: SessionEndArgs, out: &mut Out) -> Exit {
    let mut request = SessionEndRequest { session: args.session, hook: HookInput::default(), unowned: args.unowned };
    let begun = Instant::now();
    let read = match given(SHORT_WAIT) {
        HostInput::Absent => {
            request.unowned = true;
            Ok(())
        }
        // Then the session is known otherwise, or not at all.
        HostInput::Late => Ok(()),
        HostInput::Text(text) if text.trim().is_empty() => Ok(()),
        HostInput::Text(text) => HookInput::read(&text).map(|hook| request.hook = hook),
        HostInput::TooLong => Err("it is longer than 1 MiB"),
    };
    // Whose runs to mark is not known, and those of another session must not be touched.
    if let Err(why) = read {
        out.warnings(&[format!("standard input does not say which session ended, so nothing is marked: {why}")]);
        return Exit::Done;
    }
    match runs::session_end(&cx.having_waited(begun.elapsed()), &request) {
        Ok(report) => {
            out.warnings(&report.warnings);
            out.answer(&report, |page| {
                for (nth, run) in report.persisted.iter().enumerate() {
                    let is_last = nth + 1 == report.persisted.len();
                    let advice = if is_last { "; use /flow:resume to continue" } else { "" };
                    page.line(&format!("Active FlowRun {} persisted{advice}", run.run_id));
                }
            });
        }
        // Without a project there are no runs to mark.
        Err(Error::NoProject { .. }) => {}
        Err(error) => {
            out.error(&error);
        }
    }
    Exit::Done
}
