//! What the configuration of a repository says of the few keys that matter here. git is asked for them once: its answer is
//! kept in the user's state directory as long as the configuration is the same file with the same stamp.
//!
//! It is kept only where the answer follows from that one file: without included files, without a configuration of the
//! worktree's own, and without submodules, of which the user's configuration decides as well.

use std::fs::{self, File, Metadata};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use memchr::memmem;
use sha2::{Digest as _, Sha256};

use crate::host::git::command::{Git, NO_SUCH_KEY};
use crate::host::git::kept::{keep, remove};
use crate::host::git::places::Places;
use crate::host::git::running::{Silence, is_cut};
use crate::model::{has_secrets, hex};

/// The keys that flow asks for. It takes over the format of the repository and properties of its file system; the others say
/// which submodules the user wants to ignore, where the working tree is, where the repository comes from, and which files git
/// would convert before it compares them.
pub(super) const KEYS: &str = "^(core\\.(repositoryformatversion|filemode|symlinks|ignorecase|precomposeunicode|protecthfs|\
    protectntfs|trustctime|checkstat|autocrlf|eol|excludesfile|attributesfile|sparsecheckout|sparsecheckoutcone|\
    longpaths|worktree)|index\\.sparse|extensions\\.(objectformat|compatobjectformat|refstorage)|\
    diff\\.ignoresubmodules|submodule\\..*\\.ignore|remote\\..*\\.(url|pushurl)|filter\\..*\\.(clean|process))$";
/// What the keys of addresses of other repositories begin with.
pub(super) const REMOTES: &[u8] = b"remote.";
/// The largest configuration file to read, in bytes.
const CONFIG_BYTES: u64 = 1 << 20;
/// What the names of kept answers begin with; a digest of the repository's path follows.
const KEPT: &str = "asked-";
/// How long the configuration must have been the same when its answer was kept. Within a tick of the file system's clock a
/// second change could go unnoticed.
const SETTLED: Duration = Duration::from_millis(20);

/// A key and its value; `None` if the key has no value.
pub(super) type Setting = (Vec<u8>, Option<Vec<u8>>);

impl Git {
    /// The values of [`KEYS`] in the configuration of the repository; `None` if they do not follow from its file alone, or
    /// git cannot tell them.
    pub(super) fn own_settings(
        &self,
        places: &Places,
        state: Option<&Path>,
        deadline: Instant,
    ) -> Result<Option<Vec<Setting>>, Silence> {
        let Some(stamp) = Stamp::of(places) else { return Ok(None) };
        let kept = state.map(|state| KeptAnswer { state, name: name_of(&places.common) });
        if let Some(answer) = kept.as_ref().and_then(|kept| kept.read(&stamp)) {
            return Ok(Some(settings_in(&answer)));
        }
        let question = ["config", "--local", "-z", "--get-regexp", KEYS];
        let answer = self.start(&[], &places.top, &question)?.answer(deadline)?;
        if !matches!(answer.status.code(), Some(0 | NO_SUCH_KEY)) || is_cut(&answer.out) {
            return Ok(None);
        }
        let settings = settings_in(&answer.out);
        let Some(kept) = kept else { return Ok(Some(settings)) };
        if settings.iter().any(has_secret) {
            // Nothing here has a password in it: git is asked again.
            kept.forget();
        } else if Stamp::of(places).as_ref() == Some(&stamp) {
            // A configuration that changed while git read it may not be the one that git answered from. Without the kept answer
            // the next call asks again.
            let _ = kept.write(&stamp, &answer.out);
        }
        Ok(Some(settings))
    }
}

/// The settings that `git config -z --get-regexp` prints.
pub(super) fn settings_in(out: &[u8]) -> Vec<Setting> {
    let mut settings = Vec::new();
    for entry in out.split(|&byte| byte == 0) {
        match memchr::memchr(b'\n', entry) {
            // The output ends with a zero byte.
            None if entry.is_empty() => {}
            None => settings.push((entry.to_owned(), None)),
            Some(at) => settings.push((entry[..at].to_owned(), Some(entry[at + 1..].to_owned()))),
        }
    }
    settings
}

