"""Claude Code with a home of its own and flow's hooks in its settings."""

import json
import subprocess

from project import environment
from terminal import Terminal, headless

KEY = "sk-ant-scripted-model-of-the-drive"


class Claude:
    name = "claude"
    title = "Claude Code"

    def __init__(self, project, model, programs):
        self.project = project
        self.config = project.home / ".claude"
        self.config.mkdir()
        (self.config / ".claude.json").write_text(json.dumps(self._state()))
        settings = {"permissions": {"allow": ["Bash"], "defaultMode": "default"}}
        (self.config / "settings.json").write_text(json.dumps(settings, indent=2) + "\n")
        self.env = environment(
            project.home, programs.flow, programs.claude,
            CLAUDE_CONFIG_DIR=str(self.config),
            ANTHROPIC_BASE_URL=model.url,
            ANTHROPIC_API_KEY=KEY,
            CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
            DISABLE_AUTOUPDATER="1",
            DISABLE_TELEMETRY="1",
            IS_SANDBOX="1",
        )

    def _state(self):
        """What Claude Code would have asked at its first start."""
        trusted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
        return {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "numStartups": 5,
            "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
            "projects": {str(self.project.root): trusted},
        }

    def install(self, *options):
        install = ["flow", "hooks", "install", "--host", "claude-code", *options]
        subprocess.run(install, cwd=self.project.root, env=self.env, check=True, capture_output=True)
        return self

    def headless(self, prompt, *options):
        return headless(["claude", *options, "-p", prompt], self.project.root, self.env)

    def terminal(self, *options):
        terminal = Terminal(["claude", *options], self.project.root, self.env)
        terminal.wait_for("❯")
        return terminal

    def close(self):
        """Nothing outlives its terminal."""
