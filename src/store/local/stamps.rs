//! Stamps of runs: texts made from the metadata of their files, which differ after a change of these files.

use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use crate::disk::{Dir, FileType, Stat};
use crate::model::RunId;
use crate::store::local::layout::{LOG, RUN_FILE};
use crate::store::run_store::FileStats;

/// An entry of the directory of runs: the id, and the type if the directory tells it.
pub(super) type RunEntry = (RunId, FileType);

pub(super) fn run_entry(name: &str, kind: FileType) -> Option<RunEntry> {
    Some((RunId::new(name).ok()?, kind))
}

/// The metadata of a run's `run.yaml`. `None` if the run has to be read.
pub(super) fn text_at(runs: &Dir, (id, kind): &RunEntry) -> Option<Stat> {
    if *kind == FileType::Directory { text_in(runs, id) } else { text_of(runs, id) }
}

/// The stamp of a run's `run.yaml`. `None` if the run has to be read.
pub(super) fn stamp_of(runs: &Dir, id: &RunId) -> Option<String> {
    Some(stamp(&text_of(runs, id)?))
}

/// The metadata of a run's `run.yaml`. `None` if the run is no directory, or has no such file.
fn text_of(runs: &Dir, id: &RunId) -> Option<Stat> {
    let is_directory = runs.look(id.as_str()).ok()?.kind == FileType::Directory;
    if is_directory { text_in(runs, id) } else { None }
}

/// As [`text_of`], for a run that is known to be a directory. One call, which opens nothing.
///
/// The call would follow a symbolic link in place of the directory, so callers check first that the entry is not a
/// link. If a link replaces the directory after that check, no harm is done: the stamp only matches if the link leads
/// to the very file that was read before (device, inode, time of change), and that file's summary is correct and not
/// secret.
fn text_in(runs: &Dir, id: &RunId) -> Option<Stat> {
    runs.look_into(id.as_str(), RUN_FILE).ok()
}

/// As [`text_in`], of the run's log.
pub(super) fn log_in(runs: &Dir, id: &RunId) -> Option<Stat> {
    runs.look_into(id.as_str(), LOG).ok()
}

/// A number made from the metadata of files, as [`stamp`]: it differs after a change of one of them.
pub(super) fn number(files: &[Stat; 2]) -> u64 {
    let mut hasher = DefaultHasher::new();
    files.map(|Stat { device, inode, len, links, changed, .. }| (device, inode, len, links, changed)).hash(&mut hasher);
    hasher.finish()
}

/// A text made from a file's metadata: device, inode, length, links and time of change. It differs after a change of
/// the file.
pub(super) fn stamp(stat: &Stat) -> String {
    let mut text = String::with_capacity(64);
    let Stat { device, inode, len, links, changed: (seconds, nanos), .. } = *stat;
    for number in [device, inode, len, links, seconds.cast_unsigned(), nanos.cast_unsigned()] {
        let _ = write!(text, "{number:x}.");
    }
    text
}

impl FileStats {
    pub(super) fn of_run(runs: &Dir, id: &RunId) -> Self {
        let text = text_in(runs, id);
        // Without a `run.yaml` the run has to be read in any case.
        let log = if text.is_some() { log_in(runs, id) } else { None };
        Self { text, log }
    }

    /// The number that differs after a change of one of the run's files; `None` if one is missing.
    pub(super) fn number(&self) -> Option<u64> {
        Some(number(&[self.text?, self.log?]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_says_all_numbers() {
        let stat = Stat {
            kind: FileType::RegularFile,
            mode: 0,
            owner: 0,
            group: 0,
            links: 0,
            device: u64::MAX,
            inode: 0x10,
            len: 0xabc,
            changed: (-1, 1),
        };
        assert_eq!(stamp(&stat), "ffffffffffffffff.10.abc.0.ffffffffffffffff.1.");
    }
}
