"""The Gemini CLI with a home of its own and flow's hooks in its settings."""

import json
import time

from host import Host
from project import environment
from terminal import Terminal

# A model that is named needs no request that chooses one.
MODEL = ("--approval-mode", "yolo", "--model", "gemini-2.5-flash")


class Gemini(Host):
    name = "gemini"
    title = "Gemini CLI"
    flow_name = "gemini-cli"
    leave = "/quit"

    def __init__(self, project, model, programs):
        super().__init__(project)
        config = project.home / ".gemini"
        config.mkdir()
        settings = {
            "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
            "privacy": {"usageStatisticsEnabled": False},
            "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
        }
        (config / "settings.json").write_text(json.dumps(settings, indent=2) + "\n")
        self.env = environment(
            project.home, programs.flow, programs.node, programs.gemini,
            GOOGLE_GEMINI_BASE_URL=model.address(self.name),
            GEMINI_API_KEY="scripted",
        )

    def command(self, prompt, *options):
        return ["gemini", *MODEL, *options, "-p", prompt]

    def terminal(self, *options):
        terminal = Terminal(["gemini", *MODEL, *options], self.project.root, self.env)
        terminal.wait_for("Type your message", 60)
        time.sleep(1)  # What is entered before is lost.
        return terminal
