// Measures the dashboard: how soon it is there, how soon a change is seen, what it costs. By hand:
// tests/browser/run --measure [--write]

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { availableParallelism, release } from "node:os";
import { join } from "node:path";
import { fill, lengthen } from "./large.mjs";
import { Project, browse, settled } from "./support.mjs";

const { FLOW_BIN: flow } = process.env;
const DOCUMENT = new URL("../../docs/performance.md", import.meta.url);
const [BEGIN, END] = ["<!-- begin: tests/browser/run --measure --write -->\n", "<!-- end -->"];

/** How many samples are taken of everything, after those that warm up; and of what takes seconds. */
const [SAMPLES, WARM, SLOW] = [30, 2, 20];
/** Runs of each project, and how many of them are open. */
const SIZES = [[1, 1], [100, 100], [10_000, 600]];
/** The run with many events. */
const LONG = "open-00002";
const EVENTS = 10_000;
const CLIENTS = 20;
/** How long the server is watched while nothing happens, in milliseconds. */
const IDLE = 30_000;

/** The time, by the clock of this machine, which the pages have too. */
const clock = () => performance.timeOrigin + performance.now();
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const part = (times, share) => times[Math.ceil(share * times.length) - 1];

// ---- the table

const HEAD = "| what | median | p95 | bound | |\n|---|---|---|---|---|\n";
let table = HEAD;
let missed = 0;

/** Adds a line. Each bound is what was measured, the most that it may be, and how that is said. */
function line(what, median, p95, ...bounds) {
  const isMissed = bounds.some(([measured, most]) => measured > most);
  missed += isMissed;
  const verdict = bounds.length ? (isMissed ? "missed" : "ok") : "";
  const row = `| ${what} | ${median} | ${p95} | ${bounds.map(([, , said]) => said).join(", ")} | ${verdict} |\n`;
  table += row;
  process.stdout.write(row);
}

/** Adds a line for these times. The bounds are for their median and their 95th percentile. Gives the median. */
function times(what, taken, { most, p95 } = {}) {
  const sorted = taken.toSorted((one, other) => one - other);
  const [median, high] = [part(sorted, 0.5), part(sorted, 0.95)];
  const bounds = [];
  if (most) bounds.push([median, most, `≤ ${most} ms`]);
  if (p95) bounds.push([high, p95, `p95 ≤ ${p95} ms`]);
  line(what, `${median.toFixed(1)} ms`, `${high.toFixed(1)} ms`, ...bounds);
  return median;
}

/** Puts the table between the marks of the document. */
function write() {
  const text = readFileSync(DOCUMENT, "utf8");
  const begin = text.indexOf(BEGIN) + BEGIN.length;
  const end = text.indexOf(END, begin);
  assert.ok(text.includes(BEGIN) && end > 0, "the document has no marks for the table");
  const day = new Date().toISOString().slice(0, 10);
  const memory = Number(readFileSync("/proc/meminfo", "utf8").split(/\s+/)[1]) >> 20;
  const head = `${day}, ${availableParallelism()} cores, ${memory} GiB of memory, Linux ${release()}.\n\n`;
  writeFileSync(DOCUMENT, text.slice(0, begin) + head + table + text.slice(end));
}

/** Takes samples, one after the other. */
async function samples(take, count = SAMPLES) {
  const taken = [];
  for (let n = 0; n < WARM + count; n++) taken.push(await take(n));
  return taken.slice(WARM);
}

// ---- pages

/** Runs a command to its end and gives the time of that. Nothing else happens in this process meanwhile. */
function run(project, ...args) {
  const { status } = spawnSync(flow, args, { cwd: project.root, env: project.env, stdio: "ignore" });
  const end = clock();
  assert.equal(status, 0, args.join(" "));
  return end;
}

/** In every page: `probe` tells when that for which it looks was painted. `first` is for the first rows of a page. */
function install() {
  const painted = () =>
    new Promise((resolve) => {
      requestAnimationFrame(() => setTimeout(() => resolve(performance.timeOrigin + performance.now())));
    });
  window.probe = (isThere) =>
    new Promise((resolve, reject) => {
      setTimeout(() => reject(new Error("it was not painted")), 120_000);
      const look = () => {
        if (!isThere()) return;
        observer.disconnect();
        resolve(painted());
      };
      const observer = new MutationObserver(look);
      observer.observe(document, { subtree: true, childList: true, characterData: true });
      look();
    });
  window.first = window.probe(() => document.querySelector("main .row, main .log tr"));
}

