// The page of all runs, and who may see it.

import assert from "node:assert/strict";
import { SERVER_GONE, TOKEN_REFUSED, becomes, settled, shownGroups, shownRuns, story, titleOf, waitsFor } from "./support.mjs";

/** A run in every group. */
async function everyGroup(project) {
  const [living, dying] = [project.host(), project.host()];
  await living.flow("monday", "start", "debug", "--id", "busy");
  await dying.flow("tuesday", "start", "debug", "--id", "begun");
  await dying.flow("tuesday", "record-activity", "--run-id", "begun", "--id", "try", "--status", "running");
  await project.flow(["start", "debug", "--id", "ended", "--session", "wednesday"]);
  await project.flow(["session-end", "--session", "wednesday"]);
  await project.flow(["start", "start-issue", "--id", "free", "--issue", "42", "--goal", "Sort the shelf"]);
  await project.flow(["start", "start-issue", "--id", "blocked", "--issue", "41"]);
  await project.flow(["block", "blocked", "--reason", "waits for access to staging"]);
  await project.emit("asked", "waiting_for_user", "requirements", { prompt: "Drop the old table?" });
  await project.flow(["start", "debug", "--id", "over"]);
  await project.flow(["cancel", "over", "--reason", "enough"]);
  await dying.end();
}

story("the first page shows the open runs in the groups and words of flow attention", async (scene, project) => {
  await everyGroup(project);
  const server = await project.serve();
  const page = await scene.open(server);
  const said = await project.json("attention", "--all");
  const shown = await shownGroups(page);
  const expected = {};
  for (const card of said.runs) (expected[card.group] ??= []).push(card);
  assert.deepEqual(Object.keys(expected), ["waits", "in_doubt", "left_behind", "at_work", "can_go_on"]);
  assert.deepEqual(Object.keys(shown), [...Object.keys(expected), "over"]);
  // `Waits for you  2` begins a group in the text.
  const titles = (await project.flow(["attention", "--all"])).split("\n").filter((line) => /^\S/.test(line));
  for (const [at, [group, cards]] of Object.entries(expected).entries()) {
    const [title, count] = titles[at].split("  ");
    assert.ok(shown[group].title.includes(`${title} ${count}`), `${shown[group].title} is ${titles[at]}`);
    const place = (card) => (card.place ? ` ${card.place.number}/${card.place.of}` : "");
    const words = cards.map((card) => [card.run_id, titleOf(card), waitsFor(card), `${card.phase ?? ""}${place(card)}`]);
    assert.deepEqual(
      shown[group].rows.map((row) => [row.run, row.title, row.reason, row.phase]),
      words,
    );
    const needs = cards.map((card) => card.need ?? card.session ?? "ready");
    assert.deepEqual(
      shown[group].rows.map((row) => row.tag.split(" ").slice(1).join(" ")),
      needs,
    );
  }
  assert.match(shown.over.title, /Over 1/);
  const needy = said.runs.filter((card) => ["waits", "in_doubt", "left_behind"].includes(card.group)).length;
  assert.equal(await page.title(), `(${needy}) demo · flow`);
  assert.equal(await page.locator("h1").textContent(), `${needy} runs need you`);
});

story("an age of hours and a name without its time have room, on the list and on the page of a workflow", async (scene, project) => {
  const then = new Date(Date.now() - (3 * 3600 + 15 * 60 + 20) * 1000).toISOString();
  await project.flow(["start", "start-issue", "--issue", "142", "--goal", "Sort the shelf"], { __FLOW_NOW: then });
  const server = await project.serve();
  for (const path of ["/", "/demo/workflows/start-issue"]) {
    const page = await scene.open(server, path);
    const age = page.locator(".row time");
    assert.equal(await age.textContent(), "3 h 15 min");
    assert.ok(await age.evaluate((element) => element.scrollWidth <= element.clientWidth), path);
    assert.match(await page.locator(".row .what p").textContent(), /issue 142 · issue-142$/);
  }
});

story("runs that are over have their status and how long they took, and can be narrowed and ordered", async (scene, project) => {
  const at = (time, ...args) => project.flow(args, { __FLOW_NOW: `2026-05-20T${time}:00Z` });
  await at("10:00", "start", "debug", "--id", "long");
  await at("12:00", "start", "debug", "--id", "short");
  await at("12:20", "fail", "long", "--reason", "no way");
  await at("12:30", "cancel", "short", "--reason", "enough");
  const server = await project.serve();
  const page = await scene.open(server, "/?group=over");
  const shown = async () => (await shownGroups(page)).over.rows.map((row) => [row.run, row.tag, row.reason]);
  assert.equal(await page.locator("h1").textContent(), "Runs that are over");
  assert.deepEqual(await shown(), [
    ["short", "– cancelled", "took 30 min"],
    ["long", "✕ failed", "took 2 h 20 min"],
  ]);
  await page.getByLabel("Order").selectOption("longest");
  await becomes(async () => (await shown()).map(([run]) => run), ["long", "short"]);
  await page.getByLabel("Status").selectOption("cancelled");
  await becomes(async () => (await shown()).map(([run]) => run), ["short"]);
  assert.equal(page.url(), `${server.origin}/?status=cancelled&sort=longest&group=over`);
  await page.reload();
  await settled(page);
  assert.deepEqual((await shown()).map(([run]) => run), ["short"]);
});

