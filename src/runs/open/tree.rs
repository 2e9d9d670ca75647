//! The files of the project's checkout as they are now.

use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;

use crate::host::{
    AskedForFiles, EditedFiles, InputFiles, InputGlobs, KnownTree, TREE_CACHE_BEGINS, Tree, TreeChanges, TreeFiles,
    checkout_place, is_own_path, read_tree,
};
use crate::model::{IgnoreRules, NotCovered, TreeSnapshot};
use crate::runs::context::OpenedProject;
use crate::runs::open::own_files::{below_top, own_directories, own_of_others};
use crate::runs::user_state::git_state;
use crate::store::TreeCache;

/// How much of the names of changed paths is kept with evidence, in bytes.
pub(in crate::runs) const CHANGED_BYTES: usize = 64 << 10;
/// How many paths that are not covered are kept with evidence.
const NOT_COVERED: usize = 100;
/// Why the content of a path is not covered. Unlike the reasons that are [in the digest](Tree::not_covered), these may change.
const LEADS_OUT: &str = "a link to what is not covered";
const LEFT_OUT: &str = "in the commit, but not in the index, and ignored";

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

/// The files of a checkout as they were read, without how they differ from the commit.
#[derive(Debug)]
pub(in crate::runs) struct FilesRead {
    listed: TreeFiles,
    /// Whether git knows nothing of them.
    is_outside: bool,
    /// Where flow writes.
    own: Vec<String>,
    /// Those that only globs name.
    added: Vec<Vec<u8>>,
    pub(in crate::runs) files: Tree,
    /// The digest of all.
    pub(in crate::runs) sha256: String,
    /// By what git left files out; none outside of a repository.
    pub(in crate::runs) ignore_rules: Option<IgnoreRules>,
    unmatched: Vec<String>,
}

/// The files of the project's checkout, with those that the globs `inputs` name.
///
/// # Errors
/// Why they are not known, in one line.
pub(in crate::runs) fn present_tree(project: &OpenedProject, inputs: &[String]) -> Result<PresentTree, String> {
    let (cx, root) = (&project.cx, project.root());
    let own = own_directories(project);
    let (listed, changes) = match cx.git.tree_files(root, &own, || git_state(cx, root))? {
        Some((listed, changes)) => (Some(listed), changes),
        None => (None, TreeChanges::default()),
    };
    let asked_without = own.len();
    let read = FilesRead::of(project, inputs, own, || Ok(listed))?;
    // The other projects of the checkout were not known when git was asked.
    let is_compared = read.own.len() == asked_without;
    let snapshot = if is_compared { read.snapshot(project, changes)? } else { read.compared(project)? };
    Ok(PresentTree { top: read.listed.top, snapshot, files: read.files, unmatched: read.unmatched })
}

impl FilesRead {
    /// Reads the files of the project's checkout, and those that the globs `inputs` name.
    ///
    /// # Errors
    /// Why they are not known, in one line.
    pub(in crate::runs) fn now(project: &OpenedProject, inputs: &[String]) -> Result<Self, String> {
        let (cx, root) = (&project.cx, project.root());
        let own = own_directories(project);
        let asked = cx.git.ask_for_files(root, &own, || git_state(cx, root))?;
        Self::of(project, inputs, own, || asked.map(AskedForFiles::answer).transpose())
    }

    /// As [`Self::now`]. `list` gives what git lists, `None` outside of a repository; it may wait for git.
    fn of(
        project: &OpenedProject,
        inputs: &[String],
        mut own: Vec<String>,
        list: impl FnOnce() -> Result<Option<TreeFiles>, String>,
    ) -> Result<Self, String> {
        let globs = InputGlobs::parse(inputs)?;
        let which = if globs.is_empty() { TreeCache::Listed } else { TreeCache::WithInputs };
        // Read while git lists the files.
        let cache = project.tree_cache(which, TREE_CACHE_BEGINS);
        let known = KnownTree::of(&cache);
        let listed = list()?;
        let is_outside = listed.is_none();
        let mut listed = match listed {
            Some(listed) => listed,
            None if globs.is_empty() => return Err("the project is not in a git repository".to_owned()),
            None => TreeFiles::at(project.root().to_owned()),
        };
        own.extend(leave_out_others(project, &mut listed, &own));
        let (added, unmatched) = add_inputs(project, &mut listed, &globs)?;
        // Made right before the files are looked at. Without it nothing is cached.
        let began = project.file_system_time().ok();
        let (files, cache) = read_tree(&listed, &known, began);
        if let Some(cache) = cache {
            // A cache: without it the next look takes longer.
            let _ = project.keep_tree_cache(which, &cache);
        }
        let sha256 = files.sha256();
        let ignore_rules = (!is_outside).then(|| files.ignore_rules(&listed.rules, &own));
        Ok(Self { listed, is_outside, own, added, files, sha256, ignore_rules, unmatched })
    }

