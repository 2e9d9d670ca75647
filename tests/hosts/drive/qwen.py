"""Qwen Code with a home of its own and flow's hooks in its settings."""

import json
import time

from host import Host
from project import environment
from terminal import Terminal

YOLO = ("--approval-mode", "yolo")


class Qwen(Host):
    name = "qwen"
    title = "Qwen Code"
    flow_name = "qwen"
    leave = "/quit"

    def __init__(self, project, model, programs):
        super().__init__(project)
        config = project.home / ".qwen"
        config.mkdir()
        settings = {
            "general": {"enableAutoUpdate": False},
            "privacy": {"usageStatisticsEnabled": False},
            "security": {"auth": {"selectedType": "openai"}, "folderTrust": {"enabled": False}},
        }
        (config / "settings.json").write_text(json.dumps(settings, indent=2) + "\n")
        self.env = environment(
            project.home, programs.flow, programs.node, programs.qwen,
            OPENAI_BASE_URL=f"{model.address(self.name)}/v1",
            OPENAI_API_KEY="scripted",
            OPENAI_MODEL="scripted",
        )

    def command(self, prompt, *options):
        return ["qwen", *YOLO, *options, "-p", prompt]

    def terminal(self, *options):
        terminal = Terminal(["qwen", *YOLO, *options], self.project.root, self.env)
        terminal.wait_for("Type your message", 60)
        time.sleep(1)  # What is entered before is lost.
        return terminal
