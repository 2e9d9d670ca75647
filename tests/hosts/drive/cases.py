"""What a session goes through besides its end: after each case flow must know whose run it is."""

import shlex
import time

from claude import Claude
from codex import Codex
from formats import Step
from model import Model, steps
from project import Project, trouble_of
from terminal import until

START = Step(command="flow start start-issue --issue 42")
RECORD = Step(command="flow record-activity --id look")
MORE = Step(command="flow record-activity --id more")
RESUME = {Claude: ("--continue",), Codex: ("resume", "--last")}
FORK = {Claude: ("--continue", "--fork-session"), Codex: ("fork", "--last")}


class Scene:
    """A host with its model, a project, and what was found to be wrong."""

    def __init__(self, host, programs, folder, *answers, install=()):
        self.model = Model(steps(*answers))
        self.project = Project(folder, programs.flow)
        self.host = host(self.project, self.model, programs).install(*install)
        self.terminals = []
        self.wrong = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for terminal in self.terminals:
            terminal.end()
        self.host.close()
        self.model.close()

    def open(self, *options):
        self.terminals.append(self.host.terminal(*options))
        return self.terminals[-1]

    def turn(self, terminal, *answers):
        """A prompt, and the turn that follows it, to its end."""
        said = f"Turn {len(self.model.requests)} is over."
        self.model.script = steps(*answers, Step(said))
        terminal.prompt("Go on with the work.", self.model)
        terminal.wait_for(said)
        time.sleep(0.3)

    def leave(self, terminal):
        terminal.enter(self.host.leave)
        terminal.is_over(10)
        terminal.end()

    def run(self):
        return self.project.runs()[0]

    def told(self):
        """The last request as one text: what the model knows."""
        return "\n".join(text for _, text in self.model.turns()[-1].entries)

    def expect(self, what, found, *wanted):
        if found not in wanted:
            self.wrong.append(f"{what}: {found!r} and not {' or '.join(map(repr, wanted))}")

    def holder(self):
        return self.project.holder(self.run())

    def starter(self):
        return self.project.events(self.run())[0]["session"]

    def recorder(self, name):
        """The session that recorded an activity, or nothing."""
        events = self.project.events(self.run())
        return next((event["session"] for event in events if event["id"] == name), None)

    def outcome(self, text):
        if trouble := trouble_of(self.project):
            self.wrong.append(trouble)
        return text, "; ".join(self.wrong)


def clear(host, programs, folder):
    """The conversation is cleared: the session that follows has the run. Codex does not report the end of the old one."""
    with Scene(host, programs, folder) as scene:
        terminal = scene.open()
        scene.turn(terminal, START, RECORD)
        first = scene.holder()
        terminal.enter("/clear")
        time.sleep(2)
        scene.turn(terminal, Step(command=f"flow record-activity --run-id {scene.run()} --id more"))
        second = scene.project.sessions()[-1]
        scene.expect("the session after /clear is the old one", second == first, False)
        scene.expect("holder", scene.holder(), second)
        scene.expect("who recorded more", scene.recorder("more"), second)
        scene.expect("the model was told", "Held by: this session" in scene.told(), True)
        return scene.outcome("the session after it holds the run")


def clear_beside_another(host, programs, folder):
    """The same while another session of the host works in the same project, possibly in the same process."""
    with Scene(host, programs, folder) as scene:
        terminal = scene.open()
        scene.turn(terminal, START, RECORD)
        first = scene.holder()
        scene.turn(scene.open())
        terminal.enter("/clear")
        time.sleep(2)
        scene.turn(terminal, Step(command=f"flow record-activity --run-id {scene.run()} --id more"))
        passes_on = host is Claude
        brief = "Held by: this session" if passes_on else f"Held by: session {first}"
        scene.expect("the session that holds the run is the first one", scene.holder() == first, not passes_on)
        scene.expect("who recorded more", scene.recorder("more"), scene.holder() if passes_on else None)
        scene.expect("the model was told", brief in scene.told(), True)
        return scene.outcome(f"the session {'after' if passes_on else 'before'} it holds the run")


def resume(host, programs, folder):
    """The session ends and is resumed: it has its run again before it does anything."""
    with Scene(host, programs, folder) as scene:
        terminal = scene.open()
        scene.turn(terminal, START, RECORD)
        first = scene.holder()
        scene.leave(terminal)
        scene.turn(scene.open(*RESUME[host]))
        scene.expect("holder", scene.holder(), first)
        scene.expect("verdict for others", scene.project.verdict(scene.run())["verdict"], "held")
        scene.turn(scene.terminals[-1], MORE)
        scene.expect("who recorded more", scene.recorder("more"), first)
        return scene.outcome("the session holds its run again")


def fork(host, programs, folder):
    """A fork of a session that lives gets nothing, and its record is refused."""
    with Scene(host, programs, folder) as scene:
        scene.turn(scene.open(), START, RECORD)
        first = scene.holder()
        scene.turn(scene.open(*FORK[host]), MORE)
        scene.expect("holder", scene.holder(), first)
        scene.expect("who recorded more", scene.recorder("more"), None)
        scene.expect("the refusal was told", "run_held" in scene.told() or "holds the run" in scene.told(), True)
        return scene.outcome("the fork is refused, the first session holds its run")


