//! What is not committed, asked without the repository's configuration.
//!
//! To compare a changed file with what was committed, `git status` runs the commands that the repository's configuration
//! names: `filter.*.clean` and `filter.*.process`, `core.fsmonitor`, and the same again in every submodule. Forbidding each
//! by name would take two calls, and what is configured between them would run. So git never reads that configuration: it
//! is given a common directory of flow's own, which links to the objects and references of the repository and holds a
//! `config` with nothing but values that [`VALUES`] lists, none of which names a command. The person's own configuration
//! counts as ever. A file whose filter the repository alone configures counts as changed once it was touched.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};
use std::time::Instant;

use tempfile::TempDir;

use super::{Git, NO_SUCH_KEY, OUTPUT_BYTES, Silence, reason};

/// How many changed paths are listed.
pub(super) const PATHS: usize = 1000;
/// How many submodules are looked into.
const SUBMODULES: usize = 100;
/// How deep submodules are looked into.
const DEPTH: usize = 4;
/// The largest `.gitmodules` that is read, in bytes.
const MODULES_BYTES: u64 = 1 << 20;

/// What git takes over from the repository's configuration: what a repository is, and what its file system can do.
const VALUES: &str = "^(core\\.(repositoryformatversion|filemode|symlinks|ignorecase|precomposeunicode|protecthfs|\
    protectntfs|trustctime|checkstat|autocrlf|eol|excludesfile|attributesfile|sparsecheckout|sparsecheckoutcone|\
    longpaths)|index\\.sparse|extensions\\.(objectformat|compatobjectformat|refstorage))$";
/// Which submodules a person does not want to hear of.
const IGNORED: &str = "^(diff\\.ignoresubmodules|submodule\\..*\\.ignore)$";
/// What `.gitmodules` says of submodules.
const MODULES: &str = "^submodule\\..*\\.(path|ignore)$";
/// What git finds in a common directory and needs here. No hooks, and no configuration.
const LINKED: [&str; 6] = ["objects", "refs", "packed-refs", "reftable", "info", "shallow"];

/// Whether something is not committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkingTree {
    /// Nothing but flow's own files.
    Clean,
    /// These paths, relative to the repository's top; the first thousand.
    Dirty(Vec<String>),
    /// It cannot be told; the reason in one line.
    Unknown(String),
}

/// A repository under a configuration of flow's own.
struct Apart {
    top: PathBuf,
    /// What makes git take it for the repository.
    variables: Vec<(&'static str, OsString)>,
    /// The submodules that are not to be looked into, and how much of them is not.
    ignored: BTreeMap<Vec<u8>, Vec<u8>>,
    _common: TempDir,
}

/// An entry of `git status`.
pub(super) struct Changed {
    state: [u8; 2],
    pub(super) path: String,
}

/// What `.gitmodules` says of a submodule.
#[derive(Default)]
struct Submodule {
    path: Option<Vec<u8>>,
    /// How much of it a person does not want to hear of.
    ignored: Vec<u8>,
}

/// A key and what it is set to; none when it is only there.
type Setting = (Vec<u8>, Option<Vec<u8>>);

impl Git {
    /// Whether anything at `dir`'s checkout is changed, staged or untracked outside `own`: paths relative to the top, of
    /// files, or of directories, which end in `/`. A renamed file counts where it is now.
    #[must_use]
    pub fn working_tree(&self, dir: &Path, own: &[&str]) -> WorkingTree {
        if self.top(dir).is_none() {
            return WorkingTree::Unknown("not a git repository".to_owned());
        }
        match self.uncommitted(dir, own, Instant::now() + self.limit) {
            Ok((paths, _)) if !paths.is_empty() => WorkingTree::Dirty(paths),
            Ok((_, false)) => WorkingTree::Clean,
            Ok((_, true)) => WorkingTree::Unknown("git lists too many changed files".to_owned()),
            Err(reason) => WorkingTree::Unknown(reason),
        }
    }

    /// The paths, and whether there are more than were read.
    fn uncommitted(&self, dir: &Path, own: &[&str], deadline: Instant) -> Result<(Vec<String>, bool), String> {
        let apart = self.apart(dir, deadline)?;
        let (mut paths, mut cut) = self.changed(&apart, own, deadline, DEPTH)?;
        // Left out by git itself: walking thousands of runs would cost more than the answer is worth. (Asked apart, since
        // a rename is only seen when both names are looked at.)
        let mut others = vec!["ls-files", "--others", "--exclude-standard", "-z", "--full-name", "--", ":(top)"];
        let left_out: Vec<_> =
            own.iter().map(|own| format!(":(top,exclude,literal){}", own.trim_end_matches('/'))).collect();
        others.extend(left_out.iter().map(String::as_str));
        let untracked = self.listing(&apart.variables, &apart.top, &others, deadline)?;
        cut |= is_cut(&untracked);
        let whole = untracked.iter().rposition(|&byte| byte == 0).unwrap_or(0);
        let untracked = untracked[..whole].split(|&byte| byte == 0).filter(|path| !path.is_empty());
        let untracked = untracked.map(|path| String::from_utf8_lossy(path).into_owned());
        paths.extend(untracked.filter(|path| !is_own(path, own)));
        paths.truncate(PATHS);
        Ok((paths, cut))
    }

