"""What the hosts have in common."""

import json
import os
import signal
import subprocess
import time

from project import owned_processes
from terminal import Terminal, headless


class Host:
    """A host with a home of its own. A subclass names it, writes its settings, and gives its environment as `env`."""

    name = ""
    title = ""
    flow_name = ""  # What flow calls it.
    call = ()  # The program, and the options that it always gets.
    ready = ""  # What its terminal shows as soon as it takes a prompt.
    leave = "/exit"  # The command of its prompt that ends it.

    def __init__(self, project):
        self.project = project
        self.env = {}

    def write(self, name, value):
        """Writes JSON to a file of its home."""
        path = self.project.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value, indent=2) + "\n")

    def install(self, *options):
        command = ["flow", "hooks", "install", "--host", self.flow_name, *options]
        done = subprocess.run(command, cwd=self.project.root, env=self.env, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"flow hooks install --host {self.flow_name} exits {done.returncode}: {done.stderr.strip()}")
        return self

    def command(self, prompt, *options):
        """The command that lets it work on one prompt without a terminal."""
        return [*self.call, *options, "-p", prompt]

    def headless(self, prompt, *options):
        return headless(self.command(prompt, *options), self.project.root, self.env)

    def terminal(self, *options):
        """Opens it in a terminal, and waits until it takes a prompt."""
        terminal = Terminal([*self.call, *options], self.project.root, self.env)
        terminal.wait_for(self.ready, 60)
        time.sleep(1)  # What is entered before is lost.
        return terminal

    def processes(self):
        """The processes of this home: the program, and what it runs."""
        return owned_processes("HOME", self.project.home)

    def kill(self):
        for process in self.processes():
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                continue

    def close(self):
        """Ends what outlives its terminals."""
        self.kill()
