// Projects, servers and pages for the tests in this directory. Each test has its own of all of them.

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";

const { FLOW_BIN: flow, FLOW_BROWSER: browserPath, FLOW_BROWSER_MODULES: modules } = process.env;
const { chromium } = await import(pathToFileURL(join(modules, "playwright-core", "index.mjs")).href);
const axe = readFileSync(join(modules, "axe-core", "axe.min.js"), "utf8");

/** How long something may take to appear. */
export const PATIENCE = 5000;

/** A program as flow's sessions know it: something that lives until it is ended. */
class Host {
  constructor(project) {
    this.project = project;
    this.child = spawn("sleep", ["600"], { stdio: "ignore" });
  }

  flow(session, ...args) {
    return this.project.flow([...args, "--session", session], { FLOW_HOLDER_PID: String(this.child.pid) });
  }

  end = () => ended(this.child);
}

async function ended(child, signal = "SIGKILL") {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, "exit");
  child.kill(signal);
  await exit;
}

/** A project of its own below a directory of its own, with a home and a place for what programs remember. */
export class Project {
  constructor(name = "demo") {
    this.dir = mkdtempSync(join(tmpdir(), "flow-browser-"));
    this.root = join(this.dir, name);
    // flow looks for a `.flow` no higher than the repository, so one beside the project changes nothing.
    mkdirSync(join(this.root, ".git"), { recursive: true });
    for (const place of ["home", "state", "tmp"]) mkdirSync(join(this.dir, place));
    this.env = {
      PATH: process.env.PATH,
      HOME: join(this.dir, "home"),
      XDG_STATE_HOME: join(this.dir, "state"),
      TMPDIR: join(this.dir, "tmp"),
      GIT_CONFIG_GLOBAL: "/dev/null",
      GIT_CONFIG_SYSTEM: "/dev/null",
      LC_ALL: "C.UTF-8",
    };
    this.children = [];
  }

  path = (...names) => join(this.root, ...names);
  runPath = (run, ...names) => this.path(".flow", "runs", run, ...names);

  /** Runs a command to its end and gives what it wrote. */
  async flow(args, env = {}) {
    const options = { cwd: this.root, env: { ...this.env, ...env }, maxBuffer: Infinity };
    const { stdout } = await promisify(execFile)(flow, args, options);
    return stdout;
  }

  json = async (...args) => JSON.parse(await this.flow([...args, "--json"]));

  /** Reports on a step of the shipped workflow `build`. */
  emit(run, type, step, data, ...more) {
    const args = ["--workflow", "build", "--run-id", run, "--type", type, "--step", step];
    return this.flow(["emit", ...args, "--data", JSON.stringify(data), ...more]);
  }

  /** Begins an activity as a script does that ends then, so that nothing shows whether the work goes on. */
  async begun(run, id, ...more) {
    const script = this.host();
    const args = ["record-activity", "--run-id", run, "--id", id, "--status", "running", ...more];
    await this.flow(args, { FLOW_HOLDER_PID: String(script.child.pid) });
    await script.end();
  }

  host() {
    const host = new Host(this);
    this.children.push(host.child);
    return host;
  }

