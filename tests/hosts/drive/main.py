"""The command line of the drive: what to measure, and how the outcomes are told."""

import argparse
import json
import os
import shutil
import sys
from pathlib import Path
from subprocess import TimeoutExpired
from types import SimpleNamespace

import agent
import cases
import endings
import reach
from claude import Claude
from codex import Codex
from copilot import Copilot
from gemini import Gemini
from opencode import OpenCode
from programs import PROGRAMS
from qwen import Qwen

# What goes wrong when a host does something unexpected.
TROUBLE = (TimeoutError, RuntimeError, IndexError, OSError, KeyError, TimeoutExpired)
HOSTS = (Claude, Codex, Qwen, Gemini, Copilot, OpenCode)
DOCS = Path(__file__).resolve().parents[3] / "docs" / "hosts.md"


def arguments():
    parser = argparse.ArgumentParser(prog="run")
    parser.add_argument("--hosts", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--programs", type=json.loads, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--flow", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--only", choices=[host.name for host in HOSTS], help="drive one host alone")
    parser.add_argument("--newest", action="store_true", help="drive the newest version of each program, not the known one")
    parser.add_argument("--match", default="", help="measure only what has this word in its name")
    parser.add_argument("--table", action="store_true", help="measure the tables of docs/hosts.md, and print them")
    parser.add_argument("--cases", action="store_true", help="try the cases: clear, resume, fork, compaction, nesting")
    parser.add_argument("--agent", type=int, metavar="N", help="let an agent finish a run in spite of N interruptions")
    parser.add_argument("--seed", type=int, default=1, help="where the interruptions of the agent fall")
    return parser.parse_args()


def programs(hosts, found, flow):
    """The folders of the programs. flow gets one of its own, so that a build cannot change it in between."""
    folder = hosts / "flow"
    folder.mkdir(parents=True, exist_ok=True)
    if flow.resolve() != (folder / "flow").resolve():
        new = folder / f"flow.{os.getpid()}"
        shutil.copy2(flow, new)
        new.replace(folder / "flow")  # Another drive may run the one that is there.
    return SimpleNamespace(flow=folder, **{name: Path(path) for name, path in found.items()})


class Drive:
    def __init__(self, options):
        self.options = options
        self.programs = programs(options.hosts, options.programs, options.flow)
        self.failed = 0

    def folder(self, name):
        # Short: Codex' daemon listens on a socket below it.
        return self.options.hosts / "w" / name

    def wants(self, name, host):
        is_there = hasattr(self.programs, host)
        return is_there and self.options.only in (None, host) and self.options.match in name

    def tell(self, name, text, wrong):
        self.failed += bool(wrong)
        print(f"{'WRONG' if wrong else 'right'}  {name}: {text}" + (f"\n       {wrong}" if wrong else ""), flush=True)

    def endings(self):
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
        self.compare(lines, lines)

    def reach(self):
        lines = known = reach.header()
        for number, host in enumerate(HOSTS):
            name = f"{host.title}: what reaches it"
            if not self.wants(name, host.name):
                continue
            try:
                reached = reach.measure(host, self.programs, self.folder(f"r{number}"))
            except TROUBLE as error:
                self.tell(name, "not measured", f"{type(error).__name__}: {error}")
                continue
            lines = [*lines, reach.row(host.title, reached.version, reached.cells)]
            # What another version does is compared with what is known of the pinned one.
            version = PROGRAMS[host.name].version if self.options.newest else reached.version
            known = [*known, reach.row(host.title, version, reached.cells)]
            self.tell(name, f"version {reached.version}", reached.wrong)
        self.compare(lines, known)

    def compare(self, lines, known):
        """Prints a table, and tells which of its rows the document lacks."""
        if len(lines) == 2:
            return  # Nothing below the heads of the columns.
        print("\n" + "\n".join(lines) + "\n")
        if not self.options.match:
            there = DOCS.read_text().splitlines()
            for line in known:
                if line not in there:
                    self.tell("docs/hosts.md", "another row", f"it lacks {line}")

    def cases(self):
        for index, host in enumerate((Claude, Codex)):
            for case in cases.CASES:
                name = f"{host.title}: {case.__name__}"
                if not self.wants(name, host.name):
                    continue
                needed = (Claude, Codex) if case is cases.nesting else (host,)
                if missing := [it.title for it in needed if not hasattr(self.programs, it.name)]:
                    print(f"left out {name}: it needs {', '.join(missing)} as well", flush=True)
                    continue
                try:
                    text, wrong = case(host, self.programs, self.folder(f"c{index}"))
                except TROUBLE as error:
                    text, wrong = "not measured", f"{type(error).__name__}: {error}"
                self.tell(name, text, wrong)

    def agent(self):
        number, seed = self.options.agent or 20, self.options.seed
        for index, host in enumerate((Claude, Codex)):
            name = f"{host.title}: an agent with {number} interruptions, seed {seed}"
            if not self.wants(name, host.name):
                continue
            say = lambda line: print(f"       {line}", flush=True)
            try:
                text, wrong = agent.interrupted(host, number, seed, self.programs, self.folder(f"a{index}"), say)
            except TROUBLE as error:
                text, wrong = "not finished", f"{type(error).__name__}: {error}"
            self.tell(name, text, wrong)


def main():
    drive = Drive(arguments())
    options = drive.options
    every = not (options.table or options.cases or options.agent)
    if every or options.table:
        drive.endings()
        drive.reach()
    if every or options.cases:
        drive.cases()
    if every or options.agent:
        drive.agent()
    return 1 if drive.failed else 0


if __name__ == "__main__":
    sys.exit(main())
