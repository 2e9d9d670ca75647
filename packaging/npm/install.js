// Puts the binary of this machine's platform in the place of the script that would start it.
"use strict";
const fs = require("node:fs");
const path = require("node:path");

try {
  const binary = require.resolve(`@flowrun/${process.platform}-${process.arch}/bin/flow`);
  const script = path.join(__dirname, "bin", "flow");
  const next = `${script}.new`;
  fs.rmSync(next, { force: true });
  try {
    fs.linkSync(binary, next);
  } catch {
    // Another file system.
    fs.copyFileSync(binary, next);
  }
  fs.chmodSync(next, 0o755);
  fs.renameSync(next, script);
} catch {
  // The script says what is missing, when it is called.
}
