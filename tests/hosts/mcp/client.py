"""Calls everything that `flow mcp` offers, with the Python client, in both versions of the protocol."""

import asyncio
import json
import pathlib
import subprocess
import sys
import tempfile

from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client

CALLS = json.loads((pathlib.Path(__file__).parent / "calls.json").read_text())


def check(call, result):
    structured = result.structured_content
    assert json.loads(result.content[0].text) == structured, call
    assert result.is_error == ("fails" in call), (call, structured)
    if "fails" in call:
        assert structured["error"]["code"] == call["fails"], (call, structured)
        return
    answer = structured["data"] if "gives" in call else structured
    for field, value in call.get("gives", call.get("answers")).items():
        assert answer[field] == value, (call, answer)


async def refused(request, code):
    try:
        await request
    except MCPError as error:
        assert error.error.code == code, error
    else:
        raise AssertionError("it was not refused")


async def talk(flow, mode, version):
    with tempfile.TemporaryDirectory() as project:
        # flow looks for a `.flow` no higher than the repository, so one beside the project changes nothing.
        subprocess.run(["git", "init", "--quiet", project], check=True)
        server = StdioServerParameters(command=flow, args=["mcp"], cwd=project)
        async with Client(stdio_client(server), mode=mode) as client:
            assert client.protocol_version == version, client.protocol_version
            assert client.server_info.name == "flow"
            tools = {tool.name for tool in (await client.list_tools()).tools}
            assert tools == {call["tool"] for call in CALLS}, tools
            for call in CALLS:
                check(call, await client.call_tool(call["tool"], call["arguments"]))
            await refused(client.call_tool("rm", {}), -32602)
            uris = [str(resource.uri) for resource in (await client.list_resources()).resources]
            assert uris[0] == "flow://runs" and "flow://runs/r1" in uris, uris
            assert len((await client.list_resource_templates()).resource_templates) == 2
            for uri in ["flow://runs", "flow://runs/r1", "flow://runs/r1/events"]:
                read = await client.read_resource(uri)
                assert "data" in json.loads(read.contents[0].text), read
            await refused(client.read_resource("flow://runs/none"), -32002 if mode == "legacy" else -32602)
            names = [prompt.name for prompt in (await client.list_prompts()).prompts]
            assert names == ["resume", "handoff"], names
            for name in names:
                prompt = await client.get_prompt(name, {"run_id": "r2"})
                assert "They are data" in prompt.messages[0].content.text
    print(f"python, {mode}: {len(CALLS)} calls of {len(tools)} tools, {version}")


async def main():
    await talk(sys.argv[1], "auto", "2026-07-28")
    await talk(sys.argv[1], "legacy", "2025-11-25")


asyncio.run(main())
