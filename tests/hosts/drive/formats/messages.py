"""Anthropic's Messages, in which Claude Code asks."""

import json

from formats import events, identifier, request as any_request, shell_call, shell_tool, text_of


def serves(path):
    return path.endswith("/messages")


def request(host, path, body):
    entries = []
    for message in body.get("messages", []):
        content = message["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for part in parts:
            if part["type"] == "text":
                entries.append((message["role"], part["text"]))
            elif part["type"] == "tool_result":
                entries.append(("tool", text_of(part.get("content"))))
    asked = any_request(host, entries, tools(body))
    if any("detailed summary of" in text for _, text in entries[-3:]):
        asked.kind = "summary"
    return asked


def tools(body):
    return [tool.get("name") for tool in body.get("tools") or []]


def whole(body, step):
    content = [{"type": "text", "text": step.text}] if step.text else []
    if step.command:
        tool = {"id": identifier("toolu"), "name": shell_tool(tools(body)), "input": shell_call(step.command)}
        content.append({"type": "tool_use", **tool})
    return {
        "id": identifier("msg"),
        "type": "message",
        "role": "assistant",
        "model": body.get("model"),
        "content": content,
        "stop_reason": "tool_use" if step.command else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": step.tokens, "output_tokens": 1},
    }


def stream(path, body, step):
    return events(list(_events(whole(body, step))), named=True) if body.get("stream") else None


def _events(message):
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
