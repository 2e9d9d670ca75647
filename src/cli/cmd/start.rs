//! `start`.

use crate::cli::args::StartArgs;
use crate::cli::cmd::run_rows::fitted;
use crate::cli::exit::Exit;
use crate::cli::out::{CliResult, Out};
use crate::cli::progress::while_waiting;
use crate::model::{Help, Kind, Problem, Suggestion};
use crate::picture::Shrink;
use crate::runs::{self, Context, MadePlace, MadeProject, StartReport, StartRequest};

pub(super) fn run(cx: &Context, args: StartArgs, out: &mut Out) -> CliResult {
    let StartArgs { workflow, issue, pr, goal, branch, repo, journal, slug, phase, session, id, another, local, here } =
        args;
    let Some(workflow) = workflow else { return choose(cx, out) };
    let request =
        StartRequest { workflow, issue, pr, goal, branch, repo, journal, slug, phase, session, id, another, local };
    let in_home = cx.also_in_home();
    let cx = if here { &in_home } else { cx };
    let report = while_waiting("starting", || runs::start(cx, &request))?;
    out.committed(format!("the run was started as {}", report.run_id));
    out.warnings(&report.warnings);
    let StartReport { phase, phase_number, phases, description, created, .. } = &report;
    if let Some(made) = &report.made {
        out.aside(&made_in_words(made));
    }
    let description = description.as_ref().map(|text| format!(": {text}")).unwrap_or_default();
    let begun = if *created { "" } else { "begun already, and " };
    out.aside(&format!("{begun}in phase {phase} ({phase_number} of {phases}){description}\n"));
    // The id alone, so that `RUN=$(flow start …)` works.
    Ok(out.answer(&report, |page| page.line(report.run_id.as_str())))
}

/// Lists what can be started, for a caller who named nothing.
fn choose(cx: &Context, out: &mut Out) -> CliResult {
    let report = runs::workflow_list(cx)?;
    if out.is_json() {
        return Err(Problem::new(Kind::Usage, "usage", "the workflow is missing: flow start WORKFLOW")
            .help(Help::from("see ") + Suggestion::flow("workflow list"))
            .into());
    }
    out.aside_page(|page| {
        page.line("What do you want to start?");
        let rows = report.workflows.iter().filter(|workflow| workflow.is_begun());
        let rows = rows.map(|workflow| [workflow.id.clone(), workflow.description.clone().unwrap_or_default()]);
        fitted(&rows.collect::<Vec<_>>(), &[(1, Shrink::End(12)), (0, Shrink::End(12))], 2, page);
        page.line("`flow start WORKFLOW` begins a run, for an issue with `--issue 42`");
    });
    Ok(Exit::Usage)
}

/// What the first start of a project made, and what to do about it.
fn made_in_words(made: &MadeProject) -> String {
    let path = made.path.display();
    match made.place {
        MadePlace::Repository => format!(
            "made {path}: commit it to keep runs with the code, or ignore it with a line `.flow/` in the .gitignore beside it\n"
        ),
        MadePlace::Ignored => format!("made {path}, which git ignores: its runs stay in this checkout\n"),
        MadePlace::OutsideGit => format!("made {path}, which is in no git repository\n"),
        MadePlace::BareRepository => format!("made {path}, in a bare repository: its clones will not have it\n"),
        MadePlace::BrokenRepository => format!("made {path}, beside a .git that leads to no repository\n"),
        MadePlace::Home => {
            format!("made {path}: every directory below that is in no repository belongs to this project\n")
        }
    }
}
