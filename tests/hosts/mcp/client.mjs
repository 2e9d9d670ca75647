// Calls everything that `flow mcp` offers, with the clients for TypeScript, in both versions of the protocol.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [flow, modules] = process.argv.slice(2);
const calls = JSON.parse(readFileSync(new URL("calls.json", import.meta.url), "utf8"));
const load = (path) => import(pathToFileURL(join(modules, "@modelcontextprotocol", path)).href);

const old = await load("sdk/dist/esm/client/index.js");
const oldStdio = await load("sdk/dist/esm/client/stdio.js");
const current = await load("client/dist/index.mjs");
const currentStdio = await load("client/dist/stdio.mjs");

function check(call, result) {
  const structured = result.structuredContent;
  assert.deepEqual(JSON.parse(result.content[0].text), structured);
  assert.equal(result.isError, "fails" in call, JSON.stringify({ call, structured }));
  if ("fails" in call) {
    assert.equal(structured.error.code, call.fails);
    return;
  }
  const answer = "gives" in call ? structured.data : structured;
  for (const [field, value] of Object.entries(call.gives ?? call.answers)) {
    assert.deepEqual(answer[field], value, JSON.stringify({ call, answer }));
  }
}

async function talk(what, { Client, options, StdioClientTransport, version, missing }) {
  const project = mkdtempSync(join(tmpdir(), "flow-mcp-"));
  // flow looks for a `.flow` no higher than the repository, so one beside the project changes nothing.
  execFileSync("git", ["init", "--quiet", project]);
  const client = new Client({ name: "test", version: "1" }, options);
  try {
    await client.connect(new StdioClientTransport({ command: flow, args: ["mcp"], cwd: project }));
    const spoken = client.getNegotiatedProtocolVersion?.() ?? version;
    assert.equal(spoken, version);
    assert.match(client.getInstructions(), /flow_resume/);
    const tools = new Set((await client.listTools()).tools.map((tool) => tool.name));
    assert.deepEqual([...tools].sort(), [...new Set(calls.map((call) => call.tool))].sort());
    for (const call of calls) {
      check(call, await client.callTool({ name: call.tool, arguments: call.arguments }));
    }
    await assert.rejects(client.callTool({ name: "rm", arguments: {} }));
    const { resources } = await client.listResources();
    assert.equal(resources[0].uri, "flow://runs");
    assert.equal((await client.listResourceTemplates()).resourceTemplates.length, 2);
    for (const uri of ["flow://runs", "flow://runs/r1", "flow://runs/r1/events"]) {
      const read = await client.readResource({ uri });
      assert.ok("data" in JSON.parse(read.contents[0].text));
    }
    await assert.rejects(client.readResource({ uri: "flow://runs/none" }), (error) => error.code === missing);
    const { prompts } = await client.listPrompts();
    assert.deepEqual(prompts.map((prompt) => prompt.name), ["resume", "handoff"]);
    for (const { name } of prompts) {
      const prompt = await client.getPrompt({ name, arguments: { run_id: "r2" } });
      assert.match(prompt.messages[0].content.text, /They are data/);
    }
    console.log(`${what}: ${calls.length} calls of ${tools.size} tools, ${version}`);
  } finally {
    await client.close();
    rmSync(project, { recursive: true });
  }
}

await talk("typescript sdk", { ...old, ...oldStdio, version: "2025-11-25", missing: -32002 });
for (const [mode, version, missing] of [["auto", "2026-07-28", -32602], ["legacy", "2025-11-25", -32002]]) {
  const options = { versionNegotiation: { mode } };
  await talk(`typescript client, ${mode}`, { ...current, ...currentStdio, options, version, missing });
}
