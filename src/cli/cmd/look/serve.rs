//! `serve`.

use crate::cli::args::ServeArgs;
use crate::cli::exit::Exit;
use crate::cli::out::{Ended, Out};
use crate::runs::Context;
use crate::web::{self, ServeReport, Serving};

pub(in crate::cli::cmd) fn run(cx: &Context, args: ServeArgs, out: &mut Out) -> Ended {
    let serving = Serving {
        dirs: args.dirs,
        listen: args.listen,
        port: args.port,
        allow_remote: args.allow_remote,
        allow_hosts: args.allow_host,
        new_token: args.new_token,
        allow_actions: args.allow_actions,
        poll: args.poll,
    };
    web::serve(cx, &serving, |report: &ServeReport| {
        out.answer(report, || format!("{}\n", report.url));
        if let Some(warning) = &report.warning {
            out.aside(&format!("warning: {warning}\n"));
        }
        let projects = report.projects.join(", ");
        out.aside(&format!("serving {projects} until Ctrl-C; the address holds the token, so keep it to yourself\n"));
        if report.actions {
            out.aside("with it, pages can cancel and unblock runs, and answer their questions\n");
        }
    })?;
    Ok(Exit::Done)
}
