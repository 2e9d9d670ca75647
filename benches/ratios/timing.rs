//! Whole processes, timed in turns.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Something that is timed.
pub struct Timed<'a> {
    name: &'static str,
    make: Box<dyn FnMut() -> Command + 'a>,
    /// What stands on standard input.
    input: Option<&'a Path>,
    times: Vec<Duration>,
}

impl<'a> Timed<'a> {
    /// `make` gives a new command for every turn.
    pub fn new(name: &'static str, make: impl FnMut() -> Command + 'a) -> Self {
        Self { name, make: Box::new(make), input: None, times: Vec::new() }
    }

    /// With this file on standard input.
    pub fn reading(self, input: &'a Path) -> Self {
        Self { input: Some(input), ..self }
    }

    /// The median of its times so far.
    pub fn median(&mut self) -> Duration {
        median(&mut self.times)
    }

    fn turn(&mut self) {
        let mut command = (self.make)();
        let input = self.input.map_or_else(Stdio::null, |path| File::open(path).unwrap().into());
        command.stdin(input).stdout(Stdio::null()).stderr(Stdio::null());
        let started = Instant::now();
        let status = command.status().unwrap();
        self.times.push(started.elapsed());
        assert!(status.success(), "{}: {command:?}", self.name);
    }
}

/// Lets each have its turn, again and again, and gives their medians.
pub fn alternate(timed: &mut [Timed<'_>], rounds: usize) -> Vec<Duration> {
    turns(timed, rounds);
    timed.iter_mut().map(Timed::median).collect()
}

/// As [`alternate`], with the times that only one in twenty exceeds.
pub fn slowest(timed: &mut [Timed<'_>], rounds: usize) -> Vec<Duration> {
    turns(timed, rounds);
    let slow = |timed: &mut Timed<'_>| {
        timed.times.sort();
        timed.times[timed.times.len() * 19 / 20]
    };
    timed.iter_mut().map(slow).collect()
}

fn turns(timed: &mut [Timed<'_>], rounds: usize) {
    for _ in 0..=rounds {
        timed.iter_mut().for_each(Timed::turn);
    }
    // The first round warmed the caches.
    for timed in timed.iter_mut() {
        timed.times.remove(0);
    }
}

/// Time of processors per process, as the kernel counts it for processes that ended, and those that they waited for.
pub fn processor_time(mut make: impl FnMut() -> Command, rounds: usize) -> Duration {
    let before = ticks_of_children();
    for _ in 0..rounds {
        let status = make().stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
        assert!(status.success());
    }
    // Linux counts a hundred a second.
    let ticks = u32::try_from(ticks_of_children() - before).unwrap();
    Duration::from_millis(10) * ticks / u32::try_from(rounds).unwrap()
}

fn ticks_of_children() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    // The name of the program, in brackets, may have any characters.
    let (_, fields) = stat.rsplit_once(')').unwrap();
    let fields: Vec<&str> = fields.split_whitespace().collect();
    // The 16th and the 17th of all.
    fields[13].parse::<u64>().unwrap() + fields[14].parse::<u64>().unwrap()
}

/// Time per process when so many run at once.
pub fn together(at_once: usize, processes: usize, make: impl Fn() -> Command + Sync) -> Duration {
    let started = Instant::now();
    std::thread::scope(|scope| {
        for worker in 0..at_once {
            let share = (worker..processes).step_by(at_once).count();
            let make = &make;
            scope.spawn(move || {
                for _ in 0..share {
                    let status = make().stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
                    assert!(status.success());
                }
            });
        }
    });
    started.elapsed() / u32::try_from(processes).unwrap()
}

/// The one in the middle.
pub fn median(times: &mut [Duration]) -> Duration {
    times.sort();
    times[times.len() / 2]
}