/// The filter that a setting is about.
pub(super) fn filter_in(key: &[u8]) -> Option<&[u8]> {
    let rest = key.strip_prefix(b"filter.")?;
    Some(&rest[..rest.iter().rposition(|&byte| byte == b'.')?])
}

/// Whether a setting may hold what logs in somewhere.
fn has_secret((key, value): &Setting) -> bool {
    [Some(key), value.as_ref()].into_iter().flatten().any(|text| has_secrets(&String::from_utf8_lossy(text)))
}

/// What differs after a change of the repository's configuration.
#[derive(PartialEq, Eq)]
struct Stamp {
    text: String,
    /// When the file changed last.
    changed: Duration,
}

impl Stamp {
    /// `None` if more than the file in the common directory decides.
    fn of(places: &Places) -> Option<Self> {
        let file = places.common.join("config");
        let meta = file.symlink_metadata().ok().filter(|meta| meta.is_file() && meta.len() <= CONFIG_BYTES)?;
        // Sections have no case.
        if memmem::find(&fs::read(&file).ok()?.to_ascii_lowercase(), b"include").is_some() {
            return None;
        }
        for other in [places.git_dir.join("config.worktree"), places.top.join(".gitmodules")] {
            if !other.symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
                return None;
            }
        }
        let changed = changed_at(&meta)?;
        let times = [meta.mtime().cast_unsigned(), meta.mtime_nsec().cast_unsigned()];
        // Before version 3, addresses were kept with the passwords in them; before version 4 there were no filters.
        let text = format!("v4 {:?} {times:?} {changed:?}", [meta.dev(), meta.ino(), meta.len()]);
        Some(Self { text, changed })
    }
}

fn changed_at(meta: &Metadata) -> Option<Duration> {
    Some(Duration::new(meta.ctime().try_into().ok()?, meta.ctime_nsec().try_into().ok()?))
}

fn name_of(repository: &Path) -> String {
    format!("{KEPT}{}", hex(&Sha256::digest(repository.as_os_str().as_bytes())[..8]))
}

/// An answer in the state directory: the stamp, a line feed, what git printed.
struct KeptAnswer<'s> {
    state: &'s Path,
    name: String,
}

impl KeptAnswer<'_> {
    /// What git printed, if it holds for this stamp.
    fn read(&self, stamp: &Stamp) -> Option<Vec<u8>> {
        let file = self.path();
        let meta = file.symlink_metadata().ok()?;
        // Another user could forge the configuration that git is started with.
        if !is_private(&meta) || changed_at(&meta)? < stamp.changed + SETTLED {
            return None;
        }
        let bytes = fs::read(file).ok()?;
        Some(bytes.strip_prefix(stamp.text.as_bytes())?.strip_prefix(b"\n")?.to_owned())
    }

    #[expect(clippy::disallowed_methods, reason = "a private file in the user's state directory")]
    fn write(&self, stamp: &Stamp, answer: &[u8]) -> io::Result<()> {
        keep(self.state, KEPT, &self.name, |new| {
            // Where a project comes from is the user's own affair.
            let mut file = File::options().write(true).create_new(true).mode(0o600).open(new)?;
            file.write_all(&[stamp.text.as_bytes(), b"\n", answer].concat())?;
            fs::rename(new, self.path())
        })
    }

    /// Removes what was kept before, whatever it is.
    fn forget(&self) {
        let _ = remove(&self.path());
    }

    fn path(&self) -> PathBuf {
        self.state.join(&self.name)
    }
}

/// Whether only this user can change the file.
fn is_private(meta: &Metadata) -> bool {
    meta.is_file() && meta.uid() == rustix::process::geteuid().as_raw() && meta.mode() & 0o022 == 0
}
