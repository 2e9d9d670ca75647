//! The verb `emit`: finds or creates the run, and records the reports.

use std::path::Path;

use serde_json::{Map, Value};

use crate::catalog::{Catalog, CatalogError};
use crate::codec::digest;
use crate::engine::{Caller, Decision, Emit, History, MayEnd, Refusal, Report, ReportRefusal, Supply, decide_emit};
use crate::machine::Machine;
use crate::model::{
    ActivityId, Emitted, Event, EventId, EventKind, Explain as _, Number, Problem, RunChanges, RunEdited, RunId,
    RunStarted, Seq, TextDigest, Timestamp, WorkflowId,
};
use crate::runs::context::{Context, OpenedProject};
use crate::runs::error::{Error, Result};
use crate::runs::open::name::{Purpose, open_run, open_run_exactly, refuse_name_of_open, refuse_pruned_here};
use crate::runs::open::shared::{ask_store, brings_news, refuse_id_of_shared};
use crate::runs::write::batch::in_batch;
use crate::runs::write::begun::{note_workers, refuse_left_at_work};
use crate::runs::write::emit::agents::{check_steps, with_agent};
use crate::runs::write::emit::answer::{EmitOutcome, EmitReport, nothing_new, report_of};
use crate::runs::write::emit::request::{CheckedRequest, EmitRequest};
use crate::runs::write::journal;
use crate::runs::write::new_run::{Creation, default_limits, holder_of_new_run, new_run, refuse_same_but_for_case};
use crate::runs::write::payload::ReportRequest;
use crate::runs::write::questions::{append_and_warn, unanswered};
use crate::runs::write::required_here::as_project_asks;
use crate::runs::write::start::{StartRequest, context_of};
use crate::runs::write::status::remember_end;
use crate::runs::write::token::{refuse_reports, token_of_new_run};
use crate::runs::write::transaction::Transaction;
use crate::runs::write::transaction::attempts::transact;
use crate::store::{RefreshScope, StoreError, StoredRun};

/// Records reports on steps: the reports, their consequences and the activities of the steps in one commit.
///
/// # Errors
/// [`Error::Usage`] for an incomplete report, [`Error::Refused`] when a rule forbids it, [`Error::Catalog`] for a
/// workflow that cannot be used, [`Error::Store`] when it cannot be written. Then nothing is recorded and no run is
/// created, except after [`StoreError::Unconfirmed`].
pub fn emit(cx: &Context, request: &EmitRequest) -> Result<EmitReport> {
    if request.reports.is_empty() {
        return Err(Error::Usage("there is no report to record".to_owned()));
    }
    let names_events = request.reports.len() > 1 || request.places.is_some();
    emit_by(cx, request, &Reporter { names_events, ..Reporter::default() })
}

/// How a verb of flow reports.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Reporter<'a> {
    /// What becomes of a run that does not exist.
    pub(crate) missing: MissingRun<'a>,
    /// By what a retry is recognised; otherwise by its reports.
    pub(crate) basis: Option<&'a TextDigest>,
    /// Whether its caller knows the reports as events of a batch.
    pub(crate) names_events: bool,
    /// Whether it drives the run, and sees the end of its commands.
    pub(crate) is_driver: bool,
    /// Whether it writes the documents of interviews, so that it may answer their questions.
    pub(crate) answers_documents: bool,
    /// Which of its reports can end the run.
    pub(crate) may_end: MayEnd,
}

/// What becomes of a run that does not exist.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) enum MissingRun<'a> {
    /// It begins, with the definition in the catalog.
    #[default]
    Begins,
    /// It begins with this definition.
    BeginsWith(&'a Machine),
    /// It was there, so the report is refused.
    Gone,
}

