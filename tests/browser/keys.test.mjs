// The keyboard.

import assert from "node:assert/strict";
import { becomes, chosenRun, focusedRun, settled, shownRun, shownRuns, story } from "./support.mjs";

/** Three runs, the first of which needs a command. */
async function three(project) {
  for (const run of ["r1", "r2", "r3"]) await project.flow(["start", "debug", "--id", run]);
}

story("j and k choose a run, Enter opens it, Escape and g r go back", async (scene, project) => {
  await three(project);
  const server = await project.serve();
  const page = await scene.open(server);
  const press = (...keys) =>
    keys.reduce((before, key) => before.then(() => page.keyboard.press(key)), Promise.resolve());
  assert.equal(await chosenRun(page), null);
  for (const [key, run] of [
    ["j", "r3"],
    ["j", "r2"],
    ["j", "r1"],
    ["j", "r1"],
    ["k", "r2"],
    ["k", "r3"],
    ["k", "r3"],
  ]) {
    await press(key);
    assert.deepEqual([await chosenRun(page), await focusedRun(page)], [run, run]);
  }
  await press("j", "Enter");
  await page.waitForURL(`${server.origin}/demo/runs/r2`);
  await settled(page);
  await press("Escape");
  await page.waitForURL(`${server.origin}/`);
  await settled(page);
  await page.goto(`${server.origin}/demo/runs/r2`);
  await settled(page);
  await press("g", "r");
  await page.waitForURL(`${server.origin}/`);
});

story("/ goes to the search, letters typed there are no keys, and Escape leaves it", async (scene, project) => {
  await three(project);
  const server = await project.serve();
  const page = await scene.open(server);
  await page.keyboard.press("/");
  const box = page.locator("input[type=search]");
  assert.ok(await box.evaluate((element) => element === document.activeElement));
  await page.keyboard.type("jky?/");
  assert.equal(await box.inputValue(), "jky?/");
  assert.equal(await chosenRun(page), null);
  assert.equal(await page.locator("dialog[open]").count(), 0);
  await box.fill("r2");
  await becomes(() => shownRuns(page), ["r2"]);
  await page.keyboard.press("Escape");
  assert.ok(await box.evaluate((element) => element !== document.activeElement));
  await page.keyboard.press("j");
  assert.equal(await chosenRun(page), "r2");
});

story("Escape on the page of a run goes back to the search that led there", async (scene, project) => {
  await three(project);
  const server = await project.serve();
  const page = await scene.open(server, "/?search=r2");
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.waitForURL(`${server.origin}/demo/runs/r2`);
  await settled(page);
  await page.keyboard.press("Escape");
  await page.waitForURL(`${server.origin}/?search=r2`);
});

story("Escape on the page of a run goes back to its row", async (scene, project) => {
  for (let n = 0; n < 40; n++) await project.flow(["start", "debug", "--id", `r${n}`]);
  const server = await project.serve();
  const page = await scene.open(server);
  await page.locator(".row[data-key='demo/r15'] a").click();
  await page.waitForURL(`${server.origin}/demo/runs/r15`);
  await settled(page);
  await page.keyboard.press("Escape");
  await page.waitForURL(`${server.origin}/`);
  await settled(page);
  await becomes(async () => [await chosenRun(page), await focusedRun(page)], ["r15", "r15"]);
  const { top, bottom } = await page.locator(".row.chosen").evaluate((row) => row.getBoundingClientRect());
  assert.ok(top >= 0 && bottom <= (await page.evaluate(() => innerHeight)));
  await page.keyboard.press("j");
  await becomes(() => chosenRun(page), "r14");
});

story("y copies the command, and so does the button beside it", async (scene, project) => {
  await three(project);
  const server = await project.serve();
  // The clipboard is the browser's own, which pages may use without being asked here.
  const context = { permissions: ["clipboard-read", "clipboard-write"] };
  const page = await scene.open(server, "/demo/runs/r1", context);
  const { next } = await project.json("resume", "r1");
  assert.ok(next.command);
  const copied = () => page.evaluate(() => navigator.clipboard.readText());
  await page.keyboard.press("y");
  await becomes(copied, next.command);
  await page.evaluate(() => navigator.clipboard.writeText(""));
  await page.locator(".next summary").click();
  await page.locator(".cmd button").nth(1).click();
  await becomes(copied, next.alternatives[0].command);
  await page.getByRole("button", { name: "Copied" }).first().waitFor();
});

story("y on the page of all runs copies the command of the chosen run", async (scene, project) => {
  await three(project);
  const server = await project.serve();
  const page = await scene.open(server, "/", { permissions: ["clipboard-read", "clipboard-write"] });
  await page.keyboard.press("j");
  await page.keyboard.press("y");
  const { next } = await project.json("resume", "r3");
  await becomes(() => page.evaluate(() => navigator.clipboard.readText()), next.command);
});

