//! `trust`.

use crate::cli::args::TrustArgs;
use crate::cli::out::{CliResult, Out};
use crate::runs::{self, Context, TrustRequest};

pub(in crate::cli::cmd) fn run(cx: &Context, args: &TrustArgs, out: &mut Out) -> CliResult {
    let report = runs::trust(cx, &TrustRequest { accept: args.yes })?;
    out.warnings(&report.warnings);
    let exit = out.answer(&report, |page| {
        page.table(
            0,
            report.commands.iter().map(|one| {
                let accepted = if one.accepted { "accepted" } else { "not accepted" };
                [one.name.clone(), accepted.to_owned(), one.command.clone()]
            }),
        );
    });
    if report.commands.is_empty() {
        out.aside("`commands` in .flow/config.yaml names no command\n");
    } else if report.commands.iter().any(|one| !one.accepted) {
        let how = match cx.begun_by() {
            Some(_) => "a person has to read them, and to accept them with `flow trust` in a terminal of their own",
            None => "read them, then `flow trust --yes` accepts them",
        };
        out.aside(&format!("anyone who may change .flow/config.yaml could choose them: {how}\n"));
    }
    Ok(exit)
}
