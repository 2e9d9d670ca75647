//! `hud`: the session's run and modes, for the status line of an agent's host.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hooks::hook::READING;
use crate::hooks::payload::{HostInput, Payload};
use crate::model::{Explain as _, ModeName, RunId, SessionId};
use crate::modes::{self, ModeListRequest, ModeScope};
use crate::runs::{self, Context, OpenWork, OtherWorktree, Overview, RunPosition, ShortNames, Unreadable, UnseenStore};

/// Whose run to show.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HudRequest {
    /// The session; otherwise the environment's.
    pub session: Option<SessionId>,
    /// The directory in which the session works, if the caller is in another one.
    pub cwd: Option<PathBuf>,
    /// The directory of the session's project, if its host says so.
    pub project: Option<PathBuf>,
}

impl HudRequest {
    /// The request in what a host gives its status line: a JSON object with `session_id` and `cwd`. Anything else asks for
    /// no particular session.
    #[must_use]
    pub fn read(given: &HostInput) -> Self {
        let Payload { session, cwd, project, .. } = Payload::of(given).unwrap_or_default();
        Self { session, cwd, project }
    }
}

/// What a status line shows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct HudReport {
    /// The run that the session would resume; null if there is none.
    pub run: Option<RunPosition>,
    /// The reason for its verdict.
    pub reason: Option<String>,
    /// The active modes that the session sees.
    pub modes: Vec<ModeName>,
    /// Why modes may be missing here: the first file of them that cannot be read.
    pub modes_unreadable: Option<String>,
    /// A short name of the run that commands take.
    pub name: Option<String>,
    /// How many other runs are open.
    pub others: usize,
    /// Runs that cannot be read.
    pub unreadable: Vec<Unreadable>,
    /// Their names.
    #[serde(skip)]
    pub(crate) names: ShortNames,
    /// Other worktrees of the repository in which runs are open.
    pub worktrees: Vec<OtherWorktree>,
    /// The store that the project names and whose runs are not seen.
    pub unseen_store: Option<UnseenStore>,
}

/// Looks up what a status line shows; nothing at all without a project. Takes a few milliseconds.
///
/// # Errors
/// As [`crate::runs::resume`].
pub fn hud(cx: &Context, request: &HudRequest) -> runs::Result<HudReport> {
    let HudRequest { session, cwd, project } = request;
    let session = session.clone().or_else(|| cx.named_session());
    let noted = session.as_ref().and_then(|session| runs::noted_project(cx, session));
    let cx = cx.clone().at_work(noted.as_deref(), project.as_deref(), cwd.as_deref());
    // A status line is drawn again and again, so many runs must not slow it down.
    let cx = &cx.reading_for(session.as_ref(), READING);
    let Overview { run, unreadable, worktrees, .. } =
        runs::overview(cx, OpenWork::find(cx)?.as_ref(), session.as_ref())?;
    let mut report = HudReport { unreadable, worktrees, ..HudReport::default() };
    let Ok(project) = cx.project() else { return Ok(report) };
    report.unseen_store = UnseenStore::of(&project);
    let unread: Vec<_> = report.unreadable.iter().filter_map(|run| RunId::new(run.run_id.as_str()).ok()).collect();
    report.names = ShortNames::of(&project, &unread);
    let scope = ModeScope { session, ..ModeScope::default() };
    match modes::list_here(cx, &ModeListRequest { scope, all: false }) {
        Ok(listed) => {
            report.modes = listed.active;
            report.modes_unreadable = listed.modes.into_iter().find_map(|mode| mode.error);
        }
        Err(error) => report.modes_unreadable = Some(error.one_line()),
    }
    if let Some(brief) = run {
        let run = &brief.position.run_id;
        report.name = Some(ShortNames::of(&project, [run]).of_run(run).to_owned());
        report.others = brief.others;
        report.reason = Some(brief.reason);
        report.run = Some(brief.position);
    }
    Ok(report)
}
