//! A session of an agent's host begins: it is bound to its process, and gets back the runs that are its own.

use crate::engine::{Claim, Command, Decision};
use crate::host::AgentHost;
use crate::model::{Explain as _, RunId, SessionId};
use crate::runs::context::{Context, OpenedProject};
use crate::runs::error::Result;
use crate::runs::host_note::{HostNote, Over, prune};
use crate::runs::open::reading::{Runs, passed_over_in_words};
use crate::runs::open::work::OpenWork;
use crate::runs::sessions::end::TIME;
use crate::runs::sessions::hosts::note_prompt;
use crate::runs::write::transaction::Transaction;
use crate::runs::write::transaction::attempts::transact;
use crate::store::Project;

/// How a session begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Beginning {
    /// It has held no run yet, or still holds what it held.
    #[default]
    New,
    /// It follows the session whose conversation the user cleared.
    Cleared,
    /// It began before.
    Resumed,
}

/// Binds `session` to the process of its host, and notes whose runs it is to get: those that it held when it ended, or that
/// the cleared session held. [`give_runs`] gives them.
///
/// # Errors
/// When the project cannot be used or it cannot be noted.
pub(crate) fn begin_session(cx: &Context, host: AgentHost, session: &SessionId, beginning: Beginning) -> Result<()> {
    let project = cx.project()?;
    let mut note = HostNote::of(&project, host, session).bound(cx, host)?;
    match beginning {
        Beginning::New => (note.follows, note.left) = (None, Vec::new()),
        // It may have followed another one, and not have got everything yet.
        Beginning::Resumed => drop(note.follows.get_or_insert_with(|| session.to_string())),
        Beginning::Cleared => {
            let before = note.predecessor(&project, host).and_then(|before| before.session());
            note.follows = before.map(|before| before.to_string());
        }
    }
    prune(&project, cx.now());
    // What it is to get is noted before a run is read: a lock may be busy, and the hook may be killed.
    note.keep(&project)
}

/// Notes a prompt of `session`, which gets what it could not get when it began. Gives warnings.
///
/// # Errors
/// When it cannot be noted.
pub(crate) fn prompt_session(work: &mut OpenWork, host: AgentHost, session: &SessionId) -> Result<Vec<String>> {
    let warnings = give_runs(work, host, session)?;
    note_prompt(work, host, session)?;
    Ok(warnings)
}

/// Claims for `session` the runs that it is to get and has not got yet. Runs that another session has claimed since then
/// stay there. Gives warnings.
///
/// # Errors
/// When it cannot be noted. A failure for a single run is a warning.
pub(crate) fn give_runs(work: &mut OpenWork, host: AgentHost, session: &SessionId) -> Result<Vec<String>> {
    let mut note = HostNote::of(&work.project, host, session);
    if note.follows.is_none() {
        return Ok(Vec::new());
    }
    let from = followed(&work.project, host, &note);
    let mut warnings = Vec::from_iter(passed_over_in_words(work.runs.passed_over));
    for run in runs_of(&work.runs, &from) {
        if work.since.elapsed() >= TIME {
            warnings.push(format!("no time was left to give run {run} to session {session}"));
            continue;
        }
        let given = hand_over(&work.project, &run, &from, session);
        if let Err(error) = given.and_then(|()| work.read_again(&run)) {
            warnings.push(format!("run {run}: {}", error.one_line()));
        }
    }
    // Until it has got everything it follows them still, and each prompt tries again.
    if warnings.is_empty() {
        note.follows = None;
        note.left.clear();
        note.keep(&work.project)?;
        for old in from {
            if old.session().as_ref() != Some(session) {
                old.end(&work.project, Over::Followed)?;
            }
        }
    }
    Ok(warnings)
}

/// The notes of the session itself, of the one that it follows, and of those that this one was to follow and has not.
fn followed(project: &Project, host: AgentHost, note: &HostNote) -> Vec<HostNote> {
    let mut notes = vec![note.clone()];
    let mut next = note.follows.clone();
    while let Some(id) = next.take() {
        let Ok(id) = SessionId::new(id) else { break };
        // Files can be edited: notes may follow each other in a circle.
        if notes.iter().any(|known| known.session().as_ref() == Some(&id)) {
            break;
        }
        let old = HostNote::of(project, host, &id);
        next.clone_from(&old.follows);
        notes.push(old);
    }
    notes
}

/// Those of the open runs that these sessions left when they ended, and those that they hold.
fn runs_of(open: &Runs, from: &[HostNote]) -> Vec<RunId> {
    let mut runs = Vec::new();
    for run in open.open() {
        let (id, holder) = (&run.head.run_id, &run.session);
        if from.iter().any(|note| note.left.contains(id) || holder.is_some() && note.session() == *holder) {
            runs.push(id.clone());
        }
    }
    runs
}

/// Claims a run of the sessions `from` for the session `to`, unless another session has claimed it meanwhile, or it is
/// bound to the same process already.
fn hand_over(project: &OpenedProject, id: &RunId, from: &[HostNote], to: &SessionId) -> Result<()> {
    let run = project.runs().open(id)?;
    // A hook does not wait for a network; the session claims a shared run itself.
    if project.cx.options.is_offline && run.as_of().is_some() {
        return Ok(());
    }
    let caller = project.cx.caller(Some(to.clone()), None)?;
    let holder = project.holder_for(Some(to))?;
    transact(project, &*run, caller, project.cx.now(), |tx| {
        let last = last_session(tx)?;
        let was_theirs = last.is_some() && from.iter().any(|note| note.session() == last);
        let is_from = was_theirs && !tx.state.status().is_terminal();
        let is_held = tx.state.document().state.session.as_ref() == Some(to);
        // A claim by the process that holds it already would only lengthen the log.
        if !is_from || is_held && tx.holder_evidence()?.map(|holder| holder.to_string()) == holder {
            return Ok(());
        }
        let claim = Command::Claim(Claim { holder: holder.clone(), take_over: true });
        if let Decision::Commit(kind) = tx.decide(claim)? {
            tx.append(kind, None)?;
            tx.commit()?;
        }
        Ok(())
    })
}

/// The session that holds a run, or that held it last.
fn last_session(tx: &Transaction<'_>) -> Result<Option<SessionId>> {
    if let Some(session) = &tx.state.document().state.session {
        return Ok(Some(session.clone()));
    }
    let Some(history) = tx.history()? else { return Ok(None) };
    Ok(history.last_session().cloned())
}
