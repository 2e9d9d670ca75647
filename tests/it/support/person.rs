//! A person at a terminal of their own, who sees what a program shows, types and sends signals.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use super::{Lack, skipped};

/// How long anything here may take before the test has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// Whether programs can be started at terminals of their own; says so loudly when not.
pub fn has_terminals(test: &str) -> bool {
    let has = Command::new("setsid").arg("--version").output().is_ok_and(|output| output.status.success());
    if !has {
        skipped(test, &Lack::of("setsid", "setsid is missing"));
    }
    has
}

/// A program whose terminal is this one.
pub struct Person {
    child: Child,
    terminal: File,
    seen: Arc<Mutex<String>>,
    /// How much of it was waited for.
    at: usize,
    reader: JoinHandle<()>,
}

impl Person {
    /// Starts `command` as the leader of a session whose terminal this is.
    pub fn before(command: &Command) -> Self {
        Self::at("xterm", command)
    }

    /// The same at a terminal of this kind.
    pub fn at(kind: &str, command: &Command) -> Self {
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&terminal).unwrap();
        unlockpt(&terminal).unwrap();
        let name = ptsname(&terminal, Vec::new()).unwrap().into_string().unwrap();
        // O_NOCTTY, on Linux: it must not become this process's own terminal.
        let side = File::options().read(true).write(true).custom_flags(0o400).open(name).unwrap();
        let mut leader = Command::new("setsid");
        leader.arg("--ctty").arg(command.get_program()).args(command.get_args()).env_clear();
        leader.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?)))).env("TERM", kind);
        leader.current_dir(command.get_current_dir().unwrap());
        let end = || Stdio::from(side.try_clone().unwrap());
        let child = leader.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
        drop(leader);
        let terminal = File::from(terminal);
        let (seen, mut screen) = (Arc::new(Mutex::new(String::new())), terminal.try_clone().unwrap());
        let shown = Arc::clone(&seen);
        let reader = thread::spawn(move || {
            let mut bytes = [0; 4096];
            // A terminal without programs is an error on Linux.
            while let Ok(len @ 1..) = screen.read(&mut bytes) {
                shown.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..len]));
            }
        });
        Self { child, terminal, seen, at: 0, reader }
    }

    /// Starts `command` at a terminal as if nobody but a person had begun it: its ancestors are not those of this test,
    /// which an agent may run. Its exit status is shown at the end.
    pub fn alone(command: &Command) -> Self {
        let mut shell = Command::new("sh");
        // The inner shell ends at once, so the program is left to the first process.
        let script = "( ( \"$@\" </dev/tty >/dev/tty 2>&1; echo \"it ended: $?\" >/dev/tty ) & ); sleep 60";
        shell.args(["-c", script, "sh"]).arg(command.get_program()).args(command.get_args());
        shell.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        shell.current_dir(command.get_current_dir().unwrap());
        Self::before(&shell)
    }

    /// What was on the screen so far.
    pub fn seen(&self) -> String {
        self.seen.lock().unwrap().clone()
    }

    /// Waits until `text` was shown `times` times; false when the program ended before.
    pub fn sees(&mut self, text: &str, times: usize) -> bool {
        let until = Instant::now() + PATIENCE;
        while self.seen().matches(text).count() < times {
            if self.child.try_wait().unwrap().is_some() {
                return self.seen().matches(text).count() >= times;
            }
            assert!(Instant::now() < until, "no {text:?} in {:?}", self.seen());
            thread::sleep(Duration::from_millis(2));
        }
        true
    }

    /// Waits until `text` is shown behind what was waited for before.
    #[track_caller]
    pub fn shows(&mut self, text: &str) -> &mut Self {
        let until = Instant::now() + PATIENCE;
        loop {
            let seen = self.seen();
            if let Some(found) = seen[self.at..].find(text) {
                self.at += found + text.len();
                return self;
            }
            assert!(Instant::now() < until, "{text:?} is not shown in {:?}", &seen[self.at..]);
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Presses keys.
    pub fn types(&mut self, keys: &str) -> &mut Self {
        // Nobody may be there any more.
        let _ = self.terminal.write_all(keys.as_bytes());
        self
    }

    /// Pastes, as terminals do that say where a paste begins and ends.
    pub fn pastes(&mut self, text: &str) -> &mut Self {
        self.types(&format!("\u{1b}[200~{}\u{1b}[201~", text.replace('\n', "\r")))
    }

    /// Makes the terminal this large.
    pub fn resizes(&mut self, columns: u16, rows: u16) -> &mut Self {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&self.terminal, size).unwrap();
        self
    }

    /// Whether the terminal collects lines and shows what is typed, as it does for a shell.
    pub fn has_usual_modes(&self) -> bool {
        tcgetattr(&self.terminal).unwrap().local_modes.contains(LocalModes::ICANON | LocalModes::ECHO)
    }

    /// The process that has this terminal.
    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Waits for the program's end, which must come soon.
    #[track_caller]
    pub fn ended(&mut self) -> ExitStatus {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                // What it showed last is read, unless something that it began keeps the terminal.
                let soon = Instant::now() + Duration::from_secs(1);
                while !self.reader.is_finished() && Instant::now() < soon {
                    thread::sleep(Duration::from_millis(2));
                }
                return status;
            }
            assert!(Instant::now() < until, "it goes on: {:?}", self.seen());
            thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = kill_process(self.pid(), Signal::KILL);
            let _ = self.child.wait();
        }
    }
}
