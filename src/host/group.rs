//! Children in process groups of their own: a signal reaches what they started as well.

use std::io;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

/// How long a command has to end after it was asked to.
pub(super) const GRACE: Duration = Duration::from_secs(2);
/// How long to read what processes in the background write after the command ended.
pub(super) const AFTERWARDS: Duration = Duration::from_millis(500);
/// How long to look at a time; a signal or the end of the command may have come.
pub(super) const LOOK: Duration = Duration::from_millis(20);

/// Has the command begin in a process group of its own.
pub(super) fn in_own_group(command: &mut Command) {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
}

/// Sends a signal to a child, which must be in a process group of its own, and to its children.
pub(super) fn signal(child: &Child, signal: Signal) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // It may have ended.
        let _ = kill_process_group(group, signal);
    }
}

/// Sends a signal that is to end a child and its children, also if they are stopped: then it reaches them only when they go on.
pub(super) fn ask_to_end(child: &Child, number: Signal) {
    signal(child, number);
    signal(child, Signal::CONT);
}

/// Whether a child is stopped since it read from a terminal, or changed it, which is not its own.
pub(super) fn waits_for_terminal(child: &Child) -> bool {
    let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else { return false };
    let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    match waitid(WaitId::Pid(pid), options) {
        Ok(Some(status)) => {
            let by = status.stopping_signal();
            by == Some(Signal::TTIN.as_raw()) || by == Some(Signal::TTOU.as_raw())
        }
        Ok(None) | Err(_) => false,
    }
}

/// Kills a child, which must be in a process group of its own, with its children.
pub(super) fn kill(child: &mut Child) {
    signal(child, Signal::KILL);
    let _ = child.kill();
    let _ = child.wait();
}

/// Ends a child and its children: first with a request to end, then by force.
pub(super) fn end(child: &mut Child) {
    ask_to_end(child, Signal::TERM);
    let _ = wait_until(child, Instant::now() + GRACE);
    kill(child);
}

/// Waits for the end of a child; `None` if it has not come by then.
pub(super) fn wait_until(child: &mut Child, deadline: Instant) -> io::Result<Option<ExitStatus>> {
    loop {
        match child.try_wait()? {
            Some(status) => return Ok(Some(status)),
            None if Instant::now() >= deadline => return Ok(None),
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    }
}
