// The pages beside those of runs: sessions, workflows, interviews and files.

import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PICTURE } from "./demo.mjs";
import { becomes, settled, story } from "./support.mjs";

const evidence = (project, name, content) => writeFileSync(join(project.root, ".flow/runs/r1/evidence", name), content);
const heading = (page) => page.locator("h1").textContent();

story("two keys open each page, and Esc leads back to the runs", async (scene, project) => {
  await project.flow(["start", "debug", "--id", "r1"]);
  const server = await project.serve();
  const page = await scene.open(server, "/");
  for (const [key, title] of [
    ["s", "Sessions"],
    ["w", "Workflows"],
    ["i", "Interviews and questions"],
    ["r", "No run needs you"],
  ]) {
    await page.keyboard.press("g");
    await page.keyboard.press(key);
    await becomes(() => heading(page), title);
    assert.equal(await page.locator("header [aria-current]").count(), 1);
    await settled(page);
  }
  await page.goto(`${server.origin}/sessions`);
  await settled(page);
  await page.keyboard.press("Escape");
  await becomes(() => new URL(page.url()).pathname, "/");
});

story("the page of a workflow says what it is for, how to begin, and how its runs went", async (scene, project) => {
  const at = (time, ...args) => project.flow(args, { __FLOW_NOW: `2026-05-20T${time}:00Z` });
  const record = (time, run, id, ...more) => at(time, "record-activity", "--run-id", run, "--id", id, ...more);
  await at("10:00", "start", "debug", "--id", "r1");
  await record("10:10", "r1", "look", "--advance");
  await record("10:10", "r1", "try", "--status", "running");
  await record("10:40", "r1", "try", "--status", "failed");
  await record("11:10", "r1", "try", "--advance");
  await at("12:00", "complete", "r1", "--skip-reason", "It is known");
  await at("12:00", "start", "debug", "--id", "r2");
  await at("12:30", "cancel", "r2", "--reason", "enough");
  const server = await project.serve();
  const page = await scene.open(server, "/demo/workflows/debug");
  const { description } = (await project.json("workflow", "list")).workflows.find((one) => one.id === "debug");
  await page.getByText(description).waitFor();
  assert.equal(await page.title(), "debug · demo · flow");
  assert.equal(await page.locator("[data-copy]").first().getAttribute("data-copy"), "flow start debug");
  assert.equal(await page.locator(".facts").textContent(), "0 open, 2 over: 1 completed, 0 failed, 1 cancelled · usually takes 2 h");
  const cells = (state) => page.locator(`tr[data-key=q${state}] td`).allTextContents();
  assert.deepEqual((await cells("preflight")).slice(0, 4), ["preflight begins", "", "10 min", "0 of 1"]);
  assert.deepEqual((await cells("reproduce")).slice(0, 4), ["reproduce", "", "1 hworked 30 min", "1 of 2"]);
});

story("the pages of sessions and workflows follow what happens", async (scene, project) => {
  await project.flow(["init"]);
  const server = await project.serve();
  const sessions = await scene.open(server, "/sessions");
  const workflow = await scene.open(server, "/demo/workflows/debug");
  await sessions.getByText("No session holds a run or has a mode.").waitFor();
  await project.flow(["start", "debug", "--id", "r1", "--session", "monday"]);
  await sessions.getByRole("cell", { name: "monday" }).waitFor();
  await workflow.locator('.row[data-key$="/r1"]').waitFor();
  await project.flow(["cancel", "r1", "--reason", "enough"]);
  await sessions.getByText("No session holds a run or has a mode.").waitFor();
  await becomes(() => workflow.locator('.row[data-key$="/r1"]').count(), 0);
});

story("evidence opens as text or as a picture, and never as a page", async (scene, project) => {
  await project.flow(["start", "debug", "--id", "r1"]);
  evidence(project, "page.html", "<script>document.title = 'taken'</script><h1>mine</h1>");
  evidence(project, "screen.png", PICTURE);
  const server = await project.serve();
  const page = await scene.open(server, "/demo/runs/r1");
  await page.getByRole("link", { name: "evidence/page.html" }).click();
  await page.getByText("<h1>mine</h1>").waitFor();
  assert.equal(await heading(page), "page.html");
  await page.goBack();
  await page.getByRole("link", { name: "evidence/screen.png" }).click();
  const width = () => page.locator("img.shown").evaluate((image) => image.naturalWidth);
  await becomes(width, 8);
  // The picture stays when the page is made anew.
  await project.flow(["record-activity", "--run-id", "r1", "--id", "later"]);
  await becomes(width, 8);
});

story("an interview shows its question, and the next one when it is answered", async (scene, project) => {
  await project.flow(["start", "debug", "--id", "r1"]);
  mkdirSync(join(project.root, "docs"));
  await project.flow(["interview", "start", "docs/a.md", "--run-id", "r1"]);
  const server = await project.serve();
  const page = await scene.open(server, "/interviews");
  await page.getByRole("link", { name: "docs/a.md" }).click();
  await page.getByText("question 1 of 5").waitFor();
  await project.flow(["interview", "answer", "docs/a.md", "--question", "1", "A shelf that sorts itself"]);
  await page.getByText("question 2 of 5").waitFor();
  await page.getByText("A shelf that sorts itself").waitFor();
});
