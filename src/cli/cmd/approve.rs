//! `approve` and `reject`.

use std::io::{self, IsTerminal};

use crate::cli::args::{ApproveArgs, ReasonArgs};
use crate::cli::exit::Exit;
use crate::cli::out::{CliResult, Out};
use crate::cli::page::{self, TextPage, or_empty};
use crate::cli::prompt::Prompt;
use crate::model::{DecidedAt, GateStatus, Kind, LastSeen, Problem, Suggestion};
use crate::runs::{self, ApproveReport, ApproveRequest, Context, Error, GateReport, ShownSkip};

pub(super) fn run(cx: &Context, approves: bool, args: ApproveArgs, out: &mut Out) -> CliResult {
    let Some((report, gate)) = decide(cx, approves, args, out)? else {
        out.aside("nothing is decided\n");
        return Ok(Exit::NeedsHuman);
    };
    out.committed(format!("the decision is recorded as event {} ({})", report.seq, report.number));
    out.warnings(&report.warnings);
    Ok(out.answer(&report, |page| said(&report, gate.as_ref(), page)))
}

/// A decision, and the gate as it was before; `None` for a retry, which finds no gate that waits.
type ApprovalOutcome = (ApproveReport, Option<GateReport>);

/// Shows what is decided on, and records the decision; `None` if the person does not go through with it.
fn decide(cx: &Context, approves: bool, args: ApproveArgs, out: &Out) -> Result<Option<ApprovalOutcome>, Error> {
    runs::refuse_agents(cx)?;
    for (stream, is_terminal) in
        [("standard input", io::stdin().is_terminal()), ("standard error", io::stderr().is_terminal())]
    {
        if !is_terminal {
            return Err(Error::needs_approval(format!("a person decides at a terminal, and {stream} is not one")));
        }
    }
    let ReasonArgs { run, reason, id } = args.why;
    let how = DecidedAt::Terminal;
    let mut request = ApproveRequest { run: run.name(), approves, reason, id, seen: LastSeen::default(), how };
    // Without a reason nothing can be rejected, so do not ask first.
    if !approves && request.reason.is_none() {
        let message = "a reason is needed: the next session has to know what is missing";
        return Err(Problem::new(Kind::Usage, "reason_missing", message).help("say why with --reason TEXT").into());
    }
    // A retry finds no gate that waits, and is answered with the record.
    let gate = match runs::gate(cx, request.run.as_deref()) {
        Err(error) if request.id.is_some() => {
            return runs::approve(cx, &request).map(|report| Some((report, None))).map_err(|_| error);
        }
        gate => gate?,
    };
    out.aside_page(|page| shown(&gate, page));
    let is_asked = args.seen.is_none();
    request.seen = args.seen.unwrap_or_else(|| gate.seen.clone());
    request.run = Some(gate.run_id.to_string());
    let verb = if approves { "Approve" } else { "Reject" };
    if is_asked && !Prompt::new(out).agrees(&format!("{verb} `{}` of {}?", gate.phase, gate.run_id)) {
        return Ok(None);
    }
    runs::approve(cx, &request).map(|report| Some((report, Some(gate))))
}

fn shown(gate: &GateReport, page: &mut TextPage) {
    page.head(page::STRONG, gate.phase.as_str(), &format!("{}  {}", gate.run_id, gate.workflow));
    page.each("goal", &gate.goal);
    page.each("decide", &gate.description);
    match gate.status {
        GateStatus::PassedOver | GateStatus::Unproved => {
            page.field("note", "the run is past this gate already, without a decision");
        }
        GateStatus::Dropped => page.field("note", "the definition that the run follows now does not have this gate"),
        GateStatus::Rejected => page.field("note", "it was rejected before"),
        GateStatus::Closed | GateStatus::Approved => {}
    }
    for missing in &gate.unproved {
        page.field("missing", &missing.to_string());
    }
    for one in &gate.left_undone {
        page.field("undone", &one.to_string());
    }
    for ShownSkip { phase, reason, seq, .. } in &gate.skipped {
        page.field("skipped", &format!("{phase} (event {seq}): {reason}"));
    }
    if gate.records.is_empty() {
        page.line("  nothing is recorded in it");
    } else {
        page.line("  latest records");
        let rows = gate.records.iter().map(|record| {
            let (number, status) = (record.number.to_string(), record.status.to_string());
            [number, record.id.clone(), status, or_empty(record.summary.as_ref())]
        });
        page.table(4, rows);
    }
}

fn said(report: &ApproveReport, gate: Option<&GateReport>, page: &mut TextPage) {
    let already = if report.repeated { "already " } else { "" };
    let missing = gate.and_then(|gate| gate.unproved.first());
    let (verb, then) = match (report.approved, missing) {
        (true, None) => ("approved", "the run may go on".to_owned()),
        (true, Some(missing)) => ("approved", format!("the run may not go on yet: {missing}")),
        (false, _) => {
            let next = Suggestion::flow("resume").value(&report.run_id);
            ("rejected", format!("`{next}` says what is to be done before `{}` is left", report.phase))
        }
    };
    page.line(&format!("{already}{verb} {} as {} {}; {then}", report.phase, report.number, report.activity));
}
