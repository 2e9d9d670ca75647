//! Whether what was seen of commands still holds, and proves what phases require.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use crate::catalog::NamedCommand;
use crate::engine::{
    Attempt, CheckoutFiles, EvidenceState, Freshness, History, ProofCheck, Trail, evidence_state, in_brackets,
};
use crate::host::is_own_path;
use crate::machine::Requirement;
use crate::model::{ActivityStatus, IgnoreRules, Number, TreeSnapshot};
use crate::runs::context::OpenedProject;
use crate::runs::error::Result;
use crate::runs::open::kept::{EvidenceSource, EvidenceSources, files_here};
use crate::runs::open::own_files::{own_directories, own_of_others};
use crate::runs::open::recap::for_deciding;
use crate::runs::open::reference::DIRECTORY;
use crate::runs::open::tree::FilesRead;
use crate::runs::user_state::git_state;
use crate::store::StoredRun;

/// How many sets of inputs are looked at: each costs a look at all files.
const INPUTS: usize = 20;

/// Whether each of these commands still holds. The files are looked at only if there is one, which takes long.
///
/// # Errors
/// Those of reading evidence.
pub(in crate::runs) fn evidence_states(
    project: &OpenedProject,
    run: &dyn StoredRun,
    ended: &[&Attempt],
) -> Result<BTreeMap<Number, EvidenceState>> {
    let mut states = BTreeMap::new();
    if ended.is_empty() {
        return Ok(states);
    }
    let only_inputs = project.cx.git.top(project.root()).is_none();
    let mut keepers = EvidenceSources::of(project, run, files_here)?;
    // Most commands name the same inputs, or none.
    let mut nows: BTreeMap<&[String], PresentCheckout<'_>> = BTreeMap::new();
    for attempt in ended {
        let Some(exec) = &attempt.exec else { continue };
        let gone = match keepers.get(attempt) {
            Some(keeper) => gone(keeper, attempt)?,
            None => attempt.kept.first().map(|kept| not_there(&kept.name)),
        };
        let state = match gone {
            Some(why) => EvidenceState::gone(why),
            None if nows.len() >= INPUTS && !nows.contains_key(exec.inputs.as_slice()) => {
                EvidenceState::unknown("the commands of the run name too many sets of inputs")
            }
            None => {
                let now = nows.entry(&exec.inputs);
                evidence_state(exec, now.or_insert_with(|| PresentCheckout::of(project, &exec.inputs)))
            }
        };
        states.insert(attempt.number, EvidenceState { only_inputs, ..state });
    }
    Ok(states)
}

/// What is known of the commands that a run's phases require, as of one look at the files.
#[derive(Debug)]
pub(in crate::runs) struct Proofs {
    /// Whether each command that was seen to pass holds.
    states: BTreeMap<Number, EvidenceState>,
    /// The commands that the project names; otherwise why they are not known.
    commands: std::result::Result<Vec<NamedCommand>, String>,
}

impl Proofs {
    /// Looks at the commands that the project names and that `run` ran last, and at the files. That takes long, so it is done
    /// while no run is locked.
    ///
    /// # Errors
    /// Those of reading a run.
    pub(in crate::runs) fn look(project: &OpenedProject, run: &dyn StoredRun) -> Result<Self> {
        let view = for_deciding(project, run)?;
        let mut latest = BTreeMap::new();
        for attempt in view.history.attempts() {
            if let Some(name) = attempt.names()
                && attempt.is_seen()
                && attempt.status == ActivityStatus::Passed
            {
                latest.insert((attempt.phase.as_ref(), name), attempt);
            }
        }
        let latest: Vec<&Attempt> = latest.into_values().collect();
        Ok(Self::of(project, evidence_states(project, run, &latest)?))
    }

    /// The proofs for commands that hold like this.
    pub(in crate::runs) fn of(project: &OpenedProject, states: BTreeMap<Number, EvidenceState>) -> Self {
        let commands = project.catalog().named_commands().map_err(|error| error.to_string());
        Self { states, commands }
    }

    /// Whether `attempt` proves `requirement`.
    pub(in crate::runs) fn judge(&self, requirement: &Requirement, attempt: &Attempt) -> ProofCheck {
        if let Some(why) = self.is_another_command(&requirement.exec, attempt) {
            return ProofCheck::DoesNot(why);
        }
        let Some(state) = self.states.get(&attempt.number) else { return ProofCheck::NotLooked };
        let holds = match state.freshness {
            Freshness::Fresh => true,
            Freshness::Gone => false,
            Freshness::Stale | Freshness::Unknown => !requirement.fresh,
        };
        if holds { ProofCheck::Holds } else { ProofCheck::DoesNot(in_words(attempt, state)) }
    }