/// As [`emit`], for a verb of flow.
pub(crate) fn emit_by(cx: &Context, request: &EmitRequest, reporter: &Reporter<'_>) -> Result<EmitReport> {
    let now = cx.now();
    let project = cx.project_if_any()?;
    let root = cx.root_of(project.as_ref())?;
    let run = match (&project, RunId::new(request.run.as_str())) {
        // A report may begin a run under any id, so only what is not an id is another name of a run.
        (Some(project), Err(_)) => open_run(project, &request.run, Purpose::Write)?.id().clone(),
        (_, id) => id?,
    };
    let asked = ask(cx, request, run, &root, reporter, now)?;
    if let Some(project) = &project {
        match project.runs().open(&asked.run) {
            Ok(run) => {
                refuse_shared(project, &asked)?;
                return emit_into(project, &*run, &asked);
            }
            Err(error) if error.is_not_found() => {
                // It may be shared, and then it must not begin here as well.
                if request.local && brings_news(project, RefreshScope::All).unwrap_or(false) {
                    refuse_shared(project, &asked)?;
                }
                refuse_pruned_here(project, &asked.run)?;
            }
            Err(error) => return Err(error.into()),
        }
    }
    let definition = match reporter.missing {
        MissingRun::Begins => None,
        MissingRun::BeginsWith(definition) => Some(definition),
        MissingRun::Gone => {
            let project = cx.project()?;
            let run = open_run_exactly(&project, asked.run.as_str())?;
            return emit_into(&project, &*run, &asked);
        }
    };
    // A run that a sparse checkout leaves out is not here, and must not begin a second time.
    cx.refuse_id_in_git(&root, &asked.run)?;
    match begin_with(cx, project.as_ref(), &asked, definition) {
        // Another process created the run first.
        Err(Error::Store(StoreError::Taken { .. })) => {
            let project = cx.project()?;
            ask_store(&project, RefreshScope::All);
            let run = open_run_exactly(&project, asked.run.as_str())?;
            emit_into(&project, &*run, &asked)
        }
        begun => begun,
    }
}

/// Refuses a report to a shared run that is meant for one of this checkout alone.
fn refuse_shared(project: &OpenedProject, asked: &CheckedRequest<'_>) -> Result<()> {
    if asked.request.local { refuse_id_of_shared(project, &asked.run) } else { Ok(()) }
}

fn ask<'a>(
    cx: &Context,
    request: &'a EmitRequest,
    run: RunId,
    root: &Path,
    reporter: &Reporter<'_>,
    now: Timestamp,
) -> Result<CheckedRequest<'a>> {
    let id = request.id.clone().unwrap_or_else(|| cx.ids.next(now));
    let single = request.reports.len() == 1;
    let mut reports = Vec::new();
    for (nth, report) in request.reports.iter().enumerate() {
        // A single report has the id of its event; in a batch each one needs an id of its own.
        let id = if single { id.clone() } else { cx.ids.next(now) };
        match report.check(&*cx.disk, id, root) {
            Ok(report) => reports.push(report),
            Err(Error::Usage(what)) if reporter.names_events => {
                return Err(in_batch(request.places.as_ref(), nth, &what));
            }
            Err(error) => return Err(error),
        }
    }
    // Only a request with an id can be a retry, so only that is compared with a later one.
    let compared = match (&request.id, reporter.basis) {
        (None, _) => None,
        (Some(_), Some(basis)) => Some(basis.clone()),
        (Some(_), None) => {
            let lines: Vec<_> = request.reports.iter().map(ReportRequest::canonical).collect();
            Some(TextDigest(digest(lines.join("\n").as_bytes())))
        }
    };
    let Reporter { answers_documents, may_end, .. } = *reporter;
    let emit = Emit { reports, request: compared, now, answers_documents, may_end };
    Ok(CheckedRequest { request, run, id, emit, is_of_driver: reporter.is_driver, names_events: reporter.names_events })
}

