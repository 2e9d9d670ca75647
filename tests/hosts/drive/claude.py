"""Claude Code with a home of its own and flow's hooks in its settings."""

from host import Host
from project import environment

KEY = "sk-ant-scripted-model-of-the-drive"


class Claude(Host):
    name = "claude"
    title = "Claude Code"
    flow_name = "claude-code"
    call = ("claude",)
    ready = "❯"

    def __init__(self, project, model, programs):
        super().__init__(project)
        self.config = project.home / ".claude"
        self.write(".claude/.claude.json", self._state())
        self.write(".claude/settings.json", {"permissions": {"allow": ["Bash"], "defaultMode": "default"}})
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
