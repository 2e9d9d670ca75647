// What a page can do, on a server that lets it.

import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { barriers, becomes, story } from "./support.mjs";

const ask = (page) => page.locator("#confirm");
const log = async (project, run) => (await project.json("log", run)).events;

/** The run `r1`, which asks a question in `requirements`. */
async function asking(project) {
  const emit = (type, data) => project.emit("r1", type, "requirements", data);
  await emit("status_change", { status: "running" });
  await emit("waiting_for_user", { prompt: "Which shelf?" });
}

story("a question is answered after the reader was asked again", async (scene, project) => {
  await asking(project);
  const server = await project.serve("--allow-actions");
  const page = await scene.open(server, "/demo/runs/r1");
  const field = page.getByLabel("Answer to requirements: Which shelf?");
  await field.fill("The left one");
  // What is being written stays when the page is made anew.
  await project.flow(["set", "r1", "--goal", "Sort the shelves"]);
  await page.locator("h1").getByText("Sort the shelves").waitFor();
  assert.equal(await field.inputValue(), "The left one");
  await page.getByRole("button", { name: "Answer" }).click();
  // The dialog shows what is asked and what was typed, and its buttons name what they do.
  await ask(page).getByText("Send this answer to requirements in the run r1? It asks: Which shelf?").waitFor();
  await ask(page).getByText("The left one").waitFor();
  assert.deepEqual(await ask(page).getByRole("button").allTextContents(), ["Send answer", "Back"]);
  assert.deepEqual(await barriers(page), []);
  await page.getByRole("button", { name: "Back" }).click();
  assert.equal((await log(project, "r1")).at(-1).type, "run_edited");
  assert.equal(await field.inputValue(), "The left one");
  await page.getByRole("button", { name: "Answer", exact: true }).click();
  await page.getByRole("button", { name: "Send answer" }).click();
  await becomes(() => field.count(), 0);
  assert.equal(await ask(page).isVisible(), false);
  const [report] = (await log(project, "r1")).at(-1).reports;
  assert.deepEqual([report.type, report.step, report.data.answer], ["user_answered", "requirements", "The left one"]);
});

story("what is printed has nothing to press, also where people can act", async (scene, project) => {
  await asking(project);
  await project.flow(["start", "debug", "--id", "blocked"]);
  await project.flow(["block", "blocked", "--reason", "no access"]);
  const server = await project.serve("--allow-actions");
  for (const path of ["/", "/demo/runs/r1", "/demo/runs/blocked", "/sessions", "/workflows", "/interviews"]) {
    const page = await scene.open(server, path);
    await page.emulateMedia({ media: "print" });
    const pressed = page.locator("button, form, label, input, select, textarea, dialog, details.act, nav a");
    assert.deepEqual(await pressed.filter({ visible: true }).allTextContents(), [], path);
    await page.close();
  }
});

story("a blocked run is unblocked and cancelled by the keyboard alone", async (scene, project) => {
  await project.flow(["start", "debug", "--id", "r1"]);
  await project.flow(["block", "r1", "--reason", "no access"]);
  const server = await project.serve("--allow-actions");
  const page = await scene.open(server, "/demo/runs/r1");
  await page.getByLabel("What was resolved").focus();
  await page.keyboard.type("access was given");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await ask(page).getByText("Unblock the run r1?").waitFor();
  await ask(page).getByText("access was given").waitFor();
  assert.deepEqual(await ask(page).getByRole("button").allTextContents(), ["Unblock the run", "Leave it blocked"]);
  // The button that does nothing has the focus.
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Leave it blocked");
  await page.keyboard.press("Shift+Tab");
  await page.keyboard.press("Enter");
  await becomes(async () => (await log(project, "r1")).at(-1).type, "run_unblocked");
  await becomes(() => page.getByLabel("What was resolved").count(), 0);
  await page.getByText("Cancel this run").focus();
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Cancel" }).click();
  assert.deepEqual(await ask(page).getByRole("button").allTextContents(), ["Cancel the run", "Keep it"]);
  // Without a reason no empty text is shown.
  assert.equal(await page.locator("#confirm-text").isVisible(), false);
  await page.keyboard.press("Escape");
  assert.equal(await ask(page).isVisible(), false);
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Cancel the run" }).click();
  await page.getByText("the run is cancelled").waitFor();
  const events = (await log(project, "r1")).slice(-2);
  assert.deepEqual(
    events.map((event) => [event.type, event.reason]),
    [
      ["run_unblocked", "access was given"],
      ["run_cancelled", null],
    ],
  );
});

story("what the reader did not see is shown before it is decided again", async (scene, project) => {
  scene.expects(/status of 409/, /answered 409/);
  await project.flow(["start", "debug", "--id", "r1"]);
  const server = await project.serve("--allow-actions");
  const page = await scene.open(server, "/demo/runs/r1");
  await page.getByText("Cancel this run").click();
  await page.getByRole("button", { name: "Cancel" }).click();
  await ask(page).waitFor();
  // Slow, so that the page is still being asked for when the button is pressed.
  await page.route("**/demo/runs/r1", async (route) => {
    await new Promise((resolve) => setTimeout(resolve, 300));
    await route.continue();
  });
  await project.flow(["record-activity", "--run-id", "r1", "--id", "look", "--status", "passed"]);
  await page.getByRole("button", { name: "Cancel the run" }).click();
  await ask(page).getByText("it moved on").waitFor();
  assert.equal((await log(project, "r1")).length, 2);
  await page.locator(".log").getByText("look passed").waitFor({ state: "attached" });
  await page.getByRole("button", { name: "Cancel the run" }).click();
  await page.getByText("the run is cancelled").waitFor();
  assert.equal((await log(project, "r1")).length, 3);
});

story("an interview is answered question by question", async (scene, project) => {
  await project.flow(["start", "debug", "--id", "r1"]);
  mkdirSync(join(project.root, "docs"));
  await project.flow(["interview", "start", "docs/a.md", "--run-id", "r1"]);
  const server = await project.serve("--allow-actions");
  const page = await scene.open(server, "/demo/interview?document=docs%2Fa.md");
  for (const [number, answer] of ["A shelf that sorts itself", "Nobody finds a book"].entries()) {
    await page.getByLabel(`Answer to question ${number + 1}`).fill(answer);
    await page.getByRole("button", { name: "Answer" }).click();
    await ask(page).getByText(`question ${number + 1} into docs/a.md, for r1?`).waitFor();
    await ask(page).getByText(answer).waitFor();
    await page.getByRole("button", { name: "Send answer" }).click();
    await becomes(() => ask(page).isVisible(), false);
    await page.locator("main").getByText(answer).waitFor();
  }
  await page.getByText("question 3 of 5").waitFor();
});

story("a server that only shows offers nothing to do", async (scene, project) => {
  await asking(project);
  const server = await project.serve();
  const page = await scene.open(server, "/demo/runs/r1");
  await page.getByText("Which shelf?").first().waitFor();
  assert.equal(await page.locator("main form.act").count(), 0);
});
