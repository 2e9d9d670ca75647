//! Finds uncommitted changes without using the repository's configuration.
//!
//! To compare a changed file with the committed one, `git status` runs commands that the repository's configuration
//! names: `filter.*.clean` and `filter.*.process`, `core.fsmonitor`, and the same in every submodule. To disable each
//! by name would take two calls of git, and a command that is configured in between would run. So git never reads that
//! configuration. It gets a common directory of flow's own (`common`), which links to the repository's objects and
//! references, and has a `config` with values of the keys in [`KEYS`] only, none of which names a command. The user's own
//! configuration applies as usual. If only the repository configures a file's filter, the file counts as changed once
//! its timestamp has changed.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, Instant};

use crate::host::git::command::{Git, NO_SUCH_KEY};
use crate::host::git::common::Common;
use crate::host::git::places::Places;
use crate::host::git::running::{GitAnswer, RunningGit, Silence, is_cut, reason};
use crate::host::git::settings::{KEYS, REMOTES, Setting, filter_in, settings_in};

/// How long git may take to list all files.
pub(super) const LISTING: Duration = Duration::from_secs(60);
/// The maximum number of changed paths to list.
pub(super) const PATHS: usize = 1000;
/// The maximum number of submodules.
pub(super) const SUBMODULES: usize = 100;
/// The maximum nesting depth of submodules.
pub(super) const DEPTH: usize = 4;
/// The largest `.gitmodules` to read, in bytes.
const MODULES_BYTES: u64 = 1 << 20;

/// The key that says which submodules to ignore unless a submodule's own one does.
const IGNORED: &[u8] = b"diff.ignoresubmodules";
/// The key that puts the working tree elsewhere than beside `.git`.
const WORKTREE: &[u8] = b"core.worktree";
/// The keys to read from `.gitmodules`.
const MODULES: &str = "^submodule\\..*\\.(path|ignore)$";

/// Whatever the repository and the user configure, an edit shows that keeps the size and the modification time, that makes a file
/// executable, or a link a file; and so does a file whose name differs from a tracked or ignored one in case alone. On a file
/// system that knows no case, one file may then be listed under two names.
pub(super) const STRICT: [&str; 14] = [
    "-c",
    "core.trustctime=true",
    "-c",
    "core.checkStat=default",
    "-c",
    "core.fileMode=true",
    "-c",
    "core.symlinks=true",
    "-c",
    "core.ignoreCase=false",
    "-c",
    "core.ignoreStat=false",
    "-c",
    "core.untrackedCache=false",
];

/// Asks for changed and staged paths. `dirty` prevents git from looking into submodules, where it would read their
/// configuration.
const CHANGED: [&str; 5] = ["status", "--porcelain=v1", "-z", "--renames", "--ignore-submodules=dirty"];
/// Asks for untracked files as well.
const UNTRACKED: &str = "--untracked-files=all";
/// Asks for no untracked files.
const TRACKED: &str = "--untracked-files=no";

/// Whether there are uncommitted changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkingTree {
    /// No changes but those of flow's own files.
    Clean,
    /// These paths have changes; relative to the top of the repository, at most a thousand.
    Dirty(Vec<String>),
    /// Unknown, with the reason in one line.
    Unknown(String),
}

/// A question for uncommitted changes that git is answering, or why it could not be asked.
#[derive(Debug)]
pub struct AskedForChanges<'a>(Result<Listing<'a>, String>);

/// The command that lists uncommitted changes, as it runs.
#[derive(Debug)]
pub(super) struct Listing<'a> {
    git: &'a Git,
    own: Vec<String>,
    // Dropped before the directory that it uses.
    status: RunningGit,
    pub(super) apart: Apart,
}

/// What `git status` lists.
pub(super) struct ListedChanges {
    /// The changed and the untracked paths, as far as they are UTF-8.
    pub(super) paths: Vec<String>,
    /// Whether some were cut off.
    pub(super) is_cut: bool,
    /// As in [`Changes`].
    pub(super) only_need_filter: bool,
    pub(super) answer: GitAnswer,
    pub(super) apart: Apart,
}

