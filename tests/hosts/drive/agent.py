"""An agent that knows only what hooks and commands tell it, and is interrupted at random places."""

import json
import os
import random
import re
import signal
import time

from cases import RESUME, Scene
from claude import Claude
from formats import Step
from project import owned_processes, trouble_of
from terminal import until

PHASES = ["preflight", "explore", "plan", "code", "verify"]
GO_ON = "Work on issue {issue}."
TAKE_OVER = "No other session works on issue {issue}. Take its run over."
DONE, HELD = "The run is over.", "Another session holds the run."


class Agent:
    """Decides by the last result, as a model does: it remembers nothing that the conversation lacks."""

    def __init__(self):
        self.issue = 1
        self.said = ""

    def script(self, request):
        step = self.decide(request.entries)
        self.said = step.text
        step.delay = 0.15
        return step

    def decide(self, entries):
        mine = [(role, text) for role, text in entries if role == "tool" or "issue" in text and role == "user"]
        role, last = mine[-1]
        if role == "user":
            return Step(command=self._look(entries, "--take-over" if "Take its" in last else "--claim"))
        if report := self._report(last):
            return self._by_verdict(report)
        if '"code":"run_held"' in last:
            return Step(HELD)
        if found := next((json.loads(line) for line in last.splitlines() if line.startswith('{"runs"')), None):
            if found["runs"]:
                return Step(command=f"flow resume {found['runs'][0]['run_id']} --claim --json")
            return Step(command=f"flow start start-issue --issue {self.issue}")
        run = next((it["run_id"] for _, text in reversed(mine) if (it := self._report(text))), None)
        if found := re.search(r"examined (\w+) (\d)", last):
            phase, times = found.groups()
            return self._passed(run, phase) if times == "1" else self._work(phase)
        if found := re.search(r"worked on (\w+)", last):
            return self._passed(run, found[1])
        return Step(command=self._look(entries, "--claim"))

    def _look(self, entries, how):
        """The run is the one that the host's hook or a command named."""
        named = re.findall(rf"[\w-]+-issue-{self.issue}\b", "\n".join(text for _, text in entries))
        return f"flow resume {named[-1]} {how} --json" if named else "flow resume --json"

    def _report(self, text):
        for line in text.splitlines():
            if line.startswith('{"verdict"'):
                return json.loads(line)
        return None

    def _by_verdict(self, report):
        run, verdict, following = report["run_id"], report["verdict"], report["next"] or {}
        if not run or not run.endswith(f"-issue-{self.issue}"):
            return Step(command=f"flow list --search '#{self.issue}' --json")
        if verdict == "held":
            return Step(HELD)
        if verdict == "done":
            return Step(DONE)
        if verdict == "reconcile":
            phase = report["in_doubt"][0]["phase"]
            return Step(command=f'echo "examined {phase} $(cat work-* 2>/dev/null | grep -cx "{self.issue} {phase}")"')
        if verdict == "continue" and following["action"] == "complete":
            return Step(command=f"flow complete {run}")
        if verdict == "continue":
            phase = PHASES[report["completed_activities"]]
            return Step(command=f"flow record-activity --run-id {run} --phase {phase} --id {phase} --status running")
        return Step(f"What does {verdict} mean? {report['reason']}")

    def _work(self, phase):
        return Step(command=f'sleep 0.3; echo "{self.issue} {phase}" >> work-{self.issue}; echo "worked on {phase}"')

    def _passed(self, run, phase):
        return Step(command=f"flow record-activity --run-id {run} --phase {phase} --id {phase} --status passed")


class Interrupted:
    """The person at the terminal: gives prompts, interrupts, and lets it go on."""

    def __init__(self, scene, agent, dice):
        self.scene, self.agent, self.dice = scene, agent, dice
        self.kind = type(scene.host)
        self.terminal = scene.open()

    def prompt(self, text=GO_ON):
        self.agent.said = ""
        self.terminal.prompt(text.format(issue=self.agent.issue), self.scene.model)

    def stop_turn(self):
        self.terminal.send("\x1b")
        time.sleep(1)
        self.terminal.send("\x15")  # An interrupted prompt may be in the line again.
        time.sleep(0.3)

    def kill(self):
        """The machine loses all of it: the host, its daemon and its commands."""
        variable = "CLAUDE_CONFIG_DIR" if self.kind is Claude else "CODEX_HOME"
        for process in owned_processes(variable, self.scene.host.config):
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self.terminal.end()
        self.terminal = self.scene.open(*self.dice.choice([(), RESUME[self.kind]]))

    def compaction(self):
        self.stop_turn()
        before = len(self.scene.model.requests)
        self.terminal.enter("/compact")
        until(lambda: any(it.kind == "summary" for it in self.scene.model.requests[before:]), 10)
        time.sleep(1.5)

    def clear(self):
        self.stop_turn()
        self.terminal.enter("/clear")
        time.sleep(2)

    def new_session(self):
        self.stop_turn()
        self.terminal.enter(self.kind.leave)
        self.terminal.is_over(10)
        self.terminal.end()
        self.terminal = self.scene.open()

    def until_it_stops_or(self, turns, seconds=40):
        """Lets the agent work for so many requests. If it stops, a person answers."""
        wanted = len(self.scene.model.turns()) + turns
        end = time.monotonic() + seconds
        while len(self.scene.model.turns()) < wanted and time.monotonic() < end:
            if self.agent.said == HELD:
                self.terminal.wait_for(re.escape(HELD))
                time.sleep(0.5)
                self.prompt(TAKE_OVER)
            elif self.agent.said:
                return
            time.sleep(0.05)


def interrupted(host, number, seed, programs, folder, tell):
    """Interrupts an agent so often, and then lets it finish."""
    dice, agent = random.Random(seed), Agent()
    with Scene(host, programs, folder) as scene:
        scene.model.script = agent.script
        person = Interrupted(scene, agent, dice)
        person.prompt()
        for count in range(1, number + 1):
            person.until_it_stops_or(dice.randint(1, 6))
            if agent.said == DONE:
                agent.issue += 1
                person.terminal.wait_for(re.escape(DONE))
                person.prompt()
                person.until_it_stops_or(dice.randint(1, 6))
            time.sleep(dice.random() * 0.5)
            kind = dice.choice([person.kill, person.compaction, person.clear, person.new_session])
            tell(f"{count}: {kind.__name__} after {len(scene.model.turns())} requests, issue {agent.issue}")
            kind()
            person.prompt()
        person.until_it_stops_or(200, seconds=120)
        scene.expect("the agent's last words", agent.said, DONE)
        for issue in range(1, agent.issue + 1):
            _check(scene, issue)
        return scene.outcome(f"{agent.issue} runs, {number} interruptions, {len(scene.model.turns())} requests")


def _check(scene, issue):
    """Nothing was repeated and nothing was skipped."""
    done = (scene.project.root / f"work-{issue}").read_text().splitlines()
    scene.expect(f"work on issue {issue}", done, [f"{issue} {phase}" for phase in PHASES])
    runs = [run for run in scene.project.runs() if run.endswith(f"-issue-{issue}")]
    scene.expect(f"number of runs about issue {issue}", len(runs), 1)
    shown = scene.project.json("show", runs[0])
    scene.expect(f"status of the run about issue {issue}", shown["state"]["status"], "completed")
    passed = [it["id"] for it in shown["activities"] if it["status"] == "passed"]
    scene.expect(f"activities of the run about issue {issue}", passed, PHASES)
    if found := trouble_of(scene.project):
        scene.wrong.append(found)
