"""The Gemini CLI with a home of its own and flow's hooks in its settings."""

from host import Host
from project import environment


class Gemini(Host):
    name = "gemini"
    title = "Gemini CLI"
    flow_name = "gemini-cli"
    # A model that is named needs no request that chooses one.
    call = ("gemini", "--approval-mode", "yolo", "--model", "gemini-2.5-flash")
    ready = "Type your message"
    leave = "/quit"
    folder = ".gemini"  # Where its settings are.
    login = "gemini-api-key"

    def __init__(self, project, model, programs):
        super().__init__(project)
        settings = {
            "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
            "privacy": {"usageStatisticsEnabled": False},
            "security": {"auth": {"selectedType": self.login}, "folderTrust": {"enabled": False}},
        }
        self.write(f"{self.folder}/settings.json", settings)
        own = getattr(programs, self.name)
        variables = self.variables(model.address(self.name))
        self.env = environment(project.home, programs.flow, programs.node, own, **variables)

    def variables(self, address):
        """What tells it where its model is."""
        return {"GOOGLE_GEMINI_BASE_URL": address, "GEMINI_API_KEY": "scripted"}
