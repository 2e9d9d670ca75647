//! `block`, `unblock`, `complete`, `fail`, `cancel`, `reopen`.

use crate::cli::args::{CompleteArgs, StatusArgs};
use crate::cli::exit::Exit;
use crate::cli::out::Out;
use crate::cli::page::Page;
use crate::ops::{Flow, StatusRequest, StatusVerb};

pub(super) fn run(flow: &Flow, verb: StatusVerb, args: StatusArgs, out: &mut Out) -> Exit {
    change(flow, verb, args, None, out)
}

pub(super) fn complete(flow: &Flow, args: CompleteArgs, out: &mut Out) -> Exit {
    change(flow, StatusVerb::Complete, args.change, args.skip_reason, out)
}

fn change(flow: &Flow, verb: StatusVerb, args: StatusArgs, skip_reason: Option<String>, out: &mut Out) -> Exit {
    let request = StatusRequest {
        run: args.run.name(),
        verb,
        reason: args.reason,
        skip_reason,
        session: args.caller.session,
        epoch: args.caller.epoch,
    };
    match flow.change_status(&request) {
        Ok(report) => {
            if report.changed {
                out.committed(format!("{} is {}", report.run_id, report.status));
            }
            out.warnings(&report.warnings);
            out.answer(&report, || {
                let mut page = Page::default();
                let already = if report.changed { "" } else { " already" };
                let why = report.blocked_reason.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
                page.line(&format!("{} is {}{already}{why}", report.run_id, report.status));
                page.finish()
            })
        }
        Err(error) => out.error(&error),
    }
}
