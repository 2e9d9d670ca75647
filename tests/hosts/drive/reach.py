"""The second table: what of flow reaches a host's model, and what flow knows of the host's sessions."""

import re
import subprocess
import threading
from dataclasses import dataclass

from formats import Step
from model import Model, steps
from project import BYSTANDER, Project, trouble_of
from terminal import until

FIRST, SECOND = "$team Do the work.", "Do other work."
COLUMNS = [
    "host", "version", "where the run stands reaches the model", "`$skill` begins its mode, and the model is told",
    "commands are the session's", "a second session is refused", "normal end is reported",
]


@dataclass
class Reach:
    """What was measured in one host, and what is wrong besides."""

    version: str
    cells: list
    wrong: str


class Meeting:
    """Two sessions of a host in one project: the second one works while the first one waits for its model."""

    def __init__(self, kind, programs, folder):
        self.go_on = threading.Event()
        work = [Step(command="flow start start-issue --issue 42"), Step(command="flow record-activity --id look")]
        self.first = steps(*work, Step("All recorded.", hold=self.go_on))
        self.second = None
        self.model = Model(self.script)
        self.project = Project(folder, programs.flow)
        self.host = kind(self.project, self.model, programs)
        self.processes = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.go_on.set()
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.wait()
            process.stdout.close()
        self.host.close()
        self.model.close()

    def script(self, request):
        is_second = any(SECOND in text for role, text in request.entries if role == "user")
        return (self.second if is_second else self.first)(request)

    def begin(self, prompt):
        self.processes.append(self.host.headless(prompt))
        return self.processes[-1]

    def end(self, process):
        said = process.communicate(timeout=90)[0]
        if process.returncode:
            raise RuntimeError(f"the host exits {process.returncode}: {said[-500:]}")

    def told(self, number):
        """What the model knows at a request of a turn, as one text."""
        return "\n".join(text for _, text in self.model.turns()[number].entries)


def version_of(host, name):
    """What the program says of itself."""
    done = subprocess.run([name, "--version"], cwd=host.project.root, env=host.env, capture_output=True, text=True, timeout=60)
    return re.search(r"\d+(\.\d+)+", done.stdout)[0]


def measure(kind, programs, folder):
    """Lets two sessions of a host work, and asks flow and what the model was told."""
    with Meeting(kind, programs, folder) as meeting:
        project, wrong = meeting.project, []
        version = version_of(meeting.host, kind.name)
        meeting.host.install()
        process = meeting.begin(FIRST)
        if not meeting.model.wait_for_turns(3, 60):
            process.kill()
            raise RuntimeError(f"the host asks for no third turn: {process.stdout.read()[-500:]}")
        run, session = project.runs()[0], (project.sessions(kind.flow_name) or [None])[-1]
        told = meeting.told(0)
        is_briefed = f"flow keeps the state of run {BYSTANDER}" in told
        is_begun = any(mode["mode"] == "team" for mode in project.json("mode", "list", "--session", session or "none")["modes"])
        is_told = "skill: team activated" in told
        if is_begun != is_told:
            wrong.append(f"team was {'begun' if is_begun else 'not begun'}, and the model was {'told' if is_told else 'not told'}")
        sessions = {event["session"] for event in project.events(run) if event.get("session")}
        is_joined = session is not None and sessions == {project.holder(run)} == {session}
        if not is_joined:
            wrong.append(f"hooks name the session {session}, and commands are of {sessions}, with the holder {project.holder(run)}")
        is_refused = second_is_refused(meeting, run)
        if project.holder(run) not in sessions:
            wrong.append(f"after the second session the holder is {project.holder(run)}")
        meeting.go_on.set()
        meeting.end(process)
        is_ended = until(lambda: project.has_ended_session(run), 2)
        if trouble := trouble_of(project):
            wrong.append(trouble)
        cells = [is_briefed, is_begun and is_told, is_joined, is_refused, is_ended]
        return Reach(version, cells, "; ".join(wrong))


def second_is_refused(meeting, run):
    """Whether a session beside the one that holds the run is refused with exit status 5, and records nothing."""
    asked = len(meeting.model.turns())
    record = f"flow record-activity --run-id {run} --id more"
    meeting.second = steps(Step(command=f'{record}; echo "exit status $?"'))
    meeting.end(meeting.begin(SECOND))
    answers = [text for turn in meeting.model.turns()[asked:] for role, text in turn.entries if role == "tool"]
    is_recorded = any(event.get("id") == "more" for event in meeting.project.events(run))
    return any("exit status 5" in text for text in answers) and not is_recorded


def row(title, version, cells):
    """A row of the table; a cell that was not measured is empty."""
    words = {True: "yes", False: "no"}
    return f"| {title} | {version} |" + "".join(f" {words[cell]} |" for cell in cells)


def header():
    return ["| " + " | ".join(COLUMNS) + " |", "|---" * len(COLUMNS) + "|"]
