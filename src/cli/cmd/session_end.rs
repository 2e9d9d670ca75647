//! `session-end`: called by hooks, so it always exits 0, and soon.

use std::io::{self, IsTerminal, Read};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::cli::args::SessionEndArgs;
use crate::cli::exit::Exit;
use crate::cli::out::Out;
use crate::cli::page::Page;
use crate::model::limits;
use crate::runs::{self, Context, Error, HookInput, SessionEndRequest};

/// How long to wait for the first byte: a hook must not hang when its host opens a pipe and writes nothing.
const STDIN_WAIT: Duration = Duration::from_millis(200);

pub(super) fn run(cx: &Context, args: SessionEndArgs, out: &mut Out) -> Exit {
    let hook = HookInput::read(&payload());
    match runs::session_end(cx, &SessionEndRequest { session: args.session, hook }) {
        Ok(report) => {
            out.warnings(&report.warnings);
            out.answer(&report, || {
                let mut page = Page::default();
                for run in &report.persisted {
                    page.line(&format!("Active FlowRun {} persisted; use /flow:resume to continue", run.run_id));
                }
                page.finish()
            });
        }
        // Without a project there are no runs to mark.
        Err(Error::NoProject { .. }) => {}
        Err(error) => {
            out.error(&error);
        }
    }
    Exit::Done
}

/// What the hook's host wrote on standard input; empty for a terminal, and when nothing comes in time.
fn payload() -> String {
    if io::stdin().is_terminal() {
        return String::new();
    }
    let (read, wait) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = io::stdin().lock().take(limits::HOOK_BYTES as u64).read_to_end(&mut bytes);
        let _ = read.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    wait.recv_timeout(STDIN_WAIT).unwrap_or_default()
}
