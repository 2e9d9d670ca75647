// Texts that others wrote are shown as texts.

import assert from "node:assert/strict";
import { becomes, shownRun, shownRuns, story, tooWide } from "./support.mjs";

const WORD = "unbreakable".repeat(30);
const TEXTS = [
  `<script>window.ran = "script"</script>`,
  `</script><img src=x onerror='window.ran = "onerror"'>`,
  `"><svg onload='window.ran = "onload"'><style>*{display:none}</style>`,
  `</title></main></body><iframe srcdoc="<script>parent.ran = 1</script>">`,
  `javascript:window.ran="javascript"`,
  `\u202egnp.exe\u202c \u2066a\u2069 \u200f`,
  `&lt;b&gt; &amp; {{7*7}} \${7*7} %3Cb%3E`,
  WORD,
];
const TEXT = TEXTS.join(" ");

/** A run with such texts wherever flow takes texts. */
async function hostile(project) {
  await project.flow(["start", "debug", "--id", "r1", "--goal", TEXT, "--branch", "<b>x</b>"]);
  await project.flow(["record-activity", "--run-id", "r1", "--id", "look", "--name", TEXT, "--summary", TEXT]);
  for (const [at, text] of TEXTS.entries()) {
    await project.flow([
      "record-activity",
      "--run-id",
      "r1",
      "--id",
      `text-${at}`,
      "--summary",
      text,
      "--evidence",
      text,
    ]);
  }
  await project.flow(["set", "r1", "--feature", TEXTS[0]]);
  await project.flow(["block", "r1", "--reason", TEXT]);
  await project.emit("r2", "status_change", "requirements", { status: "running" }, "--name", TEXT);
  for (const text of TEXTS) {
    const places = [{ path: text }, { url: text, label: text, relationship: text }];
    places.push({ url: `https://example.com/${text}`, label: text, relationship: text });
    // What flow refuses cannot be shown.
    for (const data of places) await project.emit("r2", "artifact_registered", "requirements", data).catch(() => {});
    await project.emit("r2", "btw_update", "requirements", { message: text });
  }
  await project.emit("r2", "status_change", "requirements", { status: "running" }, "--unit", TEXTS[1]).catch(() => {});
  await project.emit("r2", "waiting_for_user", "requirements", { prompt: TEXT }, "--unit", TEXTS[0]).catch(() => {});
  await project.emit("r2", "waiting_for_user", "requirements", { prompt: TEXT });
  await project.flow(["start", "debug", "--id", "r3", "--goal", TEXT]);
  await project.flow(["cancel", "r3", "--reason", TEXT]);
}

/** What flow makes pages of; nothing else may be in one. */
const ELEMENTS = [
  "A",
  "ASIDE",
  "B",
  "BLOCKQUOTE",
  "BODY",
  "BR",
  "BUTTON",
  "CODE",
  "DD",
  "DETAILS",
  "DIALOG",
  "DIV",
  "DL",
  "DT",
  "FORM",
  "H1",
  "H2",
  "HEAD",
  "HEADER",
  "HTML",
  "INPUT",
  "LABEL",
  "LI",
  "LINK",
  "MAIN",
  "META",
  "NAV",
  "NOSCRIPT",
  "OPTION",
  "OUTPUT",
  "P",
  "SCRIPT",
  "SECTION",
  "SELECT",
  "SPAN",
  "SUMMARY",
  "TABLE",
  "TBODY",
  "TD",
  "TH",
  "PRE",
  "THEAD",
  "TIME",
  "TITLE",
  "TR",
  "UL",
  "svg",
  "circle",
  "defs",
  "g",
  "marker",
  "path",
  "pattern",
  "rect",
  "text",
  "title",
];