  async serve(...args) {
    const child = spawn(flow, ["serve", "--json", ...args], {
      cwd: this.root,
      env: this.env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.children.push(child);
    let trouble = "";
    child.stderr.on("data", (text) => (trouble += text));
    const [line] = await Promise.race([
      once(createInterface({ input: child.stdout }), "line"),
      once(child, "exit").then(() => Promise.reject(new Error(`flow serve ended: ${trouble}`))),
    ]);
    const { url, address } = JSON.parse(line);
    const { pid } = child;
    return { url, origin: `http://${address}`, port: address.split(":").pop(), pid, end: (signal) => ended(child, signal) };
  }

  async close() {
    for (const child of this.children) await ended(child);
    rmSync(this.dir, { recursive: true });
  }
}

/** A browser whose home is `dir`. It knows no address but this machine's. */
export function browse(dir) {
  return chromium.launch({
    executablePath: browserPath,
    args: ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"],
    env: { PATH: process.env.PATH, HOME: dir, TMPDIR: dir, LC_ALL: "C.UTF-8" },
  });
}

/** What a test has: a project, and pages that are watched for trouble. */
class Scene {
  constructor(project, browser) {
    this.project = project;
    this.browser = browser;
    this.trouble = [];
    this.expected = [];
    this.contexts = [];
  }

  /** Trouble that belongs to the test. */
  expects(...patterns) {
    this.expected.push(...patterns);
  }

  /** Another reader: nothing is stored in their browser yet. */
  async reader(options = {}) {
    const context = await this.browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
    context.setDefaultTimeout(PATIENCE);
    this.contexts.push(context);
    context.on("page", (page) => this.watch(page));
    return context;
  }

  /** A page of a new reader at an address of the server. */
  async open(server, path = "/", options = {}) {
    const page = await (await this.reader(options)).newPage();
    await page.goto(server.url.replace("/#", `${path}#`));
    await settled(page);
    return page;
  }

  watch(page) {
    const note = (what) => this.trouble.push(what);
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) note(`console: ${message.text()} (${message.location().url})`);
    });
    page.on("pageerror", (error) => note(`error: ${error.stack}`));
    page.on("dialog", (dialog) => (note(`dialog: ${dialog.message()}`), dialog.dismiss()));
    page.on("requestfailed", (request) => {
      const why = request.failure()?.errorText;
      // Whoever goes to another page wants no answer any more.
      if (why !== "net::ERR_ABORTED") note(`failed: ${request.url()} ${why}`);
    });
    page.on("response", (answer) => answer.status() >= 400 && note(`answered ${answer.status()}: ${answer.url()}`));
    page.on("request", (request) => {
      // A picture that the page has made of an answer is at an address of its own.
      if (new URL(request.url().replace(/^blob:/, "")).hostname !== "127.0.0.1") note(`asked elsewhere: ${request.url()}`);
    });
  }

  async close() {
    // What a page still asks for when it is closed would count as failed.
    const noticed = [...this.trouble];
    for (const context of this.contexts) await context.close();
    const unexpected = noticed.filter((what) => !this.expected.some((pattern) => pattern.test(what)));
    assert.deepEqual(unexpected, []);
  }
}

/** What a killed server leaves in the console. */
export const SERVER_GONE = [
  /ERR_CONNECTION_(REFUSED|RESET)/,
  /ERR_EMPTY_RESPONSE/,
  /WebSocket connection to .* failed/,
];
/** What a refused token leaves in the console. */
export const TOKEN_REFUSED = [
  /status of 401/,
  /answered 401/,
  /WebSocket connection to .* failed: HTTP Authentication failed/,
];

/** A test with a project and a browser. Afterwards there must have been no error in any page. */
export function story(name, body) {
  test(name, { timeout: 120_000 }, async (t) => {
    const project = new Project();
    const browser = await browse(join(project.dir, "home"));
    const scene = new Scene(project, browser);
    try {
      await project.flow(["init"]);
      await body(scene, project, t);
      await scene.close();
    } finally {
      await browser.close();
      await project.close();
    }
  });
}

/** Waits until the page has come from the server and hears of changes. */
export async function settled(page) {
  await page.waitForFunction(
    () => document.querySelector("#live")?.textContent === "● live" && !document.querySelector("#state"),
  );
}

