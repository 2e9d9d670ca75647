"""A project with the run of another session that lives, and what flow says about it."""

import json
import os
import shutil
import subprocess
from pathlib import Path

BYSTANDER = "bystander"


def environment(home, *folders, **more):
    """An environment of one's own: nothing of a host in which the drive itself may run is passed on."""
    path = os.pathsep.join([*map(str, folders), os.environ["PATH"]])
    fixed = {"PATH": path, "HOME": str(home), "LANG": "C.UTF-8", "TERM": "xterm-256color", "SHELL": "/bin/bash"}
    return {**fixed, "GIT_CONFIG_NOSYSTEM": "1", **more}


class Project:
    def __init__(self, folder, flow):
        self.root = folder / "project"
        self.home = folder / "home"
        self.env = environment(self.home, flow)
        shutil.rmtree(folder, ignore_errors=True)
        self.root.mkdir(parents=True)
        self.home.mkdir()
        (self.home / ".gitconfig").write_text("[user]\n  name = Drive\n  email = drive@example.org\n")
        (self.root / "README.md").write_text("A project.\n")
        (self.root / ".gitignore").write_text(".flow/\n.codex/\n.claude/\n")
        for command in ("git init -q -b main", "git add .", "git commit -q -m begin"):
            subprocess.run(command.split(), cwd=self.root, env=self.env, check=True)
        # The process that holds it is this one.
        holder = {"FLOW_HOLDER_PID": str(os.getpid())}
        self.flow("start", "debug", "--id", BYSTANDER, "--session", "bystander-session", **holder)
        self.flow("record-activity", "--run-id", BYSTANDER, "--id", "look", "--session", "bystander-session", **holder)
        self.before = self.bytes_of(BYSTANDER)

    def flow(self, *args, **env):
        done = subprocess.run(
            ["flow", *args], cwd=self.root, env={**self.env, **env}, capture_output=True, text=True, stdin=subprocess.DEVNULL
        )
        if done.returncode not in (0, 5):
            raise RuntimeError(f"flow {' '.join(args)} exits {done.returncode}: {done.stderr}")
        return done.stdout

    def json(self, *args):
        return json.loads(self.flow(*args, "--json"))

    def run_dir(self, run):
        return self.root / ".flow" / "runs" / run

    def bytes_of(self, run):
        files = sorted(path for path in self.run_dir(run).rglob("*") if path.is_file())
        return {path.name: path.read_bytes() for path in files}

    def is_bystander_unchanged(self):
        return self.bytes_of(BYSTANDER) == self.before

    def runs(self):
        """The runs that were started here, in the order of their names."""
        found = sorted(path.name for path in (self.root / ".flow" / "runs").iterdir() if (path / "run.yaml").exists())
        return [name for name in found if name != BYSTANDER]

    def events(self, run):
        lines = (self.run_dir(run) / "events.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]

    def has_ended_session(self, run):
        return any(event.get("type") == "session_end" for event in self.events(run))

    def holder(self, run):
        return self.json("show", run)["state"]["session"]

    def sessions(self, host=""):
        """The sessions of which hooks of a host have reported something, the latest last."""
        notes = (self.root / ".flow" / ".cache" / "hosts").glob(f"{host}*.json")
        read = sorted((json.loads(path.read_text()) for path in notes), key=lambda note: note["at"] or "")
        return [note["session"] for note in read]

    def hook_trouble(self):
        log = self.root / ".flow" / ".cache" / "hooks.log"
        return log.read_text() if log.exists() else ""

    def verdict(self, run, session="somebody-else"):
        """What `flow resume` tells another session."""
        return self.json("resume", run, "--session", session)


def trouble_of(project):
    """What must be so after every case, whatever happened: an empty text, or what is wrong."""
    wrong = [] if project.is_bystander_unchanged() else ["the run of another session was changed"]
    if log := project.hook_trouble():
        wrong.append(f"hooks.log: {log.strip()}")
    checked = subprocess.run(["flow", "validate"], cwd=project.root, env=project.env, capture_output=True, text=True)
    if checked.returncode:
        wrong.append(f"flow validate: {checked.stdout.strip()} {checked.stderr.strip()}")
    return "; ".join(wrong)


def owned_processes(variable, value):
    """The processes with this variable in their environment: they were started from here."""
    wanted = f"{variable}={value}".encode()
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
        except OSError:
            continue
    return found