/// What changed in a repository and its submodules.
#[derive(Default)]
struct Changes {
    paths: Vec<String>,
    /// Whether some were cut off.
    is_cut: bool,
    /// Whether none of them may be changed: a filter converts each, and git was asked without it.
    only_need_filter: bool,
}

/// A repository with a configuration of flow's own.
#[derive(Debug)]
pub(super) struct Apart {
    pub(super) top: PathBuf,
    /// The environment variables that make git use it.
    pub(super) variables: Vec<(&'static str, OsString)>,
    /// Which changes in a submodule to ignore, by the submodule's name.
    ignored: BTreeMap<Vec<u8>, Vec<u8>>,
    /// The filters that the repository configures, which git does not know here.
    pub(super) filters: BTreeSet<Vec<u8>>,
    /// Whether no change is ignored nevertheless.
    shows_all: bool,
    /// Where the user's state directory is, for submodules.
    pub(super) state: Option<PathBuf>,
    common: Common,
}

/// An entry in the output of `git status`.
pub(super) struct ChangedPath {
    pub(super) state: [u8; 2],
    pub(super) path: String,
}

/// A submodule in `.gitmodules`.
#[derive(Default)]
struct Submodule {
    path: Option<Vec<u8>>,
    /// Which of its changes to ignore.
    ignored: Vec<u8>,
}

impl Git {
    /// Asks whether the checkout of `dir` has changed, staged or untracked files outside `own`: paths of files, or of
    /// directories if they end in `/`, relative to the top. A renamed file counts under its new name.
    ///
    /// `state` gives the user's state directory, where what git needs for this is kept.
    pub fn ask_for_changes(
        &self,
        dir: &Path,
        own: Vec<String>,
        state: impl FnOnce() -> Option<PathBuf>,
    ) -> AskedForChanges<'_> {
        if self.top(dir).is_none() {
            let why =
                if self.is_bare(dir) { "a bare repository, which has no checkout" } else { "not a git repository" };
            return AskedForChanges(Err(why.to_owned()));
        }
        AskedForChanges(self.start_listing(dir, own, state(), false))
    }