/// Records reports in an existing run.
fn emit_into(project: &OpenedProject, run: &dyn StoredRun, asked: &CheckedRequest<'_>) -> Result<EmitReport> {
    let caller = project.cx.caller(asked.request.session.clone(), asked.request.epoch)?;
    let (mut report, ended) = transact(project, run, caller, asked.emit.now, |tx| {
        let follows = &tx.state.document().workflow;
        if follows.as_str() != asked.request.workflow {
            let (follows, named) = (follows.clone(), asked.request.workflow.clone());
            return Err(Error::refused(run.id(), ReportRefusal::OtherWorkflow { follows, named }));
        }
        // Before all other rules: the first try has changed what they judge.
        if let Some((seq, emitted)) = already_reported(tx, asked)? {
            tx.answer_stands();
            return Ok((outcome(tx, asked, seq, &emitted, true), None));
        }
        tx.refuse_moved_on(asked.request.seen.as_ref())?;
        refuse_reports(tx, &asked.emit.reports, asked.is_of_driver)?;
        check_steps(&project.catalog(), &asked.emit.reports).map_err(|refusal| Error::refused(run.id(), refusal))?;
        let machine = tx.machine()?;
        let trail = tx.trail();
        let mut supply = Numbers { tx: Some(tx), ..Numbers::new(&project.cx, asked.emit.now) };
        let decision = decide_emit(&tx.state, machine.as_deref(), &tx.caller, asked.emit.clone(), &trail, &mut supply);
        // A decision that could not read what it asked for does not count.
        if let Some(fault) = trail.fault().or(supply.fault) {
            return Err(fault);
        }
        let at = supply.at;
        let decision =
            decision.map_err(|refusal| of_event(asked, at, tx.refused(with_agent(&project.catalog(), refusal))))?;
        let kind = match decision {
            Decision::Commit(kind) => kind,
            Decision::Already => {
                tx.warnings.push("nothing was recorded: the run says so already".to_owned());
                let emitted = nothing_new(tx, asked);
                return Ok((outcome(tx, asked, tx.writer.end().last, &emitted, true), None));
            }
        };
        let EventKind::Emitted(emitted) = &kind else { unreachable!("BUG: reports are no reports") };
        let emitted = (**emitted).clone();
        if !asked.is_of_driver {
            refuse_left_at_work(project, tx.state.document(), &emitted.reports)?;
        }
        tx.replace_dead_holder()?;
        let seq = append_and_warn(tx, kind, Some(asked.id.as_str()))?;
        note_feature(tx, asked)?;
        tx.commit()?;
        let report = outcome(tx, asked, seq, &emitted, false);
        Ok((report, if emitted.ends { Some(tx.state.document().clone()) } else { None }))
    })?;
    // Write the journal after the transaction, so that others need not wait for it.
    if let Some(document) = ended {
        remember_end(project, run.id());
        report.data.warnings.extend(journal::note(project, &document, asked.emit.now));
    }
    Ok(report)
}

/// The result of reports in an existing run.
fn outcome(
    tx: &Transaction<'_>,
    asked: &CheckedRequest<'_>,
    seq: Seq,
    emitted: &Emitted,
    repeated: bool,
) -> EmitReport {
    // Reports that change nothing are not an event of their own.
    let id = match (&asked.request.id, emitted.reports.last()) {
        (None, Some(last)) if repeated => last.id.clone(),
        _ => asked.id.clone(),
    };
    let machine = tx.known_machine();
    let outcome = EmitOutcome {
        run: tx.run,
        state: &tx.state,
        machine: machine.as_deref(),
        id,
        seq,
        emitted,
        created: false,
        token: None,
        repeated,
        warnings: tx.warnings.clone(),
    };
    report_of(tx.project, asked, outcome, || tx.history().ok()?)
}

/// Notes the feature that the reports name in the run's context, so that `list` finds the run by it.
fn note_feature(tx: &mut Transaction<'_>, asked: &CheckedRequest<'_>) -> Result<()> {
    let Some(feature) = feature(&asked.emit.reports) else { return Ok(()) };
    let before = tx.state.document();
    let is_known = before.context.get(FEATURE).is_some_and(|known| !known.is_null());
    if is_known || before.state.status.is_terminal() {
        return Ok(());
    }
    let mut wanted = before.clone();
    wanted.context.insert(FEATURE.to_owned(), feature.into());
    match tx.next_text().with_facts(&wanted) {
        Ok(text) => {
            let changes = RunChanges { context: Some(wanted.context), ..RunChanges::default() };
            let session = asked.request.session.clone();
            let edit = RunEdited { changes, by_command: true, session, text: text.text().to_owned() };
            tx.append_over(&text, EventKind::RunEdited(Box::new(edit)), None)?;
        }
        // The reports count without it: only `list` finds the run less easily.
        Err(error) => tx.warnings.push(format!("the feature is not noted in run.yaml: it {error}")),
    }
    Ok(())
}

