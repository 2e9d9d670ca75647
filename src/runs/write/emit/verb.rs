//! The verb `emit`: finds or creates the run, and records the reports.

use std::path::Path;

use serde_json::{Map, Value};

use crate::catalog::CatalogError;
use crate::codec::{RunText, digest};
use crate::engine::{Caller, Decision, History, Refusal, Report, RunState, Supply, decide_emit};
use crate::machine::Machine;
use crate::model::{
    ActivityId, Emitted, Event, EventId, EventKind, Number, RunChanges, RunEdited, RunId, RunStarted, Seq, TextDigest,
    Timestamp, WorkflowId,
};
use crate::runs::context::Context;
use crate::runs::error::{Error, Result};
use crate::runs::here::named_here;
use crate::runs::open::name::{Purpose, open_run, open_run_exactly};
use crate::runs::write::begun::note_workers;
use crate::runs::write::emit::agents::{check_steps, with_agent};
use crate::runs::write::emit::answer::{EmitReport, Outcome, answer, nothing_new};
use crate::runs::write::emit::request::{CheckedRequest, EmitRequest};
use crate::runs::write::journal;
use crate::runs::write::payload::{ReportRequest, in_batch};
use crate::runs::write::questions::{append_and_warn, unanswered};
use crate::runs::write::start::{StartRequest, context_of, default_limits, refuse_same_but_for_case};
use crate::runs::write::status::remember_end;
use crate::runs::write::token::{refuse_reports, token_of_new_run};
use crate::runs::write::transaction::{Transaction, transact};
use crate::store::{Address, NewRun, Project, StoreError, StoredRun};

/// Records reports on steps: the reports, their consequences and the activities of the steps in one commit.
///
/// # Errors
/// [`Error::Usage`] for an incomplete report, [`Error::Refused`] when a rule forbids it, [`Error::Catalog`] for a
/// workflow that cannot be used, [`Error::Store`] when it cannot be written. Then nothing is recorded and no run is
/// created, except after [`StoreError::Unconfirmed`].
pub fn emit(cx: &Context, request: &EmitRequest) -> Result<EmitReport> {
    emit_by(cx, request, &Reporter::default())
}

/// How a verb of flow reports.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Reporter<'a> {
    /// The definition with which a run is created that does not exist; otherwise the one in the catalog.
    pub(crate) definition: Option<&'a Machine>,
    /// By what a retry is recognised; otherwise by its reports.
    pub(crate) basis: Option<&'a TextDigest>,
    /// Whether it writes the documents of interviews, so that it may answer their questions.
    pub(crate) answers_documents: bool,
}

/// As [`emit`], for a verb of flow.
pub(crate) fn emit_by(cx: &Context, request: &EmitRequest, reporter: &Reporter<'_>) -> Result<EmitReport> {
    let now = cx.clock.now();
    let project = match cx.project() {
        Ok(project) => Some(project),
        Err(Error::NoProject { .. }) => None,
        Err(error) => return Err(error),
    };
    let root = match &project {
        Some(project) => project.root().to_owned(),
        None => cx.root_to_be()?,
    };
    // A report may begin a run under any id, so only what is not an id is another name of a run.
    let named = match &project {
        Some(project) if RunId::new(request.run.as_str()).is_err() => {
            Some(open_run(cx, project, &request.run, Purpose::Write)?.id().clone())
        }
        _ => None,
    };
    let asked = ask(cx, request, named, &root, reporter, now)?;
    let found = match &project {
        Some(project) => find(project, &asked.run)?,
        None => None,
    };
    if found.is_none() {
        cx.refuse_left_out(&root, &format!(".flow/runs/{}", asked.run))?;
    }
    if let (Some(project), Some(run)) = (&project, found) {
        return emit_into(cx, project, &*run, &asked);
    }
    match begin_with(cx, project.as_ref(), &asked, reporter.definition) {
        // Another process created the run first.
        Err(Error::Store(StoreError::Taken { .. })) => {
            let project = cx.project()?;
            let run = open_run_exactly(&project, asked.run.as_str())?;
            emit_into(cx, &project, &*run, &asked)
        }
        begun => begun,
    }
}