    /// `shows_all` is for evidence: no setting may hide a change.
    pub(super) fn start_listing(
        &self,
        dir: &Path,
        own: Vec<String>,
        state: Option<PathBuf>,
        shows_all: bool,
    ) -> Result<Listing<'_>, String> {
        let mut apart = self.apart(dir, state, Instant::now() + self.limit)?;
        apart.shows_all = shows_all;
        let mut question = [apart.strict(), &CHANGED[..], &[UNTRACKED, "--", ":(top)"]].concat();
        if shows_all {
            // Evidence names both paths of a file that was renamed.
            question.insert(question.len() - 3, "--no-renames");
        }
        // Leave out `own` in the command: listing thousands of runs would take too long.
        let left_out = left_out(&own);
        question.extend(left_out.iter().map(String::as_str));
        let status = self.start(&apart.variables, &apart.top, &question).map_err(Silence::why)?;
        Ok(Listing { git: self, own, apart, status })
    }

    /// Changed and staged paths, including submodules. `out` is the answer to [`CHANGED`].
    fn changed(
        &self,
        apart: &Apart,
        out: &[u8],
        own: &[String],
        deadline: Instant,
        depth: usize,
    ) -> Result<Changes, String> {
        let mut changed = changed_paths(out, own);
        let (mut inside, mut only_need_filter) = (Vec::new(), apart.shows_all);
        for (path, mut ignored) in self.submodules(apart, deadline)? {
            if apart.shows_all {
                ignored.clear();
            }
            if ignored == b"all" {
                // What is staged counts all the same.
                changed.retain(|changed| changed.state[0] != b' ' || changed.path != path);
            }
            let looked = matches!(&*ignored, b"all" | b"dirty") || changed.iter().any(|changed| changed.path == path);
            if looked || is_own_path(path.as_bytes(), own) {
                continue;
            }
            let within = self.changes_inside(apart, &path, deadline, depth)?;
            if within.is_cut || !within.paths.is_empty() {
                only_need_filter &= within.only_need_filter;
                inside.push(path);
            }
        }
        only_need_filter = only_need_filter && self.only_need_filter(apart, &changed, deadline)?;
        let mut paths: Vec<_> = changed.into_iter().map(|changed| changed.path).collect();
        paths.append(&mut inside);
        let is_cut = paths.len() > PATHS || is_cut(out);
        paths.truncate(PATHS);
        only_need_filter &= !is_cut && !paths.is_empty();
        Ok(Changes { paths, is_cut, only_need_filter })
    }

    fn changes_inside(&self, apart: &Apart, path: &str, deadline: Instant, depth: usize) -> Result<Changes, String> {
        let Some(dir) = checked_out(&apart.top, Path::new(path)) else { return Ok(Changes::default()) };
        if depth == 0 {
            return Err(format!("submodule {path}: submodules are nested too deep"));
        }
        self.changes_of(&dir, apart, deadline, depth - 1).map_err(|why| format!("submodule {path}: {why}"))
    }

    /// The changes of the repository of `dir`, a submodule in that of `outer`.
    fn changes_of(&self, dir: &Path, outer: &Apart, deadline: Instant, depth: usize) -> Result<Changes, String> {
        let inner = Apart { shows_all: outer.shows_all, ..self.apart(dir, outer.state.clone(), deadline)? };
        // What lies there is not a repository of its own.
        if inner.top == outer.top {
            return Ok(Changes::default());
        }
        let question = [inner.strict(), &CHANGED[..], &[TRACKED]].concat();
        let status = self.start(&inner.variables, &inner.top, &question).map_err(Silence::why)?;
        self.changed(&inner, &status.output(deadline)?, &[], deadline, depth)
    }

    /// The paths of the submodules in `.gitmodules`, each with the changes to ignore.
    pub(super) fn submodules(&self, apart: &Apart, deadline: Instant) -> Result<Vec<(String, Vec<u8>)>, String> {
        let file = apart.top.join(".gitmodules");
        match file.symlink_metadata() {
            Ok(meta) if meta.is_file() && meta.len() <= MODULES_BYTES => {}
            _ => return Ok(Vec::new()),
        }
        let file = file.to_string_lossy();
        let question = ["config", "-z", "--no-includes", "--file", &*file, "--get-regexp", MODULES];
        let settings = self.settings(&apart.variables, &apart.top, &question, deadline)?;
        let mut found: BTreeMap<Vec<u8>, Submodule> = BTreeMap::new();
        for (key, value) in settings {
            let Some((name, what)) = submodule(&key) else { continue };
            let entry = found.entry(name.to_owned()).or_default();
            match what {
                b"path" => entry.path = value,
                _ => entry.ignored = value.unwrap_or_default(),
            }
        }
        if found.len() > SUBMODULES {
            return Err(format!("there are more than {SUBMODULES} submodules"));
        }
        let mut submodules = Vec::new();
        for (name, Submodule { path, ignored }) in found {
            let Some(path) = path else { continue };
            let Ok(path) = String::from_utf8(path) else { continue };
            // What the configuration says of this submodule, or else of all, goes before what `.gitmodules` says.
            let configured = apart.ignored.get(&name).or_else(|| apart.ignored.get(&b""[..]));
            submodules.push((path, configured.cloned().unwrap_or(ignored)));
        }
        Ok(submodules)
    }

    /// Finds the repository that contains `dir`, and replaces its configuration by flow's own.
    pub(super) fn apart(&self, dir: &Path, state: Option<PathBuf>, deadline: Instant) -> Result<Apart, String> {
        let places = self.places(dir);
        let own = match &places {
            Some(places) => self.own_settings(places, state.as_deref(), deadline).map_err(Silence::why)?,
            None => None,
        };
        let settings = match own {
            Some(settings) => settings,
            None => self.settings(&[], dir, &["config", "-z", "--get-regexp", KEYS], deadline)?,
        };
        let (mut values, mut ignored, mut is_elsewhere) = (Vec::new(), BTreeMap::new(), false);
        let mut filters = BTreeSet::new();
        for (key, value) in settings {
            match submodule(&key) {
                Some((name, _)) => drop(ignored.insert(name.to_owned(), value.unwrap_or_default())),
                None if key == IGNORED => drop(ignored.insert(Vec::new(), value.unwrap_or_default())),
                None if key == WORKTREE => is_elsewhere = true,
                None if key.starts_with(REMOTES) => {}
                None => match filter_in(&key) {
                    Some(filter) => drop(filters.insert(filter.to_owned())),
                    None => values.push((key, value)),
                },
            }
        }
        let Places { top, git_dir, common } = match places {
            Some(places) if !is_elsewhere => places,
            _ => self.places_from_git(dir, deadline)?,
        };
        let own = Common::of(&common, &config(&values), state.as_deref());
        let own = own.map_err(|error| format!("no temporary directory: {error}"))?;
        let variables = vec![
            ("GIT_DIR", git_dir.into_os_string()),
            ("GIT_COMMON_DIR", own.path().as_os_str().to_owned()),
            ("GIT_WORK_TREE", top.as_os_str().to_owned()),
        ];
        Ok(Apart { top, variables, ignored, filters, shows_all: false, state, common: own })
    }

    /// The settings that `git config -z --get-regexp` prints.
    pub(super) fn settings(
        &self,
        repository: &[(&str, OsString)],
        dir: &Path,
        question: &[&str],
        deadline: Instant,
    ) -> Result<Vec<Setting>, String> {
        let asked = self.start(repository, dir, question).map_err(Silence::why)?;
        let answer = asked.answer(deadline).map_err(Silence::why)?;
        match answer.status.code() {
            Some(0) => {}
            Some(NO_SUCH_KEY) => return Ok(Vec::new()),
            _ => return Err(reason(&answer)),
        }
        Ok(settings_in(&answer.out))
    }
}

