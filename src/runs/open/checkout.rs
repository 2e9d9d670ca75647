//! What git did to a run: restored an older log, joined two histories, or removed the files.

use crate::codec::{LINE_START, RunText};
use crate::engine::{Fault, Reconciled, joined};
use crate::host::GitRef;
use crate::model::{Help, Kind, Problem, RunId, Seq, Suggestion, first_few, quoted};
use crate::runs::alternative::Alternative;
use crate::runs::context::OpenedProject;
use crate::runs::error::{Error, Result, ends_at};
use crate::store::{Document, LogScan, RunParts, StoredRun};

/// Refuses a log with two joined histories: a record on top of one of them would hide the other.
pub(crate) fn refuse_joined(run: &RunId, log: &LogScan) -> Result<()> {
    match joined(log) {
        Some(what) => Err(Error::Joined { run: run.clone(), what }),
        None => Ok(()),
    }
}

/// The error for a run whose log was put back to an older version.
pub(crate) fn rewound(project: &OpenedProject, run: &dyn StoredRun, last: Seq, noted: Seq) -> Error {
    let id = run.id();
    let rest = match places_with(project, run, noted).as_slice() {
        [] => Help::from("git has no version with the rest here"),
        places => {
            let places: Vec<_> = places.iter().map(GitRef::place).collect();
            Help::from(format!("the rest is {} (", first_few(&places, 3)))
                + Suggestion::flow("resume").value(id)
                + " says how to get it)"
        }
    };
    let message = if noted > last {
        format!("the log of run {id} was put back: it {}, and event {noted} was written", ends_at(last))
    } else {
        format!("event {noted} is missing from the log of run {id}, and git has it")
    };
    Problem::new(Kind::NeedsHuman, "log_rewound", message)
        .help(
            rest + "; go on with it, or go on from here without it: "
                + Suggestion::flow("doctor").value(id).flag("repair")
                + " notes the gap. Nothing was written",
        )
        .into()
}

/// Whether git may have removed a run's files from this checkout. Without asking git: whether it has them, [`elsewhere`] finds.
pub(crate) fn may_be_elsewhere(project: &OpenedProject, run: &dyn StoredRun) -> bool {
    match run.parts() {
        RunParts::Away => true,
        RunParts::Emptied => project.cx.git.top(project.root()).is_some(),
        RunParts::Whole | RunParts::WithoutLog | RunParts::Nothing => false,
    }
}

/// Whether git removed a run's files from this checkout.
pub(crate) fn is_elsewhere(project: &OpenedProject, run: &dyn StoredRun) -> bool {
    match run.parts() {
        RunParts::Away => true,
        RunParts::Emptied => !places_with(project, run, Seq(1)).is_empty(),
        RunParts::Whole | RunParts::WithoutLog | RunParts::Nothing => false,
    }
}

/// The error for a run whose files git [may have removed](may_be_elsewhere) from this checkout.
pub(crate) fn elsewhere(project: &OpenedProject, run: &dyn StoredRun) -> Error {
    if has_moved(project, run) {
        return moved(run);
    }
    // A commit in which it is pruned: git leaves what it ignores, such as the lock.
    match project.runs().pruned(run.id()) {
        Ok(Some(pruned)) => return pruned.refusal().into(),
        Ok(None) => {}
        Err(error) => return error.into(),
    }
    // A sparse checkout leaves the files out although this very branch has them.
    if let Err(left_out) = project.cx.refuse_left_out(project.root(), &format!(".flow/runs/{}", run.id())) {
        return left_out;
    }
    if let Some(removed) = project.cx.removed_run(project.root(), run.id(), "") {
        return removed;
    }
    // Another branch may have an older version, which lacks what was written here.
    let mut places = places_with(project, run, run.noted().max(Seq(1)));
    if places.is_empty() {
        places = places_with(project, run, Seq(1));
    }
    if places.is_empty() && run.parts() == RunParts::Emptied {
        return empty(project, run);
    }
    Error::Elsewhere { run: run.id().clone(), places }
}

/// The error for an id of which nothing is in this checkout, if git has its run here, on a branch or in the stash.
pub(crate) fn in_git(project: &OpenedProject, id: &RunId) -> Option<Error> {
    if let Some(removed) = project.cx.removed_run(project.root(), id, "") {
        return Some(removed);
    }
    let log = format!(".flow/runs/{id}/events.jsonl");
    let places = project.cx.git.refs_with(project.root(), log.as_ref(), &begin_of_line(Seq(1)));
    if places.is_empty() { None } else { Some(Error::Elsewhere { run: id.clone(), places }) }
}

