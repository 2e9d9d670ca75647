//! The permissions and owner of a file that is replaced.

use crate::disk::file_system::{Answer, DiskFile, Stat};

/// The permissions and owner of a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rights {
    /// The permission bits.
    pub(super) mode: u32,
    user: u32,
    group: u32,
}

impl Rights {
    pub(super) fn of(stat: &Stat) -> Self {
        Self { mode: stat.mode & 0o777, user: stat.owner, group: stat.group }
    }

    /// Applies them to a new file, as far as the system allows it.
    pub(super) fn give(self, file: &dyn DiskFile) -> Answer<()> {
        let own = Self::of(&file.stat()?);
        // Only root may change the owner. Others may still keep the group, if they belong to it.
        let is_kept = (own.user, own.group) == (self.user, self.group)
            || file.set_owner(Some(self.user), Some(self.group)).is_ok()
            || file.set_owner(None, Some(self.group)).is_ok();
        // Last: until then the file is as private as it was made.
        file.set_mode(if is_kept { self.mode } else { narrowed(self.mode) })
    }
}

/// The mode of a file whose group could not be kept. Members of the old group and others have changed places, so each
/// gets only the permissions that both had: no one may do more than before.
fn narrowed(mode: u32) -> u32 {
    let both = (mode >> 3) & mode & 0o7;
    (mode & 0o700) | (both << 3) | both
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_may_do_more_when_a_group_cannot_be_kept() {
        for (mode, narrow) in [(0o640, 0o600), (0o664, 0o644), (0o604, 0o600), (0o666, 0o666), (0o751, 0o711)] {
            assert_eq!(narrowed(mode), narrow, "{mode:o}");
        }
    }
}
