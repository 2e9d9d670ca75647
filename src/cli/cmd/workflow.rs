//! `workflow list | new | show | check | graph | convert | adopt`.

use std::collections::HashMap;

use crate::cli::args::{CallerArgs, WorkflowCommand};
use crate::cli::cmd::run_rows::fitted;
use crate::cli::exit::Exit;
use crate::cli::out::{CliResult, Out};
use crate::cli::page::{self, TextPage, or_empty};
use crate::machine::{Diagnostic, Notation, render};
use crate::model::StateName;
use crate::picture::{Shrink, WorkflowGraphReport};
use crate::runs::{
    self, AdoptRequest, Context, WorkflowConvertRequest, WorkflowEntry, WorkflowListReport, WorkflowNewReport,
    WorkflowNewRequest, WorkflowReport, WorkflowRequest,
};

pub(super) fn run(cx: &Context, command: WorkflowCommand, out: &mut Out) -> CliResult {
    match command {
        WorkflowCommand::List => {
            let report = runs::workflow_list(cx)?;
            out.warnings(&report.warnings);
            Ok(out.answer(&report, |page| list(&report, page)))
        }
        WorkflowCommand::New { name } => {
            let report = runs::workflow_new(cx, &WorkflowNewRequest { id: name })?;
            out.committed(format!("{} is written", report.path));
            Ok(out.answer(&report, |page| {
                let WorkflowNewReport { id, path, instead_of } = &report;
                page.line(&format!("made {path}: change its phases, then `flow workflow check {id}`"));
                match instead_of.as_deref() {
                    Some("shipped") => {
                        page.line(&format!("`flow start {id}` takes it instead of the workflow that flow ships"))
                    }
                    Some(other) => page.line(&format!("`flow start {id}` takes it instead of {other}")),
                    None => {}
                }
            }))
        }
        WorkflowCommand::Show { name, source } => {
            let (report, text) = runs::workflow_show(cx, &name)?;
            Ok(if source { out.plain(&text) } else { out.answer(&report, |page| shown(&report, page)) })
        }
        WorkflowCommand::Check { target, types } => {
            let (report, text) = runs::workflow_check(cx, &WorkflowRequest { target, types })?;
            Ok(check(&report, &text, out))
        }
        WorkflowCommand::Graph { target, mermaid, types } => {
            let report = WorkflowGraphReport::new(&runs::workflow_machine(cx, &target, &types)?);
            // A program reads the notation, a person looks at the picture.
            let drawn = out.is_terminal() && !mermaid;
            Ok(out.answer(&report, |page| page.lines(if drawn { &report.picture } else { &report.mermaid })))
        }
        WorkflowCommand::Adopt { run, from, caller } => adopt(cx, run.name(), from, caller, out),
        WorkflowCommand::Convert { target, to, types } => convert(cx, target, &to, types, out),
    }
}

fn adopt(cx: &Context, run: Option<String>, from: Option<String>, caller: CallerArgs, out: &mut Out) -> CliResult {
    let request = AdoptRequest { run, from, session: caller.session, epoch: caller.epoch };
    let report = runs::workflow_adopt(cx, &request)?;
    if report.changed {
        out.committed(format!("{} follows today's {}", report.run_id, report.workflow));
    }
    out.warnings(&report.warnings);
    Ok(out.answer(&report, |page| {
        let already = if report.changed { "" } else { " already" };
        page.line(&format!("{} follows today's {}{already}", report.run_id, report.workflow));
        report.differences.iter().for_each(|line| page.line(&format!("  {line}")));
    }))
}

fn convert(cx: &Context, target: String, to: &str, types: Vec<String>, out: &mut Out) -> CliResult {
    let to = match to {
        "mermaid" => Notation::Mermaid,
        "graph" => Notation::Graph,
        _ => Notation::Phases,
    };
    let report = runs::workflow_convert(cx, &WorkflowConvertRequest { target, to, types })?;
    let lost = report.losses.iter().map(|loss| format!("left out or changed in the {to} notation: {loss}"));
    out.warnings(&lost.collect::<Vec<_>>());
    Ok(out.answer(&report, |page| page.lines(&report.text)))
}

fn check(report: &WorkflowReport, text: &str, out: &mut Out) -> Exit {
    let colour = out.colour();
    let shown = out.answer(report, |page| {
        for diagnostic in &report.diagnostics {
            page.raw(&render(&report.origin, text, diagnostic, colour));
            page.raw("");
        }
        if report.id.is_some() {
            shown(report, page);
        }
    });
    let is_broken = report.diagnostics.iter().any(Diagnostic::is_error);
    shown.then(if is_broken { Exit::Refused } else { Exit::Done })
}

/// What a list has no room for: the end of what a workflow is for, then where it comes from.
const STEPS: [(usize, Shrink); 4] =
    [(2, Shrink::End(24)), (1, Shrink::Whole), (2, Shrink::End(12)), (0, Shrink::End(12))];

fn list(report: &WorkflowListReport, page: &mut TextPage) {
    let (agents, workflows): (Vec<_>, Vec<_>) = report.workflows.iter().partition(|workflow| workflow.is_agent);
    fitted(&workflows.into_iter().map(listed).collect::<Vec<_>>(), &STEPS, 0, page);
    if !agents.is_empty() {
        page.line("");
        page.line("of agents that skills call:");
        fitted(&agents.into_iter().map(listed).collect::<Vec<_>>(), &STEPS, 0, page);
    }
}

fn listed(workflow: &WorkflowEntry) -> [String; 3] {
    let about = match &workflow.error {
        Some(error) => format!("cannot be used: {error}"),
        None => workflow.description.clone().unwrap_or_default(),
    };
    [workflow.id.clone(), workflow.origin.clone(), about]
}

fn shown(report: &WorkflowReport, page: &mut TextPage) {
    page.fit_to_columns();
    page.head(
        page::STRONG,
        &or_empty(report.id.as_ref()),
        &format!("{} ({})", report.notation.as_str(), report.origin),
    );
    let mut ways: HashMap<&StateName, Vec<&str>> = HashMap::new();
    // A state may have the name `end`.
    let end = if report.states.iter().any(|state| state.name.as_str() == "end") { "[*]" } else { "end" };
    for transition in &report.transitions {
        ways.entry(&transition.from).or_default().push(transition.to.as_str());
    }
    for last in &report.terminal {
        ways.entry(last).or_default().push(end);
    }
    let rows = report.states.iter().map(|state| {
        let next = or_empty(ways.get(&state.name).map(|to| to.join(", ")));
        let gate = if report.gates.contains(&state.name) { " (a person)" } else { "" };
        let mut required = String::new();
        for one in report.requires.iter().filter(|one| one.state == state.name) {
            required.push_str(&format!(" (requires {})", one.exec));
        }
        let about = or_empty(state.description.as_ref().or(state.label.as_ref()));
        [state.name.to_string(), format!("→ {next}{gate}{required}"), about]
    });
    page.table(2, rows);
}