/// Whether a run of this checkout went into the store that machines share since it was opened.
pub(crate) fn has_moved(project: &OpenedProject, run: &dyn StoredRun) -> bool {
    let is_copy = run.as_of().is_some();
    !is_copy && project.runs().shared().has(run.id()) && matches!(run.last(), Ok(Seq(0)))
}

/// The error for a run that [`has_moved`].
fn moved(run: &dyn StoredRun) -> Error {
    let message = format!("run {} went into the store that machines share since it was opened", run.id());
    Problem::new(Kind::Held, "log_replaced", message).help("try again; nothing was written").into()
}

/// The error for a run whose files are nowhere.
pub(crate) fn empty(project: &OpenedProject, run: &dyn StoredRun) -> Error {
    if has_moved(project, run) {
        return moved(run);
    }
    let at = run.address(Document::Run);
    let message = format!("{at} has neither a run.yaml nor a log that could rebuild it");
    // git never has copies.
    let help = match project.runs().shared().copies_with(run.id()) {
        Some(_) => Suggestion::flow("remote fetch").value(run.id()) + " brings what is shared of it",
        None => "bring run.yaml or events.jsonl back with git, or move the directory away".into(),
    };
    Problem::new(Kind::Damaged, "run_empty", message).help(help).into()
}

/// The places where git has a log that is not in this checkout, although `run.yaml` shows the event `shown`. If there
/// are any, the log is not lost.
pub(crate) fn places_of_log(project: &OpenedProject, run: &dyn StoredRun, shown: Option<Seq>) -> Vec<GitRef> {
    match shown {
        Some(shown) if shown > Seq(0) => places_with(project, run, shown),
        _ => Vec::new(),
    }
}

/// Refuses to begin another log where git has the one that is not in this checkout.
pub(crate) fn refuse_log_elsewhere(project: &OpenedProject, run: &dyn StoredRun) -> Result<()> {
    project.cx.refuse_left_out(project.root(), &run.address(Document::Log).from(project.root()))?;
    let shown = run.text()?.as_deref().and_then(RunText::shown_in);
    if places_of_log(project, run, shown).is_empty() {
        return Ok(());
    }
    Err(rewound(project, run, Seq(0), shown.unwrap_or_default()))
}

/// Refuses to write on top of less than git has: without the `run.yaml` that a sparse checkout leaves out, or into a log that
/// lacks events.
pub(crate) fn refuse_what_git_has(
    project: &OpenedProject,
    run: &dyn StoredRun,
    found: &Reconciled,
    last: Seq,
) -> Result<()> {
    if found.lacks_text() {
        project.cx.refuse_left_out(project.root(), &run.address(Document::Text).from(project.root()))?;
    }
    let lost = found.faults.iter().find_map(|fault| match fault {
        Fault::Gap(lost) | Fault::EndLost(lost) => Some(lost.to),
        _ => None,
    });
    match lost {
        Some(lost) if !places_of_lost(project, run, &found.faults).is_empty() => Err(rewound(project, run, last, lost)),
        _ => Ok(()),
    }
}

/// The places where git has events that the log lost. If there are any, these are not lost.
pub(crate) fn places_of_lost(project: &OpenedProject, run: &dyn StoredRun, faults: &[Fault]) -> Vec<GitRef> {
    let mut places = Vec::new();
    for fault in faults {
        let (Fault::Gap(lost) | Fault::EndLost(lost)) = fault else { continue };
        let with_end = places_with(project, run, lost.to);
        // Where something has the whole, a part of it is not the rest.
        let log = run.address(Document::Log).from(project.root());
        let (git, begin) = (&project.cx.git, begin_of_line(lost.from));
        let has_whole = with_end.iter().any(|place| git.has_text(project.root(), place, log.as_ref(), &begin));
        let with_begin = if has_whole { Vec::new() } else { places_with(project, run, lost.from) };
        for place in with_end.into_iter().chain(with_begin) {
            if !places.contains(&place) {
                places.push(place);
            }
        }
    }
    places
}

/// The places where git has a version of a run's log with the event `seq`.
pub(crate) fn places_with(project: &OpenedProject, run: &dyn StoredRun, seq: Seq) -> Vec<GitRef> {
    let (git, root, begin) = (&project.cx.git, project.root(), begin_of_line(seq));
    let log = run.address(Document::Log).from(root);
    // A commit may have the damaged line itself, in which git finds the beginning of the event.
    let has_event = |place: &GitRef| {
        let Some(version) = git.version(root, place, &log) else { return false };
        LogScan::parse(&version).events().any(|event| event.seq == seq) || git.is_cut(&version)
    };
    let mut places = git.refs_with(root, log.as_ref(), &begin);
    places.retain(has_event);
    if places.is_empty() {
        places.extend(git.commit_with(root, log.as_ref(), &begin).filter(has_event));
    }
    places
}

