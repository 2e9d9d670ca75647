//! Holding a run: `resume --claim` and `--take-over`, and who counts as its holder.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::engine::{Caller, Claim, Command, Decision, NoTrail, Presence, decide};
use crate::host::{Holder, Liveness};
use crate::model::{Event, EventKind, SessionId, Timestamp};
use crate::runs::context::Flow;
use crate::runs::error::{Error, Result};
use crate::runs::load::{Loaded, for_writing};
use crate::store::{Project, RunDir};

/// How to take a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClaimRequest {
    /// Only when nobody else who may be alive holds it.
    Claim,
    /// In any case.
    TakeOver,
}

/// A run that was claimed.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ClaimReport {
    /// Who holds it now.
    pub session: Option<SessionId>,
    /// Under which epoch: records that carry an older one are refused.
    pub epoch: u64,
    /// Whether anything changed.
    pub changed: bool,
}

impl Flow {
    /// Gives `run` to the calling session.
    pub(crate) fn claim(
        &self,
        project: &Project,
        run: &RunDir,
        session: Option<SessionId>,
        how: ClaimRequest,
    ) -> Result<ClaimReport> {
        let caller = self.caller(session, None)?;
        if caller.session.is_none() && how == ClaimRequest::Claim {
            return Err(Error::Usage("--claim needs a session: name it with --session or FLOW_SESSION".to_owned()));
        }
        let now = self.clock.now();
        let mut loaded = for_writing(self, project, run, now)?;
        let caller = self.judge_holder(&loaded, caller)?;
        let holder = self.holder()?.map(|holder| holder.to_string());
        let command = Command::Claim(Claim { holder, take_over: how == ClaimRequest::TakeOver });
        let decision = loaded.decide(self, project, &caller, command)?;
        let changed = match decision {
            Decision::Commit(kind) => {
                loaded.commit(self, kind, None, now, Vec::new())?;
                true
            }
            Decision::Already => false,
        };
        let state = &loaded.state.document().state;
        Ok(ClaimReport { session: state.session.clone(), epoch: state.epoch, changed })
    }

    /// Completes `caller` with what is known about the run's holder. Costs nothing unless somebody else holds the run.
    pub(crate) fn judge_holder(&self, loaded: &Loaded<'_>, caller: Caller) -> Result<Caller> {
        let held = &loaded.state.document().state.session;
        if held.is_none() || caller.session.is_none() || *held == caller.session {
            return Ok(caller);
        }
        let holder = self.holder_evidence(loaded)?;
        let dead = holder.is_some_and(|holder| holder.liveness() == Liveness::Dead);
        Ok(Caller { holder_dead: dead, ..caller })
    }

    /// The process that holds the run, when that is known.
    pub(crate) fn holder_evidence(&self, loaded: &Loaded<'_>) -> Result<Option<Holder>> {
        let log = loaded.locked.read_log()?;
        let evidence = log.events().rev().find_map(holder_of).flatten();
        Ok(evidence.and_then(|text| text.parse().ok()))
    }

    /// Gives the run to the caller when its holder is known dead.
    pub(crate) fn replace_dead_holder(&self, loaded: &mut Loaded<'_>, caller: &Caller, now: Timestamp) -> Result<()> {
        if !caller.holder_dead || caller.session.is_none() {
            return Ok(());
        }
        let holder = self.holder()?.map(|holder| holder.to_string());
        let claim = Command::Claim(Claim { holder, take_over: false });
        if let Ok(Decision::Commit(kind)) = decide(&loaded.state, None, caller, claim, &NoTrail) {
            loaded.commit(self, kind, None, now, Vec::new())?;
        }
        Ok(())
    }

    /// Whether whoever holds a run keeps the caller from it. A caller without a session is the holder when it comes
    /// from the same process, and otherwise somebody else.
    pub(crate) fn presence(&self, held: Option<&crate::engine::Hold>, caller: &Caller) -> Result<Presence> {
        let Some(hold) = held else { return Ok(Presence::Free) };
        if caller.session.as_ref() == Some(&hold.session) {
            return Ok(Presence::Free);
        }
        let evidence = hold.holder.as_deref().and_then(|text| text.parse::<Holder>().ok());
        if caller.session.is_none() && evidence.is_some() && self.holder()? == evidence {
            return Ok(Presence::Free);
        }
        Ok(match liveness(hold.holder.as_deref()) {
            Liveness::Dead => Presence::HolderDead,
            Liveness::Alive | Liveness::Unknown => Presence::HeldByOther,
        })
    }
}

fn liveness(evidence: Option<&str>) -> Liveness {
    evidence.and_then(|text| text.parse::<Holder>().ok()).map_or(Liveness::Unknown, |holder| holder.liveness())
}

fn holder_of(event: &Event) -> Option<Option<String>> {
    match &event.kind {
        EventKind::RunStarted(started) => Some(started.holder.clone()),
        EventKind::RunClaimed(claim) => Some(claim.holder.clone()),
        // A later claim may be among what was lost.
        EventKind::LogRepaired(repair) if !repair.lost.is_empty() => Some(None),
        _ => None,
    }
}
