//! The files of settings.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::disk::{
    Dir, DocumentError, DocumentFault, DocumentPlace, Errno, FileType, Links, NoRoot, Operation, Trust, edit_document,
    read_document, read_named, root_of, settle_document,
};
use crate::hooks::settings::AgentHost;
use crate::hooks::settings::error::SettingsFault;
use crate::hooks::settings::host::SettingsScope;
use crate::model::{Explain as _, Kind, Problem, limits};

use crate::runs::{Context, Error, Result, UserNote};

/// A file that flow may edit outside of `.flow`.
#[derive(Debug, Clone)]
pub(super) struct UserFile {
    /// The path, with links.
    pub(super) path: PathBuf,
    cx: Context,
    /// The directory that links must not leave; `None` if they may lead anywhere.
    within: Option<PathBuf>,
    wait: Duration,
}

/// A file of settings.
#[derive(Debug, Clone)]
pub(super) struct SettingsFile {
    pub(super) host: AgentHost,
    pub(super) scope: SettingsScope,
    pub(super) file: UserFile,
}

/// The files of `hosts` for `scope`.
pub(super) fn files(cx: &Context, hosts: &[AgentHost], scope: SettingsScope) -> Result<Vec<SettingsFile>> {
    let mut files = Vec::new();
    for &host in hosts {
        if let Some(path) = host.path(cx, scope)? {
            let within = if scope == SettingsScope::User { None } else { Some(cx.root()?) };
            files.push(SettingsFile { host, scope, file: UserFile::of_path(cx, path, within)? });
        }
    }
    if files.is_empty() && !hosts.is_empty() {
        return Err(Error::Usage("only Claude Code has local settings; use the scope user or project".to_owned()));
    }
    Ok(files)
}

/// Removes those of the directories in which nothing is, the inner ones first.
pub(super) fn remove_empty(cx: &Context, directories: &BTreeSet<PathBuf>) {
    for directory in directories.iter().rev() {
        let (Some(parent), Some(name)) = (directory.parent(), directory.file_name()) else { continue };
        // One that is not empty stays, and one that cannot be removed does no harm.
        if let Ok(parent) = Dir::open_path(&*cx.disk, parent, Trust::AnyOwner) {
            let _ = parent.remove_dir(&name.to_string_lossy());
        }
    }
}

/// The note that flow made a directory of a host.
fn made(directory: &Path) -> UserNote {
    UserNote::about("made", directory)
}

impl UserFile {
    /// The directories up to the project in which the file is: git keeps no empty one, so each of them was made for a file.
    pub(super) fn directories_in_project(&self) -> BTreeSet<PathBuf> {
        let Some(project) = &self.within else { return BTreeSet::new() };
        let above = self.path.ancestors().skip(1);
        above.take_while(|dir| dir.starts_with(project) && dir != project).map(Path::to_owned).collect()
    }

    /// Notes for the user if the file's directory is missing, and so made with the file: an empty one can also be the sign of
    /// a host.
    pub(super) fn note_directory(&self, cx: &Context) {
        if let Some(directory) = self.path.parent()
            && self.within.is_none()
            && cx.disk.look(directory, Links::Follow).is_err()
        {
            made(directory).write(cx, &true);
        }
    }

    /// Removes the directories that were made for the file, if nothing else is in them.
    pub(super) fn remove_own_directories(&self, cx: &Context) {
        let mut directories = self.directories_in_project();
        if let Some(directory) = self.path.parent()
            && made(directory).read::<bool>(cx).is_some()
        {
            made(directory).forget(cx);
            directories.insert(directory.to_owned());
        }
        remove_empty(cx, &directories);
    }

    /// The file at `path`, which is absolute. Links are followed, but must not leave the directory `within`.
    pub(super) fn of_path(cx: &Context, path: PathBuf, within: Option<PathBuf>) -> Result<Self> {
        Ok(Self { path, cx: cx.clone(), within, wait: cx.lock_wait()? })
    }

