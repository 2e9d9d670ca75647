//! The files of the project's checkout as they are now.

use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use crate::host::{InputFiles, InputGlobs, Tree, TreeFiles, checkout_place, read_tree};
use crate::model::TreeSnapshot;
use crate::runs::context::{Context, OpenedProject};
use crate::runs::user_state::git_state;
use crate::store::TreeCache;

/// How much of the names of changed paths is kept with evidence, in bytes.
pub(in crate::runs) const CHANGED_BYTES: usize = 64 << 10;
/// How many paths that are not covered are kept with evidence.
const NOT_COVERED: usize = 100;

/// The files of a checkout as they are now.
#[derive(Debug, Clone)]
pub(in crate::runs) struct PresentTree {
    /// The top of the checkout.
    pub(in crate::runs) top: PathBuf,
    pub(in crate::runs) snapshot: TreeSnapshot,
    /// Every file.
    pub(in crate::runs) files: Tree,
    /// The globs that name nothing.
    pub(in crate::runs) unmatched: Vec<String>,
}

/// What git lists of the project's checkout; none outside of a repository.
pub(in crate::runs) type ListedFiles = Result<Option<TreeFiles>, String>;

/// Asks git for the files of the project's checkout.
pub(in crate::runs) fn listed_files(project: &OpenedProject) -> ListedFiles {
    let (cx, root) = (&project.cx, project.root());
    cx.git.tree_files(root, &own_directories(project), || git_state(cx, root))
}

/// The files of the project's checkout, with those that the globs `inputs` name.
///
/// # Errors
/// Why they are not known, in one line.
pub(in crate::runs) fn present_tree(project: &OpenedProject, inputs: &[String]) -> Result<PresentTree, String> {
    tree_of(project, listed_files(project), inputs)
}

/// As [`present_tree`], of files that git listed just now.
pub(in crate::runs) fn tree_of(
    project: &OpenedProject,
    listed: ListedFiles,
    inputs: &[String],
) -> Result<PresentTree, String> {
    let globs = InputGlobs::parse(inputs)?;
    let mut listed = match listed? {
        Some(listed) => listed,
        None if globs.is_empty() => return Err("the project is not in a git repository".to_owned()),
        None => TreeFiles { top: project.root().to_owned(), ..TreeFiles::default() },
    };
    let unmatched = add_inputs(project, &mut listed, &globs)?;
    // Made right before the files are looked at. Without it nothing is cached.
    let began = project.file_system_time().ok();
    let which = if globs.is_empty() { TreeCache::Listed } else { TreeCache::WithInputs };
    let (files, cache) = read_tree(&listed, &project.tree_cache(which), began);
    if let Some(cache) = cache {
        // A cache: without it the next look takes longer.
        let _ = project.keep_tree_cache(which, &cache);
    }
    let snapshot = snapshot(&listed, &files);
    Ok(PresentTree { top: listed.top, snapshot, files, unmatched })
}

/// Adds the files that globs name and git does not list. Returns the globs that name nothing.
fn add_inputs(project: &OpenedProject, listed: &mut TreeFiles, globs: &InputGlobs) -> Result<Vec<String>, String> {
    let root = project.root();
    let InputFiles { files, unreadable, unmatched } = globs.files(root)?;
    let below = below_top(&project.cx, root);
    let mut added = Vec::new();
    for path in files {
        let whole = below.join(OsStr::from_bytes(&path)).into_os_string().into_vec();
        if listed.files.binary_search(&whole).is_err() {
            added.push(whole);
        }
    }
    // Another checkout of the commit does not have them.
    listed.is_clean &= added.is_empty();
    for path in &added {
        listed.changed.push(String::from_utf8_lossy(path).into_owned());
    }
    for path in unreadable {
        listed.unreadable.push(below.join(OsStr::from_bytes(&path)).into_os_string().into_vec());
    }
    listed.unreadable.sort();
    listed.unreadable.dedup();
    listed.files.append(&mut added);
    listed.files.sort_unstable();
    Ok(unmatched)
}

fn snapshot(listed: &TreeFiles, files: &Tree) -> TreeSnapshot {
    let mut not_covered = files.not_covered();
    let is_whole = not_covered.is_empty();
    not_covered.truncate(NOT_COVERED);
    let marked = listed.changed.iter().map(|path| (path.clone(), files.mark(path)));
    let (changed, is_cut) = within_bytes(marked, |(path, mark)| path.len() + mark.len(), CHANGED_BYTES);
    TreeSnapshot {
        sha256: files.sha256(),
        files: files.files(),
        commit: listed.commit.clone(),
        clean: listed.is_clean && is_whole,
        place: checkout_place(&listed.top),
        changed: changed.into_iter().collect(),
        more_changed: listed.more_changed || is_cut,
        not_covered,
    }
}

/// The first items, up to `most` bytes of them, and whether others are left out.
pub(in crate::runs) fn within_bytes<T>(
    items: impl IntoIterator<Item = T>,
    size: impl Fn(&T) -> usize,
    most: usize,
) -> (Vec<T>, bool) {
    let (mut kept, mut left) = (Vec::new(), most);
    for item in items {
        let Some(rest) = left.checked_sub(size(&item)) else { return (kept, true) };
        left = rest;
        kept.push(item);
    }
    (kept, false)
}

/// The project's directory, relative to the top of the checkout.
pub(in crate::runs) fn below_top(cx: &Context, root: &Path) -> PathBuf {
    match cx.git.top(root) {
        Some(top) => root.strip_prefix(top).map(Path::to_owned).unwrap_or_default(),
        None => PathBuf::new(),
    }
}

/// The directories in which flow writes, as paths from the top of the checkout of `project`. A journal of decisions is about
/// the work: that flow notes in it how a run ended must not make stale what was seen in that run.
pub(in crate::runs) fn own_directories(project: &OpenedProject) -> Vec<String> {
    let root = project.root();
    let below = below_top(&project.cx, root);
    // `FLOW_DIR` may give it any name.
    let flow = project.path().file_name().unwrap_or_default();
    let mut own = Vec::new();
    for name in [flow, OsStr::new(".decisions")] {
        own.push(format!("{}/", below.join(name).to_string_lossy()));
    }
    own
}
