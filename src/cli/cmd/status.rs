//! `block`, `unblock`, `complete`, `fail`, `cancel`, `reopen`.

use crate::cli::args::{CompleteArgs, ReopenArgs, StatusArgs};
use crate::cli::out::{CliResult, Out};
use crate::cli::page::or_empty;
use crate::runs::{self, Context, StatusRequest, StatusVerb};

pub(super) fn run(cx: &Context, verb: StatusVerb, args: StatusArgs, out: &mut Out) -> CliResult {
    change(cx, request(verb, args), out)
}

pub(super) fn complete(cx: &Context, args: CompleteArgs, out: &mut Out) -> CliResult {
    let skip_reason = args.skip_reason;
    change(cx, StatusRequest { skip_reason, ..request(StatusVerb::Complete, args.change) }, out)
}

pub(super) fn reopen(cx: &Context, args: ReopenArgs, out: &mut Out) -> CliResult {
    let another = args.another;
    change(cx, StatusRequest { another, ..request(StatusVerb::Reopen, args.change) }, out)
}

fn request(verb: StatusVerb, args: StatusArgs) -> StatusRequest {
    StatusRequest {
        run: args.why.run.name(),
        reason: args.why.reason,
        id: args.why.id,
        seen: args.seen,
        session: args.caller.session,
        epoch: args.caller.epoch,
        ..StatusRequest::new(verb)
    }
}

fn change(cx: &Context, request: StatusRequest, out: &mut Out) -> CliResult {
    let report = runs::change_status(cx, &request)?;
    if report.changed {
        out.committed(format!("{} is {}", report.run_id, report.status));
    }
    out.warnings(&report.warnings);
    Ok(out.answer(&report, |page| {
        let already = if report.changed { "" } else { " already" };
        let why = or_empty(report.blocked_reason.as_ref().map(|why| format!(": {why}")));
        page.line(&format!("{} is {}{already}{why}", report.run_id, report.status));
    }))
}
