//! `serve`.

use crate::cli::args::ServeArgs;
use crate::cli::exit::Exit;
use crate::cli::out::{CliResult, Out};
use crate::runs::Context;
use crate::web::{self, ServeReport, Serving};

pub(in crate::cli::cmd) fn run(cx: &Context, args: ServeArgs, out: &mut Out) -> CliResult {
    let ServeArgs { dirs, port, listen, allow_remote, allow_host: allow_hosts, new_token, allow_actions, open, poll } =
        args;
    let serving = Serving { dirs, listen, port, allow_remote, allow_hosts, new_token, allow_actions, poll, open };
    web::serve(cx, &serving, |report: &ServeReport| {
        out.answer(report, |page| page.line(&report.url));
        for warning in report.warning.iter().chain(&report.not_opened) {
            out.aside(&format!("warning: {warning}\n"));
        }
        let projects = report.projects.join(", ");
        out.aside(&format!("serving {projects} until Ctrl-C; the address holds the token, so keep it to yourself\n"));
        if report.actions {
            out.aside("with it, pages can answer questions, unblock and cancel runs, and decide at gates\n");
        }
    })?;
    Ok(Exit::Done)
}
