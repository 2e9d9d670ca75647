"""The Copilot CLI with a home of its own, flow's hooks, and a model provider of one's own, which needs no login."""

import time

from host import Host
from project import environment
from terminal import Terminal


class Copilot(Host):
    name = "copilot"
    title = "Copilot CLI"
    flow_name = "copilot"

    def __init__(self, project, model, programs):
        super().__init__(project)
        self.env = environment(
            project.home, programs.flow, programs.copilot,
            COPILOT_HOME=str(project.home / ".copilot"),
            COPILOT_PROVIDER_BASE_URL=f"{model.address(self.name)}/v1",
            COPILOT_PROVIDER_API_KEY="scripted",
            COPILOT_MODEL="scripted",
            COPILOT_OFFLINE="true",
            COPILOT_AUTO_UPDATE="false",
            COPILOT_ALLOW_ALL="true",
        )

    def command(self, prompt, *options):
        return ["copilot", *options, "-p", prompt]

    def terminal(self, *options):
        terminal = Terminal(["copilot", *options], self.project.root, self.env)
        terminal.wait_for("/ commands", 60)
        time.sleep(1)  # What is entered before is lost.
        return terminal
