"""OpenAI's Responses, in which Codex asks."""

import json
import time

from formats import Request, events, identifier, text_of


def serves(path):
    return path.endswith("/responses")


def request(host, path, body):
    entries = []
    for item in body.get("input", []):
        if item.get("type") == "function_call_output":
            entries.append(("tool", text_of(item.get("output"))))
        elif "role" in item:
            entries.append((item["role"], text_of(item.get("content"))))
    last = entries[-1][1] if entries else ""
    kind = "turn"  # Codex offers its tools with every request.
    if "task title" in last:
        kind = "title"
    elif "CONTEXT CHECKPOINT" in last or "handoff summary" in last:
        kind = "summary"
    return Request(host, kind, entries, time.time())


def stream(path, body, step):
    return events(list(_events(step)), named=True)


def _events(step):
    reply = identifier("resp")
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