story("y copies nothing where a person has to decide, and says so", async (scene, project) => {
  await project.flow(["start", "debug", "--id", "r1"]);
  await project.flow(["record-activity", "--run-id", "r1", "--id", "look", "--status", "running"]);
  const server = await project.serve();
  const page = await scene.open(server, "/demo/runs/r1", { permissions: ["clipboard-read", "clipboard-write"] });
  const { next } = await project.json("resume", "r1");
  assert.equal(next.command, null);
  const copied = () => page.evaluate(() => navigator.clipboard.readText());
  const said = () => page.locator("#said").textContent();
  const why = "Nothing copied: which command is right depends on what happened, so choose it yourself.";
  await page.evaluate(() => navigator.clipboard.writeText("mine"));
  await page.keyboard.press("y");
  await becomes(said, why);
  await page.goto(`${server.origin}/`);
  await settled(page);
  assert.equal(await said(), "");
  await page.keyboard.press("j");
  await page.keyboard.press("y");
  await becomes(said, why);
  assert.equal(await copied(), "mine");
  // The buttons still copy what they stand beside, in a fold: no outcome is preferred.
  await page.goto(`${server.origin}/demo/runs/r1`);
  await settled(page);
  await page.locator("details:has(.cmd) > summary").first().click();
  await page.locator(".cmd button").first().click();
  await becomes(copied, next.alternatives[0].command);
});

story("there is nothing to copy in the past", async (scene, project) => {
  await project.flow(["start", "debug", "--id", "r1"]);
  await project.flow(["record-activity", "--run-id", "r1", "--id", "one"]);
  const server = await project.serve("--allow-actions");
  const page = await scene.open(server, "/demo/runs/r1", { permissions: ["clipboard-read", "clipboard-write"] });
  await page.evaluate(() => navigator.clipboard.writeText("mine"));
  await page.keyboard.press("[");
  await becomes(async () => (await shownRun(page)).slider, "1 of 2");
  await becomes(() => page.locator("main button").count(), 0);
  await page.keyboard.press("y");
  const why = "Nothing copied: this is the run after event 1, and its commands are those of then.";
  await becomes(() => page.locator("#said").textContent(), why);
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), "mine");
  await page.keyboard.press("]");
  await page.locator(".cmd button").first().waitFor();
});

story("[ and ] go through the events of a run", async (scene, project) => {
  await project.flow(["start", "debug", "--id", "r1"]);
  for (const id of ["one", "two"]) await project.flow(["record-activity", "--run-id", "r1", "--id", id]);
  const server = await project.serve();
  const page = await scene.open(server, "/demo/runs/r1");
  const at = async (key, slider, search) => {
    const answer = page.waitForResponse((one) => one.url().includes("/demo/runs/r1"));
    await page.keyboard.press(key);
    // A person waits until the page shows it.
    await (await answer).finished();
    await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 50)));
    await becomes(async () => [(await shownRun(page)).slider, new URL(page.url()).search], [slider, search]);
  };
  await at("[", "2 of 3", "?at=2");
  await at("[", "1 of 3", "?at=1");
  await at("[", "1 of 3", "?at=1");
  await at("]", "2 of 3", "?at=2");
  await at("]", "3 of 3 · now", "");
  await at("]", "3 of 3 · now", "");
});

story("a key that is pressed before the last answer came is not lost", async (scene, project) => {
  await project.flow(["start", "debug", "--id", "r1"]);
  for (let n = 0; n < 8; n++) await project.flow(["record-activity", "--run-id", "r1", "--id", `a${n}`]);
  const server = await project.serve();
  const page = await scene.open(server, "/demo/runs/r1");
  // Answers take a while, as they do from a large run.
  await page.route("**/demo/runs/r1?*", async (route) => {
    await new Promise((resolve) => setTimeout(resolve, 100));
    await route.continue();
  });
  for (let n = 0; n < 5; n++) {
    await page.keyboard.press("[");
    await page.waitForTimeout(70);
  }
  await becomes(() => new URL(page.url()).search, "?at=4");
  await becomes(async () => (await shownRun(page)).slider, "4 of 9");
  assert.equal((await shownRun(page)).at, 4);
});

story("? shows the keys, and Escape hides them", async (scene, project) => {
  await three(project);
  const server = await project.serve();
  const page = await scene.open(server);
  await page.keyboard.press("?");
  const dialog = page.locator("dialog[open]");
  await dialog.waitFor();
  assert.match(await dialog.textContent(), /next and previous run/);
  await page.keyboard.press("Escape");
  await becomes(() => dialog.count(), 0);
  await page.keyboard.press("j");
  assert.equal(await chosenRun(page), "r3");
});

story("keys do nothing behind the list of keys", async (scene, project) => {
  await three(project);
  const server = await project.serve();
  const page = await scene.open(server);
  await page.keyboard.press("?");
  await page.locator("dialog[open]").waitFor();
  await page.keyboard.press("j");
  assert.equal(await chosenRun(page), null);
});