    /// Asks git how they differ from the commit.
    ///
    /// # Errors
    /// Why that is not known, in one line.
    pub(in crate::runs) fn compared(&self, project: &OpenedProject) -> Result<TreeSnapshot, String> {
        if self.is_outside {
            return self.snapshot(project, TreeChanges::default());
        }
        let (cx, root) = (&project.cx, project.root());
        let changes = cx.git.tree_changes(&self.listed, &self.own, || git_state(cx, root))?;
        self.snapshot(project, changes)
    }

    /// Which checkout on which machine this is.
    pub(in crate::runs) fn place(&self) -> String {
        checkout_place(&self.listed.top)
    }

    fn snapshot(&self, project: &OpenedProject, mut changes: TreeChanges) -> Result<TreeSnapshot, String> {
        changes.note_edited(self.edited_unseen(project, &changes)?);
        let mut not_covered = self.files.not_covered();
        let is_whole = not_covered.is_empty();
        let links = self.files.links_out(&self.listed.top, NOT_COVERED);
        not_covered.extend(links.into_iter().map(|path| NotCovered { path, why: LEADS_OUT.to_owned() }));
        let mut marked = Vec::new();
        for path in changes.paths {
            let mark = self.files.mark(&path);
            if self.files.leaves_out(&self.listed.top, &path) {
                not_covered.push(NotCovered { path: path.clone(), why: LEFT_OUT.to_owned() });
            }
            marked.push((path, mark));
        }
        for path in self.added.iter().chain(&self.listed.hidden) {
            let mark = self.files.mark(path);
            let path = String::from_utf8_lossy(path).into_owned();
            // A sparse checkout has not most of what its index hides.
            if !mark.is_empty() {
                marked.push((path, mark));
            }
        }
        not_covered.truncate(NOT_COVERED);
        let (changed, is_cut) = within_bytes(marked, |(path, mark)| path.len() + mark.len(), CHANGED_BYTES);
        Ok(TreeSnapshot {
            sha256: self.sha256.clone(),
            files: self.files.files(),
            commit: self.listed.commit.clone(),
            // Another checkout of the commit does not have what only globs name.
            clean: changes.is_clean && is_whole && self.added.is_empty(),
            needs_filter: changes.needs_filter && is_whole && self.added.is_empty(),
            place: self.place(),
            changed: changed.into_iter().collect(),
            more_changed: changes.more || is_cut,
            not_covered,
            ignore_rules: self.ignore_rules.clone(),
        })
    }

    /// The files whose edits git did not see.
    fn edited_unseen(&self, project: &OpenedProject, changes: &TreeChanges) -> Result<EditedFiles, String> {
        let (cx, top) = (&project.cx, &self.listed.top);
        let mut all = EditedFiles { paths: Vec::new(), only_need_filter: true };
        for index in &changes.indexed {
            let suspect = self.files.edited_unseen(index);
            if !suspect.is_empty() {
                let state = git_state(cx, project.root());
                let edited = cx.git.edited_files(top, index, &suspect, state.as_deref())?;
                all.paths.extend(edited.paths);
                all.only_need_filter &= edited.only_need_filter;
            }
        }
        Ok(all)
    }
}

/// Leaves out what flow writes for the other projects of the checkout, and returns where that is.
pub(in crate::runs) fn leave_out_others(
    project: &OpenedProject,
    listed: &mut TreeFiles,
    own: &[String],
) -> Vec<String> {
    let others = own_of_others(project, &listed.top, own, listed.files.iter().map(Vec::as_slice));
    if !others.is_empty() {
        listed.files.retain(|path| !is_own_path(path, &others));
        listed.hidden.retain(|path| !is_own_path(path, &others));
    }
    others
}

/// Adds the files that globs name and git does not list. Returns them, and the globs that name nothing.
fn add_inputs(
    project: &OpenedProject,
    listed: &mut TreeFiles,
    globs: &InputGlobs,
) -> Result<(Vec<Vec<u8>>, Vec<String>), String> {
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
    for path in unreadable {
        listed.unreadable.push(below.join(OsStr::from_bytes(&path)).into_os_string().into_vec());
    }
    listed.unreadable.sort();
    listed.unreadable.dedup();
    listed.files.extend(added.iter().cloned());
    listed.files.sort_unstable();
    Ok((added, unmatched))
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