/** A page of the server, in a browser that knows the token. */
async function open(browser, server, path = "/") {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  await context.addInitScript(install);
  const page = await context.newPage();
  await page.goto(server.url.replace("/#", `${path}#`));
  await settled(page);
  return page;
}

/** Goes to an address; gives the time until its first rows were painted. */
async function navigate(page, address) {
  const began = clock();
  await page.goto(address, { waitUntil: "commit" });
  const painted = await page.evaluate(() => window.first);
  await settled(page);
  return painted - began;
}

/** Runs a command; gives the time from its end until the page showed `text`. */
async function seen(page, text, project, ...args) {
  await page.evaluate((text) => {
    window.painted = window.probe(() => document.querySelector("main").textContent.includes(text));
  }, text);
  const end = run(project, ...args);
  return (await page.evaluate(() => window.painted)) - end;
}

/** Begins and ends an activity, at no fixed time after the one before. The list shows what is begun, while it is. */
async function begun(page, project, id, inRun = "open-00001", between = 100) {
  const record = ["record-activity", "--run-id", inRun, "--id", id];
  await pause(Math.random() * between);
  const time = await seen(page, `${id} still runs`, project, ...record, "--status", "running");
  run(project, ...record);
  await page.waitForFunction((id) => !document.querySelector("main").textContent.includes(id), id);
  return time;
}

/** One event back by the keyboard; gives the time until the page showed the run as of the event `at`. */
async function stepBack(page, at) {
  await page.evaluate((at) => {
    window.painted = window.probe(() => document.querySelector(".log td")?.textContent === String(at));
    const note = ({ timeStamp }) => (window.pressed = performance.timeOrigin + timeStamp);
    window.addEventListener("keydown", note, { capture: true, once: true });
  }, at);
  await page.keyboard.press("[");
  return page.evaluate(async () => (await window.painted) - window.pressed);
}

// ---- what is measured

/** From the start of the process until it says its address, and until it answered. */
async function ready(project) {
  const began = clock();
  const server = await project.serve();
  const said = clock() - began;
  const token = new URL(server.url).hash.split("=").pop();
  const answer = await fetch(`${server.origin}/`, { headers: { Authorization: `Bearer ${token}` } });
  assert.ok((await answer.text()).includes('class="row'));
  const answered = clock() - began;
  await server.end();
  return [said, answered];
}

async function listOf(browser, project, runs, first) {
  const name = runs === 1 ? "1 run" : `${runs.toLocaleString("en")} runs`;
  const starts = await samples(() => ready(project));
  times(`\`flow serve\` says its address, ${name}`, starts.map(([said]) => said), { most: 1000 });
  times(`it has answered its first request, ${name}`, starts.map(([, answered]) => answered), { most: 1000 });
  const server = await project.serve();
  const page = await open(browser, server);
  const loads = await samples(() => navigate(page, `${server.origin}/`));
  const median = times(`going to the list until its rows are painted, ${name}`, loads, { most: 150 });
  if (runs === SIZES.at(-1)[0]) {
    const ratio = median / first;
    line("the same, compared with 1 run", ratio.toFixed(2), "", [ratio, 1.5, "≤ 1.5"]);
  }
  const most = runs === SIZES.at(-1)[0] ? { most: 50, p95: 100 } : {};
  const commits = await samples((n) => begun(page, project, `commit-${n}`));
  times(`end of \`record-activity\` until the list shows it, ${name}`, commits, most);
  await page.context().close();
  await server.end();
  return median;
}

async function longRun(page, address, project) {
  const name = `a run of ${EVENTS.toLocaleString("en")} events`;
  times(`going to the page of ${name} until it is painted`, await samples(() => navigate(page, address)), { most: 400 });
  const commits = await samples(async (n) => {
    await pause(Math.random() * 100);
    return seen(page, `late-${n}`, project, "record-activity", "--run-id", LONG, "--id", `late-${n}`);
  });
  times(`end of \`record-activity\` until the page of ${name} shows it`, commits, { most: 100 });
  const last = await page.evaluate(() => Number(document.querySelector("#at").max));
  const steps = await samples((n) => stepBack(page, last - 1 - n));
  times(`a key until the page of ${name} is as of the event before`, steps, { most: 100 });
}