story("the address loses its token, and a second tab needs none", async (scene, project) => {
  await project.flow(["start", "debug", "--id", "r1"]);
  const server = await project.serve();
  const page = await scene.open(server);
  assert.equal(page.url(), `${server.origin}/`);
  const second = await page.context().newPage();
  await second.goto(`${server.origin}/demo/runs/r1`);
  await settled(second);
  assert.equal(await second.locator(".about code").textContent(), "r1");
  const [third] = await Promise.all([
    page.context().waitForEvent("page"),
    page.locator(".row a").click({ modifiers: ["ControlOrMeta"] }),
  ]);
  await settled(third);
  assert.equal(await third.locator(".about code").textContent(), "r1");
});

story("without the right token a page is one sentence", async (scene, project) => {
  scene.expects(...TOKEN_REFUSED);
  await project.flow(["start", "debug", "--id", "r1", "--goal", "Sort the shelf"]);
  const server = await project.serve();
  const says = async (fragment, path, sentence) => {
    const page = await (await scene.reader()).newPage();
    await page.goto(`${server.origin}${path}${fragment}`);
    await page.getByText(sentence).waitFor();
    const text = await page.content();
    assert.ok(!/r1<|Sort the shelf|debug/.test(text), text);
    assert.equal(await page.evaluate(() => localStorage.length), 0);
  };
  for (const path of ["/", "/demo/runs/r1", "/demo/runs/none"]) {
    await says("", path, "This page needs the token. Open the address that `flow serve` printed.");
    await says(`#token=${"0".repeat(64)}`, path, "The token of this page is no longer valid.");
  }
});

story("an open page says that its token is no longer valid", async (scene, project) => {
  scene.expects(...TOKEN_REFUSED, ...SERVER_GONE);
  await project.flow(["start", "debug", "--id", "r1"]);
  const first = await project.serve();
  const page = await scene.open(first);
  await first.end();
  await project.serve("--new-token", "--port", first.port);
  // The page tries again after at most ten seconds.
  await page.getByText("The token of this page is no longer valid.").waitFor({ timeout: 11_000 });
  assert.deepEqual(await shownRuns(page), []);
});

story("a tab with an old token leaves the new one to other tabs, and takes it", async (scene, project) => {
  scene.expects(...TOKEN_REFUSED, ...SERVER_GONE, /ERR_FAILED/);
  await project.flow(["start", "debug", "--id", "r1"]);
  const first = await project.serve();
  const old = await scene.open(first);
  // The old tab asks when the other one is there.
  await old.route("**/*", (route) => route.abort());
  await first.end();
  const second = await project.serve("--new-token", "--port", first.port);
  const page = await old.context().newPage();
  await page.goto(second.url);
  await settled(page);
  await old.unroute("**/*");
  const answer = old.waitForResponse((one) => one.request().resourceType() === "fetch");
  await old.locator("input[type=search]").fill("r");
  await answer;
  await page.reload();
  await settled(page);
  assert.deepEqual(await shownRuns(page), ["r1"]);
  await becomes(() => shownRuns(old), ["r1"], 11_000);
});

story("search and filters are in the address and survive a reload", async (scene, project) => {
  await everyGroup(project);
  const server = await project.serve();
  const page = await scene.open(server);
  await page.locator("input[type=search]").pressSequentially("staging");
  await becomes(() => shownRuns(page), ["blocked"]);
  assert.equal(page.url(), `${server.origin}/?search=staging`);
  await page.reload();
  await becomes(() => shownRuns(page), ["blocked"]);
  assert.equal(await page.locator("input[type=search]").inputValue(), "staging");
  await page.locator("input[type=search]").fill("");
  await becomes(() => page.url(), `${server.origin}/`);
  await page.getByLabel("Workflow").selectOption("build");
  await becomes(() => shownRuns(page), ["asked"]);
  assert.equal(page.url(), `${server.origin}/?workflow=build`);
  await page.reload();
  await becomes(() => shownRuns(page), ["asked"]);
  assert.equal(await page.getByLabel("Workflow").inputValue(), "build");
  await page.getByLabel("Workflow").selectOption("");
  await becomes(() => page.url(), `${server.origin}/`);
  await page.getByRole("link", { name: /^Over/ }).first().click();
  await becomes(() => shownRuns(page), ["over"]);
  await settled(page);
  await page.locator("input[type=search]").pressSequentially("nowhere");
  await becomes(() => new URL(page.url()).search, "?search=nowhere&group=over");
  await becomes(() => shownRuns(page), []);
  await page.reload();
  await settled(page);
  assert.equal(await page.locator("input[type=search]").inputValue(), "nowhere");
  assert.deepEqual(await shownRuns(page), []);
  await page.getByText("No run here matches the search.").waitFor();
});

story("a search finds what its row shows, and letters typed meanwhile are kept", async (scene, project) => {
  await everyGroup(project);
  const server = await project.serve();
  const page = await scene.open(server);
  const box = page.locator("input[type=search]");
  await box.pressSequentially("access", { delay: 60 });
  await becomes(() => shownRuns(page), ["blocked"]);
  assert.equal(await box.inputValue(), "access");
  assert.ok(await box.evaluate((element) => element === document.activeElement));
});
