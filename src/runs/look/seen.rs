//! What was seen of commands that flow ran, and whether it still holds.

use std::cell::RefCell;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::engine::{Attempt, Freshness, Holding, Now, holding};
use crate::model::{
    ActivityStatus, KeptEvidence, NotCovered, Number, RunId, SessionId, StateName, TreeSnapshot, quoted,
};
use crate::runs::context::{Context, OpenedProject};
use crate::runs::error::Result;
use crate::runs::open::reference::DIRECTORY;
use crate::runs::open::select::select_run;
use crate::runs::open::tree::{PresentTree, below_top, present_tree};
use crate::runs::open::view::for_reading;
use crate::runs::user_state::git_state;
use crate::store::StoredRun;

/// A command of which flow saw the end, and whether that still holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SeenEvidence {
    /// The number of the record of its end.
    pub number: Number,
    /// Its id.
    pub id: String,
    /// The phase.
    pub phase: Option<StateName>,
    /// How it ended.
    pub status: ActivityStatus,
    /// Its exit status.
    pub exit_code: Option<i64>,
    /// The command, as a line for a shell. What looks like a secret is masked.
    pub command: String,
    /// The directory in which it ran, relative to the top of the checkout.
    pub dir: String,
    /// Whether it is the last record of its id: an earlier one says nothing of how the work is now.
    pub latest: bool,
    /// Whether it still holds for the tracked and untracked files.
    #[serde(flatten)]
    pub holding: Holding,
    /// Files that are not covered.
    pub not_covered: Vec<NotCovered>,
}

/// Whose evidence to check.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct VerifyEvidenceRequest {
    /// The run; otherwise the session's or the only active one.
    #[serde(rename = "run_id")]
    pub run: Option<String>,
    /// The session of the caller.
    pub session: Option<SessionId>,
}

/// The report of `verify --evidence`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct VerifyEvidenceReport {
    /// The run.
    pub run_id: RunId,
    /// Whether all work that was seen to pass last is fresh.
    pub ok: bool,
    /// Every command of which the end was seen.
    pub evidence: Vec<SeenEvidence>,
    /// Work that is recorded as passed and was not seen.
    pub claimed: Vec<ClaimedWork>,
}

/// Work that is recorded as passed and was not seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ClaimedWork {
    /// The number of its record.
    pub number: Number,
    /// Its id.
    pub id: String,
    /// The phase.
    pub phase: Option<StateName>,
}

/// Says of each command that flow ran in a run whether what was seen still holds. Writes nothing but a cache.
///
/// # Errors
/// [`NoSuchRun`](crate::runs::Error::NoSuchRun), and those of reading a run.
pub fn verify_evidence(cx: &Context, request: &VerifyEvidenceRequest) -> Result<VerifyEvidenceReport> {
    let project = cx.project()?;
    let run = select_run(&project, request.run.as_deref(), request.session.clone())?;
    let view = for_reading(&project, &*run)?;
    let evidence = seen_evidence(&project, &*run, view.history.attempts())?;
    let mut claimed = Vec::new();
    for attempt in view.history.attempts() {
        if attempt.is_claimed() {
            claimed.push(ClaimedWork { number: attempt.number, id: attempt.id.clone(), phase: attempt.phase.clone() });
        }
    }
    let mut counts = evidence.iter().filter(|seen| seen.latest && seen.status == ActivityStatus::Passed);
    let ok = counts.all(|seen| seen.holding.freshness == Freshness::Fresh);
    Ok(VerifyEvidenceReport { run_id: run.id().clone(), ok, evidence, claimed })
}

/// The commands among these records of which the end was seen. The files are looked at only if there is one.
pub(in crate::runs) fn seen_evidence(
    project: &OpenedProject,
    run: &dyn StoredRun,
    attempts: &[Attempt],
) -> Result<Vec<SeenEvidence>> {
    let ended = attempts.iter().filter(|attempt| attempt.is_seen());
    let ended: Vec<&Attempt> = ended.collect();
    if ended.is_empty() {
        return Ok(Vec::new());
    }
    let kept: BTreeMap<String, u64> = run.evidence()?.into_iter().collect();
    let mut last = BTreeMap::new();
    for attempt in attempts {
        last.insert(attempt.id.as_str(), attempt.number);
    }
    let now = CheckoutNow::of(project);
    let mut found = Vec::new();
    for attempt in ended {
        let Some(exec) = &attempt.exec else { continue };
        let holding = match missing(run, attempt, &kept)? {
            Some(name) => Holding::gone(format!("{DIRECTORY}{name} is not what was recorded")),
            None => holding(exec, &now),
        };
        let words: Vec<_> = exec.argv.iter().map(|word| quoted(word)).collect();
        found.push(SeenEvidence {
            number: attempt.number,
            id: attempt.id.clone(),
            phase: attempt.phase.clone(),
            status: attempt.status,
            exit_code: attempt.exit_code,
            command: words.join(" "),
            dir: exec.dir.clone(),
            latest: last.get(attempt.id.as_str()) == Some(&attempt.number),
            holding,
            not_covered: exec.before.as_ref().map(|tree| tree.not_covered.clone()).unwrap_or_default(),
        });
    }
    Ok(found)
}

/// The file of the record that is not there or is another one. In a run that machines share, files come when they are read.
fn missing(run: &dyn StoredRun, attempt: &Attempt, here: &BTreeMap<String, u64>) -> Result<Option<String>> {
    for KeptEvidence { name, sha256, bytes } in &attempt.kept {
        let same = match here.get(name) {
            Some(len) if len == bytes => match run.read_evidence(name, 0, run.evidence_limit())? {
                Some(part) => KeptEvidence::of(name, &part.bytes).sha256 == *sha256,
                None => false,
            },
            Some(_) => false,
            None => run.as_of().is_some(),
        };
        if !same {
            return Ok(Some(name.clone()));
        }
    }
    Ok(None)
}

/// In which paths two commits differ, if that is known.
type Differences = BTreeMap<(String, String), Option<Vec<String>>>;

/// The project's checkout as it is now.
struct CheckoutNow<'p> {
    project: &'p OpenedProject,
    tree: std::result::Result<PresentTree, String>,
    /// What was asked of commits already.
    between: RefCell<Differences>,
}

impl<'p> CheckoutNow<'p> {
    fn of(project: &'p OpenedProject) -> Self {
        Self { project, tree: present_tree(project), between: RefCell::default() }
    }
}

impl Now for CheckoutNow<'_> {
    fn snapshot(&self) -> std::result::Result<&TreeSnapshot, String> {
        self.tree.as_ref().map(|tree| &tree.snapshot).map_err(Clone::clone)
    }

    fn mark(&self, path: &str) -> String {
        self.tree.as_ref().map(|tree| tree.files.mark(path)).unwrap_or_default()
    }

    fn between(&self, one: &str, other: &str) -> Option<Vec<String>> {
        let key = (one.to_owned(), other.to_owned());
        if let Some(known) = self.between.borrow().get(&key) {
            return known.clone();
        }
        let (cx, root) = (&self.project.cx, self.project.root());
        let own = below_top(cx, root).join(".flow/").to_string_lossy().into_owned();
        let paths = cx.git.changed_between(root, [one, other], &[own], || git_state(cx, root)).ok();
        self.between.borrow_mut().insert(key, paths.clone());
        paths
    }
}
