//! `init`, `completions`.

use clap_complete::Shell;

use crate::cli::args::InitArgs;
use crate::cli::out::{CliResult, Out};
use crate::cli::shell::write_script;
use crate::runs::{self, Context, Error, InitRequest};

pub(super) fn init(cx: &Context, args: &InitArgs, out: &mut Out) -> CliResult {
    let request = InitRequest { schemas: args.schemas };
    let report = if args.here { runs::init(&cx.also_in_home(), &request)? } else { runs::init(cx, &request)? };
    if report.created.iter().any(|name| name == "schemas/") {
        out.aside("run.yaml of new runs names its schema; in older ones the first line for it is missing\n");
    }
    Ok(out.answer(&report, |page| {
        let path = report.path.display();
        if report.created.is_empty() {
            page.line(&format!("{path} is complete already"));
        } else {
            page.line(&format!("{path} is ready ({} created)", report.created.join(", ")));
        }
    }))
}

pub(super) fn completions(shell: Shell, out: &mut Out) -> CliResult {
    let mut script = Vec::new();
    write_script(shell, &mut script).map_err(|error| Error::input("the completion script", &error))?;
    Ok(out.plain(&String::from_utf8_lossy(&script)))
}
