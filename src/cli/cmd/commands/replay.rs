//! `replay`.

use anstyle::Style;

use crate::cli::args::ReplayArgs;
use crate::cli::cmd::meant::meant;
use crate::cli::exit::Exit;
use crate::cli::out::{CliResult, Out};
use crate::cli::page::{BAD, CARE, GOOD, TextPage};
use crate::cli::person::can_be_asked;
use crate::cli::prompt::Prompt;
use crate::runs::{self, Context, PassOn, ReplayConsent, ReplayReport, ReplayRequest, ReplayedCommand};

pub(in crate::cli::cmd) fn run(cx: &Context, args: ReplayArgs, out: &mut Out) -> CliResult {
    let mut request = ReplayRequest {
        run: Some(meant(cx, args.run, out, true)?),
        activity: args.activity,
        clean: args.clean,
        consent: if args.yes { ReplayConsent::AcceptedOnly } else { ReplayConsent::Show },
        // Standard output is for the report.
        output: PassOn::ToStderr,
        session: args.caller.session,
        epoch: args.caller.epoch,
    };
    if !args.yes {
        let plan = runs::replay(cx, &request)?;
        out.warnings(&plan.warnings);
        if plan.commands.is_empty() {
            return Ok(out.answer(&plan, |page| fill(&plan, page)));
        }
        if plan.commands.iter().all(|one| one.why_not.is_some()) {
            let shown = out.answer(&plan, |page| fill(&plan, page));
            out.aside("nothing was run: none of these commands can run here\n");
            return Ok(shown.then(Exit::Refused));
        }
        if !can_be_asked(out) {
            let shown = out.answer(&plan, |page| fill(&plan, page));
            let said = "nothing was run; --yes runs those that the project names and that were accepted\n";
            return Ok(out.only_shown(shown, said));
        }
        out.aside_page(|page| fill(&plan, page));
        if !Prompt::new(out).agrees("Run these commands?") {
            out.aside("nothing was run\n");
            return Ok(Exit::Refused);
        }
        request.consent = ReplayConsent::Agreed;
    }
    let report = runs::replay(cx, &request)?;
    out.warnings(&report.warnings);
    let status = if report.ok { Exit::Done } else { Exit::Refused };
    Ok(out.answer(&report, |page| fill(&report, page)).then(status))
}

fn fill(report: &ReplayReport, page: &mut TextPage) {
    if report.commands.is_empty() && report.warnings.is_empty() {
        page.line("flow ran no command in this run");
    }
    for one in &report.commands {
        let (style, word) = headline(one);
        page.head(style, word, &format!("{} {}", one.number, one.id));
        page.field("command", &one.command);
        page.field("in", &one.dir);
        page.each("why", &one.why_not);
        let Some(again) = &one.again else { continue };
        let before = if again.same_status { ", as before".to_owned() } else { format!(", before {}", one.exit_code) };
        page.field("exit status", &format!("{}{before}", again.exit_code));
        page.field("output", if again.same_output { "the same" } else { "different" });
        page.field(
            "files",
            match again.same_tree {
                Some(true) => "the same",
                Some(false) => "different",
                None => "not known",
            },
        );
    }
}

/// The word for how a command ran again.
fn headline(one: &ReplayedCommand) -> (Style, &'static str) {
    match (&one.again, &one.why_not) {
        (None, Some(_)) => (CARE, "not run"),
        (None, None) => (CARE, "would run"),
        (Some(again), _) if !again.same_status => (BAD, "differs"),
        (Some(again), _) if again.same_output && again.same_tree == Some(true) => (GOOD, "same"),
        // What it wrote may have a time in it, and the work may have gone on.
        (Some(_), _) => (CARE, "same status"),
    }
}
