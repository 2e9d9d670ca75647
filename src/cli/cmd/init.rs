//! `init`, `schema`, `completions`, `man`.

use clap::CommandFactory;

use crate::cli::args::Cli;
use crate::cli::args::{CompletionArgs, SchemaArgs};
use crate::cli::exit::Exit;
use crate::cli::out::Out;
use crate::cli::page::TextPage;
use crate::cli::shell::write_script;
use crate::runs::{self, Context, Error, schema_text};

pub(super) fn init(cx: &Context, out: &mut Out) -> Exit {
    match runs::init(cx) {
        Ok(report) => out.answer(&report, || {
            let mut page = TextPage::default();
            let path = report.path.display();
            if report.created.is_empty() {
                page.line(&format!("{path} is complete already"));
            } else {
                page.line(&format!("{path} is ready ({} created)", report.created.join(", ")));
            }
            page.finish()
        }),
        Err(error) => out.error(&error),
    }
}

pub(super) fn schema(args: &SchemaArgs, out: &mut Out) -> Exit {
    out.plain(schema_text(args.document.into()))
}

pub(super) fn completions(args: &CompletionArgs, out: &mut Out) -> Exit {
    let mut script = Vec::new();
    match write_script(args.shell, &mut script) {
        Ok(()) => out.plain(&String::from_utf8_lossy(&script)),
        Err(source) => out.error(&Error::Input { origin: "the completion script".to_owned(), source }),
    }
}

pub(super) fn man(out: &mut Out) -> Exit {
    let mut page = Vec::new();
    match clap_mangen::Man::new(Cli::command()).render(&mut page) {
        Ok(()) => out.plain(&String::from_utf8_lossy(&page)),
        Err(error) => out.error(&Error::Input { origin: "the manual page".to_owned(), source: error }),
    }
}
