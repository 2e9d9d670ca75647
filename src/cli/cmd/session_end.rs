//! `session-end`: called by hooks, so it always exits 0, and soon.

use crate::cli::args::SessionEndArgs;
use crate::cli::cmd::stdin::payload;
use crate::cli::exit::Exit;
use crate::cli::out::Out;
use crate::cli::page::Page;
use crate::runs::{self, Context, Error, HookInput, SessionEndRequest};

pub(super) fn run(cx: &Context, args: SessionEndArgs, out: &mut Out) -> Exit {
    let hook = HookInput::read(&payload());
    match runs::session_end(cx, &SessionEndRequest { session: args.session, hook }) {
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
