//! `init`, `schema`, `completions`, `man`.

use clap::CommandFactory;

use crate::cli::args::Cli;
use crate::cli::args::{CompletionArgs, SchemaArgs};
use crate::cli::exit::Exit;
use crate::cli::out::{Ended, Out};
use crate::cli::page::TextPage;
use crate::cli::shell::write_script;
use crate::runs::{self, Context, Error, schema_text};

pub(super) fn init(cx: &Context, out: &mut Out) -> Ended {
    let report = runs::init(cx)?;
    Ok(out.answer(&report, || {
        let mut page = TextPage::default();
        let path = report.path.display();
        if report.created.is_empty() {
            page.line(&format!("{path} is complete already"));
        } else {
            page.line(&format!("{path} is ready ({} created)", report.created.join(", ")));
        }
        page.finish()
    }))
}

pub(super) fn schema(args: &SchemaArgs, out: &mut Out) -> Exit {
    out.plain(schema_text(args.document.into()))
}

pub(super) fn completions(args: &CompletionArgs, out: &mut Out) -> Ended {
    let mut script = Vec::new();
    write_script(args.shell, &mut script).map_err(|error| Error::input("the completion script", &error))?;
    Ok(out.plain(&String::from_utf8_lossy(&script)))
}

pub(super) fn man(out: &mut Out) -> Ended {
    let mut page = Vec::new();
    clap_mangen::Man::new(Cli::command()).render(&mut page).map_err(|error| Error::input("the manual page", &error))?;
    Ok(out.plain(&String::from_utf8_lossy(&page)))
}
