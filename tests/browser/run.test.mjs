// The page of a run: its slider and its log.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { demo } from "./demo.mjs";
import { becomes, saidOfRun, settled, shownParts, shownRun, story, tooWide } from "./support.mjs";

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

const words = (text) => text.replace(/\s+/g, " ").trim();

story("what went wrong stands beside what to do, with its exit status and its evidence", async (scene, project) => {
  await project.flow(["start", "debug", "--id", "r1", "--goal", "Sort the shelf"]);
  writeFileSync(project.runPath("r1", "evidence", "out.txt"), "two tests fail");
  await record(project, "suite", "--exit-code", "101", "--summary", "Two tests fail", "--evidence", "evidence/out.txt", "--evidence", "evidence/gone.txt");
  const server = await project.serve();
  const page = await scene.open(server, "/demo/runs/r1");
  assert.equal(await page.title(), "✕ Sort the shelf · demo · flow");
  assert.equal(
    words(await page.locator(".next .cause").textContent()),
    "Two tests fail – 001 suite, exit 101 · evidence/out.txt 14 bytes · evidence/gone.txt missing",
  );
  await page.locator(".next .cause a").click();
  await page.getByText("two tests fail").waitFor();
  const list = await scene.open(server);
  assert.equal(await list.locator(".row .reason").textContent(), "Two tests fail · exit 101");
});

story("an activity is a row, which opens to all that was recorded of its attempts", async (scene, project) => {
  const at = (second, ...args) => project.flow(args, { __FLOW_NOW: `2026-05-20T14:30:${second}Z` });
  const tests = (second, ...more) => at(second, "record-activity", "--run-id", "r1", "--id", "tests", ...more);
  await at("00", "start", "debug", "--id", "r1");
  await tests("10", "--status", "running", "--session", "monday");
  await tests("20", "--exit-code", "2", "--summary", "They fail", "--session", "monday");
  await tests("30", "--status", "running", "--summary", "Once more", "--session", "monday");
  await tests("42", "--summary", "They pass", "--confidence", "high", "--file", "src/a.rs", "--type", "bash", "--session", "monday");
  const server = await project.serve();
  const page = await scene.open(server, "/demo/runs/r1", { timezoneId: "America/New_York" });
  const row = page.locator(".activity");
  const shown = async (selector) => (await row.locator(selector).allTextContents()).map(words);
  assert.deepEqual(await shown("> summary > *"), [
    "✓ passed", "tests", "preflight", "They pass · claimed · attempt 2", "12 s", "Wed 20 May 10:30",
  ]);
  assert.deepEqual(await row.locator("dl").first().isVisible(), false);
  await row.locator("> summary").click();
  assert.deepEqual(await shown(".try"), ["Attempt 2 ✓ passed", "Attempt 1 ✕ failed, exit 2"]);
  const told = (nth) => row.locator("dl").nth(nth).locator("> *").allTextContents();
  assert.deepEqual(await told(0), [
    "outcome", "They pass", "began", "Wed 20 May 10:30:30", "ended", "Wed 20 May 10:30:42, after 12 s", "recorded",
    "004, begun as 003, event 6 by session monday · bash", "confidence", "high", "files", "src/a.rs ",
  ]);
  assert.deepEqual(await told(1), [
    "outcome", "They fail", "exit status", "exit 2 as recorded", "began", "Wed 20 May 10:30:10", "ended",
    "Wed 20 May 10:30:20, after 10 s", "recorded", "002, begun as 001, event 4 by session monday · task",
  ]);
  // What the reader opened stays open while the page changes.
  await at("50", "record-activity", "--run-id", "r1", "--id", "more", "--session", "monday");
  await page.locator(".activity", { hasText: "more" }).waitFor();
  assert.ok(await row.last().locator("dl").first().isVisible());
});

story("the log is told in people's words and the reader's time, and can be narrowed", async (scene, project) => {
  const at = (second, ...args) => project.flow(args, { __FLOW_NOW: `2026-05-20T23:30:${second}Z` });
  await at("01", "start", "debug", "--id", "r1");
  await at("02", "record-activity", "--run-id", "r1", "--id", "look", "--status", "failed", "--summary", "It hides");
  await at("03", "record-activity", "--run-id", "r1", "--id", "look");
  await at("04", "block", "r1", "--reason", "no access");
  await at("05", "unblock", "r1", "--reason", "here it is");
  const server = await project.serve();
  const page = await scene.open(server, "/demo/runs/r1", { timezoneId: "Europe/Berlin" });
  const shown = async () => (await shownRun(page)).log.map(([, time, title]) => [time, title]);
  assert.deepEqual(await shown(), [
    ["Thu 21 May 01:30:05", "run unblocked"],
    ["Thu 21 May 01:30:04", "run blocked"],
    ["Thu 21 May 01:30:03", "passed"],
    ["Thu 21 May 01:30:02", "failed"],
    ["Thu 21 May 01:30:01", "started"],
  ]);
  assert.match(await page.locator("#log h2").textContent(), /your time/);
  const titles = async () => (await shownRun(page)).log.map(([, , title]) => title);
  await page.getByLabel("Which events").selectOption("trouble");
  await becomes(titles, ["run unblocked", "run blocked", "failed"]);
  await becomes(() => page.url(), `${server.origin}/demo/runs/r1?only=trouble`);
  await page.reload();
  await settled(page);
  assert.deepEqual(await titles(), ["run unblocked", "run blocked", "failed"]);
  await page.getByLabel("Search in the log").fill("ACCESS");
  await becomes(titles, ["run blocked"]);
  await page.locator(".log summary").click();
  assert.match(await page.locator(".log pre").textContent(), /"reason": "no access"/);
  await page.getByLabel("Search in the log").fill("nothing like that");
  await page.getByText("No event here is like that.").waitFor();
});

story("a printed run has all of its commands and its timeline, and nothing to press", async (scene, project) => {
  await demo(project);
  const server = await project.serve();
  const page = await scene.open(server, "/demo/runs/issue-42", { viewport: { width: 718, height: 1000 } });
  await page.emulateMedia({ media: "print" });
  for (const hidden of ["header nav a", "#live", ".slider", ".cmd button", "[data-key=narrow]"]) {
    assert.equal(await page.locator(hidden).first().isVisible(), false, hidden);
  }
  const { svg, scroll } = await page.evaluate(() => ({
    svg: document.querySelector(".timeline").getBoundingClientRect().right,
    scroll: document.documentElement.clientWidth,
  }));
  assert.ok(svg <= scroll, `${svg} of ${scroll}`);
  assert.ok(await page.locator(".activity dl").first().isVisible());
  assert.deepEqual(await tooWide(page), []);
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
