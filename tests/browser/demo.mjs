// A project as people have it: runs in every group, and one that took several days.

import { writeFileSync } from "node:fs";
import { join } from "node:path";

/** A picture of 8 by 8 pixels. */
export const PICTURE = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEUlEQVR42mPgiliGFTEMLQkAoz9CARNalH0AAAAASUVORK5CYII=",
  "base64",
);

/** A report as agents write them. */
const REPORT = `# Reads and writes

Reads took **half the time**, see \`bench.txt\`.

| what | before | after |
|---|---:|---:|
| reads | 812 ms | 398 ms |
| writes | 1.9 ms | 1.9 ms |

- [x] measured twice
- [ ] on another disk

\`\`\`sh
cargo bench --bench reads
\`\`\`
`;

const DAY = 24 * 3600;

/** Makes the project. Its last command is at `now`, in seconds since 1970. */
export async function demo(project, now = Math.floor(Date.now() / 1000)) {
  let commands = 0;
  /** A command so many seconds before `now`. */
  const at = (before, ...args) => {
    const env = { __FLOW_NOW: new Date((now - before) * 1000).toISOString(), __FLOW_SEED: `seed ${commands++}` };
    return project.flow(args, env);
  };
  const record = (before, run, id, status, summary, ...more) =>
    at(before, "record-activity", "--run-id", run, "--id", id, "--status", status, "--summary", summary, ...more);
  const emit = (before, run, type, step, data, ...more) =>
    at(
      before,
      "emit",
      "--workflow",
      "build",
      "--run-id",
      run,
      "--type",
      type,
      "--step",
      step,
      "--data",
      JSON.stringify(data),
      ...more,
    );
  const [living, dying] = [project.host(), project.host()];

  // A change to the store, over three days, with a night and a wait for a person in between.
  const issue = "issue-42";
  const start = 3 * DAY;
  await at(
    start,
    "start",
    "start-issue",
    "--id",
    issue,
    "--issue",
    "42",
    "--branch",
    "migrate-index",
    "--goal",
    "Read the index of the store in one pass",
  );
  await record(start - 200, issue, "clean-tree", "passed", "The tree is clean, the branch is made", "--advance");
  await record(start - 240, issue, "read-store", "running", "");
  await record(
    start - 1500,
    issue,
    "read-store",
    "passed",
    "The index is read in three places, and all of them open the file",
    "--advance",
  );
  await record(start - 1600, issue, "steps", "passed", "Five steps, each with a check", "--advance");
  await record(start - 1700, issue, "one-reader", "running", "");
  await record(start - 4000, issue, "one-reader", "failed", "The reader holds the lock for too long");
  await at(start - 4100, "block", issue, "--reason", "May the lock be split? Needs the owner of the store");
  await at(start - 4100 - 20 * 3600, "unblock", issue, "--reason", "Yes, by directory");
  await record(start - 4200 - 20 * 3600, issue, "split-lock", "running", "");
  await record(start - 6900 - 20 * 3600, issue, "split-lock", "passed", "One lock for each directory",
    "--evidence", "evidence/bench.txt", "--evidence", "evidence/screen.png", "--evidence", "https://ci.example.com/jobs/81");
  await record(start - 7000 - 20 * 3600, issue, "one-reader", "running", "With the lock of the directory");
  await record(start - 9800 - 20 * 3600, issue, "one-reader", "passed", "One pass, and half the time", "--advance");
  await record(
    start - 9900 - 20 * 3600,
    issue,
    "whole-suite",
    "failed",
    "Two tests of the old reader fail",
    "--advance",
    "code",
  );
  await record(5400, issue, "old-tests", "passed", "They tested the file that is gone");
  await record(720, issue, "migrate", "running", "Writing the old indexes anew");

  await emit(
    26 * 3600,
    "reports",
    "status_change",
    "requirements",
    { status: "running" },
    "--name",
    "Reports that people can read offline",
  );
  await emit(25 * 3600, "reports", "artifact_registered", "requirements", { path: "docs/requirements.md" });
  await emit(24.5 * 3600, "reports", "status_change", "design", { status: "running" });
  await emit(24 * 3600, "reports", "artifact_registered", "design", {
    url: "https://example.com/design/7",
    label: "Design 7",
    relationship: "reviewed in",
  });
  await emit(23 * 3600, "reports", "status_change", "tasks", { status: "running" });
  await emit(3 * 3600, "reports", "status_change", "build", { status: "running" });
  for (const [hours, unit, status] of [
    [3, "T1", "running"],
    [2.9, "T2", "running"],
    [2.2, "T1", "completed"],
    [2.1, "T3", "running"],
    [1.1, "T2", "completed"],
  ]) {
    await emit(hours * 3600, "reports", "status_change", "build", { status }, "--unit", unit);
  }
  await emit(120, "reports", "waiting_for_user", "build", { prompt: "Drop the old table, or keep it for a release?" });

  await at(9 * DAY, "start", "review-pr", "--id", "pr-7", "--pr", "7", "--goal", "Review of the new parser");
  await at(3 * 3600, "block", "pr-7", "--reason", "waiting for access to staging");
  await at(
    40 * 60,
    "start",
    "debug",
    "--id",
    "2026-05-20T143000Z-flaky-clock",
    "--goal",
    "The clock test fails on Mondays",
    "--session",
    "wednesday",
  );
  await record(
    31 * 60,
    "2026-05-20T143000Z-flaky-clock",
    "odds",
    "passed",
    "Once in 40 runs",
    "--session",
    "wednesday",
  );
  await at(30 * 60, "session-end", "--session", "wednesday");
  await living.flow("monday", "start", "build-fast", "--id", "shorter-help", "--goal", "Half the words in --help");
  await dying.flow("tuesday", "start", "debug", "--id", "slow-start", "--goal", "The first command takes a second");
  await dying.flow("tuesday", "record-activity", "--run-id", "slow-start", "--id", "profile", "--status", "running");
  await dying.end();
  await at(
    5 * 3600,
    "start",
    "start-issue",
    "--id",
    "issue-43",
    "--issue",
    "43",
    "--goal",
    "Say which file is damaged",
  );
  // Work that failed, and waits for a person.
  const failing = "issue-142";
  await at(31 * 3600, "start", "start-issue", "--id", failing, "--issue", "142", "--goal", "Importer loses the last row");
  await record(30.9 * 3600, failing, "clean-tree", "passed", "The branch is made", "--advance");
  await record(30.7 * 3600, failing, "read-importer", "passed", "Only the last chunk is concerned", "--advance");
  await record(30.5 * 3600, failing, "make-plan", "passed", "Four steps, a check for each", "--advance");
  await record(30.4 * 3600, failing, "tests", "running", "The whole suite");
  await record(30 * 3600, failing, "tests", "failed", "2 tests fail: importer::last_row, importer::empty",
    "--exit-code", "101", "--type", "bash", "--file", "src/import.rs", "--confidence", "high", "--evidence", "evidence/tests.log", "--evidence", "evidence/call-graph.txt");
  // Work that was done.
  await at(6 * DAY, "start", "debug", "--id", "slow-list", "--goal", "The list takes a second");
  for (const [hour, phase] of ["preflight", "reproduce", "diagnose", "fix", "verify"].entries()) {
    const more = phase === "verify" ? [] : ["--advance"];
    await record(6 * DAY - (hour + 1) * 3600, "slow-list", `do-${phase}`, "passed", "As planned", ...more);
  }
  await at(6 * DAY - 6 * 3600, "complete", "slow-list");
  await at(8 * 3600, "start", "release", "--id", "release-0.9", "--goal", "Version 0.9");
  for (const [run, end, reason] of [
    ["issue-40", "cancel", "The issue was closed"],
    ["issue-39", "fail", "Not possible without a new format"],
  ]) {
    await at(
      12 * DAY,
      "start",
      "start-issue",
      "--id",
      run,
      "--issue",
      run.split("-")[1],
      "--goal",
      "An issue of last week",
    );
    await at(11 * DAY, end, run, "--reason", reason);
  }
  return { issue };
}

/** Evidence, a mode and an interview, for the pages beside those of runs. */
export async function more(project) {
  const evidence = join(project.root, ".flow/runs/issue-42/evidence");
  writeFileSync(join(evidence, "bench.txt"), "reads   before 812 ms   after 398 ms\nwrites  before 1.9 ms   after 1.9 ms\n");
  writeFileSync(join(evidence, "screen.png"), PICTURE);
  writeFileSync(join(evidence, "report.md"), REPORT);
  const log = join(project.root, ".flow/runs/issue-142/evidence/tests.log");
  writeFileSync(log, "test importer::last_row ... FAILED\ntest importer::empty ... FAILED\n");
  await project.flow(["mode", "request", "blueprint", "--session", "monday"]);
  await project.flow(["interview", "start", "docs/release.md", "--run-id", "release-0.9"]);
}
