// What keeps people from reading or using a page.

import assert from "node:assert/strict";
import { barriers, story, tooWide } from "./support.mjs";
import { demo, more } from "./demo.mjs";

const LOOKS = [
  ["light", 1280],
  ["dark", 1280],
  ["light", 390],
  ["dark", 390],
].map(([colorScheme, width]) => ({ colorScheme, viewport: { width, height: 844 } }));

for (const look of LOOKS) {
  const name = `${look.colorScheme} at ${look.viewport.width}`;

  story(`axe finds nothing serious on any page, ${name}`, async (scene, project) => {
    scene.expects(/status of 404/, /answered 404/);
    await demo(project);
    await more(project);
    const server = await project.serve();
    const found = [];
    const lookAt = async (path, prepare = async () => {}) => {
      const page = await scene.open(server, path, look);
      await prepare(page);
      found.push(...(await barriers(page)).map((barrier) => `${path}: ${barrier}`));
      found.push(...(await tooWide(page)).map((element) => `${path}: ${element}`));
      // The server has sockets for a few pages at once.
      await page.close();
    };
    const runs = (await project.json("list")).runs.map((run) => run.run_id);
    for (const path of [
      "/",
      "/?group=over",
      "/?search=nothing",
      "/demo/runs/none",
      "/sessions",
      "/workflows",
      "/demo/workflows/start-issue",
      "/interviews",
      "/demo/interview?document=docs%2Frelease.md",
      "/demo/runs/issue-42/file?evidence=bench.txt",
      "/demo/runs/issue-42/file?evidence=report.md",
      "/demo/runs/issue-42/file?evidence=screen.png",
      ...runs.map((run) => `/demo/runs/${run}`),
    ]) {
      await lookAt(path);
    }
    await lookAt(`/demo/runs/${runs[0]}?at=3`);
    await lookAt("/", async (page) => {
      await page.keyboard.press("j");
      await page.keyboard.press("?");
      await page.locator("dialog[open]").waitFor();
    });
    assert.deepEqual(found, []);
  });

  story(`axe finds nothing serious in a project without runs and without a token, ${name}`, async (scene, project) => {
    const server = await project.serve();
    const empty = await scene.open(server, "/", look);
    await empty.getByText("No runs here").waitFor();
    assert.deepEqual(await barriers(empty), []);
    const stranger = await (await scene.reader(look)).newPage();
    await stranger.goto(server.origin);
    await stranger.getByText("This page needs the token.").waitFor();
    assert.deepEqual(await barriers(stranger), []);
  });
}
