//! Who holds a file lock, as the kernel lists them. Asking takes no lock.

/// The process that holds an exclusive `flock` on the file of this inode; `None` when nobody does or it cannot be told.
///
/// The kernel names the device of a lock by the superblock's number, which some file systems (btrfs) do not show as a
/// file's, so only the inode is compared: at worst a lock on another disk is taken for one on this file.
#[must_use]
pub fn lock_holder(inode: u64) -> Option<u32> {
    holder_in(&std::fs::read_to_string("/proc/locks").ok()?, inode)
}

/// `1: FLOCK  ADVISORY  WRITE 1234 fe:00:5678 0 EOF`; a waiting process has `->` behind the number.
fn holder_in(listed: &str, inode: u64) -> Option<u32> {
    listed.lines().find_map(|line| {
        let words: Vec<_> = line.split_whitespace().collect();
        let [_, "FLOCK", _, "WRITE", pid, place, ..] = words.as_slice() else { return None };
        let held: u64 = place.rsplit(':').next()?.parse().ok()?;
        (held == inode).then(|| pid.parse().ok()).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_holder_is_told_from_those_who_wait() {
        let listed = "1: FLOCK  ADVISORY  WRITE 17 fe:00:99 0 EOF\n1: -> FLOCK  ADVISORY  WRITE 18 fe:00:42 0 EOF\n\
                      2: POSIX  ADVISORY  WRITE 19 fe:00:42 0 EOF\n3: FLOCK  ADVISORY  WRITE 20 fe:00:42 0 EOF\n";
        assert_eq!(holder_in(listed, 42), Some(20));
        assert_eq!(holder_in(listed, 99), Some(17));
        assert_eq!(holder_in(listed, 1), None);
    }
}
