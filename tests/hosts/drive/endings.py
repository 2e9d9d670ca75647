"""The table: for each way of running a host and each ending, whether the host reports the end of the session."""

import os
import signal
import time
from dataclasses import dataclass

from claude import Claude
from codex import NO_DAEMON, Codex
from copilot import Copilot
from formats import Step
from gemini import Gemini
from model import Model, steps
from opencode import OpenCode
from project import Project, trouble_of
from qwen import Qwen
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
    unsteady: tuple = ()  # The endings that were reported at one time and not at another.


WAYS = [
    Way("Claude Code, `-p`", Claude, headless=True),
    Way("Claude Code, terminal", Claude),
    Way("Codex, `exec`", Codex, headless=True),
    Way("Codex, terminal without its daemon", Codex, options=NO_DAEMON),
    Way("Codex, terminal", Codex, outlives=True),
    Way("Qwen Code, `-p`", Qwen, headless=True),
    Way("Qwen Code, terminal", Qwen, unsteady=("SIGINT in a turn", "SIGTERM in a turn", "SIGHUP in a turn")),
    Way("Gemini CLI, `-p`", Gemini, headless=True),
    Way("Gemini CLI, terminal", Gemini),
    Way("Copilot CLI, `-p`", Copilot, headless=True),
    Way("Copilot CLI, terminal", Copilot),
    Way("OpenCode, `run`", OpenCode, headless=True),
    Way("OpenCode, terminal", OpenCode),
]


def press_twice(terminal, key):
    """Hosts ask for the same key again within a second, which a busy machine may miss."""
    for _ in range(3):
        terminal.send(key)
        if terminal.is_over(0.5):
            return
        terminal.send(key)
        if terminal.is_over(10):
            return


SIGNALS = {"SIGINT": signal.SIGINT, "SIGTERM": signal.SIGTERM, "SIGHUP": signal.SIGHUP, "SIGKILL": signal.SIGKILL}
KEYS = {
    "/exit": lambda terminal, host: terminal.enter(host.leave),
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
        if not way.outlives:
            until(lambda: not host.processes(), 10)  # The first of two processes may be over before the second.
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
            os.killpg(process.pid, number)  # As a terminal's signals do; see there.
        process.communicate(timeout=60)
        return
    terminal = host.terminal(*way.options)
    try:
        terminal.prompt("Do the work.", model)
        if busy:
            model.wait_for_turns(3)
        else:
            terminal.wait_for("All recorded", 60)
        time.sleep(0.5)
        if number:
            terminal.signal(number)
        else:
            KEYS[ending](terminal, way.host)
        is_asked = not number and ending != "closed terminal"  # A person asks it to end, and it does.
        if not terminal.is_over(30 if is_asked else 10) and is_asked:
            raise RuntimeError(f"{ending} does not end the host:\n{terminal.screen()}")
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
            reported = f"{round((time.monotonic() - ended) / 30) * 30} seconds later"
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
        found = {ending: outcomes[ending].reported for ending in column if ending in outcomes}
        found |= {ending: "not always" for ending in found if ending in way.unsteady}
        later = [text for text in found.values() if text.endswith("later")]
        cells.append(later[0] if later else _cell(found))
    return f"| {way.title} |" + "".join(f" {cell} |" if cell else " |" for cell in cells)


def _cell(found):
    """What was found for the endings of a column: one text, and the endings that differ from the first."""
    if not found:
        return ""
    first = next(iter(found.values()))
    return "; ".join([first, *(f"{ending}: {text}" for ending, text in found.items() if text != first)])


def header():
    return ["| host, and how it runs | " + " | ".join(COLUMNS) + " |", "|---" * (len(COLUMNS) + 1) + "|"]
