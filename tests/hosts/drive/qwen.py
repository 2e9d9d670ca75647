"""Qwen Code, which was made from the Gemini CLI."""

from gemini import Gemini


class Qwen(Gemini):
    name = "qwen"
    title = "Qwen Code"
    flow_name = "qwen"
    call = ("qwen", "--approval-mode", "yolo")
    folder = ".qwen"
    login = "openai"

    def variables(self, address):
        return {"OPENAI_BASE_URL": f"{address}/v1", "OPENAI_API_KEY": "scripted", "OPENAI_MODEL": "scripted"}