async function isHarmless(page) {
  const found = await page.evaluate(() => {
    const all = [...document.querySelectorAll("*")];
    const names = [...new Set(all.map((element) => element.nodeName))];
    const attributes = [...new Set(all.flatMap((element) => element.getAttributeNames()))];
    const asked = all.flatMap((element) => ["href", "src", "action"].map((name) => element.getAttribute(name)));
    const places = asked.filter((place) => place !== null).map((place) => new URL(place, location).href);
    const scripts = [...document.scripts].map((script) => script.src + script.textContent);
    return { ran: window.ran, names, attributes, places, scripts };
  });
  assert.equal(found.ran, undefined);
  assert.deepEqual(
    found.names.filter((name) => !ELEMENTS.includes(name)),
    [],
  );
  assert.deepEqual(
    found.attributes.filter((name) => name.startsWith("on") || name === "style" || name === "srcdoc"),
    [],
  );
  for (const place of found.places) assert.match(place, /^(http:\/\/127\.0\.0\.1:\d+|https:\/\/example\.com)\//);
  assert.deepEqual(found.scripts, [`${new URL(page.url()).origin}/flow.js`]);
}

story("no text becomes an element, runs or asks for anything", async (scene, project) => {
  const server = await project.serve();
  const pages = [await scene.open(server)];
  // An open page gets them as changes, the others with the page.
  await hostile(project);
  await becomes(async () => (await shownRuns(pages[0])).toSorted(), ["r1", "r2"]);
  for (const path of [
    "/",
    "/?group=over",
    "/?search=%3Cscript%3Ewindow.ran%3D1%3C%2Fscript%3E",
    "/demo/runs/r1",
    "/demo/runs/r2",
    "/demo/runs/r3",
    "/sessions",
    "/interviews",
  ]) {
    pages.push(await scene.open(server, path));
  }
  for (const page of pages) await isHarmless(page);
  const [, , , , run, build] = pages;
  assert.match(await run.locator("h1").textContent(), /<script>window\.ran = "script"<\/script>/);
  assert.match((await shownRun(run)).verdict, /<img src=x onerror=/);
  assert.match(await build.locator(".next").textContent(), /requirements waits for an answer \(and 1 more question\): <script>/);
  // And after an update in place.
  await project.flow(["unblock", "r1", "--reason", TEXT]);
  await becomes(async () => (await shownRun(run)).verdict.includes("Waits"), false);
  await project.flow(["record-activity", "--run-id", "r1", "--id", "again", "--status", "running", "--summary", TEXT]);
  await becomes(async () => (await shownRun(run)).activities[0][1], "again");
  await isHarmless(run);
});

story("only an artifact on the web is a link", async (scene, project) => {
  await hostile(project);
  const server = await project.serve();
  const page = await scene.open(server, "/demo/runs/r2");
  const lines = await page
    .locator("[data-key=evidence] tbody tr")
    .evaluateAll((all) => all.map((line) => [line.textContent, line.querySelector("a")?.href ?? null]));
  assert.ok(lines.length > TEXTS.length);
  for (const [text, href] of lines) {
    if (href) assert.match(href, /^https:\/\/example\.com\//, text);
  }
  const script = lines.filter(([text]) => text.includes("javascript:") && !text.includes("https:"));
  assert.ok(script.length > 0);
  assert.deepEqual(
    script.map(([, href]) => href),
    script.map(() => null),
  );
  assert.equal(await page.locator("[data-key=evidence] a").first().getAttribute("rel"), "noopener noreferrer");
});

story("marks that turn the direction of text around are shown as such", async (scene, project) => {
  await hostile(project);
  const server = await project.serve();
  for (const path of ["/", "/demo/runs/r1", "/demo/runs/r2"]) {
    const page = await scene.open(server, path);
    const text = await page.evaluate(() => document.documentElement.textContent);
    assert.doesNotMatch(text, /[\u202a-\u202e\u2066-\u2069]/u, path);
  }
});

story("a very long word makes no page wider than its window", async (scene, project) => {
  await hostile(project);
  const server = await project.serve();
  for (const width of [1280, 390]) {
    for (const path of ["/", "/?group=over", "/demo/runs/r1", "/demo/runs/r2", "/demo/runs/r3"]) {
      const page = await scene.open(server, path, { viewport: { width, height: 800 } });
      assert.deepEqual(await tooWide(page), [], `${path} at ${width}`);
    }
  }
});
