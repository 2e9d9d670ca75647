"""OpenCode with a home of its own and flow's plugin."""

import json
import time

from host import Host
from project import environment
from terminal import Terminal


class OpenCode(Host):
    name = "opencode"
    title = "OpenCode"
    flow_name = "opencode"

    def __init__(self, project, model, programs):
        super().__init__(project)
        config = project.home / ".config" / "opencode"
        config.mkdir(parents=True)
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "options": {"baseURL": f"{model.address(self.name)}/v1", "apiKey": "scripted"},
            "models": {"model": {"name": "model", "limit": {"context": 100000, "output": 1000}}},
        }
        settings = {
            "autoupdate": False,
            "share": "disabled",
            "model": "scripted/model",
            "small_model": "scripted/model",
            "permission": {"bash": "allow"},
            "provider": {"scripted": provider},
        }
        (config / "opencode.json").write_text(json.dumps(settings, indent=2) + "\n")
        state = project.home / ".local" / "state" / "opencode"
        state.mkdir(parents=True)
        # Moving pictures keep a terminal that is read by a program busy.
        (state / "kv.json").write_text(json.dumps({"animations_enabled": False}))
        self.env = environment(
            project.home, programs.flow, programs.opencode,
            OPENCODE_DISABLE_AUTOUPDATE="1",
            OPENCODE_DISABLE_MODELS_FETCH="1",
            OPENCODE_DISABLE_DEFAULT_PLUGINS="1",
            # Where there are plugins, it waits for a package that it fetches for them, and without a network for minutes.
            npm_config_offline="true",
        )

    def command(self, prompt, *options):
        # It puts an argument with spaces into quotes, and nothing in quotes is meant as a word to flow.
        return ["opencode", "run", *options, *prompt.split()]

    def terminal(self, *options):
        terminal = Terminal(["opencode", *options], self.project.root, self.env)
        terminal.wait_for("Ask anything", 60)
        time.sleep(1)  # What is entered before is lost.
        return terminal
