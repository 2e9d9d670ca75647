"""Claude Code with a home of its own and flow's hooks in its settings."""

import json

from host import Host
from project import environment
from terminal import Terminal

KEY = "sk-ant-scripted-model-of-the-drive"


class Claude(Host):
    name = "claude"
    title = "Claude Code"
    flow_name = "claude-code"

    def __init__(self, project, model, programs):
        super().__init__(project)
        self.config = project.home / ".claude"
        self.config.mkdir()
        (self.config / ".claude.json").write_text(json.dumps(self._state()))
        settings = {"permissions": {"allow": ["Bash"], "defaultMode": "default"}}
        (self.config / "settings.json").write_text(json.dumps(settings, indent=2) + "\n")
        self.env = environment(
            project.home, programs.flow, programs.claude,
            CLAUDE_CONFIG_DIR=str(self.config),
            ANTHROPIC_BASE_URL=model.address(self.name),
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

    def command(self, prompt, *options):
        return ["claude", *options, "-p", prompt]

    def terminal(self, *options):
        terminal = Terminal(["claude", *options], self.project.root, self.env)
        terminal.wait_for("❯")
        return terminal
