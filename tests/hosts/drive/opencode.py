"""OpenCode with a home of its own and flow's plugin."""

from host import Host
from project import environment


class OpenCode(Host):
    name = "opencode"
    title = "OpenCode"
    flow_name = "opencode"
    call = ("opencode",)
    ready = "Ask anything"

    def __init__(self, project, model, programs):
        super().__init__(project)
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
        self.write(".config/opencode/opencode.json", settings)
        # Moving pictures keep a terminal that is read by a program busy.
        self.write(".local/state/opencode/kv.json", {"animations_enabled": False})
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
        return [*self.call, "run", *options, *prompt.split()]
