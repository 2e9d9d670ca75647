// What other processes record while a page is open.

import assert from "node:assert/strict";
import {
  chosenRun,
  focusedRun,
  SERVER_GONE, becomes, saidOfRun, settled, shownGroups, shownParts, shownRun, shownRuns, story,
} from "./support.mjs";

const record = (project, id, ...more) => project.flow(["record-activity", "--run-id", "r1", "--id", id, ...more]);

story("what another process records appears without a reload", async (scene, project) => {
  await project.flow(["start", "debug", "--id", "r1"]);
  const server = await project.serve();
  const [list, run] = [await scene.open(server), await scene.open(server, "/demo/runs/r1")];
  for (const page of [list, run]) await page.evaluate(() => (window.same = true));
  await project.begun("r1", "look", "--summary", "Looking at it");
  await becomes(
    async () => (await shownGroups(list)).in_doubt?.rows[0].reason.replace(/\d+ s/, "N s"),
    "Looking at it · begun N s ago, outcome unknown",
    7000,
  );
  await becomes(() => list.title(), "(1) demo · flow");
  await becomes(
    async () => (await shownRun(run)).activities.map((row) => row.slice(0, 4)),
    [["◆ begun", "look", "preflight", "Looking at it"]],
  );
  await project.flow(["start", "debug", "--id", "r2"]);
  await becomes(async () => (await shownRuns(list)).sort(), ["r1", "r2"]);
  await project.flow(["block", "r1", "--reason", "no access"]);
  await becomes(async () => (await shownGroups(list)).waits?.rows[0].run, "r1");
  await becomes(async () => (await shownRun(run)).verdict, "▲ Waits for you — blocked: no access");
  await becomes(() => shownParts(run), await saidOfRun(project, "r1"));
  await becomes(() => run.title(), "▲ debug · demo · flow");
  for (const page of [list, run]) assert.equal(await page.evaluate(() => window.same), true);
});

const isBegun = (page, id) =>
  page.evaluate((id) => document.querySelector("main").textContent.includes(`${id} still runs`), id);

story("a record is painted soon after its process ended", async (scene, project, t) => {
  await project.flow(["start", "debug", "--id", "r1"]);
  await project.flow(["start", "debug", "--id", "r2"]);
  const server = await project.serve();
  const pages = { list: await scene.open(server), run: await scene.open(server, "/demo/runs/r1") };
  for (const [name, page] of Object.entries(pages)) {
    await page.bringToFront();
    const times = [];
    for (let n = 0; n < 20; n++) {
      const id = `${name}-${n}`;
      // The list shows what is begun; the page of the run shows everything.
      await page.evaluate((id) => {
        window.painted = new Promise((resolve) => {
          const observer = new MutationObserver(() => {
            if (!document.querySelector("main").textContent.includes(id)) return;
            observer.disconnect();
            requestAnimationFrame(() => setTimeout(() => resolve(performance.timeOrigin + performance.now())));
          });
          observer.observe(document.querySelector("main"), { subtree: true, childList: true, characterData: true });
        });
      }, id);
      await record(project, id, "--status", "running");
      const exit = performance.timeOrigin + performance.now();
      times.push((await page.evaluate(() => window.painted)) - exit);
      await record(project, id);
      await becomes(() => isBegun(page, id), false);
    }
    times.sort((one, other) => one - other);
    const [median, p95] = [0.5, 0.95].map((part) => times[Math.ceil(part * times.length) - 1].toFixed(0));
    t.diagnostic(`${name}: from the end of the process to the paint ${median} ms (median), ${p95} ms (p95)`);
    assert.ok(times.at(-1) < 5000);
  }
});

story("focus, scrolling and what was opened survive a change", async (scene, project) => {
  await project.flow(["start", "debug", "--id", "r1"]);
  await project.flow(["start", "debug", "--id", "r2"]);
  const server = await project.serve();
  const [list, run] = [await scene.open(server), await scene.open(server, "/demo/runs/r1")];
  const focused = (page) => page.evaluate(() => document.activeElement.outerHTML.slice(0, 30));
  for (const [at, selector] of ["input[type=search]", "select >> nth=0", ".pill >> nth=1"].entries()) {
    await list.locator(selector).focus();
    const before = await focused(list);
    await record(project, `list-${at}`, "--status", "running");
    await becomes(async () => (await shownGroups(list)).at_work?.rows[0].reason.includes(`list-${at}`), true);
    assert.equal(await focused(list), before);
    await record(project, `list-${at}`);
    await becomes(async () => (await shownGroups(list)).at_work, undefined);
    assert.equal(await focused(list), before);
  }
  for (const [at, selector] of [
    ".cmd button >> nth=0",
    ".cmd code >> nth=1",
    "#at",
    "[aria-label=Timeline]",
    "[aria-label=Log]",
  ].entries()) {
    await run.locator(selector).focus();
    const before = await focused(run);
    await run.evaluate(() => window.scrollTo(0, 120));
    // The verdict and its commands stay the same.
    await record(project, `run-${at}`, "--status", "skipped");
    await becomes(async () => (await shownRun(run)).activities[0]?.[1], `run-${at}`);
    assert.equal(await focused(run), before);
    assert.equal(await run.evaluate(() => window.scrollY), 120);
  }
});

