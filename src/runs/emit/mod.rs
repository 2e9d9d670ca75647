//! `emit`: agents report on the steps of a workflow (rp1). A run that does not exist begins with its first report.

mod answer;

pub use answer::{EmitData, EmitReport, EmittedActivity, EmittedReport};

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::catalog::CatalogError;
use crate::codec::{RunText, digest};
use crate::disk::DiskError;
use crate::engine::{Decision, Emit, History, NoTrail, Refusal, Report, RunState, Supply, decide_emit};
use crate::machine::Machine;
use crate::model::{
    ActivityId, Emitted, Event, EventId, EventKind, Number, RunChanges, RunEdited, RunId, RunStarted, Seq, SessionId,
    TextDigest, Timestamp, WorkflowId,
};
use crate::runs::context::Flow;
use crate::runs::decide::LoadedTrail;
use crate::runs::emit::answer::{Outcome, nothing_new, unanswered_questions};
use crate::runs::error::{Error, Result};
use crate::runs::journal;
use crate::runs::load::{Loaded, activity_files, for_writing};
use crate::runs::payload::{ReportRequest, in_batch};
use crate::runs::select::LATEST;
use crate::runs::start::{StartRequest, default_limits, refuse_same_but_for_case};
use crate::store::layout::RUN_FILE;
use crate::store::{NewRun, Project, RunDir, StoreError};

/// What to report.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EmitRequest {
    /// The workflow's name.
    pub workflow: String,
    /// The run.
    #[serde(rename = "run_id")]
    pub run: String,
    /// The reports; all of them happen, or none.
    pub reports: Vec<ReportRequest>,
    /// Makes a retry recognisable: the same request is reported once.
    pub id: Option<EventId>,
    /// What the run is for, when it begins with this.
    pub name: Option<String>,
    /// Who reports.
    pub session: Option<SessionId>,
    /// The epoch under which the reporter holds the run.
    pub epoch: Option<u64>,
}

/// A request whose payloads are sound.
struct Asked<'a> {
    request: &'a EmitRequest,
    run: RunId,
    /// The id of the line in the log.
    id: EventId,
    reports: Vec<Report>,
    digest: Option<TextDigest>,
    now: Timestamp,
}

impl Asked<'_> {
    fn emit(&self) -> Emit {
        Emit { reports: self.reports.clone(), request: self.digest.clone(), now: self.now }
    }
}

impl Flow {
    /// Reports on steps: the reports, what follows from them, and the activities of the steps in one commit.
    ///
    /// # Errors
    /// [`Error::Usage`] for a report that is not complete, [`Error::Refused`] when a rule forbids it,
    /// [`Error::Catalog`] for a workflow that cannot be used, [`Error::Store`] when it cannot be written. Nothing is
    /// reported then, nor is a run begun, except after [`StoreError::Unconfirmed`].
    pub fn emit(&self, request: &EmitRequest) -> Result<EmitReport> {
        self.emit_by(request, None, None)
    }

    /// As [`Self::emit`]. A run that does not exist begins with `definition` instead of looking for one by its name, and
    /// a retry is known by `basis` instead of by its reports.
    pub(crate) fn emit_by(
        &self,
        request: &EmitRequest,
        definition: Option<&Machine>,
        basis: Option<&TextDigest>,
    ) -> Result<EmitReport> {
        let now = self.clock.now();
        let project = match self.project() {
            Ok(project) => Some(project),
            Err(Error::NoProject { .. }) => None,
            Err(error) => return Err(error),
        };
        let root = match &project {
            Some(project) => project.root().to_owned(),
            None => self.root_to_be()?,
        };
        let latest = match &project {
            Some(project) if request.run == LATEST => Some(self.latest(project)?),
            _ => None,
        };
        let asked = self.ask(request, latest, &root, basis, now)?;
        let found = match &project {
            Some(project) => find(project, &asked.run)?,
            None => None,
        };
        if let (Some(project), Some(run)) = (&project, found) {
            return self.emit_into(project, &run, &asked);
        }
        match self.begin_with(project.as_ref(), &asked, definition) {
            // Another first report was faster.
            Err(Error::Store(StoreError::Disk(DiskError::Exists { .. }))) => {
                let project = self.project()?;
                let run = self.run_exactly(&project, asked.run.as_str())?;
                self.emit_into(&project, &run, &asked)
            }
            begun => begun,
        }
    }

