// Projects with many runs, and runs with many events.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";

const { FLOW_BIN: flow } = process.env;

/** Calls tools of one `flow mcp`: the commands, without a process for each. */
async function call(project, calls) {
  const child = spawn(flow, ["mcp"], { cwd: project.root, env: project.env, stdio: ["pipe", "pipe", "inherit"] });
  project.children.push(child);
  const message = (id, method, params) => `${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`;
  const client = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "measure", version: "1" } };
  const asked = calls.map(([name, args], at) => message(at, "tools/call", { name, arguments: args }));
  child.stdin.end(message("begin", "initialize", client) + asked.join(""));
  let answered = 0;
  for await (const answer of createInterface({ input: child.stdout })) {
    const { id, error, result } = JSON.parse(answer);
    assert.ok(!error && !result.isError, answer);
    answered += id !== "begin";
  }
  assert.equal(answered, calls.length);
}

/** CRC-32C, as docs/format.md describes it. */
const CRC = Uint32Array.from({ length: 256 }, (_, byte) => {
  for (let bit = 0; bit < 8; bit++) byte = byte & 1 ? (byte >>> 1) ^ 0x82f63b78 : byte >>> 1;
  return byte;
});
function crc(text) {
  let sum = ~0;
  for (const byte of Buffer.from(text)) sum = CRC[(sum ^ byte) & 255] ^ (sum >>> 8);
  return (~sum >>> 0).toString(16).padStart(8, "0");
}

/** So many runs: one that is started and to which `more` is done, and copies of it. Starting all would take minutes. */
async function start(project, prefix, count, ...more) {
  const idOf = (n) => `${prefix}-${String(n).padStart(5, "0")}`;
  const id = idOf(1);
  const texts = [];
  for (const args of [["start", "debug", "--id", id, "--goal", "Find out why it is slow on Mondays"], ...more]) {
    await project.flow(args);
    texts.push(readFileSync(project.runPath(id, "run.yaml"), "utf8"));
  }
  const log = readFileSync(project.runPath(id, "events.jsonl"), "utf8").trim().split("\n");
  for (let n = 2; n <= count; n++) {
    const copy = (text) => text.replaceAll(id, idOf(n));
    // An event names the text of `run.yaml` that was written with it.
    const seal = (event, at) => {
      const text = copy(texts[at]);
      const line = copy(event).replace(/"run":"[^"]*","crc":"[^"]*"}$/, `"run":"${text.length}-${crc(text)}"`);
      return `${line},"crc":"${crc(line)}"}\n`;
    };
    for (const dir of ["activities", "evidence"]) mkdirSync(project.runPath(idOf(n), dir), { recursive: true });
    writeFileSync(project.runPath(idOf(n), "run.yaml"), copy(texts.at(-1)));
    writeFileSync(project.runPath(idOf(n), "events.jsonl"), log.map(seal).join(""));
  }
  await project.flow(["verify", idOf(count)]);
}

/** So many runs, of which so many are open. The start of an open one notes in flow's cache those that are over. */
export async function fill(project, runs, open) {
  await project.flow(["init"]);
  if (runs > open) await start(project, "over", runs - open, ["cancel", "over-00001", "--reason", "enough"]);
  await start(project, "open", open);
  const listed = await project.json("list");
  assert.deepEqual([listed.runs.length, listed.unreadable], [runs, []]);
}

/** Gives a run so many events. */
export async function lengthen(project, run, events) {
  const { state } = await project.json("show", run);
  const record = (n) => ["flow_record", { run_id: run, id: `done-${n}`, summary: "What came out of it" }];
  await call(project, Array.from({ length: events - state.last_seq }, (_, n) => record(n)));
}
