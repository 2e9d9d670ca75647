// Writes pictures of a project into a directory, for people to look at. By hand: tests/browser/run --pictures DIR

import { join } from "node:path";
import { demo, more } from "./demo.mjs";
import { Project, browse, settled } from "./support.mjs";

const [dir] = process.argv.slice(2);
const project = new Project("widgets");
const browser = await browse(join(project.dir, "home"));
try {
  await project.flow(["init"]);
  const { issue } = await demo(project);
  await more(project);
  const server = await project.serve();
  const acting = await project.serve("--allow-actions", "--port", "0");
  const pages = {
    list: "/",
    run: `/widgets/runs/${issue}`,
    past: `/widgets/runs/${issue}?at=8`,
    units: "/widgets/runs/reports",
    acting: "/widgets/runs/reports",
    over: "/?group=over",
    failing: "/widgets/runs/issue-142",
    sessions: "/sessions",
    workflows: "/workflows",
    workflow: "/widgets/workflows/start-issue",
    interviews: "/interviews",
    interview: "/widgets/interview?document=docs%2Frelease.md",
    image: `/widgets/runs/${issue}/file?evidence=screen.png`,
    file: `/widgets/runs/${issue}/file?evidence=bench.txt`,
    report: `/widgets/runs/${issue}/file?evidence=report.md`,
  };
  for (const colorScheme of ["light", "dark"]) {
    for (const width of [1280, 390]) {
      const context = await browser.newContext({ colorScheme, viewport: { width, height: 844 } });
      for (const [name, path] of Object.entries(pages)) {
        const page = await context.newPage();
        const { url } = name === "acting" ? acting : server;
        await page.goto(url.replace("/#", `${path}#`));
        await settled(page);
        const file = join(dir, `${name}-${colorScheme}-${width}.png`);
        // What opens is seen open.
        if (name === "failing") await page.locator(".activity > summary").first().click();
        await page.screenshot({ path: file, fullPage: true });
        console.log(file);
        // What a screen shows of it, for the README.
        if (width === 1280) await page.screenshot({ path: join(dir, `screen-${name}-${colorScheme}.png`) });
      }
      await context.close();
    }
  }
  // On paper: A4 without its margins.
  const paper = await browser.newContext({ viewport: { width: 718, height: 1000 } });
  for (const name of ["list", "run", "failing", "workflow", "over"]) {
    const page = await paper.newPage();
    await page.goto(server.url.replace("/#", `${pages[name]}#`));
    await settled(page);
    await page.emulateMedia({ media: "print" });
    const file = join(dir, `${name}-print.png`);
    await page.screenshot({ path: file, fullPage: true });
    console.log(file);
  }
} finally {
  await browser.close();
  await project.close();
}