    fn ask<'a>(
        &self,
        request: &'a EmitRequest,
        latest: Option<RunId>,
        root: &Path,
        basis: Option<&TextDigest>,
        now: Timestamp,
    ) -> Result<Asked<'a>> {
        let run = latest.map_or_else(|| RunId::new(request.run.as_str()), Ok)?;
        let id = request.id.clone().unwrap_or_else(|| self.ids.next(now));
        let single = request.reports.len() == 1;
        let report = |(nth, report): (usize, &ReportRequest)| {
            let id = if single { id.clone() } else { self.ids.next(now) };
            report.check(&*self.disk, id, root).map_err(|error| match error {
                Error::Usage(what) if !single => in_batch(nth, &what),
                error => error,
            })
        };
        let reports = request.reports.iter().enumerate().map(report).collect::<Result<Vec<_>>>()?;
        let canonical = || request.reports.iter().map(ReportRequest::canonical).collect::<Vec<_>>().join("\n");
        let of_reports = || TextDigest(digest(canonical().as_bytes()));
        let digest = request.id.as_ref().map(|_| basis.cloned().unwrap_or_else(of_reports));
        Ok(Asked { request, run, id, reports, digest, now })
    }

    /// Reports on a run that is there.
    fn emit_into(&self, project: &Project, run: &RunDir, asked: &Asked<'_>) -> Result<EmitReport> {
        let caller = self.caller(asked.request.session.clone(), asked.request.epoch)?;
        let mut loaded = for_writing(self, project, run, asked.now)?;
        let refused = |refusal| Error::Refused { run: run.id().clone(), refusal };
        let follows = &loaded.state.document().workflow;
        if follows.as_str() != asked.request.workflow {
            let (follows, named) = (follows.clone(), asked.request.workflow.clone());
            return Err(refused(Refusal::OtherWorkflow { follows, named }));
        }
        let answer = |loaded: &Loaded<'_>, seq: Seq, emitted: &Emitted, repeated: bool| {
            let (state, warnings) = (&loaded.state, loaded.warnings.clone());
            // Reports that change nothing are no event of their own.
            let id = match (&asked.request.id, emitted.reports.last()) {
                (None, Some(last)) if repeated => last.id.clone(),
                _ => asked.id.clone(),
            };
            let machine = loaded.known_machine();
            let outcome = Outcome {
                run,
                state,
                machine: machine.as_deref(),
                id,
                seq,
                emitted,
                created: false,
                token: None,
                repeated,
                warnings,
            };
            let log = || History::fold(loaded.locked.read_log().ok()?.events());
            self.answer(project, asked, outcome, log)
        };
        if let Some((seq, emitted)) = self.said_before(&loaded, asked)? {
            return Ok(answer(&loaded, seq, &emitted, true));
        }
        let caller = self.judge_holder(&loaded, caller)?;
        self.refuse_reports(&loaded, &caller, &asked.reports)?.map_err(refused)?;
        let machine = loaded.machine(self, project)?;
        let trail = LoadedTrail::of(&loaded);
        let mut supply = Numbers { flow: self, now: asked.now, loaded: Some(&loaded), last: None, fault: None };
        let decision = decide_emit(&loaded.state, machine.as_deref(), &caller, asked.emit(), &trail, &mut supply);
        if let Some(fault) = trail.fault().or(supply.fault) {
            return Err(fault);
        }
        let kind = match decision.map_err(|refusal| loaded.refused(self, project, refusal))? {
            Decision::Commit(kind) => kind,
            Decision::Already => {
                loaded.warnings.push("nothing was recorded: the run says so already".to_owned());
                return Ok(answer(&loaded, loaded.locked.tail().last_seq, &nothing_new(&loaded, asked), true));
            }
        };
        let EventKind::Emitted(emitted) = &kind else { unreachable!("BUG: reports are no reports") };
        let emitted = (**emitted).clone();
        let event = Event { seq: Seq(0), id: asked.id.clone(), at: asked.now, kind: kind.clone(), run: None };
        let unanswered = unanswered_questions(&loaded.state, &event, &emitted);
        loaded.warnings.extend(unanswered);
        self.replace_dead_holder(&mut loaded, &caller, asked.now)?;
        let files = emitted.records.iter().map(crate::runs::load::file_of).collect();
        let seq = loaded.commit(self, kind, Some(asked.id.as_str()), asked.now, files)?;
        self.note_feature(&mut loaded, asked)?;
        let mut report = answer(&loaded, seq, &emitted, false);
        let document = loaded.state.document().clone();
        // Others may report while the journal is written.
        drop(loaded);
        if emitted.ends {
            self.remember_end(project, run.id(), asked.now);
            report.data.warnings.extend(journal::note(&*self.disk, project, &document, asked.now));
        }
        Ok(report)
    }

    /// Notes what the reports say that the run is about, so that it can be found by it.
    fn note_feature(&self, loaded: &mut Loaded<'_>, asked: &Asked<'_>) -> Result<()> {
        let before = loaded.state.document();
        let known = before.context.get(FEATURE).is_some_and(|feature| !feature.is_null());
        let Some(feature) = feature(&asked.reports).filter(|_| !known && !before.state.status.is_terminal()) else {
            return Ok(());
        };
        let mut wanted = before.clone();
        wanted.context.insert(FEATURE.to_owned(), feature.into());
        match loaded.text.with_facts(&wanted) {
            Ok(text) => {
                let changes = RunChanges { context: Some(wanted.context), ..RunChanges::default() };
                let edit = RunEdited {
                    changes,
                    by_command: true,
                    session: asked.request.session.clone(),
                    text: text.text().to_owned(),
                };
                loaded.commit_over(self, &text, EventKind::RunEdited(Box::new(edit)), None, asked.now, Vec::new())?;
            }
            Err(error) => loaded.warnings.push(format!("the feature is not noted in run.yaml: it {error}")),
        }
        Ok(())
    }

    /// The same request, when it was reported already.
    fn said_before(&self, loaded: &Loaded<'_>, asked: &Asked<'_>) -> Result<Option<(Seq, Emitted)>> {
        let Some(id) = &asked.request.id else { return Ok(None) };
        let log = loaded.locked.read_log()?;
        let Some(event) = log.events().find(|event| event.id == *id) else { return Ok(None) };
        match &event.kind {
            EventKind::Emitted(emitted) if emitted.request == asked.digest => {
                Ok(Some((event.seq, (**emitted).clone())))
            }
            _ => {
                let refusal = Refusal::KeyReused { id: id.to_string(), seq: event.seq };
                Err(Error::Refused { run: asked.run.clone(), refusal })
            }
        }
    }

    /// The definition of a workflow; none when it has no state machine, since its steps are free then (rp1).
    fn definition_of(&self, project: Option<&Project>, workflow: &str) -> Result<Option<Machine>> {
        match self.catalog(project).find(workflow) {
            Ok(found) => Ok(Some(found.machine)),
            Err(CatalogError::NoMachine { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Begins a run with its first reports. What is refused leaves nothing behind.
    fn begin_with(
        &self,
        project: Option<&Project>,
        asked: &Asked<'_>,
        definition: Option<&Machine>,
    ) -> Result<EmitReport> {
        let machine = match definition {
            Some(machine) => Some(machine.clone()),
            None => self.definition_of(project, &asked.request.workflow)?,
        };
        let workflow = match &machine {
            Some(machine) => machine.id().clone(),
            None => WorkflowId::new(asked.request.workflow.as_str())?,
        };
        let caller = self.caller(asked.request.session.clone(), asked.request.epoch)?;
        let token = self.token_of_new_run(&caller, asked.now)?;
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
            Event { seq: Seq(1), id, at: asked.now, kind, run: None }
        };
        let first_id = self.ids.next(asked.now);
        let state = RunState::begin(&begin(started.clone(), first_id.clone())).expect("BUG: a start begins no run");
        let refused = |refusal| Error::Refused { run: asked.run.clone(), refusal };
        let mut supply = Numbers { flow: self, now: asked.now, loaded: None, last: None, fault: None };
        let decision =
            decide_emit(&state, machine.as_ref(), &caller, asked.emit(), &NoTrail, &mut supply).map_err(refused)?;
        let Decision::Commit(kind) = decision else { unreachable!("BUG: a new run has reports") };
        let EventKind::Emitted(emitted) = &kind else { unreachable!("BUG: reports are no reports") };
        let emitted = (**emitted).clone();
        let project = self.project_or_init()?;
        refuse_same_but_for_case(&project, &asked.run)?;
        started.context = self.context(&project, &StartRequest::default());
        if let Some(feature) = feature(&asked.reports) {
            started.context.insert(FEATURE.to_owned(), feature.into());
        }
        started.holder = match caller.session {
            Some(_) => self.holder()?.map(|holder| holder.to_string()),
            None => None,
        };
        let second = Event { seq: Seq(2), id: asked.id.clone(), at: asked.now, kind, run: None };
        let (new, state) = begun(begin(started, first_id), second)?;
        let history = History::fold(&new.events);
        let mut new = Some(new);
        let outside = self.outside(&project);
        let request = self.lock_request(asked.now, self.lock_wait()?);
        let run = project.create_run(&request, outside.as_deref(), &mut |_| new.take())?;
        if emitted.ends {
            self.remember_end(&project, run.id(), asked.now);
        }
        let outcome = Outcome {
            run: &run,
            state: &state,
            machine: machine.as_ref(),
            id: asked.id.clone(),
            seq: Seq(2),
            emitted: &emitted,
            created: true,
            token: token.map(|token| token.text),
            repeated: false,
            warnings: Vec::new(),
        };
        Ok(self.answer(&project, asked, outcome, || history))
    }
}

/// The files of a run that begins with these two events, and the state after them.
fn begun(mut first: Event, mut second: Event) -> Result<(NewRun, RunState)> {
    let mut state = RunState::begin(&first).expect("BUG: a start begins no run");
    let text = RunText::create(state.document());
    first.run = Some(TextDigest(digest(text.text().as_bytes())));
    state.apply(&second);
    let path = PathBuf::from(RUN_FILE);
    let text = text.with_state(&state.document().state).map_err(|error| Error::RunFile { path, error })?;
    second.run = Some(TextDigest(digest(text.text().as_bytes())));
    let new = NewRun {
        id: state.id().clone(),
        text: text.text().to_owned(),
        activities: activity_files(&second),
        events: vec![first, second],
    };
    Ok((new, state))
}

/// The key of `context` and of a report's data for what both are about.
const FEATURE: &str = "feature";

fn feature(reports: &[Report]) -> Option<&str> {
    let named = reports.iter().find_map(|report| report.data.get(FEATURE)?.as_str());
    named.filter(|feature| !feature.is_empty() && feature.len() <= FEATURE_BYTES)
}

/// The longest name of a feature that is noted.
const FEATURE_BYTES: usize = 200;

fn find(project: &Project, run: &RunId) -> Result<Option<RunDir>> {
    match project.run(run) {
        Ok(run) => Ok(Some(run)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Ids and numbers for what a report brings with it.
struct Numbers<'a, 'b> {
    flow: &'a Flow,
    now: Timestamp,
    /// None for a run that is about to begin.
    loaded: Option<&'a Loaded<'b>>,
    last: Option<Number>,
    fault: Option<Error>,
}

impl Supply for Numbers<'_, '_> {
    fn event_id(&mut self) -> EventId {
        self.flow.ids.next(self.now)
    }

    fn number(&mut self, id: &ActivityId) -> Number {
        let number = match self.loaded {
            Some(loaded) => loaded.next_number_after(self.last, id).unwrap_or_else(|error| {
                self.fault = Some(error);
                Number(0)
            }),
            None => self.last.unwrap_or_default().next(),
        };
        self.last = Some(number);
        number
    }
}