def fork_later(host, programs, folder):
    """A fork of a session that is over claims the run with its first record."""
    with Scene(host, programs, folder) as scene:
        terminal = scene.open()
        scene.turn(terminal, START, RECORD)
        first = scene.holder()
        scene.leave(terminal)
        scene.host.close()  # The daemon keeps the session for a minute.
        terminal = scene.open(*FORK[host])
        scene.turn(terminal)
        scene.expect("holder before a record", scene.holder(), None)
        scene.turn(terminal, Step(command=f"flow record-activity --run-id {scene.run()} --id more"))
        scene.expect("holder is the forked session", scene.holder() in (None, first), False)
        scene.expect("who recorded more", scene.recorder("more"), scene.holder())
        return scene.outcome("the fork claims the run with its first record")


def compaction(host, programs, folder):
    """The conversation is compacted: the run stays, and the model is told of it again."""
    with Scene(host, programs, folder) as scene:
        terminal = scene.open()
        scene.turn(terminal, START, RECORD)
        first = scene.holder()
        terminal.enter("/compact")
        until(lambda: any(it.kind == "summary" for it in scene.model.requests), 15)
        time.sleep(2)
        scene.turn(terminal, MORE)
        scene.expect("a summary was asked for", any(it.kind == "summary" for it in scene.model.requests), True)
        scene.expect("holder", scene.holder(), first)
        scene.expect("who recorded more", scene.recorder("more"), first)
        scene.expect("the model was told", f"flow keeps the state of run {scene.run()}" in scene.told(), True)
        return scene.outcome("the session holds its run, and the model was told of it again")


def going_on(host, programs, folder):
    """With --continue a session goes on once after it stops, and not again."""
    with Scene(host, programs, folder, START, RECORD, Step("First stop."), MORE, install=("--continue",)) as scene:
        scene.host.headless("Do the work.").communicate(timeout=60)
        scene.expect("turns", len(scene.model.turns()), 5)
        scene.expect("who recorded more", scene.recorder("more"), scene.starter())
        scene.expect("the model was told", f"flow keeps the state of run {scene.run()}" in scene.told(), True)
        return scene.outcome("it went on once")


def second_session(host, programs, folder):
    """While a session works, another one of the same host works on a run of its own and ends."""
    with Scene(host, programs, folder) as scene:
        scene.turn(scene.open(), START, RECORD)
        first, before = scene.holder(), scene.project.bytes_of(scene.run())
        scene.model.script = steps(Step(command="flow start debug --id second"), Step(command="flow record-activity --id look"))
        scene.host.headless("Do other work.").communicate(timeout=60)
        scene.expect("the first run is unchanged", scene.project.bytes_of(scene.run()) == before, True)
        scene.expect("verdict of the second run", scene.project.verdict("second")["verdict"], "continue")
        scene.expect("verdict of the first run", scene.project.verdict(scene.run())["verdict"], "held")
        scene.turn(scene.terminals[0], MORE)
        scene.expect("who recorded more", scene.recorder("more"), first)
        return scene.outcome("each has its own run")


def nesting(host, programs, folder):
    """A host starts the other one for a command. Each holds what it started, and the end of the inner one ends nothing else."""
    with Scene(host, programs, folder) as scene:
        inner = (Codex if host is Claude else Claude)(scene.project, scene.model, programs).install()
        command = ["codex", "exec"] if host is Claude else ["claude", "-p"]
        needed = {name: inner.env[name] for name in inner.env if name.startswith(("CLAUDE", "CODEX", "ANTHROPIC", "SCRIPTED", "IS_"))}
        script = ["env", *(f"{name}={value}" for name, value in needed.items()), f"PATH={inner.env['PATH']}", *command, "Do a part."]
        (scene.project.home / "inner").write_text(f"#!/bin/sh\nexec {shlex.join(script)} </dev/null\n")
        own = [START, RECORD, Step(command=f"sh {scene.project.home}/inner"), Step("Waits.", delay=3), MORE]
        part = [Step(command="flow start debug --id inner"), Step(command="flow record-activity --id part")]
        by_host = {host.name: steps(*own), inner.name: steps(*part)}
        scene.model.script = lambda request: by_host[request.host](request)
        process = scene.host.headless("Do the work.", *NESTED.get(host, ())(scene) if host in NESTED else ())
        until(lambda: len(scene.model.turns(host.name)) >= 4, 40)
        scene.expect("verdict of the outer run meanwhile", scene.project.verdict(scene.run())["verdict"], "held")
        scene.expect("verdict of the inner run meanwhile", scene.project.verdict("inner")["verdict"], "continue")
        process.communicate(timeout=60)
        for run, name in ((scene.run(), host.flow_name), ("inner", inner.flow_name)):
            sessions = {event["session"] for event in scene.project.events(run) if event.get("session")}
            scene.expect(f"sessions of {run}", sessions, {scene.project.sessions(name)[-1]})
            scene.expect(f"verdict of {run}", scene.project.verdict(run)["verdict"], "continue")
            scene.expect(f"end of {run} is reported", scene.project.has_ended_session(run), True)
        return scene.outcome("each holds the run that it started")


# The sandbox of Codex lets its commands reach neither the model nor the home and temporary files of the other host.
NESTED = {
    Codex: lambda scene: (
        "-c", "sandbox_workspace_write.network_access=true",
        "-c", f'sandbox_workspace_write.writable_roots=["{scene.project.home}"]',
        "-c", "sandbox_workspace_write.exclude_slash_tmp=false",
    )
}

CASES = [clear, clear_beside_another, resume, fork, fork_later, compaction, going_on, second_session, nesting]
