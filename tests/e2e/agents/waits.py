"""Real agents whose hook waits for a person, who answers at a terminal of their own while the agent stands still.

The agent makes three calls that are asked about: one is approved, one denied, one edited and approved. It has no prompt
for them, or is in a mode without one, or `approvals.ask: queue` takes the question away from it.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from interpose.doors.hooks.hosts.all_hosts import HOSTS
from tests.e2e.agents.behaviours import POLICY, Seen
from tests.e2e.agents.home import Home, Run
from tests.e2e.agents.known import Agent
from tests.e2e.terminals import Terminal, interpose

WAIT = 100
QUEUE = "approvals: {ask: queue}\n"
NO = "not on a Friday"


def command(word: str) -> str:
    """Harmless in an empty home. That it ran is seen by what it leaves."""
    return f"git push --force origin {word}; touch {word}.marker"


EDITED = "touch changed.marker"


class Person:
    """Looks for questions at a terminal of their own, and answers each as its words ask for."""

    def __init__(self, home: Home, answers: Mapping[str, Sequence[str]] | None = None) -> None:
        """`answers` are for other commands than those of this module: what is typed besides the id."""
        self._home, self._over = home, threading.Event()
        others = {text: (text, _typing(words)) for text, words in (answers or {}).items()}
        self._answers = {command(word): (word, typed) for word, typed in _ANSWERS.items()} | others
        self._thread = threading.Thread(target=self._answer)
        self.answered: list[str] = []
        self.shown = ""

    def __enter__(self) -> Self:
        self._terminal = Terminal(self._home.environment, self._home.project)
        self._terminal.__enter__()  # before the agent is there: a terminal that it made would be no person's
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._over.set()
        self._thread.join()
        self._terminal.__exit__()

    def _answer(self) -> None:
        known: set[str] = set()
        while not self._over.wait(0.2):
            listed = self._home.interpose("approvals", "list", "--json").stdout
            found: list[dict[str, Any]] = json.loads(listed)["approvals"] if listed.startswith("{") else []
            for question in found:
                if question["id"] in known or question.get("state", "waiting") != "waiting":
                    continue
                known.add(question["id"])
                for text, (word, typed) in self._answers.items():
                    if text in json.dumps(question):
                        _code, shown = self._terminal.run(*interpose("approvals", *typed(question["id"])))
                        self.answered.append(word)
                        self.shown += shown


def _typing(words: Sequence[str]) -> Callable[[str], Sequence[str]]:
    return lambda id: (*words, id)


_ANSWERS: Mapping[str, Callable[[str], Sequence[str]]] = {
    "approved": lambda id: ("approve", id),
    "denied": lambda id: ("deny", id, "--reason", f"'{NO}'"),
    "edited": lambda id: ("approve", id, "--set", f"'command={EDITED}'"),
}


def run_waits(
    agents: Sequence[Agent], parts: Mapping[str, Path], place: Path, say: Callable[[str], None]
) -> dict[str, dict[str, Seen]]:
    """One run of each agent, and what became of its three calls."""
    rows: dict[str, dict[str, Seen]] = {}
    for agent in agents:
        with Home(place / agent.host, agent, parts) as home:
            home.configure(20, POLICY, QUEUE, wait=WAIT)
            home.install()
            with Person(home) as person:
                run = home.run([agent.run(command(word)) for word in _ANSWERS], typed=True)
            rows[f"{agent.host} {agent.version}"] = row = judged(home, agent, run, person)
        if agent.host == "opencode":
            from tests.e2e.agents.opencode_prompts import prompts  # which stands on this module

            row |= prompts(agent, parts, place)
        words = ", ".join(f"{name}: {seen.word}" for name, seen in row.items())
        say(f"· {agent.host} {agent.version} ({run.took:.0f} s): {words}")
        if not all(seen.good for seen in row.values()):
            say(f"  it printed:\n{run.printed[-2000:]}\n  the model saw: {run.results}\n  the person: {person.shown}")
    return rows


def judged(home: Home, agent: Agent, run: Run, person: Person) -> dict[str, Seen]:
    """The cells of one agent."""
    approved, denied, edited = (*run.results, "", "", "")[:3]
    rewrites = bool(HOSTS[agent.host].facts.rewrites)
    return {
        "approved while it waits": _cell("runs", ran=_ran(home, "approved"), want=True, told=approved),
        "denied while it waits": _cell("refused", ran=_ran(home, "denied"), want=False, told=denied, text=NO),
        "edited while it waits": _cell("runs as edited", ran=_ran(home, "changed"), want=True, told=edited)
        if rewrites
        else _cell("refused, shown", ran=_ran(home, "edited"), want=False, told=edited, text=EDITED),
        "the call as it came": _cell("does not run", ran=_ran(home, "edited"), want=False, told=edited),
        "questions": Seen(str(len(person.answered)), good=person.answered == [*_ANSWERS]),
    }


def _ran(home: Home, word: str) -> bool:
    return (home.project / f"{word}.marker").exists()


def _cell(word: str, *, ran: bool, want: bool, told: str, text: str = "") -> Seen:
    if ran != want:
        return Seen("DOES NOT RUN" if want else "RUNS", good=False)
    return Seen(word) if text in told else Seen(f"{word}, not told", good=False)