/** Waits until `read` gives something that equals `wanted`. */
export async function becomes(read, wanted, patience = PATIENCE) {
  const end = Date.now() + patience;
  for (;;) {
    try {
      return assert.deepEqual(await read(), wanted);
    } catch (error) {
      if (Date.now() > end) throw error;
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  }
}

/** The runs on the page of all runs, as they are shown, by group. */
export function shownGroups(page) {
  return page.evaluate(() => {
    const words = (element) => element?.textContent.replace(/\s+/g, " ").trim() ?? "";
    const row = (element) => ({
      run: element.dataset.key.split("/")[1],
      tag: words(element.querySelector(".tag")),
      title: words(element.querySelector(".what a")),
      reason: words(element.querySelector(".reason")),
      phase: words(element.querySelector(".phase")),
    });
    const group = (element) => [
      element.dataset.key.split("/")[1],
      { title: words(element.querySelector("h2")), rows: [...element.querySelectorAll(".row")].map(row) },
    ];
    return Object.fromEntries([...document.querySelectorAll("main .group")].map(group));
  });
}

/** What a run is about, in a few words. */
export const titleOf = ({ goal, issue, workflow }) =>
  goal ?? [typeof issue === "number" ? `issue ${issue}` : issue, workflow].filter(Boolean).join(" ");

/** What it waits for: the question, the blocker, what went wrong, otherwise the reason. A page shows no backticks. */
export const waitsFor = ({ cause, reason }) =>
  (cause ? cause.text + (cause.exit_code === undefined ? "" : ` · exit ${cause.exit_code}`) : reason).replaceAll("`", "");

/** The ids of the rows, from top to bottom. */
export const shownRuns = (page) =>
  page.locator(".row").evaluateAll((rows) => rows.map((row) => row.dataset.key.split("/")[1]));

/** The run of the row that is chosen, and of the one that has the focus. */
export const chosenRun = (page) =>
  page.evaluate(() => document.querySelector(".row.chosen")?.dataset.key.split("/")[1] ?? null);
export const focusedRun = (page) =>
  page.evaluate(() => document.activeElement.closest(".row")?.dataset.key.split("/")[1] ?? null);

/** The page of a run, as it is shown. */
export function shownRun(page) {
  return page.evaluate(() => {
    const words = (element) => element?.textContent.replace(/\s+/g, " ").trim() ?? "";
    const all = (selector, root = document) => [...root.querySelectorAll(selector)];
    const cells = (row) => [...row.cells].map(words);
    return {
      facts: words(document.querySelector(".facts")),
      phase: words(document.querySelector(".facts b")),
      title: words(document.querySelector("h1")),
      run: words(document.querySelector(".about code")),
      verdict: words(document.querySelector(".next p")),
      steps: all(".diagram .node").map((node) => [words(node.querySelector("title")).split(":")[0], node.classList[1]]),
      activities: all(".activity > summary").map((row) => [...row.children].map(words)),
      log: all(".log tr").map(cells),
      slider: words(document.querySelector(".slider output")),
      at: Number(document.querySelector("#at")?.value),
    };
  });
}

/** What `shownRun` has to be for what `flow show --json` and `flow log --json` say. */
export async function saidOfRun(project, run, ...at) {
  const shown = await project.json("show", run, ...at);
  const words = { running: "begun", pending: "planned" };
  const marks = { completed: "done", not_started: "untouched" };
  // One row for each id in a phase, the one that changed last first; a beginning and its outcome are one attempt.
  const rows = new Map();
  for (const one of shown.activities) {
    const key = `${one.phase}/${one.id}`;
    const before = rows.get(key);
    rows.delete(key);
    const goesOn = before?.status === "running" && one.status !== "running";
    const attempts = (before?.attempts ?? 0) + (goesOn ? 0 : 1);
    rows.set(key, { ...one, attempts, summary: one.summary ?? (goesOn ? before.summary : null) });
  }
  const claimed = (one) => one.status === "passed" && !one.exec?.end && !one.approval;
  const activity = (one) => [
    words[one.status] ?? one.status,
    one.id,
    one.phase,
    [one.summary, claimed(one) && "· claimed", one.attempts > 1 && `· attempt ${one.attempts}`].filter(Boolean).join(" "),
  ];
  return {
    title: titleOf({ ...shown, goal: shown.metadata.goal, workflow: shown.metadata.workflow }),
    run,
    phase: shown.state.current_phase,
    // Of a run that is open, another part of the page says how it stands.
    status: ["completed", "failed", "cancelled"].find((status) => status === shown.state.status),
    steps: shown.steps.map((step) => [step.step, step.current ? "here" : (marks[step.status] ?? step.status)]),
    activities: [...rows.values()].map(activity).reverse(),
    log: (await project.json("log", run)).events.map((event) => String(event.seq)).reverse(),
  };
}

/** The same parts of the page. */
export async function shownParts(page) {
  const shown = await shownRun(page);
  return {
    title: shown.title,
    run: shown.run,
    phase: shown.phase,
    status: shown.facts.match(/(?:^|· )([a-z]+) · started/)?.[1],
    steps: shown.steps,
    activities: shown.activities.map(([status, id, phase, summary]) => [status.match(/[a-z]+/)[0], id, phase, summary]),
    log: shown.log.map(([seq]) => seq),
  };
}

/** What makes the document wider than its window, so that it scrolls sideways. */
export function tooWide(page) {
  return page.evaluate(() => {
    const root = document.documentElement;
    if (root.scrollWidth <= root.clientWidth) return [];
    const isCut = (element) =>
      element && (getComputedStyle(element).overflowX !== "visible" || isCut(element.parentElement));
    const wide = [...document.querySelectorAll("main *")].filter((element) => {
      const { right } = element.getBoundingClientRect();
      return (
        (right > root.clientWidth ||
          (element.scrollWidth > element.clientWidth && getComputedStyle(element).display !== "inline")) &&
        !isCut(element)
      );
    });
    const name = (element) =>
      `${element.closest("[data-key]").dataset.key}: ${element.nodeName.toLowerCase()}.${element.className}`;
    return [`${root.scrollWidth} wide in ${root.clientWidth}`, ...new Set(wide.map(name))];
  });
}

/** What axe finds that keeps somebody from reading or using the page. */
export async function barriers(page) {
  await page.evaluate(axe);
  const found = await page.evaluate(async () => (await window.axe.run()).violations);
  const severe = found.filter((one) => ["serious", "critical"].includes(one.impact));
  return severe.map(
    (one) =>
      `${one.id}: ${one.nodes
        .map((node) => node.html)
        .join(" ")
        .slice(0, 300)}`,
  );
}
