"""Google's generateContent, in which the Gemini CLI asks."""

from formats import events, request as any_request, shell_call, shell_tool, text_of

PLAIN, STREAM = ":generateContent", ":streamGenerateContent"


def serves(path):
    return path.endswith((PLAIN, STREAM))


def request(host, path, body):
    entries = [("system", text_of((body.get("systemInstruction") or {}).get("parts")))]
    for content in body.get("contents", []):
        role = {"model": "assistant"}.get(content.get("role"), "user")
        for part in content.get("parts", []):
            if answer := part.get("functionResponse"):
                entries.append(("tool", str(answer.get("response", {}).get("output", answer.get("response")))))
            elif "text" in part:
                entries.append((role, part["text"]))
    return any_request(host, entries, tools(body))


def tools(body):
    declared = [tool.get("functionDeclarations") or [] for tool in body.get("tools") or []]
    return [function.get("name") for functions in declared for function in functions]


def whole(body, step):
    parts = [{"text": step.text}] if step.text else []
    if step.command:
        parts.append({"functionCall": {"name": shell_tool(tools(body)), "args": shell_call(step.command)}})
    usage = {"promptTokenCount": step.tokens, "candidatesTokenCount": 1, "totalTokenCount": step.tokens + 1}
    candidate = {"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": "STOP"}
    return {"candidates": [candidate], "usageMetadata": usage}


def stream(path, body, step):
    return events([whole(body, step)]) if path.endswith(STREAM) else None