impl Apart {
    /// The directory that git takes for the one that all worktrees share.
    pub(super) fn common(&self) -> &Path {
        self.common.path()
    }

    /// Options of git before a command.
    fn strict(&self) -> &'static [&'static str] {
        if self.shows_all { &STRICT } else { &[] }
    }
}

impl AskedForChanges<'_> {
    /// What git answers.
    #[must_use]
    pub fn answer(self) -> WorkingTree {
        match self.0.and_then(Listing::paths) {
            Ok((paths, _)) if !paths.is_empty() => WorkingTree::Dirty(paths),
            // Among what was cut off there may be changes besides flow's own.
            Ok((_, is_cut)) if is_cut => WorkingTree::Unknown("git lists too many changed files".to_owned()),
            Ok(_) => WorkingTree::Clean,
            Err(reason) => WorkingTree::Unknown(reason),
        }
    }
}

impl Listing<'_> {
    /// The changed and the untracked paths, and whether some were cut off.
    fn paths(self) -> Result<(Vec<String>, bool), String> {
        self.listed().map(|listed| (listed.paths, listed.is_cut))
    }

    /// What git lists, with all untracked paths as they are.
    pub(super) fn listed(self) -> Result<ListedChanges, String> {
        let Self { git, own, apart, status } = self;
        let deadline = Instant::now() + git.limit;
        let answer = status.answer(deadline).map_err(Silence::why)?;
        // A git whose output was cut off is stopped by that.
        if !is_cut(&answer.out) && !answer.status.success() {
            return Err(reason(&answer));
        }
        let Changes { paths, is_cut, only_need_filter } = git.changed(&apart, &answer.out, &own, deadline, DEPTH)?;
        Ok(ListedChanges { paths, is_cut, only_need_filter, answer, apart })
    }
}