fn ask<'a>(
    cx: &Context,
    request: &'a EmitRequest,
    named: Option<RunId>,
    root: &Path,
    reporter: &Reporter<'_>,
    now: Timestamp,
) -> Result<CheckedRequest<'a>> {
    let run = named.map_or_else(|| RunId::new(request.run.as_str()), Ok)?;
    let id = request.id.clone().unwrap_or_else(|| cx.ids.next(now));
    let single = request.reports.len() == 1;
    let report = |(nth, report): (usize, &ReportRequest)| {
        let id = if single { id.clone() } else { cx.ids.next(now) };
        report.check(&*cx.disk, id, root).map_err(|error| match error {
            Error::Usage(what) if !single => in_batch(nth, &what),
            error => error,
        })
    };
    let reports = request.reports.iter().enumerate().map(report).collect::<Result<Vec<_>>>()?;
    let canonical = || request.reports.iter().map(ReportRequest::canonical).collect::<Vec<_>>().join("\n");
    let of_reports = || TextDigest(digest(canonical().as_bytes()));
    let digest = request.id.as_ref().map(|_| reporter.basis.cloned().unwrap_or_else(of_reports));
    Ok(CheckedRequest { request, run, id, reports, digest, now, answers_documents: reporter.answers_documents })
}

/// Records reports in an existing run.
fn emit_into(cx: &Context, project: &Project, run: &dyn StoredRun, asked: &CheckedRequest<'_>) -> Result<EmitReport> {
    let caller = cx.caller(asked.request.session.clone(), asked.request.epoch)?;
    let refused = |refusal| Error::Refused { run: run.id().clone(), refusal };
    let (mut report, ended) = transact(cx, project, run, caller, asked.now, |tx| {
        let follows = &tx.state.document().workflow;
        if follows.as_str() != asked.request.workflow {
            let (follows, named) = (follows.clone(), asked.request.workflow.clone());
            return Err(refused(Refusal::OtherWorkflow { follows, named }));
        }
        if let Some((seq, emitted)) = already_reported(tx, asked)? {
            return Ok((outcome(tx, asked, seq, &emitted, true), None));
        }
        tx.refuse_moved_on(asked.request.seen)?;
        refuse_reports(tx, &asked.reports)?.map_err(refused)?;
        check_steps(&cx.catalog(Some(project)), &asked.reports).map_err(refused)?;
        let machine = tx.machine()?;
        let trail = tx.trail();
        let mut supply = Numbers { cx, now: asked.now, tx: Some(tx), last: None, fault: None };
        let decision = decide_emit(&tx.state, machine.as_deref(), &tx.caller, asked.emit(), &trail, &mut supply);
        if let Some(fault) = trail.fault().or(supply.fault) {
            return Err(fault);
        }
        let kind = match decision.map_err(|refusal| tx.refused(as_seen_here(tx, refusal)))? {
            Decision::Commit(kind) => kind,
            Decision::Already => {
                tx.warnings.push("nothing was recorded: the run says so already".to_owned());
                let emitted = nothing_new(tx, asked);
                return Ok((outcome(tx, asked, tx.writer.end().last, &emitted, true), None));
            }
        };
        let EventKind::Emitted(emitted) = &kind else { unreachable!("BUG: reports are no reports") };
        let emitted = (**emitted).clone();
        tx.replace_dead_holder()?;
        let seq = append_and_warn(tx, kind, Some(asked.id.as_str()), &emitted.reports)?;
        note_feature(tx, asked)?;
        tx.commit()?;
        Ok((outcome(tx, asked, seq, &emitted, false), emitted.ends.then(|| tx.state.document().clone())))
    })?;
    // Write the journal after the transaction, so that others need not wait for it.
    if let Some(document) = ended {
        remember_end(cx, project, run.id());
        report.data.warnings.extend(journal::note(cx, project, &document, asked.now));
    }
    Ok(report)
}