    /// Why what was run is not what the project names so today.
    pub(in crate::runs) fn is_another_command(&self, name: &str, attempt: &Attempt) -> Option<String> {
        let exec = attempt.exec.as_ref()?;
        let commands = match &self.commands {
            Ok(commands) => commands,
            Err(why) => return Some(why.clone()),
        };
        let Some(named) = commands.iter().find(|one| one.name == name) else {
            return Some("the project no longer names such a command".to_owned());
        };
        if named.argv == exec.argv {
            return None;
        }
        Some(format!("{} {} ran another command than {name} is now", attempt.number, attempt.id))
    }
}

/// A run whose commands were looked at, for decisions before it is locked.
pub(in crate::runs) struct ProofTrail<'a> {
    pub(in crate::runs) history: &'a History,
    pub(in crate::runs) proofs: &'a Proofs,
}

impl Trail for ProofTrail<'_> {
    fn history(&self) -> Option<&History> {
        Some(self.history)
    }

    fn judge(&self, requirement: &Requirement, attempt: &Attempt) -> ProofCheck {
        self.proofs.judge(requirement, attempt)
    }
}

fn in_words(attempt: &Attempt, state: &EvidenceState) -> String {
    let why = state.why.as_deref().unwrap_or("it cannot be told whether it still holds");
    let changed = in_brackets(&state.changed, state.more_changed);
    format!("{} {} passed, and {why}{changed}", attempt.number, attempt.id)
}

fn not_there(name: &str) -> String {
    format!("{DIRECTORY}{name} is not there")
}

/// Which file of the record is not there or is another one, in words. In a run that machines share, files come when they are
/// read.
fn gone(keeper: EvidenceSource<'_>, attempt: &Attempt) -> Result<Option<String>> {
    let EvidenceSource { run, files } = keeper;
    for kept in &attempt.kept {
        let name = &kept.name;
        let same = match files.get(name) {
            Some(_) => match run.read_evidence(name, 0, run.evidence_limit())? {
                Some(part) => kept.is_of(&part.bytes) || kept.is_but_for_line_ends(&part.bytes),
                None => false,
            },
            None if run.as_of().is_some() => true,
            None => return Ok(Some(not_there(name))),
        };
        if !same {
            return Ok(Some(format!("{DIRECTORY}{name} is not what was recorded")));
        }
    }
    Ok(None)
}

/// In which paths two commits differ, if that is known.
type Differences = BTreeMap<(String, String), Option<Vec<String>>>;

/// The project's checkout as it is now.
struct PresentCheckout<'p> {
    project: &'p OpenedProject,
    files: std::result::Result<FilesRead, String>,
    /// How they differ from the commit; asked only where their digest is another one.
    snapshot: OnceCell<std::result::Result<TreeSnapshot, String>>,
    /// What was asked of commits already.
    between: RefCell<Differences>,
}

impl<'p> PresentCheckout<'p> {
    fn of(project: &'p OpenedProject, inputs: &[String]) -> Self {
        Self { project, files: FilesRead::now(project, inputs), snapshot: OnceCell::new(), between: RefCell::default() }
    }
}

impl CheckoutFiles for PresentCheckout<'_> {
    fn sha256(&self) -> std::result::Result<&str, String> {
        match &self.files {
            Ok(read) => Ok(&read.sha256),
            Err(why) => Err(why.clone()),
        }
    }

    fn snapshot(&self) -> std::result::Result<&TreeSnapshot, String> {
        let read = self.files.as_ref().map_err(Clone::clone)?;
        self.snapshot.get_or_init(|| read.compared(self.project)).as_ref().map_err(Clone::clone)
    }

    fn place(&self) -> Option<String> {
        Some(self.files.as_ref().ok()?.place())
    }

    fn ignore_rules(&self) -> Option<&IgnoreRules> {
        self.files.as_ref().ok()?.ignore_rules.as_ref()
    }

    fn mark(&self, path: &str) -> String {
        self.files.as_ref().map(|read| read.files.mark(path)).unwrap_or_default()
    }

    fn between(&self, one: &str, other: &str) -> Option<Vec<String>> {
        let key = (one.to_owned(), other.to_owned());
        if let Some(known) = self.between.borrow().get(&key) {
            return known.clone();
        }
        let (cx, root) = (&self.project.cx, self.project.root());
        let own = own_directories(self.project);
        let mut paths = cx.git.changed_between(root, [one, other], &own, || git_state(cx, root)).ok();
        if let (Some(paths), Some(top)) = (&mut paths, cx.git.top(root)) {
            let others = own_of_others(self.project, &top, &own, paths.iter().map(String::as_bytes));
            paths.retain(|path| !is_own_path(path.as_bytes(), &others));
        }
        self.between.borrow_mut().insert(key, paths.clone());
        paths
    }

    fn as_in(&self, commit: &str, paths: &[&str]) -> Option<BTreeSet<String>> {
        let (cx, root) = (&self.project.cx, self.project.root());
        cx.git.files_as_in(root, commit, paths, || git_state(cx, root)).ok()
    }
}
