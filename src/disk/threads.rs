//! Threads that ask the disk at the same time.

use std::panic::resume_unwind;
use std::thread;

/// Runs both at the same time, the second one on a thread of its own.
pub(crate) fn both<A, B: Send>(first: impl FnOnce() -> A, second: impl FnOnce() -> B + Send) -> (A, B) {
    thread::scope(|scope| {
        let second = scope.spawn(second);
        Processors::default().leave();
        (first(), second.join().unwrap_or_else(|panic| resume_unwind(panic)))
    })
}

/// Gives each thread that this one creates a processor of its own.
///
/// Linux starts a thread on the processor of its creator. On a virtual machine it takes the other processors, which
/// sleep, for busy ones, and moves the thread only at its next tick, up to 4 ms later. So the creator moves instead.
#[derive(Debug, Default)]
pub(crate) struct Processors {
    #[cfg(target_os = "linux")]
    given: Vec<usize>,
}

impl Processors {
    /// Leaves this processor to the thread that was just created, if there is another one.
    #[cfg(target_os = "linux")]
    pub(crate) fn leave(&mut self) {
        use rustix::thread::{sched_getaffinity, sched_getcpu, sched_setaffinity};

        self.given.push(sched_getcpu());
        let Ok(all) = sched_getaffinity(None) else { return };
        let mut others = all;
        for processor in &self.given {
            others.unset(*processor);
        }
        // It moves now, and may move again later, as may the threads that it creates. Without others this is refused.
        if sched_setaffinity(None, &others).is_ok() {
            let _ = sched_setaffinity(None, &all);
        }
    }

    #[cfg(not(target_os = "linux"))]
    #[allow(clippy::unused_self)]
    pub(crate) fn leave(&mut self) {}
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

    use super::*;

    #[test]
    fn a_thread_may_run_afterwards_where_it_might_before() {
        let all = sched_getaffinity(None).unwrap();
        let mut processors = Processors::default();
        for _ in 0..=all.count() {
            processors.leave();
            assert_eq!(sched_getaffinity(None).unwrap(), all);
        }
    }

    #[test]
    fn a_thread_that_may_run_nowhere_else_stays() {
        let only = (0..CpuSet::MAX_CPU).find(|cpu| sched_getaffinity(None).unwrap().is_set(*cpu)).unwrap();
        let mut here = CpuSet::new();
        here.set(only);
        sched_setaffinity(None, &here).unwrap();
        Processors::default().leave();
        assert_eq!(sched_getaffinity(None).unwrap(), here);
    }
}