/// A refusal with what helps this caller: names that it can give, and the agent that has a step.
fn as_seen_here(tx: &Transaction<'_>, mut refusal: Refusal) -> Refusal {
    if let Refusal::AnsweredElsewhere(elsewhere) = &mut refusal {
        elsewhere.document = named_here(tx.cx, tx.project, Path::new(&elsewhere.document));
    }
    with_agent(&tx.cx.catalog(Some(tx.project)), refusal)
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
    let outcome = Outcome {
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
    answer(tx.cx, tx.project, asked, outcome, || tx.history().ok()?)
}

/// Notes the feature that the reports name in the run's context, so that `list` finds the run by it.
fn note_feature(tx: &mut Transaction<'_>, asked: &CheckedRequest<'_>) -> Result<()> {
    let before = tx.state.document();
    let known = before.context.get(FEATURE).is_some_and(|feature| !feature.is_null());
    let Some(feature) = feature(&asked.reports).filter(|_| !known && !before.state.status.is_terminal()) else {
        return Ok(());
    };
    let mut wanted = before.clone();
    wanted.context.insert(FEATURE.to_owned(), feature.into());
    match tx.next_text().with_facts(&wanted) {
        Ok(text) => {
            let changes = RunChanges { context: Some(wanted.context), ..RunChanges::default() };
            let session = asked.request.session.clone();
            let edit = RunEdited { changes, by_command: true, session, text: text.text().to_owned() };
            tx.append_over(&text, EventKind::RunEdited(Box::new(edit)), None)?;
        }
        Err(error) => tx.warnings.push(format!("the feature is not noted in run.yaml: it {error}")),
    }
    Ok(())
}

/// The event of an earlier request with the same id; an error if its content differs.
fn already_reported(tx: &Transaction<'_>, asked: &CheckedRequest<'_>) -> Result<Option<(Seq, Emitted)>> {
    let Some(id) = &asked.request.id else { return Ok(None) };
    let Some(event) = tx.earlier(id)? else { return Ok(None) };
    match &event.kind {
        EventKind::Emitted(emitted) if emitted.request == asked.digest => Ok(Some((event.seq, (**emitted).clone()))),
        _ => {
            let refusal = Refusal::KeyReused { id: id.to_string(), seq: event.seq };
            Err(Error::Refused { run: asked.run.clone(), refusal })
        }
    }
}

/// The definition of a workflow; none if it has no state machine, because its steps are free then (rp1).
fn definition_of(cx: &Context, project: Option<&Project>, workflow: &str) -> Result<Option<Machine>> {
    match cx.catalog(project).find(workflow) {
        Ok(found) => Ok(Some(found.machine)),
        Err(CatalogError::NoMachine { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Creates a run with its first reports. A refused request leaves nothing behind.
fn begin_with(
    cx: &Context,
    project: Option<&Project>,
    asked: &CheckedRequest<'_>,
    definition: Option<&Machine>,
) -> Result<EmitReport> {
    let machine = match definition {
        Some(machine) => Some(machine.clone()),
        None => definition_of(cx, project, &asked.request.workflow)?,
    };
    let workflow = match &machine {
        Some(machine) => machine.id().clone(),
        None => WorkflowId::new(asked.request.workflow.as_str())?,
    };
    let caller = cx.caller(asked.request.session.clone(), asked.request.epoch)?;
    let token = token_of_new_run(cx, &caller, asked.now)?;
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
    let begin = |started: RunStarted, id: EventId| {
        let kind = EventKind::RunStarted(Box::new(started));
        Event { seq: Seq(1), id, at: asked.now, kind, run: None, recap: None }
    };
    let first_id = cx.ids.next(asked.now);
    let start = begin(started.clone(), first_id.clone());
    // Each report of the first batch is judged by the history that those before it make.
    let begun_run = History::fold([&start]).expect("BUG: a start begins no run");
    let decision = decide_first(cx, project, asked, &begun_run, machine.as_ref(), &caller);
    let decision = decision.map_err(|refusal| Error::Refused { run: asked.run.clone(), refusal })?;
    let Decision::Commit(mut kind) = decision else { unreachable!("BUG: a new run has reports") };
    note_workers(cx, &caller, &mut kind)?;
    let EventKind::Emitted(emitted) = &kind else { unreachable!("BUG: reports are no reports") };
    let emitted = (**emitted).clone();
    let project = cx.project_or_init()?;
    refuse_same_but_for_case(&project, &asked.run)?;
    started.context = context_of(cx, &project, &StartRequest::default(), None);
    if let Some(feature) = feature(&asked.reports) {
        started.context.insert(FEATURE.to_owned(), feature.into());
    }
    started.holder = match caller.session {
        Some(_) => cx.holder_for(&project, caller.session.as_ref())?,
        None => None,
    };
    let second = Event { seq: Seq(2), id: asked.id.clone(), at: asked.now, kind, run: None, recap: None };
    let (new, after) = begun(begin(started, first_id), second)?;
    let history = History::fold(&new.events);
    let warnings = unanswered(begun_run.state(), &after, &emitted.reports);
    let mut new = Some(new);
    let outside = cx.outside(&project);
    let request = cx.write_request(asked.now, cx.lock_wait()?);
    let run = project.runs().create(&request, outside.as_deref(), &mut |_| new.take())?;
    if emitted.ends {
        remember_end(cx, &project, run.id());
    }
    let outcome = Outcome {
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
    Ok(answer(cx, &project, asked, outcome, || history))
}

/// Decides on the first reports of a run, which does not exist yet.
fn decide_first(
    cx: &Context,
    project: Option<&Project>,
    asked: &CheckedRequest<'_>,
    begun: &History,
    machine: Option<&Machine>,
    caller: &Caller,
) -> std::result::Result<Decision, Refusal> {
    let catalog = cx.catalog(project);
    check_steps(&catalog, &asked.reports)?;
    let mut supply = Numbers { cx, now: asked.now, tx: None, last: None, fault: None };
    let decision = decide_emit(begun.state(), machine, caller, asked.emit(), begun, &mut supply);
    decision.map_err(|refusal| with_agent(&catalog, refusal))
}

/// The files of a new run with these two events, and the state after them.
fn begun(mut first: Event, mut second: Event) -> Result<(NewRun, RunState)> {
    let mut state = RunState::begin(&first).expect("BUG: a start begins no run");
    let text = RunText::create(state.document());
    first.run = Some(TextDigest(digest(text.text().as_bytes())));
    state.apply(&second);
    let fault = |error| Error::RunFile { at: Address::new("run.yaml"), error };
    let text = text.with_state(&state.document().state).map_err(fault)?;
    second.run = Some(TextDigest(digest(text.text().as_bytes())));
    let new = NewRun { id: state.id().clone(), text: text.text().to_owned(), events: vec![first, second] };
    Ok((new, state))
}

/// The key for the feature, in a run's context and in the data of a report.
const FEATURE: &str = "feature";

fn feature(reports: &[Report]) -> Option<&str> {
    let named = reports.iter().find_map(|report| report.data.get(FEATURE)?.as_str());
    named.filter(|feature| !feature.is_empty() && feature.len() <= FEATURE_BYTES)
}

/// The longest name of a feature that is stored, in bytes.
const FEATURE_BYTES: usize = 200;

fn find(project: &Project, run: &RunId) -> Result<Option<Box<dyn StoredRun>>> {
    match project.runs().open(run) {
        Ok(run) => Ok(Some(run)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Supplies ids and activity numbers for reports.
struct Numbers<'a, 'b> {
    cx: &'a Context,
    now: Timestamp,
    /// None for a run that does not exist yet.
    tx: Option<&'a Transaction<'b>>,
    last: Option<Number>,
    fault: Option<Error>,
}

impl Supply for Numbers<'_, '_> {
    fn event_id(&mut self) -> EventId {
        self.cx.ids.next(self.now)
    }

    fn number(&mut self, id: &ActivityId) -> Number {
        let number = match self.tx {
            Some(tx) => tx.next_number_after(self.last, id).unwrap_or_else(|error| {
                self.fault = Some(error);
                Number(0)
            }),
            None => self.last.unwrap_or_default().next(),
        };
        self.last = Some(number);
        number
    }
}
