"""OpenAI's Chat Completions, in which Qwen Code, the Copilot CLI and OpenCode ask."""

import json
import time

from formats import events, identifier, request as any_request, shell_call, shell_tool, text_of


def serves(path):
    return path.endswith("/chat/completions")


def request(host, path, body):
    entries = [(message["role"], text_of(message.get("content"))) for message in body.get("messages", [])]
    return any_request(host, entries, tools(body))


def tools(body):
    return [tool.get("function", {}).get("name") for tool in body.get("tools") or []]


def whole(body, step):
    choice = {"index": 0, "message": _message(body, step), "finish_reason": _reason(step)}
    return _reply(body, "chat.completion", choice, step)


def stream(path, body, step):
    if not body.get("stream"):
        return None
    first = {"index": 0, "delta": _message(body, step), "finish_reason": None}
    last = {"index": 0, "delta": {}, "finish_reason": _reason(step)}
    chunks = [_reply(body, "chat.completion.chunk", choice, step) for choice in (first, last)]
    del chunks[0]["usage"]
    return events(chunks) + "data: [DONE]\n\n"


def _message(body, step):
    message = {"role": "assistant", "content": step.text or None}
    if step.command:
        function = {"name": shell_tool(tools(body)), "arguments": json.dumps(shell_call(step.command))}
        message["tool_calls"] = [{"index": 0, "id": identifier("call"), "type": "function", "function": function}]
    return message


def _reason(step):
    return "tool_calls" if step.command else "stop"


def _reply(body, kind, choice, step):
    usage = {"prompt_tokens": step.tokens, "completion_tokens": 1, "total_tokens": step.tokens + 1}
    reply = {"id": identifier("chatcmpl"), "object": kind, "created": int(time.time()), "model": body.get("model")}
    return {**reply, "choices": [choice], "usage": usage}