    /// The deepest directory on the way to the file that exists, without links, and the rest of the path.
    fn followed(&self) -> std::result::Result<(PathBuf, PathBuf), DocumentFault> {
        let Self { cx: Context { disk, .. }, path, .. } = self;
        let target = match disk.look(path, Links::Refuse) {
            // Tools that manage such files use links.
            Ok(stat) if stat.kind == FileType::Symlink => disk.canonical(path).map_err(|errno| match errno {
                Errno::NOENT => DocumentFault::refused(path, "is a symlink to a file that does not exist"),
                errno => DocumentFault::io(Operation::Inspect, path, errno),
            })?,
            _ => path.clone(),
        };
        let (root, relative) = root_of(&**disk, &target).map_err(|why| match why {
            NoRoot::BelowFile => DocumentFault::refused(&target, "is below a file"),
            why => why.fault(&target),
        })?;
        // A link in a project may come from a clone.
        if let Some(within) = &self.within {
            let within =
                disk.canonical(within).map_err(|errno| DocumentFault::io(Operation::Inspect, within, errno))?;
            if !root.starts_with(&within) {
                return Err(DocumentFault::refused(path, LEADS_OUT));
            }
        }
        Ok((root, relative))
    }

    /// The text; `None` if the file is missing.
    pub(super) fn read(&self) -> Result<Option<String>> {
        let (root, relative) = self.followed().map_err(unusable)?;
        read_document(&self.place(&root, &relative)).map_err(unusable)
    }

    /// Replaces the text by the result of `edit`, or removes the file if that is `None`.
    pub(super) fn edit(&self, edit: &mut dyn FnMut(Option<&str>) -> Result<Option<String>>) -> Result<()> {
        let (root, relative) = self.followed().map_err(unusable)?;
        edit_document(&self.place(&root, &relative), edit).map_err(|error| match error {
            DocumentError::Edit { source, .. } => source,
            DocumentError::Fault(fault) => unusable(fault),
        })
    }

    /// Makes good what killed processes left of a file that stays as it is.
    pub(super) fn settle(&self) {
        if let Ok((root, relative)) = self.followed() {
            settle_document(&self.place(&root, &relative));
        }
    }

    /// The error for a text that cannot be edited.
    pub(super) fn invalid(&self, SettingsFault { place, reason, help }: SettingsFault) -> Error {
        let message = format!("{}:{place}: {reason}", self.path.display());
        Problem::new(Kind::Refused, "invalid_settings", message).help(format!("{help}. Nothing was written")).into()
    }

    fn place<'p>(&'p self, root: &'p Path, relative: &'p Path) -> DocumentPlace<'p> {
        // Hosts watch the directory of their settings, so no lock file comes and goes there.
        self.cx.document(root, relative, limits::SETTINGS_BYTES, self.wait)
    }
}

/// The text of a file of a host, which is only looked at; `None` if it cannot be read.
pub(super) fn text_of(cx: &Context, path: &Path) -> Option<String> {
    String::from_utf8(read_named(&*cx.disk, path, limits::SETTINGS_BYTES).ok()?).ok()
}

/// What is wrong with a link in a project that may come from a clone.
const LEADS_OUT: &str = "leads out of the project";

/// The error for a file that cannot be read or replaced.
fn unusable(fault: DocumentFault) -> Error {
    let help = match fault {
        DocumentFault::Unsafe { why: LEADS_OUT, .. } => {
            "replace the link or file, or set flow up for the user and not for the project"
        }
        DocumentFault::Unsafe { .. } => "replace the link or file",
        _ => return fault.into(),
    };
    fault.problem().help(help).into()
}

impl SettingsFile {
    /// A file beside it; `None` if it does not exist or cannot be read.
    pub(super) fn beside(&self, cx: &Context, name: &str) -> Option<(PathBuf, String)> {
        let path = self.file.path.with_file_name(name);
        let text = text_of(cx, &path)?;
        Some((path, text))
    }
}