/// The last event in the log of the commit that is checked out, where that log goes on behind `last`, with which it ends here.
/// Only for a run with nothing noted in `.lock`: no writer of this clone knows how far its log went.
pub(crate) fn committed_beyond(project: &OpenedProject, run: &dyn StoredRun, noted: Seq, last: Seq) -> Option<Seq> {
    if noted > Seq(0) || last == Seq(0) {
        return None;
    }
    let log = run.address(Document::Log).from(project.root());
    // What git restores or merges is in its index, which is read without starting git.
    if !project.cx.git.may_track(project.root(), log.as_ref()) {
        return None;
    }
    // The search is quick, and finds nothing in almost every clone; only then the whole log is read.
    if !project.cx.git.has_committed(project.root(), log.as_ref(), &begin_of_line(last.next())) {
        return None;
    }
    let committed = project.cx.git.committed(project.root(), &log)?;
    Some(LogScan::parse(&committed).last_seq()).filter(|end| *end > last)
}

/// How the line of an event begins: every sealed one begins like this, so git can search for it without reading it.
fn begin_of_line(seq: Seq) -> String {
    format!("{LINE_START}{seq},")
}

/// How to get what is at these places of a run whose log here ends at the event `last`.
pub(crate) fn ways_back(
    project: &OpenedProject,
    run: &dyn StoredRun,
    places: &[GitRef],
    last: Seq,
) -> Vec<Alternative> {
    let (git, root) = (&project.cx.git, project.root());
    let now = git.branch(root);
    let log = run.address(Document::Log).from(root);
    let run = run.address(Document::Run).from(root);
    let skipped = if git.is_skipped(root, &log) { " --ignore-skip-worktree-bits" } else { "" };
    // `--staged` restores the files even if their removal was staged.
    let restore =
        |source: &str| format!("restore --source={} --staged --worktree{skipped} -- {}", quoted(source), quoted(&run));
    let mut ways = Vec::new();
    for place in places {
        if last > Seq(0) && !git.has_text(root, place, log.as_ref(), &begin_of_line(last)) {
            ways.push(beside(project, &log, place));
            continue;
        }
        let (when, command) = match place {
            GitRef::Stash => ("the rest is wanted, which is in the stash".to_owned(), "stash pop".to_owned()),
            GitRef::Branch(branch) if Some(branch) == now.as_ref() => {
                (format!("the rest is wanted as `{branch}` has it"), restore("HEAD"))
            }
            GitRef::Commit(id) => (format!("the rest is wanted as {place} has it"), restore(id)),
            // It cannot be checked out twice.
            GitRef::Branch(branch) if git.is_in_other_worktree(root, branch) => {
                (format!("the rest is wanted, which branch `{branch}` has"), format!("merge {}", quoted(branch)))
            }
            GitRef::Branch(branch) => {
                (format!("the rest is wanted, which branch `{branch}` has"), format!("switch {}", quoted(branch)))
            }
            // What is merged already, a merge does not bring back.
            GitRef::Remote(name) | GitRef::Tag(name) if git.is_merged(root, name) => {
                (format!("the rest is wanted as {place} has it"), restore(name))
            }
            // Not `git switch`: a local branch with the same name may not have it.
            GitRef::Remote(name) | GitRef::Tag(name) => {
                (format!("the rest is wanted, which {place} has"), format!("merge {}", quoted(name)))
            }
        };
        ways.push(Alternative::new(when, Suggestion::Shell(project.cx.git_command(root, &command))));
    }
    ways
}

/// How to get the events of a version that lacks some which are here: in the place of this log it would take those away. Events
/// that are in a log twice count once, and the next repair puts them in order.
fn beside(project: &OpenedProject, log: &str, place: &GitRef) -> Alternative {
    let root = project.root();
    let show = project.cx.git_command(root, &format!("show {}", quoted(&format!("{}:./{log}", place.revision()))));
    let file = match &project.cx.env.cwd {
        Some(cwd) if cwd == root => log.to_owned(),
        _ => root.join(log).to_string_lossy().into_owned(),
    };
    let when = format!("the missing events that {place} has are wanted beside what is here");
    Alternative::new(when, Suggestion::Shell(format!("{show} >> {}", quoted(&file))))
}
