// The page of a run: its slider and its log.

import assert from "node:assert/strict";
import { becomes, saidOfRun, settled, shownParts, shownRun, story } from "./support.mjs";

const record = (project, id, ...more) => project.flow(["record-activity", "--run-id", "r1", "--id", id, ...more]);

story("the slider shows the run as flow show --at does, and is live again at its end", async (scene, project) => {
  await project.flow(["start", "debug", "--id", "r1", "--goal", "Sort the shelf"]);
  await record(project, "look", "--status", "running");
  await record(project, "look", "--summary", "It is so", "--advance");
  await project.flow(["block", "r1", "--reason", "no access"]);
  await project.flow(["unblock", "r1", "--reason", "access is there"]);
  await record(project, "show", "--status", "failed");
  const server = await project.serve();
  const page = await scene.open(server, "/demo/runs/r1");
  assert.equal((await shownRun(page)).slider, "6 of 6 · now");
  const without = ({ log, ...parts }) => parts;
  const past = async (at) => without(await saidOfRun(project, "r1", "--at", String(at)));
  const shown = async () => without(await shownParts(page));
  const slide = (at) => page.locator("#at").fill(String(at));
  for (const at of [1, 2, 3, 4, 5]) {
    await slide(at);
    await becomes(shown, await past(at));
    await becomes(() => page.url(), `${server.origin}/demo/runs/r1?at=${at}`);
    assert.match((await shownRun(page)).slider, new RegExp(`^${at} of 6`));
  }
  await slide(4);
  await becomes(async () => (await shownRun(page)).verdict, "▲ Waits for you — blocked: no access");
  await page.reload();
  await settled(page);
  assert.deepEqual(await shown(), await past(4));
  // What happens now does not change what was.
  await record(project, "later");
  await becomes(async () => (await shownRun(page)).slider.split(" ").slice(0, 3).join(" "), "4 of 7");
  assert.deepEqual(await shown(), await past(4));
  await slide(7);
  await becomes(() => page.url(), `${server.origin}/demo/runs/r1`);
  await becomes(() => shownParts(page), await saidOfRun(project, "r1"));
  await record(project, "last");
  await becomes(() => shownParts(page), await saidOfRun(project, "r1"));
});

story("a step that failed and was left is marked in the diagram", async (scene, project) => {
  await project.flow(["start", "debug", "--id", "r1", "--phase", "verify"]);
  await record(project, "suite", "--status", "failed", "--advance", "fix");
  const server = await project.serve();
  const page = await scene.open(server, "/demo/runs/r1");
  assert.deepEqual(await shownParts(page), await saidOfRun(project, "r1"));
});

story("only recorded work is drawn as bars, and done work has a check mark where the run is", async (scene, project) => {
  await project.flow(["start", "debug", "--id", "r1"]);
  const server = await project.serve();
  const page = await scene.open(server, "/demo/runs/r1");
  const timeline = page.locator("[data-key=timeline] svg");
  const bars = () => timeline.locator("rect.bar").evaluateAll((all) => all.map((bar) => bar.classList[1]));
  assert.deepEqual([await bars(), await timeline.locator("path.stay").count()], [[], 1]);
  await record(project, "look", "--status", "running");
  await becomes(bars, ["running"]);
  await record(project, "look", "--status", "failed");
  await project.begun("r1", "look", "--summary", "Once more");
  await becomes(bars, ["failed", "doubt"]);
  await record(project, "look");
  await becomes(bars, ["failed", "done"]);
  const here = page.locator(".diagram .node.here");
  assert.deepEqual([await here.locator("text").textContent(), await here.getAttribute("class")], ["✓ preflight", "node here done"]);
  assert.match((await shownRun(page)).facts, /worked on for/);
});

story("the log of a run as of an event ends with that event", async (scene, project) => {
  await project.flow(["start", "debug", "--id", "r1"]);
  for (const id of ["one", "two", "three"]) await record(project, id);
  const server = await project.serve();
  const page = await scene.open(server, "/demo/runs/r1?at=2");
  assert.deepEqual(
    (await shownRun(page)).log.map(([seq]) => seq),
    ["2", "1"],
  );
});

/** The page before the last one of a log with 70 events. */
async function older(scene, project) {
  await project.flow(["start", "debug", "--id", "r1"]);
  for (let n = 0; n < 69; n++) await record(project, `a${n}`);
  const server = await project.serve();
  const page = await scene.open(server, "/demo/runs/r1");
  const last = await shownRun(page);
  await page.getByRole("link", { name: "Older" }).click();
  await page.waitForURL(/\?log=20#log$/);
  await settled(page);
  return { page, last };
}

story("the pages of a long log show every event once", async (scene, project) => {
  const { page, last } = await older(scene, project);
  const seen = [last, await shownRun(page)].flatMap((shown) => shown.log.map(([seq]) => Number(seq)));
  assert.deepEqual(
    seen,
    Array.from({ length: 70 }, (_, n) => 70 - n),
  );
});

story("an older page of a log begins where the reader looks", async (scene, project) => {
  const { page } = await older(scene, project);
  const top = () => page.locator("#log h2").evaluate((title) => title.getBoundingClientRect().top);
  const height = await page.evaluate(() => innerHeight);
  await becomes(async () => (await top()) >= 0 && (await top()) < height / 2, true);
});

story("the slider that stands at the end follows it, also when it has the focus", async (scene, project) => {
  await project.flow(["start", "debug", "--id", "r1"]);
  const server = await project.serve();
  const page = await scene.open(server, "/demo/runs/r1");
  await page.locator("#at").focus();
  await record(project, "look");
  await becomes(async () => (await shownRun(page)).slider, "2 of 2 · now");
  assert.equal((await shownRun(page)).at, 2);
  await record(project, "show");
  await becomes(async () => (await shownRun(page)).slider, "3 of 3 · now");
  await page.keyboard.press("[");
  await becomes(() => page.url(), `${server.origin}/demo/runs/r1?at=2`);
});
