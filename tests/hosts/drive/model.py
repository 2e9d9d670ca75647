"""A scripted model on loopback, in the formats of Anthropic's Messages and of OpenAI's Responses."""

import http.server
import json
import sys
import threading
import time
from dataclasses import dataclass


@dataclass
class Step:
    """What the model answers: a text, or a command that its host shall run."""

    text: str = ""
    command: str = ""
    delay: float = 0.0
    tokens: int = 5


@dataclass
class Request:
    """What a host asks. The entries are pairs: who speaks (user, assistant or tool), and the text."""

    host: str
    kind: str
    entries: list
    at: float


def steps(*answers):
    """A script that gives these answers in their order to each host, and then ends every turn."""
    given = {}

    def script(request):
        left = given.setdefault(request.host, list(answers))
        return left.pop(0) if left else Step("Done.")

    return script


class Model:
    """Serves a script on a free port until it is closed."""

    def __init__(self, script):
        self.script = script
        self.requests = []
        self.lock = threading.Lock()
        self.server = _Server(("127.0.0.1", 0), _handler(self))
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def turns(self, host=None):
        """The requests of turns, without those for titles and summaries."""
        return [it for it in self.requests if it.kind == "turn" and host in (None, it.host)]

    def wait_for_turns(self, number, seconds=30):
        """Waits until so many turns were asked for. Returns whether they were."""
        end = time.monotonic() + seconds
        while len(self.turns()) < number and time.monotonic() < end:
            time.sleep(0.05)
        return len(self.turns()) >= number

    def answer(self, request):
        with self.lock:
            self.requests.append(request)
            if request.kind == "title":
                return Step("A title")
            if request.kind == "summary":
                return Step("<summary>They talked about the work.</summary>")
            step = self.script(request)
        time.sleep(step.delay)
        return step


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], ConnectionError):  # A host that was killed.
            super().handle_error(request, client_address)


def _handler(model):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def do_HEAD(self):
            self.reply({})

        def do_GET(self):
            self.reply({"data": [], "models": []})

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))))
            try:
                if "count_tokens" in self.path:
                    self.reply({"input_tokens": 10})
                elif self.path.split("?")[0].endswith("/messages"):
                    self.messages(body)
                elif self.path.split("?")[0].endswith("/responses"):
                    self.stream(responses_events(model.answer(responses_request(body))))
                else:
                    self.reply({})
            except ConnectionError:
                pass  # The host was stopped while the model thought.

        def messages(self, body):
            message = messages_message(body.get("model"), model.answer(messages_request(body)))
            if body.get("stream"):
                self.stream(messages_events(message))
            else:
                self.reply(message)

        def reply(self, value):
            self.send("application/json", json.dumps(value))

        def stream(self, events):
            lines = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events]
            self.send("text/event-stream", "".join(lines))

        def send(self, kind, text):
            data = text.encode()
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

    return Handler


def _text(content):
    """The text of a content in either format: a string, or a list of parts."""
    if isinstance(content, str):
        return content
    parts = [part if isinstance(part, str) else part.get("text") or "" for part in content or []]
    return "\n".join(parts)


def messages_request(body):
    entries = []
    for message in body.get("messages", []):
        content = message["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for part in parts:
            if part["type"] == "text":
                entries.append((message["role"], part["text"]))
            elif part["type"] == "tool_result":
                entries.append(("tool", _text(part.get("content"))))
    tools = [tool.get("name") for tool in body.get("tools") or []]
    kind = "turn" if "Bash" in tools else "title"
    if any("detailed summary of" in text for _, text in entries[-3:]):
        kind = "summary"
    return Request("claude", kind, entries, time.time())


def messages_message(name, step):
    content = [{"type": "text", "text": step.text}] if step.text else []
    if step.command:
        tool = {"command": step.command, "description": "A step of the work"}
        content.append({"type": "tool_use", "id": f"toolu_{time.time_ns()}", "name": "Bash", "input": tool})
    return {
        "id": f"msg_{time.time_ns()}",
        "type": "message",
        "role": "assistant",
        "model": name,
        "content": content,
        "stop_reason": "tool_use" if step.command else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": step.tokens, "output_tokens": 1},
    }


def messages_events(message):
    yield {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
    for index, part in enumerate(message["content"]):
        if part["type"] == "text":
            empty, delta = {**part, "text": ""}, {"type": "text_delta", "text": part["text"]}
        else:
            given = json.dumps(part["input"])
            empty, delta = {**part, "input": {}}, {"type": "input_json_delta", "partial_json": given}
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    delta = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 1}}
    yield {"type": "message_stop"}


def responses_request(body):
    entries = []
    for item in body.get("input", []):
        if item.get("type") == "function_call_output":
            entries.append(("tool", _text(item.get("output"))))
        elif "role" in item:
            entries.append((item["role"], _text(item.get("content"))))
    last = entries[-1][1] if entries else ""
    kind = "turn"
    if "task title" in last:
        kind = "title"
    elif "CONTEXT CHECKPOINT" in last or "handoff summary" in last:
        kind = "summary"
    return Request("codex", kind, entries, time.time())


def responses_events(step):
    reply = f"resp_{time.time_ns()}"
    yield {"type": "response.created", "response": {"id": reply}}
    if step.text:
        content = [{"type": "output_text", "text": step.text}]
        item = {"type": "message", "role": "assistant", "id": f"msg_{reply}", "content": content}
        yield {"type": "response.output_item.done", "item": item, "output_index": 0}
    if step.command:
        given = json.dumps({"cmd": step.command, "yield_time_ms": 30000})
        item = {"type": "function_call", "name": "exec_command", "call_id": f"call_{reply}", "arguments": given}
        yield {"type": "response.output_item.done", "item": item, "output_index": 0}
    usage = {"input_tokens": step.tokens, "output_tokens": 1, "total_tokens": step.tokens + 1}
    usage |= {"input_tokens_details": None, "output_tokens_details": None}
    yield {"type": "response.completed", "response": {"id": reply, "usage": usage}}
