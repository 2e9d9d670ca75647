// What becomes of the files of a run while a page is open.

import assert from "node:assert/strict";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { becomes, saidOfRun, settled, shownGroups, shownParts, shownRun, shownRuns, story } from "./support.mjs";

const record = (project, id, ...more) => project.flow(["record-activity", "--run-id", "r1", "--id", id, ...more]);

story("an edit by hand appears", async (scene, project) => {
  // A run whose files are wrong cannot be shown.
  scene.expects(/status of 500/, /answered 500/);
  await project.flow(["start", "debug", "--id", "r1", "--goal", "Sort the shelf"]);
  const server = await project.serve();
  const [list, run] = [await scene.open(server), await scene.open(server, "/demo/runs/r1")];
  const file = project.runPath("r1", "run.yaml");
  const edit = (from, to) => writeFileSync(file, readFileSync(file, "utf8").replace(from, to));
  edit("goal: Sort the shelf", "goal: Sort the books");
  await becomes(async () => (await shownRun(run)).title, "Sort the books", 7000);
  await becomes(() => shownParts(run), await saidOfRun(project, "r1"));
  edit("current_phase: preflight", "current_phase: reproduce");
  await becomes(async () => (await shownGroups(list)).waits?.rows[0]?.phase.split(" ")[0], "reproduce", 7000);
  await becomes(() => shownParts(run), await saidOfRun(project, "r1"));
  edit("kind: FlowRun", "kind: [");
  await becomes(async () => (await shownGroups(list)).unreadable?.rows[0].run, "r1", 7000);
  await becomes(() => run.locator("h1").textContent(), "This run cannot be shown");
  edit("kind: [", "kind: FlowRun");
  await becomes(() => run.locator(".about code").textContent(), "r1", 7000);
  await becomes(() => shownParts(run), await saidOfRun(project, "r1"));
  // The next command takes the edit into the log.
  await record(project, "look");
  await becomes(() => shownParts(run), await saidOfRun(project, "r1"));
});

story("a log that git replaced by a shorter one appears", async (scene, project) => {
  await project.flow(["start", "debug", "--id", "r1"]);
  await record(project, "look");
  const files = ["run.yaml", "events.jsonl"].map((name) => project.runPath("r1", name));
  const earlier = files.map((file) => readFileSync(file));
  await record(project, "show", "--advance");
  await record(project, "third", "--summary", "thrown away");
  const server = await project.serve();
  const [list, run] = [await scene.open(server), await scene.open(server, "/demo/runs/r1")];
  assert.equal((await shownRun(run)).activities.length, 3);
  files.forEach((file, at) => writeFileSync(file, earlier[at]));
  await becomes(() => shownParts(run), await saidOfRun(project, "r1"), 7000);
  assert.equal((await shownRun(run)).activities.length, 1);
  await becomes(async () => (await shownGroups(list)).waits?.rows[0]?.tag, "✕ rewound");
  await project.flow(["doctor", "r1", "--repair"]);
  await record(project, "again", "--summary", "another way");
  await becomes(() => shownParts(run), await saidOfRun(project, "r1"), 7000);
  await becomes(async () => Object.keys(await shownGroups(list)), ["waits", "can_go_on"]);
});

/** Takes a line out of the middle of a log. */
function damage(project) {
  const log = project.runPath("r1", "events.jsonl");
  const lines = readFileSync(log, "utf8").trimEnd().split("\n");
  writeFileSync(log, `${lines.filter((_, at) => at !== 2).join("\n")}\n`);
}

story("damage and its repair appear on the list", async (scene, project) => {
  await project.flow(["start", "debug", "--id", "r1"]);
  for (const id of ["one", "two", "three"]) await record(project, id);
  const server = await project.serve();
  const list = await scene.open(server);
  damage(project);
  await becomes(async () => (await shownGroups(list)).waits?.rows[0]?.tag, "✕ damaged", 7000);
  const { reason } = (await project.json("attention")).runs[0];
  assert.equal((await shownGroups(list)).waits.rows[0].reason, reason);
  await project.flow(["doctor", "--repair"]);
  await becomes(async () => (await shownGroups(list)).waits?.rows, [], 7000);
});

story("damage in the middle of a log and its repair appear on the run's page", async (scene, project) => {
  await project.flow(["start", "debug", "--id", "r1"]);
  for (const id of ["one", "two", "three"]) await record(project, id);
  const server = await project.serve();
  const page = await scene.open(server, "/demo/runs/r1");
  damage(project);
  const { reason } = (await project.json("attention")).runs[0];
  await becomes(async () => (await shownRun(page)).verdict, `✕ Damaged — ${reason}`, 7000);
  await becomes(() => shownParts(page), await saidOfRun(project, "r1"));
  await project.flow(["doctor", "--repair"]);
  await becomes(() => shownParts(page), await saidOfRun(project, "r1"), 7000);
  assert.equal((await shownRun(page)).log[0][2], "log repaired");
});

story("a log with the lines of two histories is shown line for line, also after a change", async (scene, project) => {
  await project.flow(["start", "debug", "--id", "r1"]);
  await record(project, "look");
  const files = ["events.jsonl", "run.yaml", ".lock"].map((name) => project.runPath("r1", name));
  const before = files.map((file) => readFileSync(file, "utf8"));
  await record(project, "mine");
  const mine = files.map((file) => readFileSync(file, "utf8"));
  // As it is in another checkout.
  files.forEach((file, at) => writeFileSync(file, before[at]));
  await record(project, "theirs");
  const theirs = readFileSync(files[0], "utf8").slice(before[0].length);
  mine[0] += theirs;
  const server = await project.serve();
  const page = await scene.open(server, "/demo/runs/r1");
  files.forEach((file, at) => writeFileSync(file, mine[at]));
  const said = async () =>
    (await project.json("log", "r1")).events.map((event) => String(event.seq)).reverse();
  const shown = async () => (await shownParts(page)).log;
  assert.deepEqual(await said(), ["3", "3", "2", "1"]);
  await becomes(shown, await said(), 7000);
  await page.reload();
  await settled(page);
  assert.deepEqual(await shown(), await said());
  await project.flow(["doctor", "--repair"]);
  await becomes(() => shownParts(page), await saidOfRun(project, "r1"), 7000);
});

story("a run that is removed is gone from the list, and its page says so", async (scene, project) => {
  scene.expects(/status of 404/, /answered 404/);
  for (const run of ["r1", "r2"]) await project.flow(["start", "debug", "--id", run]);
  const server = await project.serve();
  const [list, run] = [await scene.open(server), await scene.open(server, "/demo/runs/r1")];
  rmSync(project.runPath("r1"), { recursive: true });
  await becomes(() => shownRuns(list), ["r2"], 7000);
  await becomes(() => run.locator("h1").textContent(), "This run cannot be shown", 7000);
});
