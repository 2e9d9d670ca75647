// Tells OpenCode where the run of flow stands. Where flow is missing, it does nothing.
import { spawn } from "node:child_process";

const LIMIT = 3000;

// What `flow hook` answers, or nothing: a hook never disturbs its host.
const hook = (event, cwd, payload) =>
  new Promise((resolve) => {
    let said = "";
    const child = spawn("flow", ["hook", "opencode", event], { cwd, timeout: LIMIT, stdio: ["pipe", "pipe", "ignore"] });
    child.on("error", () => resolve(""));
    child.on("close", (code) => resolve(code === 0 ? said.trim() : ""));
    child.stdout.on("data", (data) => (said += data));
    child.stdin.on("error", () => {});
    child.stdin.end(JSON.stringify({ cwd, ...payload }));
  }).catch(() => "");

export const Flow = async ({ directory }) => {
  const begun = new Set();
  return {
    "chat.message": async ({ sessionID }, { parts }) => {
      const part = parts?.find((part) => part.type === "text" && !part.synthetic);
      if (!sessionID || !part) return;
      const session_id = sessionID;
      const prompt = part.text;
      const start = begun.has(sessionID) ? "" : await hook("session-start", directory, { session_id, source: "startup" });
      begun.add(sessionID);
      const told = [start, await hook("user-prompt-submit", directory, { session_id, prompt })];
      part.text = [prompt, ...told.filter(Boolean)].join("\n\n");
    },
    "shell.env": async ({ sessionID }, output) => {
      if (sessionID && output?.env) output.env.FLOW_SESSION = sessionID;
    },
    event: async ({ event }) => {
      const session_id = event?.type === "session.deleted" && event.properties?.info?.id;
      if (session_id) await hook("session-end", directory, { session_id, reason: "other" });
    },
  };
};
