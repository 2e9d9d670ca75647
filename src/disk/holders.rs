//! The holder of a file lock, as the kernel lists it. Takes no lock.

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

/// A process that holds a `flock` on the file with this inode, exclusive or shared; `None` if there is none or it is unknown.
///
/// Compares only the inode, because the kernel lists the device number of the superblock, which on some file systems
/// (btrfs) differs from the one of the file. So a lock on another disk may be mistaken for one on this file.
pub(crate) fn lock_holder(inode: u64) -> Option<u32> {
    holder_in(&std::fs::read_to_string("/proc/locks").ok()?, inode)
}

/// Whether there is a process with this id.
pub(crate) fn is_running(pid: u32) -> bool {
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return false };
    // A process that may not be signalled exists as well.
    test_kill_process(pid) != Err(Errno::SRCH)
}

/// Parses `1: FLOCK  ADVISORY  WRITE 1234 fe:00:5678 0 EOF`. A waiting process has `->` after the number.
fn holder_in(listed: &str, inode: u64) -> Option<u32> {
    listed.lines().find_map(|line| {
        let words: Vec<_> = line.split_whitespace().collect();
        let [_, "FLOCK", _, "READ" | "WRITE", pid, place, ..] = words.as_slice() else { return None };
        let held: u64 = place.rsplit(':').next()?.parse().ok()?;
        if held == inode { pid.parse().ok() } else { None }
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
