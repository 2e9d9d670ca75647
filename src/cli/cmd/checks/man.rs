//! `man`.

use crate::cli::args::ManArgs;
use crate::cli::out::{CliResult, Out};
use crate::cli::{help, topics, usage};
use crate::model::{Kind, Problem};
use crate::runs::{Context, Error, save_export};

pub(in crate::cli::cmd) fn run(cx: &Context, args: &ManArgs, out: &mut Out) -> CliResult {
    let unreadable = |error| Error::input("the manual page", &error);
    let Some(dir) = &args.dir else {
        return match help::manual(&args.command).map_err(unreadable)? {
            Some(page) => Ok(out.plain(&page)),
            None => {
                let message = format!("there is no command `{}`", args.command.join(" "));
                let topic = if let [word] = &args.command[..] { topics::told(word) } else { None };
                let meant =
                    || usage::command_meant(&args.command).map(|meant| format!("did you mean `flow man {meant}`?"));
                let help = topic.or_else(meant).unwrap_or_else(|| "`flow help` lists all commands".to_owned());
                Err(Problem::new(Kind::Usage, "usage", message).help(help).into())
            }
        };
    };
    let pages = help::manuals().map_err(unreadable)?;
    for (name, text) in &pages {
        save_export(cx, &dir.join(name), text)?;
    }
    Ok(out.plain(&format!("{} pages are in {}\n", pages.len(), dir.display())))
}