/// Arguments of a git command that leave out these files and directories.
pub(super) fn left_out(own: &[String]) -> Vec<String> {
    own.iter().map(|own| format!(":(top,exclude,literal){}", own.trim_end_matches('/'))).collect()
}

/// The name of the submodule in a key, and the rest of the key.
fn submodule(key: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = key.strip_prefix(b"submodule.")?;
    let dot = rest.iter().rposition(|&byte| byte == b'.')?;
    Some((&rest[..dot], &rest[dot + 1..]))
}

/// The directory of a submodule, if it is checked out and reached without a symbolic link.
pub(super) fn checked_out(top: &Path, path: &Path) -> Option<PathBuf> {
    let mut dir = top.to_owned();
    for part in path.components() {
        let Component::Normal(part) = part else { return None };
        dir.push(part);
        if !dir.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
            return None;
        }
    }
    // One that is not checked out is an empty directory.
    dir.join(".git").symlink_metadata().is_ok().then_some(dir)
}

/// The text of a configuration file with these values.
fn config(values: &[Setting]) -> Vec<u8> {
    let mut text = Vec::new();
    for (key, value) in values {
        // None of the keys has a section in two parts, whose second one would need quotes.
        let Some(dot) = key.iter().position(|&byte| byte == b'.') else { continue };
        text.extend([b"[", &key[..dot], b"]\n\t", &key[dot + 1..]].concat());
        if let Some(value) = value {
            text.extend(b" = \"");
            for byte in value {
                match byte {
                    b'\n' => text.extend(b"\\n"),
                    b'"' | b'\\' => text.extend([b'\\', *byte]),
                    byte => text.push(*byte),
                }
            }
            text.push(b'"');
        }
        text.push(b'\n');
    }
    text
}

/// Whether the path is one of flow's own.
pub(crate) fn is_own_path(path: &[u8], own: &[String]) -> bool {
    own.iter().any(|own| {
        path == own.trim_end_matches('/').as_bytes() || (own.ends_with('/') && path.starts_with(own.as_bytes()))
    })
}

/// The entries in the output of `git status -z` that are not in `own`: one more than [`PATHS`] tells that there are more.
pub(super) fn changed_paths(out: &[u8], own: &[String]) -> Vec<ChangedPath> {
    let mut paths = Vec::new();
    for (state, path) in StatusEntries::of(out) {
        let path = String::from_utf8_lossy(path).into_owned();
        if !is_own_path(path.as_bytes(), own) {
            paths.push(ChangedPath { state, path });
        }
        if paths.len() > PATHS {
            break;
        }
    }
    paths
}

/// The entries in the output of `git status -z`: two letters for what is staged and what is not, and the path.
pub(super) struct StatusEntries<'o>(&'o [u8]);

impl<'o> StatusEntries<'o> {
    pub(super) fn of(out: &'o [u8]) -> Self {
        // The last entry may be cut off, so ignore everything after the last NUL.
        Self(&out[..out.iter().rposition(|&byte| byte == 0).map_or(0, |last| last + 1)])
    }

    fn part(&mut self) -> Option<&'o [u8]> {
        let end = memchr::memchr(0, self.0)?;
        let (part, rest) = self.0.split_at(end);
        self.0 = &rest[1..];
        Some(part)
    }
}

impl<'o> Iterator for StatusEntries<'o> {
    type Item = ([u8; 2], &'o [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let [x, y, b' ', path @ ..] = self.part()? else { continue };
            if matches!(x, b'R' | b'C') || matches!(y, b'R' | b'C') {
                // The next part says where it was before.
                self.part();
            }
            return Some(([*x, *y], path));
        }
    }
}