/** Clients that watch the list and the long run, in a page of the same origin. Gives how many got all of its events. */
async function watch(context, server, project) {
  const page = await context.newPage();
  // The icon is a document without a script. A page that did not come from the server could not open a socket.
  await page.goto(`${server.origin}/flow.svg`);
  const { state } = await project.json("show", LONG);
  const wish = { type: "watch", list: {}, runs: [{ project: "demo", run: LONG }] };
  return page.evaluate(
    ({ count, wish, last }) => {
      const protocols = ["flow.v1", `flow.token.${localStorage.getItem("flow.token")}`];
      const client = () =>
        new Promise((resolve) => {
          const socket = new WebSocket(`ws://${location.host}/ws`, protocols);
          let isGreeted = false;
          socket.onmessage = ({ data }) => {
            const message = JSON.parse(data);
            isGreeted ||= message.type === "hello";
            if (message.type === "events" && message.cursor.startsWith(`${last}:`)) resolve(isGreeted);
          };
          socket.onopen = () => socket.send(JSON.stringify(wish));
          socket.onclose = () => resolve(false);
        });
      window.clients = Array.from({ length: count }, client);
      return Promise.all(window.clients).then((all) => all.filter(Boolean).length);
    },
    { count: CLIENTS, wish, last: state.last_seq },
  );
}

/** The server's processor time, in hundredths of a second. */
function ticks(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").pop().split(" ");
  return Number(fields[11]) + Number(fields[12]);
}

async function costs(page, server, project) {
  const list = await page.context().newPage();
  await list.goto(`${server.origin}/`);
  await settled(list);
  const greeted = await watch(page.context(), server, project);
  line("clients that are told of everything, besides two pages", greeted, "", [CLIENTS - greeted, 0, `${CLIENTS}`]);
  const commits = await samples((n) => begun(list, project, `shared-${n}`, LONG));
  times(`end of \`record-activity\` until the list shows it, with ${greeted} such clients`, commits);
  const peak = Number(readFileSync(`/proc/${server.pid}/status`, "utf8").match(/VmHWM:\s+(\d+)/)[1]) / 1024;
  line("peak memory of the server of all that", `${peak.toFixed(0)} MiB`, "", [peak, 100, "≤ 100 MiB"]);
  // Until everything has been looked at once more.
  await pause(10_000);
  const [began, before] = [clock(), ticks(server.pid)];
  await pause(IDLE);
  const share = (ticks(server.pid) - before) / 100 / ((clock() - began) / 1000);
  const said = `${(100 * share).toFixed(2)} % of a core`;
  line("its processor time with all of them while nothing happens", said, "", [share, 0.01, "≤ 1 %"]);
}

async function polled(browser, project) {
  const server = await project.serve("--poll");
  const page = await open(browser, server);
  const bound = { p95: 2500 };
  const commits = await samples((n) => begun(page, project, `polled-${n}`, "open-00001", 250));
  times("with `--poll`: end of `record-activity` until the list shows it", commits, bound);
  const starts = await samples(async (n) => {
    await pause(Math.random() * 2000);
    return seen(page, `begun-${n}`, project, "start", "debug", "--id", `begun-${n}`);
  }, SLOW);
  times("with `--poll`: end of `start` until the list shows the new run", starts, bound);
  await page.context().close();
  await server.end();
}

process.stdout.write(HEAD);
const projects = SIZES.map(() => new Project());
const browser = await browse(join(projects[0].dir, "home"));
try {
  let first;
  for (const [at, [runs, open]] of SIZES.entries()) {
    await fill(projects[at], runs, open);
    const median = await listOf(browser, projects[at], runs, first);
    first ??= median;
  }
  const project = projects.at(-1);
  await lengthen(project, LONG, EVENTS);
  const server = await project.serve();
  const address = `/demo/runs/${LONG}`;
  const page = await open(browser, server, address);
  await longRun(page, server.origin + address, project);
  await costs(page, server, project);
  await page.context().close();
  await server.end();
  await polled(browser, project);
} finally {
  await browser.close();
  for (const project of projects) await project.close();
}
if (process.argv.includes("--write")) write();
process.exitCode = missed ? 1 : 0;
