"""The formats in which hosts talk to a model, one file each, and what they have in common.

A format has `serves(path)`; `request(host, path, body)`, which is what the host asks; `stream(path, body, step)`, the answer as
server-sent events, or nothing if the host asks for no stream; and `whole(body, step)`, the same as one JSON value.
"""

import json
import time
from dataclasses import dataclass

# What hosts call the tool that runs a command.
SHELL_TOOLS = ("Bash", "bash", "exec_command", "run_shell_command")


@dataclass
class Step:
    """What the model answers: a text, or a command that its host shall run."""

    text: str = ""
    command: str = ""
    delay: float = 0.0
    tokens: int = 5
    hold: object = None  # An event; the answer waits until it is set.


@dataclass
class Request:
    """What a host asks. The entries are pairs: who speaks (system, user, assistant or tool), and the text."""

    host: str
    kind: str
    entries: list
    at: float


def request(host, entries, tools):
    """A request with a tool for commands is one of a turn; hosts ask for titles and the like without tools."""
    kind = "turn" if shell_tool(tools) else "title"
    return Request(host, kind, entries, time.time())


def shell_tool(tools):
    """The name of the tool that runs commands, among the names of all tools; or nothing."""
    return next((name for name in tools if name in SHELL_TOOLS), None)


def shell_call(command):
    """The arguments with which hosts take a command."""
    return {"command": command, "description": "A step of the work"}


def text_of(content):
    """The text of a content in any format: a string, or a list of parts."""
    if isinstance(content, str):
        return content
    parts = [part if isinstance(part, str) else part.get("text") or "" for part in content or []]
    return "\n".join(parts)


def identifier(kind):
    """A name for a message or a call that no other has."""
    return f"{kind}_{time.time_ns()}"


def events(values, named=False):
    """Values as server-sent events; in some formats the type of a value is the name of its event."""
    names = (f"event: {value['type']}\n" if named else "" for value in values)
    return "".join(f"{name}data: {json.dumps(value)}\n\n" for name, value in zip(names, values))
