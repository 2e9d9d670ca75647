//! `block`, `unblock`, `complete`, `fail`, `cancel`, `reopen`.

use crate::cli::args::{CompleteArgs, ReopenArgs, StatusArgs};
use crate::cli::exit::Exit;
use crate::cli::out::Out;
use crate::cli::page::Page;
use crate::runs::{Flow, StatusRequest, StatusVerb};

pub(super) fn run(flow: &Flow, verb: StatusVerb, args: StatusArgs, out: &mut Out) -> Exit {
    change(flow, request(verb, args), out)
}

pub(super) fn complete(flow: &Flow, args: CompleteArgs, out: &mut Out) -> Exit {
    let skip_reason = args.skip_reason;
    change(flow, StatusRequest { skip_reason, ..request(StatusVerb::Complete, args.change) }, out)
}

pub(super) fn reopen(flow: &Flow, args: ReopenArgs, out: &mut Out) -> Exit {
    let another = args.another;
    change(flow, StatusRequest { another, ..request(StatusVerb::Reopen, args.change) }, out)
}

fn request(verb: StatusVerb, args: StatusArgs) -> StatusRequest {
    StatusRequest {
        run: args.run.name(),
        verb,
        reason: args.reason,
        skip_reason: None,
        another: false,
        session: args.caller.session,
        epoch: args.caller.epoch,
    }
}

fn change(flow: &Flow, request: StatusRequest, out: &mut Out) -> Exit {
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
