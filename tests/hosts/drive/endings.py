"""The table: for each way of running a host and each ending, whether the host reports the end of the session."""

import os
import signal
import time
from dataclasses import dataclass

from claude import Claude
from codex import NO_DAEMON, Codex
from model import Model, Step, steps
from project import Project, trouble_of
from terminal import until

# A daemon ends the sessions of a closed terminal after a minute.
LATER = 90


@dataclass
class Way:
    """A way of running a host."""

    title: str
    host: type
    options: tuple = ()
    headless: bool = False
    outlives: bool = False


WAYS = [
    Way("Claude Code, `-p`", Claude, headless=True),
    Way("Claude Code, terminal", Claude),
    Way("Codex, `exec`", Codex, headless=True),
    Way("Codex, terminal without its daemon", Codex, options=NO_DAEMON),
    Way("Codex, terminal", Codex, outlives=True),
]


def leave(terminal, host):
    terminal.enter("/exit" if host is Claude else "/quit")


def press_twice(terminal, key):
    terminal.send(key)
    time.sleep(0.5)
    if not terminal.is_over():
        terminal.send(key)


SIGNALS = {"SIGINT": signal.SIGINT, "SIGTERM": signal.SIGTERM, "SIGHUP": signal.SIGHUP, "SIGKILL": signal.SIGKILL}
KEYS = {
    "/exit": leave,
    "Ctrl-D": lambda terminal, _: press_twice(terminal, "\x04"),
    "two Ctrl-C": lambda terminal, _: press_twice(terminal, "\x03"),
    "closed terminal": lambda terminal, _: terminal.close(),
}
COLUMNS = {
    "normal end": ["normal end"],
    "`/exit`, Ctrl-D, two Ctrl-C": ["/exit", "Ctrl-D", "two Ctrl-C"],
    "SIGINT": ["SIGINT", "SIGINT in a turn"],
    "SIGTERM": ["SIGTERM", "SIGTERM in a turn"],
    "SIGHUP, closed terminal": ["SIGHUP", "closed terminal", "SIGHUP in a turn"],
    "SIGKILL": ["SIGKILL", "SIGKILL in a turn"],
}


def endings_of(way):
    """The endings that there are for a way of running."""
    named = [ending for column in COLUMNS.values() for ending in column]
    if way.headless:
        return [ending for ending in named if ending == "normal end" or ending in SIGNALS]
    return [ending for ending in named if ending != "normal end"]


@dataclass
class Outcome:
    """What came of an ending: when its end was reported, the verdict then, and what is wrong."""

    reported: str
    verdict: str
    wrong: str


def measure(way, ending, programs, folder):
    """Lets a host work on a run, ends it, and asks flow."""
    busy = way.headless and ending != "normal end" or ending.endswith("in a turn")
    work = [Step(command="flow start start-issue --issue 42"), Step(command="flow record-activity --id look")]
    model = Model(steps(*work, Step("All recorded.", delay=8 if busy else 0)))
    host = way.host(Project(folder, programs.flow), model, programs).install()
    try:
        _work_and_end(way, ending, host, model, busy)
        return _outcome(way, ending, host)
    finally:
        host.close()
        model.close()


def _work_and_end(way, ending, host, model, busy):
    number = SIGNALS.get(ending.removesuffix(" in a turn"))
    if way.headless:
        process = host.headless("Do the work.", *way.options)
        if number and model.wait_for_turns(3):
            time.sleep(0.3)
            process.send_signal(number)
        process.communicate(timeout=60)
        return
    terminal = host.terminal(*way.options)
    try:
        terminal.prompt("Do the work.", model)
        if busy:
            model.wait_for_turns(3)
        else:
            terminal.wait_for("All recorded")
        time.sleep(0.5)
        if number:
            terminal.signal(number)
        else:
            KEYS[ending](terminal, way.host)
        terminal.is_over(10)
    finally:
        terminal.end()


def _outcome(way, ending, host):
    project, ended = host.project, time.monotonic()
    run = project.runs()[0]
    is_reported = lambda: project.has_ended_session(run)
    reported = "yes" if until(is_reported, 2) else "no"
    wrong = []
    if reported == "no" and way.outlives:
        reported, seen = "not then", project.verdict(run)
        if seen["verdict"] != "held":
            wrong.append(f"the daemon lives, and the verdict is {seen['verdict']}")
        if ending == "/exit" and until(is_reported, LATER):
            reported = f"{round((time.monotonic() - ended) / 10) * 10} seconds later"
        host.close()
        until(is_reported, 5)
    seen = project.verdict(run)
    wrong += _wrong_after(project, run, seen, is_reported())
    return Outcome(reported, seen["verdict"], "; ".join(wrong))


def _wrong_after(project, run, seen, reported):
    """After any ending another session may go on, and is told why."""
    if seen["verdict"] != "continue":
        yield f"flow resume: {seen['verdict']}: {seen['reason']}"
    if reported and project.holder(run):
        yield f"the end was reported, and the holder is {project.holder(run)}"
    note = "the session that worked on it ended" if reported else "the process that held it is gone"
    if note not in seen["notes"]:
        yield f"the notes are {seen['notes']}, without {note!r}"
    if trouble := trouble_of(project):
        yield trouble


def row(way, outcomes):
    """A row of the table, from the outcomes of its endings by name."""
    cells = []
    for column in COLUMNS.values():
        found = list(dict.fromkeys(outcomes[ending].reported for ending in column if ending in outcomes))
        later = [cell for cell in found if cell.endswith("later")]
        cells.append((later or [" or ".join(found)])[0])
    return f"| {way.title} |" + "".join(f" {cell} |" if cell else " |" for cell in cells)


def header():
    return ["| host, and how it runs | " + " | ".join(COLUMNS) + " |", "|---" * (len(COLUMNS) + 1) + "|"]
