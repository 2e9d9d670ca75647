//! The decision journal: notes the beginning and the end of a run in the repository's record of decisions.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::codec::{Artifact, JournalHead, append_artifact, coerce, has_artifact_of_run};
use crate::disk::{DocumentError, DocumentFault, DocumentPlace, Errno, Guard, Links, update_document};
use crate::model::{RunDocument, Timestamp, issue_file_part, limits};
use crate::runs::context::OpenedProject;

/// How long to wait for another writer of the journal.
const WAIT: Duration = Duration::from_secs(2);

/// Why a path cannot be a journal. The path may come from a cloned `run.yaml`, so it must not lead to other files.
pub(crate) fn refuse_path(journal: &Path) -> Option<&'static str> {
    for part in journal.components() {
        let part = part.as_os_str();
        // Some file systems take `.GIT` for `.git`.
        if part.eq_ignore_ascii_case(".git") || part.eq_ignore_ascii_case(".flow") {
            return Some("a journal cannot be inside .git or .flow");
        }
    }
    if !journal.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md")) {
        return Some("a journal is a Markdown file and ends in .md");
    }
    None
}

/// The directory of the journals of issues.
const DECISIONS: &str = ".decisions";

/// Whether the project keeps a journal of each issue: it has the directory, or its configuration asks for it.
pub(crate) fn is_kept(project: &OpenedProject) -> bool {
    let (disk, root) = (&project.cx.disk, project.root());
    // Anything of that name counts, even what cannot be looked at: what is wrong with it is then reported.
    disk.look(&root.join(DECISIONS), Links::Refuse) != Err(Errno::NOENT)
        || !project.cx.git.left_out(root, &format!("{DECISIONS}/**")).is_ok_and(|files| files.is_empty())
        || project.catalog().keeps_journals().unwrap_or_default()
}

/// The journal of a run: the one in its context, otherwise that of its issue if the project keeps journals.
fn journal_path(project: &OpenedProject, run: &RunDocument) -> Option<PathBuf> {
    if let Some(journal) = run.context_text("journal") {
        return Some(PathBuf::from(journal));
    }
    let issue = run.issue()?;
    if is_kept(project) { Some(PathBuf::from(of_issue(&issue.key(None)))) } else { None }
}

/// The journal of the issue with this key.
pub(crate) fn of_issue(key: &str) -> String {
    format!("{DECISIONS}/issue-{}.md", issue_file_part(key))
}

/// Appends a `workflow-run` artifact. A failure is only a warning, because the run itself is recorded.
pub(crate) fn note(project: &OpenedProject, run: &RunDocument, now: Timestamp) -> Option<String> {
    append(project, run, now, false)
}

/// As [`note`], for a run that another program began, unless that has noted it.
pub(crate) fn note_first(project: &OpenedProject, run: &RunDocument, now: Timestamp) -> Option<String> {
    append(project, run, now, true)
}

fn append(project: &OpenedProject, run: &RunDocument, now: Timestamp, only_first: bool) -> Option<String> {
    let journal = journal_path(project, run)?;
    let head = JournalHead {
        issue: run.issue().map(|issue| issue.to_value()),
        created: now.to_string(),
        branch: run.context_text("branch").map(str::to_owned),
    };
    let artifact = Artifact {
        kind: "workflow-run".to_owned(),
        captured_at: now.to_string(),
        fields: vec![
            ("workflow".to_owned(), coerce(run.workflow.as_str())),
            ("run_id".to_owned(), coerce(run.id.as_str())),
            ("status".to_owned(), coerce(run.state.status.as_str())),
        ],
    };
    // It may be named by its absolute path in the project.
    let relative = journal.strip_prefix(project.root()).unwrap_or(&journal).to_owned();
    if let Some(why) = refuse_path(&relative) {
        return Some(format!("the journal {} was not updated: {why}", relative.display()));
    }
    let place = project.cx.document(project.root(), &relative, limits::JOURNAL_BYTES, WAIT);
    // The original scripts take this lock, too.
    let place = DocumentPlace { guard: Guard::LockFile, ..place };
    let written = update_document(&place, &mut |text| match text {
        Some(text) if only_first && has_artifact_of_run(text, run.id.as_str()) => Ok(text.to_owned()),
        text => append_artifact(text, &head, &artifact),
    });
    let error = written.err()?;
    let mut sentence = format!("the journal {} was not updated: {error}", relative.display());
    let mut cause = std::error::Error::source(&error);
    while let Some(next) = cause {
        sentence.push_str(&format!(": {next}"));
        cause = next.source();
    }
    if let DocumentError::Fault(DocumentFault::Elsewhere(problem)) = &error
        && problem.code == "left_out"
    {
        let path = relative.to_string_lossy();
        let add = project.cx.adds(project.root(), &path, true);
        sentence.push_str(&format!("; `{add}` brings it for what is noted from then on"));
    }
    Some(sentence)
}
