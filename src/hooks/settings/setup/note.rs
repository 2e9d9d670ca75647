//! What `flow setup` put in, so that `flow setup --undo` takes out that and nothing else.
//!
//! It is noted in the user's state directory, in a file for each project and one for the user's own settings. Without the
//! note, as in a clone, all that looks like flow's is taken out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::runs::{Context, UserNote};

/// A note: `setup-<digest of the directory>.json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct SetupNote {
    /// The project's directory; the user's home directory for the user's own settings.
    pub(super) place: PathBuf,
    /// Whether `.flow` was made.
    pub(super) made_flow: bool,
    /// Directories that were made, the outer ones first.
    pub(super) directories: BTreeSet<PathBuf>,
    /// For each file of others the entries that were added.
    pub(super) entries: BTreeMap<PathBuf, BTreeSet<String>>,
    /// Whether the note was there.
    #[serde(skip)]
    was_there: bool,
}

impl SetupNote {
    /// The note about `place`; an empty one if there is none.
    pub(super) fn read(cx: &Context, place: &Path) -> Self {
        match UserNote::about("setup", place).read::<Self>(cx) {
            // The name of its file has only a digest of the place.
            Some(note) if note.place == place => Self { was_there: true, ..note },
            _ => Self { place: place.to_owned(), ..Self::default() },
        }
    }

    /// Writes the note. If it cannot be written, nothing happens.
    pub(super) fn write(&self, cx: &Context) {
        UserNote::about("setup", &self.place).write(cx, self);
    }

    /// Removes the note.
    pub(super) fn forget(&self, cx: &Context) {
        UserNote::about("setup", &self.place).forget(cx);
    }

    /// The entries that were put into `file`; `None` if there is no note that would tell.
    pub(super) fn entries_in(&self, file: &Path) -> Option<Vec<String>> {
        if !self.was_there {
            return None;
        }
        Some(self.entries.get(file).into_iter().flatten().cloned().collect())
    }
}
