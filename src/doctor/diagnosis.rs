//! The findings of one run, and the log that a repair would put in place of its log.

use crate::codec::RunText;
use crate::doctor::facts::{FileState, RunFacts};
use crate::doctor::finding::{Findings, RepairStep};
use crate::doctor::project::in_words;
use crate::doctor::rewrite::{Basis, Rewrite};
use crate::doctor::{activities, document, log, tree};
use crate::engine::{Fault, RunState, pinned};
use crate::host::GitRef;
use crate::machine::Machine;
use crate::model::{Help, Timestamp};
use crate::runs::OpenedProject;
use crate::runs::open::checkout::{committed_beyond, is_elsewhere, places_of_log, places_of_lost, places_with};
use crate::runs::open::fault::{has_other_run, put_back};
use crate::runs::open::pinned::catalog_machine;
use crate::store::local::RunDir;
use crate::store::{Document, Noted, StoredRun as _};

/// The findings of a run, and the log that a repair would put in place of its log.
pub(super) struct Diagnosis {
    pub(super) findings: Findings,
    pub(super) rewrite: Option<Rewrite>,
}

/// Examines a run. `noted` are the counters in its lock, if the caller holds it; `named` is true if the request names
/// the run.
pub(super) fn diagnose(
    project: &OpenedProject,
    run: &RunDir,
    noted: Option<Noted>,
    named: bool,
    now: Timestamp,
) -> Diagnosis {
    let mut findings = Findings::of_run(run.id());
    if let Err(left_out) = project.cx.refuse_left_out(project.root(), &format!(".flow/runs/{}", run.id())) {
        // What git has is not lost, and nothing may take its place.
        findings.add("left_out", run.path(), in_words(&left_out));
        return Diagnosis { findings, rewrite: None };
    }
    if is_elsewhere(project, run) {
        let message =
            "the files of the run are not in this checkout: another branch or a stash has them, or they were removed";
        findings.add("run_elsewhere", run.path(), message);
        return Diagnosis { findings, rewrite: None };
    }
    let mut facts = RunFacts::gather(&project.cx.disk, run);
    facts.is_copy = project.runs().shared().has(run.id());
    // To ask git about each of thousands of runs of a clone would take minutes.
    if named {
        facts.committed = committed_beyond(project, run, facts.noted().seq, facts.scan.last_seq());
    }
    let is_from_git = || {
        let log = run.address(Document::Log).from(project.root());
        let (git, root) = (&project.cx.git, project.root());
        git.top(root).is_some() && git.may_track(root, log.as_ref())
    };
    tree::check(&facts, project.trust(), is_from_git, &mut findings);
    let (reconciled, read) = facts.reconcile();
    if let Some(Fault::OtherRun(of)) = reconciled.faults.first() {
        // Every file is that of the other run, and which one people want to keep is theirs to say.
        let message = Help::from(format!("the directory{}; ", has_other_run(of))) + put_back(project, of);
        findings.add("run_misplaced", run.path(), message);
        return Diagnosis { findings, rewrite: None };
    }
    let shown = document::check(&facts, &reconciled, read, &mut findings);
    document::leave_unless_better(&facts, &mut findings);
    let rewrite = rewrite(project, &facts, shown.as_ref(), noted, now);
    let places = match (&facts.log, &shown) {
        (FileState::Missing, Some(text)) => places_of_log(project, run, text.document().state.last_seq),
        _ => places_of_lost(project, run, &reconciled.faults),
    };
    // What git keeps is not lost, so only a request that names the run goes on without it.
    let is_kept = !places.is_empty();
    let may_mend = rewrite.is_some() && (named || !is_kept);
    log::check(&facts, &reconciled, log::LogCheck { may_mend, named, is_kept }, &mut findings);
    // Only the repair of a log salvages records from activity files; an activity that a sound log does not have is a
    // stray file.
    let is_due = findings.list.iter().any(|finding| finding.repair == Some(RepairStep::RewriteLog));
    let rewrite = if is_due { rewrite } else { None };
    activities::check(&facts, rewrite.as_ref(), || longer_log(project, run, &facts, named), &mut findings);
    if rewrite.is_none() {
        let is_refused =
            reconciled.faults.iter().any(|fault| matches!(fault, Fault::Rewound { .. } | Fault::Joined(_)));
        // `run.yaml` cannot be rebuilt without a log that begins the run.
        let has_no_start = shown.is_none() && RunState::fold(facts.scan.events()).is_none();
        for finding in &mut findings.list {
            finding.repair.take_if(|repair| match repair {
                RepairStep::Shelve(_) | RepairStep::OwnLog | RepairStep::RewriteLog => false,
                RepairStep::Rebuild | RepairStep::Recover => is_refused || is_kept || has_no_start,
                // The recovery of the next writer comes before these.
                _ => is_refused || is_kept,
            });
        }
    }
    if facts.is_partial() {
        // A file that could not be read may be sound: a repair must neither replace nor move it.
        for finding in &mut findings.list {
            finding.repair = None;
        }
        findings.unread.push(facts.dir.clone());
    }
    Diagnosis { findings, rewrite }
}

/// Where git has a longer log of a run.
fn longer_log(project: &OpenedProject, run: &RunDir, facts: &RunFacts, named: bool) -> Option<GitRef> {
    // Who names the run wants what is here to be the run.
    if named {
        return None;
    }
    places_with(project, run, facts.scan.last_seq().next()).into_iter().next()
}

fn rewrite(
    project: &OpenedProject,
    facts: &RunFacts,
    shown: Option<&RunText>,
    noted: Option<Noted>,
    now: Timestamp,
) -> Option<Rewrite> {
    // A run that flow never wrote has no log to repair.
    if facts.scan.lines.is_empty() && shown.is_none_or(|text| text.document().state.last_seq.is_none()) {
        return None;
    }
    let pinned = pinned(facts.scan.events(), &mut Vec::new());
    let machine = match (pinned, shown) {
        (None, Some(text)) => catalog_machine(project, text.document(), &mut Vec::new()),
        _ => None,
    };
    let known = facts.noted();
    let noted = noted.map_or(known, |noted| Noted { seq: noted.seq.max(known.seq), ..noted });
    let machine = machine.as_ref().map(Machine::to_value);
    Rewrite::plan(facts, &Basis { shown, noted, machine, now })
}