/// The event of an earlier request with the same id; an error if its content differs.
fn already_reported(tx: &Transaction<'_>, asked: &CheckedRequest<'_>) -> Result<Option<(Seq, Emitted)>> {
    let Some(id) = &asked.request.id else { return Ok(None) };
    tx.earlier(id, |event| match &event.kind {
        EventKind::Emitted(emitted) if emitted.request == asked.emit.request => Some((event.seq, (**emitted).clone())),
        _ => None,
    })
}

/// The definition of `workflow` in the catalog; `None` if its steps are free, since it has no state machine (rp1).
fn machine_of(cx: &Context, root: &Path, catalog: &Catalog, workflow: &str) -> Result<Option<Machine>> {
    match cx.find_workflow(root, catalog, workflow) {
        Ok(found) => Ok(Some(found.machine)),
        Err(Error::Catalog(CatalogError::NoMachine { .. })) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Creates a run with its first reports. A refused request leaves nothing behind.
fn begin_with(
    cx: &Context,
    project: Option<&OpenedProject>,
    asked: &CheckedRequest<'_>,
    definition: Option<&Machine>,
) -> Result<EmitReport> {
    let catalog = cx.catalog(project);
    let machine = match definition {
        Some(machine) => Some(machine.clone()),
        None => machine_of(cx, &cx.root_of(project)?, &catalog, &asked.request.workflow)?,
    };
    let machine = machine.map(|machine| as_project_asks(project, machine)).transpose()?;
    let workflow = match &machine {
        Some(machine) => machine.id().clone(),
        None => WorkflowId::new(asked.request.workflow.as_str())?,
    };
    let caller = cx.caller(asked.request.session.clone(), asked.request.epoch)?;
    let token = token_of_new_run(cx, &caller, asked.emit.now)?;
    let mut started = RunStarted {
        run_id: asked.run.clone(),
        workflow,
        workflow_version: machine.as_ref().map_or(1, Machine::version),
        phase: None,
        goal: asked.request.name.clone(),
        context: Map::new(),
        limits: default_limits(),
        session: caller.session.clone(),
        holder: None,
        token: token.as_ref().map(|token| token.digest.clone()),
        machine: machine.as_ref().map_or(Value::Null, Machine::to_value),
    };
    let first_id = cx.ids.next(asked.emit.now);
    let start = started_event(started.clone(), first_id.clone(), asked.emit.now);
    // Each report of the first batch is judged by the history that those before it make.
    let begun_run = History::fold([&start]).expect("BUG: a start begins no run");
    let decision = decide_first(cx, &catalog, asked, &begun_run, machine.as_ref(), &caller)?;
    let Decision::Commit(mut kind) = decision else { unreachable!("BUG: a new run has reports") };
    note_workers(cx, &caller, &mut kind)?;
    let EventKind::Emitted(emitted) = &kind else { unreachable!("BUG: reports are no reports") };
    let emitted = (**emitted).clone();
    if let Some(project) = project {
        refuse_name_of_open(project, &asked.run)?;
        refuse_same_but_for_case(project, &asked.run)?;
    }
    // Only now: a refused request makes nothing in `.flow`.
    let project = cx.project_or_init()?;
    started.context = context_of(&project, &StartRequest::default(), None);
    if let Some(feature) = feature(&asked.emit.reports) {
        started.context.insert(FEATURE.to_owned(), feature.into());
    }
    started.holder = holder_of_new_run(&project, &caller)?;
    let second = Event { seq: Seq(2), id: asked.id.clone(), at: asked.emit.now, kind, run: None, recap: None };
    let first = started_event(started, first_id, asked.emit.now);
    let events = vec![first, second];
    let (local, id) = (asked.request.local, &asked.run);
    let creation = Creation { project: &project, local, id, is_given: true, now: asked.emit.now };
    let (run, after) = creation.create(&mut |_| new_run(&project, events.clone(), Vec::new()))?;
    let warnings = unanswered(begun_run.state(), &after, &emitted.reports);
    let history = History::fold(&events);
    if emitted.ends {
        remember_end(&project, run.id());
    }
    let outcome = EmitOutcome {
        run: &*run,
        state: &after,
        machine: machine.as_ref(),
        id: asked.id.clone(),
        seq: Seq(2),
        emitted: &emitted,
        created: true,
        token: token.map(|token| token.text),
        repeated: false,
        warnings,
    };
    Ok(report_of(&project, asked, outcome, || history))
}

fn started_event(started: RunStarted, id: EventId, at: Timestamp) -> Event {
    Event { seq: Seq(1), id, at, kind: EventKind::RunStarted(Box::new(started)), run: None, recap: None }
}

/// Decides on the first reports of a run, which does not exist yet.
fn decide_first(
    cx: &Context,
    catalog: &Catalog,
    asked: &CheckedRequest<'_>,
    begun: &History,
    machine: Option<&Machine>,
    caller: &Caller,
) -> Result<Decision> {
    check_steps(catalog, &asked.emit.reports).map_err(|refusal| Error::refused(&asked.run, refusal))?;
    let mut supply = Numbers::new(cx, asked.emit.now);
    let decision = decide_emit(begun.state(), machine, caller, asked.emit.clone(), begun, &mut supply);
    decision.map_err(|refusal| {
        let refusal = with_agent(catalog, refusal).of_new_run();
        of_event(asked, supply.at, Error::refused(&asked.run, refusal))
    })
}

/// The key for the feature, in a run's context and in the data of a report.
const FEATURE: &str = "feature";

fn feature(reports: &[Report]) -> Option<&str> {
    let named = reports.iter().find_map(|report| report.data.get(FEATURE)?.as_str())?;
    if named.is_empty() || named.len() > FEATURE_BYTES { None } else { Some(named) }
}

/// The longest name of a feature that is stored, in bytes.
const FEATURE_BYTES: usize = 200;

/// The error about a report, with the place of that in its batch.
fn of_event(asked: &CheckedRequest<'_>, nth: usize, error: Error) -> Error {
    if !asked.names_events || matches!(error, Error::Refused { refusal: Refusal::Terminal { .. }, .. }) {
        return error;
    }
    let problem = error.problem();
    let message = in_batch(asked.request.places.as_ref(), nth, &problem.message).problem().message;
    Problem { message, ..problem }.into()
}

/// Supplies ids and activity numbers for reports.
struct Numbers<'a, 'b> {
    cx: &'a Context,
    now: Timestamp,
    /// None for a run that does not exist yet.
    tx: Option<&'a Transaction<'b>>,
    last: Option<Number>,
    fault: Option<Error>,
    /// Which report is judged, counted from 0.
    at: usize,
}

impl<'a> Numbers<'a, '_> {
    /// For a run that does not exist yet.
    fn new(cx: &'a Context, now: Timestamp) -> Self {
        Self { cx, now, tx: None, last: None, fault: None, at: 0 }
    }
}

impl Supply for Numbers<'_, '_> {
    fn event_id(&mut self) -> EventId {
        self.cx.ids.next(self.now)
    }

    fn reaches(&mut self, nth: usize) {
        self.at = nth;
    }

    fn number(&mut self, id: &ActivityId) -> Number {
        let number = match self.tx {
            // The engine asks for numbers without errors, so the error is kept for the caller.
            Some(tx) => tx.next_number(self.last, id).unwrap_or_else(|error| {
                self.fault = Some(error);
                Number(0)
            }),
            None => self.last.unwrap_or_default().next(),
        };
        self.last = Some(number);
        number
    }
}