    /// What is changed or staged, in submodules too.
    fn changed(
        &self,
        apart: &Apart,
        own: &[&str],
        deadline: Instant,
        depth: usize,
    ) -> Result<(Vec<String>, bool), String> {
        // `dirty` keeps git itself from looking into submodules, where it would read their configuration.
        let question =
            ["status", "--porcelain=v1", "-z", "--untracked-files=no", "--renames", "--ignore-submodules=dirty"];
        let out = self.listing(&apart.variables, &apart.top, &question, deadline)?;
        let mut changed = changed_paths(&out, own);
        let mut inside = Vec::new();
        for (path, ignored) in self.submodules(apart, deadline)? {
            if ignored == b"all" {
                changed.retain(|changed| changed.state[0] != b' ' || changed.path != path);
            }
            let looked = matches!(&*ignored, b"all" | b"dirty") || changed.iter().any(|changed| changed.path == path);
            if !looked && !is_own(&path, own) && self.is_changed_inside(apart, &path, deadline, depth)? {
                inside.push(path);
            }
        }
        let paths = changed.into_iter().map(|changed| changed.path).chain(inside).take(PATHS);
        Ok((paths.collect(), is_cut(&out)))
    }

    fn is_changed_inside(&self, apart: &Apart, path: &str, deadline: Instant, depth: usize) -> Result<bool, String> {
        let Some(dir) = checked_out(&apart.top, Path::new(path)) else { return Ok(false) };
        if depth == 0 {
            return Err(format!("submodule {path}: submodules are nested too deep"));
        }
        let within = |why: String| format!("submodule {path}: {why}");
        let inner = self.apart(&dir, deadline).map_err(within)?;
        if inner.top == apart.top {
            return Ok(false); // What lies there is no repository of its own.
        }
        let (paths, cut) = self.changed(&inner, &[], deadline, depth - 1).map_err(within)?;
        Ok(cut || !paths.is_empty())
    }