story("rows stay where they are while one is chosen, and a button shows the new order", async (scene, project) => {
  for (const run of ["r1", "r2", "r3"]) await project.flow(["start", "debug", "--id", run]);
  const server = await project.serve();
  const page = await scene.open(server);
  assert.deepEqual(await shownRuns(page), ["r3", "r2", "r1"]);
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  const chosen = async () => [await chosenRun(page), await focusedRun(page)];
  assert.deepEqual(await chosen(), ["r2", "r2"]);
  await project.flow(["block", "r1", "--reason", "no access"]);
  const button = page.getByRole("button", { name: "The order changed: show it" });
  await button.waitFor();
  assert.deepEqual(await shownRuns(page), ["r3", "r2", "r1"]);
  assert.deepEqual(await chosen(), ["r2", "r2"]);
  await button.click();
  await becomes(() => shownRuns(page), ["r1", "r3", "r2"]);
  assert.equal(await button.count(), 0);
});

story(
  "a row that changes and stays in its place is shown at once, even while one is chosen",
  async (scene, project) => {
    for (const run of ["r1", "r2"]) await project.flow(["start", "debug", "--id", run]);
    await project.flow(["block", "r1", "--reason", "no access"]);
    const server = await project.serve();
    const page = await scene.open(server);
    await page.keyboard.press("j");
    await project.flow(["record-activity", "--run-id", "r2", "--id", "look", "--advance"]);
    await becomes(async () => (await shownGroups(page)).can_go_on.rows[0].phase.split(" ")[0], "reproduce");
    assert.equal(await focusedRun(page), "r1");
  },
);

story("the count in the heading and that in the title are the same while a row is chosen", async (scene, project) => {
  for (const run of ["r1", "r2"]) await project.flow(["start", "debug", "--id", run]);
  const server = await project.serve();
  const page = await scene.open(server);
  await page.keyboard.press("j");
  await project.flow(["block", "r1", "--reason", "no access"]);
  await becomes(() => page.title(), "(1) demo · flow");
  await becomes(() => page.locator("h1").textContent(), "1 run needs you");
});

story("the keyboard is still at its run when the new order is shown", async (scene, project) => {
  for (const run of ["r1", "r2", "r3"]) await project.flow(["start", "debug", "--id", run]);
  const server = await project.serve();
  const page = await scene.open(server);
  const focused = () => focusedRun(page);
  // The run that moves is the one that has the focus.
  for (const key of ["j", "j", "j"]) await page.keyboard.press(key);
  assert.equal(await focused(), "r1");
  await project.flow(["block", "r1", "--reason", "no access"]);
  await page.locator("#changes").waitFor();
  await page.keyboard.press("Escape");
  await becomes(() => shownRuns(page), ["r1", "r3", "r2"]);
  assert.equal(await focused(), "r1");
  await page.keyboard.press("j");
  assert.equal(await focused(), "r3");
});

story(
  "after its server was killed and started again a page shows what was recorded meanwhile, once",
  async (scene, project) => {
    scene.expects(...SERVER_GONE);
    await project.flow(["start", "debug", "--id", "r1"]);
    await record(project, "before");
    const first = await project.serve();
    const [list, run] = [await scene.open(first), await scene.open(first, "/demo/runs/r1")];
    await first.end("SIGKILL");
    for (const page of [list, run]) await becomes(() => page.locator("#live").textContent(), "○ not live");
    await record(project, "meanwhile", "--status", "running");
    await project.flow(["start", "debug", "--id", "r2"]);
    const second = await project.serve();
    assert.equal(second.url, first.url);
    for (const page of [list, run]) await becomes(() => page.locator("#live").textContent(), "● live", 11_000);
    await becomes(() => shownRuns(list), ["r1", "r2"]);
    await becomes(() => shownParts(run), await saidOfRun(project, "r1"));
    await record(project, "meanwhile");
    await becomes(() => shownParts(run), await saidOfRun(project, "r1"));
    assert.deepEqual(
      (await shownRun(run)).activities.map(([, id]) => id),
      ["meanwhile", "before"],
    );
    assert.deepEqual((await shownRuns(list)).toSorted(), ["r1", "r2"]);
  },
);

story("a reader who asked for it is notified once of a run that begins to need them", async (scene, project) => {
  await project.flow(["start", "debug", "--id", "r1"]);
  await project.flow(["start", "debug", "--id", "r2"]);
  await project.flow(["block", "r1", "--reason", "no access"]);
  const server = await project.serve();
  const reader = await scene.reader();
  await reader.addInitScript(() => {
    window.notified = [];
    window.Notification = class {
      static permission = "default";
      static requestPermission = async () => (this.permission = "granted");
      constructor(title, { body, tag }) {
        window.notified.push([title, body, tag]);
      }
      addEventListener() {}
    };
  });
  const page = await reader.newPage();
  await page.goto(server.url);
  await settled(page);
  await project.flow(["block", "r2", "--reason", "before they asked"]);
  await becomes(async () => (await shownGroups(page)).waits?.rows.length, 2);
  await page.locator("#notify").click();
  await page.locator("#notify").waitFor({ state: "hidden" });
  await page.waitForTimeout(500);
  await settled(page);
  await project.flow(["unblock", "r2", "--reason", "done"]);
  await project.flow(["record-activity", "--run-id", "r2", "--id", "look"]);
  await project.flow(["block", "r2", "--reason", "which port?"]);
  const wanted = [["r2 needs you", "blocked: which port?", "demo/r2"]];
  await becomes(() => page.evaluate(() => window.notified), wanted);
  await project.flow(["block", "r1", "--reason", "no access"]).catch(() => {});
  await becomes(() => page.evaluate(() => window.notified), wanted);
});
