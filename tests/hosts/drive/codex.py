"""Codex with a home of its own and flow's hooks, which are trusted in the dialog at its start."""

import subprocess
import time

from host import Host
from project import environment, owned_processes
from terminal import Terminal, until

CONFIG = """\
model = "gpt-5.5"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "workspace-write"
check_for_update_on_startup = false

# Otherwise its sandbox makes directories in /tmp, such as .git, and a Codex that is killed leaves them there.
[sandbox_workspace_write]
exclude_slash_tmp = true
exclude_tmpdir_env_var = true

[notice.model_migrations]
"gpt-5.5" = "gpt-6-sol"

[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"

[projects."{project}"]
trust_level = "trusted"
"""

NO_DAEMON = ("-c", "features.daemon_auto_start=false")


class Codex(Host):
    name = "codex"
    title = "Codex"
    flow_name = "codex"
    call = ("codex",)
    ready = "for shortcuts"
    leave = "/quit"

    def __init__(self, project, model, programs):
        super().__init__(project)
        self.config = project.home / ".codex"
        self.config.mkdir()
        (self.config / "config.toml").write_text(CONFIG.format(url=model.address(self.name), project=project.root))
        # Codex runs commands in a login shell.
        for profile in (".profile", ".bashrc"):
            (project.home / profile).write_text(f'export PATH="{programs.flow}:$PATH"\n')
        self.env = environment(
            project.home, programs.flow, programs.codex, CODEX_HOME=str(self.config), SCRIPTED_KEY="scripted"
        )

    def install(self, *options):
        super().install(*options)
        self.trust()
        return self

    def trust(self):
        """Trusts the hooks as a person does: in the dialog."""
        terminal = Terminal([*self.call, *NO_DAEMON], self.project.root, self.env)
        terminal.wait_for("[Hh]ooks need review")
        time.sleep(0.5)
        terminal.send("2")
        time.sleep(1)
        terminal.send("\r")
        terminal.wait_for("›.*\n.*", 10)
        if not until(lambda: "trusted_hash" in (self.config / "config.toml").read_text(), 10):
            raise RuntimeError(f"the hooks are not trusted:\n{terminal.screen()}")
        terminal.enter(self.leave)
        terminal.is_over(5)
        terminal.end()

    def command(self, prompt, *options):
        return [*self.call, "exec", *options, prompt]

    def processes(self):
        """The processes of this home: its daemon, and what it runs."""
        return owned_processes("CODEX_HOME", self.config)

    def close(self):
        """Stops the daemon, if the terminal has started one."""
        stop = ["codex", "app-server", "daemon", "stop"]
        try:
            subprocess.run(stop, cwd=self.project.root, env=self.env, capture_output=True, timeout=20)
        except subprocess.TimeoutExpired:
            pass  # It waits for turns that were stopped; see below.
        if not until(lambda: not self.processes(), 5):
            self.kill()
