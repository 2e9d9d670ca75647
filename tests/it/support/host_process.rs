//! A process that stands for an agent's host.

use std::process::{Child, Command};

use serde_json::Value;

use super::{Sandbox, run};

/// A process that stands for an agent's host. It is killed at the end.
pub struct HostProcess(Child);

impl HostProcess {
    pub fn new(sandbox: &Sandbox) -> Self {
        Self(sandbox.command("sleep").arg("180").spawn().unwrap())
    }

    pub fn id(&self) -> u32 {
        self.0.id()
    }

    pub fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    /// Runs a command for a session of this host.
    pub fn flow(&self, sandbox: &Sandbox, session: &str, args: &[&str]) {
        self.run(sandbox, &[args, &["--session", session]].concat(), "");
    }

    /// Calls a hook of Claude Code as its host does, and gives its answer.
    pub fn hook(&self, sandbox: &Sandbox, event: &str, payload: &Value) -> String {
        self.run(sandbox, &["hook", "claude-code", event], &payload.to_string())
    }

    /// Lets a command be one of this host.
    pub fn runs(&self, mut command: Command) -> Command {
        command.env("FLOW_HOLDER_PID", self.0.id().to_string());
        command
    }

    fn run(&self, sandbox: &Sandbox, args: &[&str], input: &str) -> String {
        let mut command = sandbox.flow_command();
        command.args(args);
        run(self.runs(command), input).ok().stdout
    }
}

impl Drop for HostProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
