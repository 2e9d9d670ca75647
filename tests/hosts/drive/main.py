"""The command line of the drive: what to measure, and how the outcomes are told."""

import argparse
import shutil
import sys
from pathlib import Path
from subprocess import TimeoutExpired
from types import SimpleNamespace

import agent
import cases
import endings
from claude import Claude
from codex import Codex

# What goes wrong when a host does something unexpected.
TROUBLE = (TimeoutError, RuntimeError, IndexError, OSError, KeyError, TimeoutExpired)
DOCS = Path(__file__).resolve().parents[3] / "docs" / "hosts.md"


def arguments():
    parser = argparse.ArgumentParser(prog="run")
    parser.add_argument("--hosts", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--flow", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--only", choices=["claude", "codex"], help="drive one host alone")
    parser.add_argument("--match", default="", help="measure only what has this word in its name")
    parser.add_argument("--table", action="store_true", help="measure the table of docs/hosts.md, and print it")
    parser.add_argument("--cases", action="store_true", help="try the cases: clear, resume, fork, compaction, nesting")
    parser.add_argument("--agent", type=int, metavar="N", help="let an agent finish a run in spite of N interruptions")
    parser.add_argument("--seed", type=int, default=1, help="where the interruptions of the agent fall")
    return parser.parse_args()


def programs(hosts, flow):
    """The folders of the programs. flow gets one of its own, so that a build cannot change it in between."""
    folder = hosts / "flow"
    folder.mkdir(parents=True, exist_ok=True)
    if flow.resolve() != (folder / "flow").resolve():
        shutil.copy2(flow, folder / "flow")
    vendor = hosts / "codex-0.169.0" / "package" / "vendor" / "x86_64-unknown-linux-musl"
    return SimpleNamespace(flow=folder, claude=hosts / "claude-2.1.330" / "package", codex=vendor / "bin")


class Drive:
    def __init__(self, options):
        self.options = options
        self.programs = programs(options.hosts, options.flow)
        self.failed = 0

    def folder(self, name):
        # Short: Codex' daemon listens on a socket below it.
        return self.options.hosts / "w" / name

    def wants(self, name, host):
        return self.options.only in (None, host) and self.options.match in name

    def tell(self, name, text, wrong):
        self.failed += bool(wrong)
        print(f"{'WRONG' if wrong else 'right'}  {name}: {text}" + (f"\n       {wrong}" if wrong else ""), flush=True)

    def table(self):
        lines = endings.header()
        for number, way in enumerate(endings.WAYS):
            outcomes = {}
            for ending in endings.endings_of(way):
                name = f"{way.title}: {ending}"
                if not self.wants(name, way.host.name):
                    continue
                try:
                    outcome = endings.measure(way, ending, self.programs, self.folder(f"t{number}"))
                except TROUBLE as error:
                    self.tell(name, "not measured", f"{type(error).__name__}: {error}")
                    continue
                outcomes[ending] = outcome
                self.tell(name, f"reported: {outcome.reported}; flow resume: {outcome.verdict}", outcome.wrong)
            if outcomes:
                lines.append(endings.row(way, outcomes))
        print("\n" + "\n".join(lines))
        if not self.options.match:
            known = DOCS.read_text().splitlines()
            for line in lines:
                if line not in known:
                    self.tell("docs/hosts.md", "another row", f"it lacks {line}")

    def cases(self):
        for host in (Claude, Codex):
            for case in cases.CASES:
                name = f"{host.title}: {case.__name__}"
                if not self.wants(name, host.name):
                    continue
                try:
                    text, wrong = case(host, self.programs, self.folder("c"))
                except TROUBLE as error:
                    text, wrong = "not measured", f"{type(error).__name__}: {error}"
                self.tell(name, text, wrong)

    def agent(self):
        number, seed = self.options.agent or 20, self.options.seed
        for host in (Claude, Codex):
            name = f"{host.title}: an agent with {number} interruptions, seed {seed}"
            if not self.wants(name, host.name):
                continue
            say = lambda line: print(f"       {line}", flush=True)
            try:
                text, wrong = agent.interrupted(host, number, seed, self.programs, self.folder("a"), say)
            except TROUBLE as error:
                text, wrong = "not finished", f"{type(error).__name__}: {error}"
            self.tell(name, text, wrong)


def main():
    drive = Drive(arguments())
    options = drive.options
    every = not (options.table or options.cases or options.agent)
    if every or options.table:
        drive.table()
    if every or options.cases:
        drive.cases()
    if every or options.agent:
        drive.agent()
    return 1 if drive.failed else 0


if __name__ == "__main__":
    sys.exit(main())
