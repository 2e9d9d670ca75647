//! By which rules git leaves files out of its list, as far as they are in none of the listed files: those of `info/exclude`, of the
//! file that `core.excludesFile` names, and of a `.gitignore` that only the index has, as in a sparse checkout.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use rustix::fs::OFlags;
use sha2::{Digest as _, Sha256};

use crate::host::git::command::{Git, NO_SUCH_KEY};
use crate::host::git::running::{RunningGit, Silence, reason};
use crate::host::git::tree::Apart;

/// How much of a file of rules is read, in bytes: git itself ignores larger ones.
const RULES_BYTES: u64 = 100 << 20;
/// Asks for the file of rules that the user or the repository names.
const EXCLUDES_FILE: [&str; 5] = ["config", "-z", "--type=path", "--get", "core.excludesFile"];
/// The file of rules that git reads if none is named, in the user's directory of configuration.
const DEFAULT: &str = "git/ignore";

/// Rules that are in no listed file: a digest for each file that has some, by the place of the repository, or of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnlistedRules {
    /// Of `info/exclude`.
    pub info_exclude: BTreeMap<Vec<u8>, [u8; 32]>,
    /// Of the file that `core.excludesFile` names.
    pub excludes_file: BTreeMap<Vec<u8>, [u8; 32]>,
    /// Of each `.gitignore` that the index says is not on the disk.
    pub only_indexed: BTreeMap<Vec<u8>, [u8; 32]>,
}

impl Git {
    /// Asks a repository for its file of rules, while it lists its files.
    pub(super) fn ask_for_excludes_file(&self, apart: &Apart) -> Result<RunningGit, String> {
        self.start(&apart.variables, &apart.top, &EXCLUDES_FILE).map_err(Silence::why)
    }

    /// The file of rules, from the answer to [`Self::ask_for_excludes_file`].
    fn excludes_file(&self, apart: &Apart, asked: RunningGit, deadline: Instant) -> Result<Option<PathBuf>, String> {
        let answer = asked.answer(deadline).map_err(Silence::why)?;
        match answer.status.code() {
            Some(0) => {}
            Some(NO_SUCH_KEY) => return Ok(self.default_excludes_file()),
            _ => return Err(reason(&answer)),
        }
        let named = answer.out.strip_suffix(b"\0").unwrap_or(&answer.out);
        // Without a name no file is meant. git reads a relative one from the top.
        Ok((!named.is_empty()).then(|| apart.top.join(OsStr::from_bytes(named))))
    }

    fn default_excludes_file(&self) -> Option<PathBuf> {
        let of_user = self.variable("XDG_CONFIG_HOME").filter(|dir| !dir.is_empty()).map(PathBuf::from);
        let dir = of_user.or_else(|| Some(PathBuf::from(self.variable("HOME")?).join(".config")));
        Some(dir?.join(DEFAULT))
    }

    /// What git has for a variable of the environment.
    fn variable(&self, name: &str) -> Option<OsString> {
        let given = self.environment.iter().rfind(|(known, _)| known == name);
        given.map(|(_, value)| value.clone()).or_else(|| std::env::var_os(name))
    }

    /// Notes the rules of the repository at `prefix`. `asked` is [its question](Self::ask_for_excludes_file).
    pub(super) fn note_rules(
        &self,
        rules: &mut UnlistedRules,
        (apart, prefix): (&Apart, &[u8]),
        asked: RunningGit,
        deadline: Instant,
    ) -> Result<(), String> {
        if let Some(digest) = digest_of_rules(&apart.common().join("info/exclude")) {
            rules.info_exclude.insert(prefix.to_owned(), digest);
        }
        if let Some(file) = self.excludes_file(apart, asked, deadline)?
            && let Some(digest) = digest_of_rules(&file)
        {
            rules.excludes_file.insert(prefix.to_owned(), digest);
        }
        Ok(())
    }
}

/// The digest of a file of rules; `None` if it has none, or cannot be read: then git goes on without it.
fn digest_of_rules(path: &Path) -> Option<[u8; 32]> {
    // Without blocking: it may be a FIFO. git follows links here.
    let blocking = i32::try_from(OFlags::NONBLOCK.bits()).ok()?;
    let file = File::options().read(true).custom_flags(blocking).open(path).ok()?;
    let meta = file.metadata().ok().filter(|meta| meta.is_file() && meta.len() > 0)?;
    let mut digest = Sha256::new();
    digest.update(meta.len().to_le_bytes());
    let mut part = Vec::new();
    let mut rest = file.take(RULES_BYTES);
    while read_part(&mut rest, &mut part).ok()? > 0 {
        digest.update(&part);
        part.clear();
    }
    Some(digest.finalize().into())
}

fn read_part(file: &mut io::Take<File>, part: &mut Vec<u8>) -> io::Result<usize> {
    const PART: u64 = 64 << 10;
    file.by_ref().take(PART).read_to_end(part)
}