    /// The paths of the submodules that `.gitmodules` names, each with what is not to be told of it.
    fn submodules(&self, apart: &Apart, deadline: Instant) -> Result<Vec<(String, Vec<u8>)>, String> {
        let file = apart.top.join(".gitmodules");
        let is_read = |meta: std::fs::Metadata| meta.is_file() && meta.len() <= MODULES_BYTES;
        if !file.symlink_metadata().is_ok_and(is_read) {
            return Ok(Vec::new());
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
        let chosen = |name: &[u8], said: Vec<u8>| match apart.ignored.get(name).or_else(|| apart.ignored.get(&b""[..]))
        {
            Some(own) => own.clone(),
            None => said,
        };
        let of = |(name, said): (Vec<u8>, Submodule)| {
            Some((String::from_utf8(said.path?).ok()?, chosen(&name, said.ignored)))
        };
        Ok(found.into_iter().filter_map(of).collect())
    }

    /// Finds the repository that `dir` is in, and puts a configuration of flow's own in the place of its own.
    fn apart(&self, dir: &Path, deadline: Instant) -> Result<Apart, String> {
        let question = ["rev-parse", "--show-toplevel", "--absolute-git-dir", "--git-common-dir"];
        let places = self.listing(&[], dir, &question, deadline)?;
        let places: Vec<_> = places.strip_suffix(b"\n").unwrap_or(&places).split(|&byte| byte == b'\n').collect();
        let path = |bytes: &[u8]| PathBuf::from(OsString::from_vec(bytes.to_owned()));
        let [top, git_dir, common] = places[..] else {
            return Err("the path of the repository has a line break in it".to_owned());
        };
        let common = std::path::absolute(dir.join(path(common))).map_err(|error| error.to_string())?;
        let (top, git_dir) = (path(top), path(git_dir));
        let question = ["config", "-z", "--get-regexp", VALUES];
        let values = self.settings(&[], dir, &question, deadline)?;
        let ignored = self.settings(&[], dir, &["config", "-z", "--get-regexp", IGNORED], deadline)?;
        let name = |key: &[u8]| submodule(key).map(|(name, _)| name.to_owned()).unwrap_or_default();
        let ignored = ignored.into_iter().map(|(key, value)| (name(&key), value.unwrap_or_default())).collect();
        let own = own_common(&common, &values).map_err(|error| format!("no temporary directory: {error}"))?;
        let variables = vec![
            ("GIT_DIR", git_dir.into_os_string()),
            ("GIT_COMMON_DIR", own.path().as_os_str().to_owned()),
            ("GIT_WORK_TREE", top.as_os_str().to_owned()),
        ];
        Ok(Apart { top, variables, ignored, _common: own })
    }

    /// What git lists, entries ended by NUL; or why it does not.
    fn listing(
        &self,
        repository: &[(&str, OsString)],
        dir: &Path,
        question: &[&str],
        deadline: Instant,
    ) -> Result<Vec<u8>, String> {
        let answer = self.ask_of(repository, dir, question, deadline).map_err(Silence::why)?;
        // Git is stopped by the closed pipe when it has more to say than is read.
        if !is_cut(&answer.out) && !answer.status.success() {
            return Err(reason(&answer));
        }
        Ok(answer.out)
    }

    /// What `git config -z --get-regexp` finds.
    fn settings(
        &self,
        repository: &[(&str, OsString)],
        dir: &Path,
        question: &[&str],
        deadline: Instant,
    ) -> Result<Vec<Setting>, String> {
        let answer = self.ask_of(repository, dir, question, deadline).map_err(Silence::why)?;
        match answer.status.code() {
            Some(0) => {}
            Some(NO_SUCH_KEY) => return Ok(Vec::new()),
            _ => return Err(reason(&answer)),
        }
        let entries = answer.out.split(|&byte| byte == 0).filter(|entry| !entry.is_empty());
        let setting = |entry: &[u8]| match entry.iter().position(|&byte| byte == b'\n') {
            Some(at) => (entry[..at].to_owned(), Some(entry[at + 1..].to_owned())),
            None => (entry.to_owned(), None),
        };
        Ok(entries.map(setting).collect())
    }
}

fn is_cut(out: &[u8]) -> bool {
    out.len() as u64 >= OUTPUT_BYTES
}

/// The submodule that a key is about, and what about it.
fn submodule(key: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = key.strip_prefix(b"submodule.")?;
    let dot = rest.iter().rposition(|&byte| byte == b'.')?;
    Some((&rest[..dot], &rest[dot + 1..]))
}

/// The directory of a submodule that is checked out, reached without a symbolic link.
fn checked_out(top: &Path, path: &Path) -> Option<PathBuf> {
    let mut dir = top.to_owned();
    for part in path.components() {
        let Component::Normal(part) = part else { return None };
        dir.push(part);
        if !dir.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
            return None;
        }
    }
    dir.join(".git").symlink_metadata().is_ok().then_some(dir)
}

/// A common directory with the links and with a `config` of these values.
#[expect(clippy::disallowed_methods, reason = "a private directory in the temporary one, for git to read")]
fn own_common(common: &Path, values: &[Setting]) -> std::io::Result<TempDir> {
    let own = tempfile::Builder::new().prefix("flow-git-").tempdir()?;
    for name in LINKED {
        symlink(common.join(name), own.path().join(name))?;
    }
    std::fs::write(own.path().join("config"), config(values))?;
    Ok(own)
}

/// The text of a configuration.
fn config(values: &[Setting]) -> Vec<u8> {
    let mut text = Vec::new();
    for (key, value) in values {
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

/// Whether flow's own changes are meant by this path.
fn is_own(path: &str, own: &[&str]) -> bool {
    own.iter().any(|own| path == own.trim_end_matches('/') || (own.ends_with('/') && path.starts_with(own)))
}

/// The entries in the output of `git status -z` that are not `own`; at most [`PATHS`].
pub(super) fn changed_paths(out: &[u8], own: &[&str]) -> Vec<Changed> {
    // Without its end, the last entry may be half a name.
    let whole = out.iter().rposition(|&byte| byte == 0).unwrap_or(0);
    let mut entries = out[..whole].split(|&byte| byte == 0);
    let mut paths = Vec::new();
    while let Some(entry) = entries.next() {
        let [x, y, b' ', path @ ..] = entry else {
            continue;
        };
        if [x, y].iter().any(|state| matches!(state, b'R' | b'C')) {
            entries.next(); // where it was before
        }
        let path = String::from_utf8_lossy(path).into_owned();
        if !is_own(&path, own) {
            paths.push(Changed { state: [*x, *y], path });
        }
        if paths.len() == PATHS {
            break;
        }
    }
    paths
}
