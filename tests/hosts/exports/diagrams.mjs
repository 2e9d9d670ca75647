// Reads Mermaid diagrams and HTML pages: {diagrams, pages} on standard input, what they say on standard output.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const from = createRequire(`${process.argv[2]}/`);
const { JSDOM } = from("jsdom");
globalThis.window = new JSDOM("").window;
globalThis.document = window.document;
const { default: mermaid } = await import(from.resolve("mermaid"));

const states = (db) => [...db.getStates()].map(([id, state]) => [id, state.classes ?? []]);
const tasks = (db) =>
  db.getTasks().map((task) => ({
    section: task.section,
    name: task.task.trim(),
    tags: ["done", "active", "crit"].filter((tag) => task[tag]),
    from: task.startTime.toISOString(),
    to: task.endTime.toISOString(),
  }));

const diagram = async (text) => {
  await mermaid.parse(text);
  const { db } = await mermaid.mermaidAPI.getDiagramFromText(text);
  return text.startsWith("gantt") ? { tasks: tasks(db) } : { states: states(db), classes: [...db.getClasses().keys()] };
};

const page = (text) => {
  const { document } = new JSDOM(text).window;
  const all = [...document.querySelectorAll("*")];
  const attributes = all.flatMap((element) => [...element.attributes]);
  return {
    scripts: document.scripts.length + attributes.filter((one) => /^on/.test(one.name)).length,
    links: attributes.filter((one) => ["href", "src", "action"].includes(one.name)).map((one) => one.value),
    activities: document.querySelectorAll("[data-key=activities] details.activity").length,
    events: document.querySelectorAll("[data-key=log] tr").length,
    text: document.querySelector("main").textContent,
  };
};

const { diagrams, pages } = JSON.parse(readFileSync(0, "utf8"));
const read = [];
for (const text of diagrams) read.push(await diagram(text));
console.log(JSON.stringify({ diagrams: read, pages: pages.map(page) }));
