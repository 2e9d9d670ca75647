"""The Copilot CLI with a home of its own, flow's hooks, and a model provider of one's own, which needs no login."""

from host import Host
from project import environment


class Copilot(Host):
    name = "copilot"
    title = "Copilot CLI"
    flow_name = "copilot"
    call = ("copilot",)
    ready = "/ commands"

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
