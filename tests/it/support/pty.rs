//! A real terminal: the program runs in a session of its own, and a test types and reads on the other side.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::support::Sandbox;

/// A program at a terminal.
pub struct Terminal {
    child: Child,
    keys: File,
    screen: Receiver<Vec<u8>>,
    seen: String,
    /// How far `seen` was waited for.
    at: usize,
}

/// How long a program may take until it shows what it should.
const PATIENCE: Duration = Duration::from_secs(30);

impl Terminal {
    /// Runs flow with `args` at a terminal.
    pub fn flow(sandbox: &Sandbox, args: &[&str]) -> Self {
        let keys = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&keys).unwrap();
        unlockpt(&keys).unwrap();
        let name = ptsname(&keys, Vec::new()).unwrap().into_string().unwrap();
        let side = || Stdio::from(OpenOptions::new().read(true).write(true).open(&name).unwrap());
        let mut command = sandbox.command("setsid");
        command.args(["--ctty", env!("CARGO_BIN_EXE_flow")]).args(args).env("TERM", "xterm");
        let child = command.stdin(side()).stdout(side()).stderr(side()).spawn().unwrap();
        // The other side is closed with the program; only then does reading end.
        drop(command);
        let keys = File::from(keys);
        let (send, screen) = channel();
        let mut out = keys.try_clone().unwrap();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(len @ 1..) = out.read(&mut bytes) {
                if send.send(bytes[..len].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { child, keys, screen, seen: String::new(), at: 0 }
    }

    /// Waits until the program shows `text` behind what was waited for before.
    #[track_caller]
    pub fn shows(&mut self, text: &str) -> &mut Self {
        loop {
            if let Some(found) = self.seen[self.at..].find(text) {
                self.at += found + text.len();
                return self;
            }
            match self.screen.recv_timeout(PATIENCE) {
                Ok(bytes) => self.seen.push_str(&String::from_utf8_lossy(&bytes)),
                Err(_) => panic!("{text:?} is not shown in {:?}", &self.seen[self.at..]),
            }
        }
    }

    /// Types.
    pub fn types(&mut self, keys: &str) -> &mut Self {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self
    }

    /// Pastes, as terminals do that say where a paste begins and ends.
    pub fn pastes(&mut self, text: &str) -> &mut Self {
        self.types(&format!("\u{1b}[200~{}\u{1b}[201~", text.replace('\n', "\r")))
    }

    /// Waits for the end; the exit status, which a signal leaves out, and all that was shown.
    pub fn ends(mut self) -> (Option<i32>, String) {
        let code = self.child.wait().unwrap().code();
        while let Ok(bytes) = self.screen.recv_timeout(PATIENCE) {
            self.seen.push_str(&String::from_utf8_lossy(&bytes));
        }
        (code, self.seen)
    }
}
