//! `session-end`: called by hooks, so it always exits 0, and soon.

use crate::cli::args::SessionEndArgs;
use crate::cli::cmd::stdin::{Input, input};
use crate::cli::exit::Exit;
use crate::cli::out::Out;
use crate::cli::page::Page;
use crate::runs::{self, Context, Error, HookInput, SessionEndRequest};

pub(super) fn run(cx: &Context, args: SessionEndArgs, out: &mut Out) -> Exit {
    let mut request = SessionEndRequest { session: args.session, hook: HookInput::default(), unowned: args.unowned };
    match input() {
        Input::Nobody => request.unowned = true,
        Input::Text(text) if text.trim().is_empty() => {}
        Input::Text(text) => match HookInput::read(&text) {
            // A host that says that a session ended, and not which, had none that could hold a run.
            Ok(hook) => (request.hook, request.unowned) = (hook, true),
            Err(why) => {
                out.warnings(&[format!(
                    "standard input does not say which session ended, so nothing is marked: {why}"
                )]);
                return Exit::Done;
            }
        },
    }
    match runs::session_end(cx, &request) {
        Ok(report) => {
            out.warnings(&report.warnings);
            out.answer(&report, || {
                let mut page = Page::default();
                for run in &report.persisted {
                    page.line(&format!("Active FlowRun {} persisted; use /flow:resume to continue", run.run_id));
                }
                page.finish()
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
