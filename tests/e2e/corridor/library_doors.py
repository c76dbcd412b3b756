"""The doors of one process: the library, and the verbs that judge a call without running it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, cast

from interpose import (
    AutoApprove,
    BlockedError,
    Context,
    InterceptorRegistry,
    ToolCall,
    guarded,
    open_engine,
    reset_global_interceptors,
)
from tests.e2e.corridor.calls import Case
from tests.e2e.corridor.doors import Told, session_of
from tests.e2e.corridor.world import World


class LibraryDoor:
    """What the doors here have in common: all calls, nothing recorded."""

    name = ""
    keeps = False
    asks: Literal["the desk", "its caller"] = "its caller"
    names_sessions = True

    def __init__(self, world: World) -> None:
        self.world = world

    def takes(self, case: Case) -> bool:
        return True

    def tool(self, case: Case) -> str:
        return case.tool

    def arguments(self, kept: dict[str, Any]) -> dict[str, Any]:
        return kept

    def context(self, case: Case) -> Context:
        session = session_of(self, case)
        return Context(cwd=self.world.project, session_id=session, agent_id=case.agent)

    def play(self, cases: Sequence[Case]) -> list[Told]:
        return [self.put(case) for case in cases]

    def put(self, case: Case) -> Told:
        raise NotImplementedError


class GuardedFunction(LibraryDoor):
    """`@guarded`: nobody can be asked there, so a question blocks the call and is named."""

    name = "a guarded function"

    def play(self, cases: Sequence[Case]) -> list[Told]:
        try:
            return super().play(cases)
        finally:
            reset_global_interceptors()  # it keeps its store open as long as the process lives

    def put(self, case: Case) -> Told:
        @guarded(case.tool, on_block="raise", context=self.context(case))
        def run(**arguments: Any) -> dict[str, Any]:
            return arguments

        try:
            ran = run(**case.arguments)
        except BlockedError as blocked:
            verdict = blocked.verdict
            asked = next((one for one in verdict.findings if one.said == "ask" and one.mode == "enforce"), None)
            if asked is not None and verdict.questions and not any(one.said == "deny" for one in verdict.findings):
                return Told(outcome="ask", rule=asked.rule, text="\n".join(verdict.questions))
            return Told(outcome="deny", rule=verdict.rule, reason=verdict.reason)
        return Told(outcome="allow" if ran == case.arguments else "rewrite", arguments=ran)


class ToolByName(LibraryDoor):
    """A tool that the engine runs, with somebody who approves everything."""

    name = "a tool by name"

    def play(self, cases: Sequence[Case]) -> list[Told]:
        self._engine = open_engine(confirm=AutoApprove())
        for tool in {case.tool for case in cases}:
            self._engine.add_tool(lambda **arguments: arguments, tool)
        return super().play(cases)

    def put(self, case: Case) -> Told:
        done = self._engine.run(self.context(case)).call(case.tool, case.arguments)
        verdict = done.verdict
        if verdict.outcome == "deny":
            return Told(outcome="deny", rule=verdict.rule, reason=verdict.reason)
        asked = verdict.approver == "AutoApprove"
        changed = done.response != case.arguments
        outcome = "ask" if asked else "rewrite" if changed else "allow"
        rule = next((one.rule for one in verdict.findings if one.said == "ask"), verdict.rule) if asked else None
        return Told(outcome=outcome, rule=rule, text="\n".join(verdict.questions), arguments=done.response)


class EngineElsewhere(LibraryDoor):
    """An engine that was opened in another directory: the rules of the directory hold in which a call runs, and what a
    program added holds there, too."""

    name = "an engine that was opened elsewhere"

    def __init__(self, world: World, elsewhere: Path) -> None:
        super().__init__(world)
        self._engine = open_engine(cwd=elsewhere)
        self._seen: list[str] = []
        cast("InterceptorRegistry", self._engine.interceptors).add(
            id="mine", name="tool.before", handler=lambda given, _: self._seen.append(given.tool_name), priority=2000
        )

    def put(self, case: Case) -> Told:
        self._seen.clear()
        verdict = self._engine.decide(ToolCall(case.tool, case.arguments, context=self.context(case)))
        assert self._seen, "what the program added was not asked"
        return Told(
            outcome=verdict.outcome, rule=verdict.rule, reason=verdict.reason, arguments=dict(verdict.payload.arguments)
        )


class Check(LibraryDoor):
    """`interpose check --jsonl`."""

    name = "interpose check"

    def takes(self, case: Case) -> bool:
        return not case.agent

    def play(self, cases: Sequence[Case]) -> list[Told]:
        rows = [{"id": one.note, "tool": one.tool, "args": one.arguments, "cwd": self.world.project} for one in cases]
        printed = self.world.run("-m", "interpose", "check", "--jsonl", given="\n".join(map(json.dumps, rows)) + "\n")
        said = {one["id"]: one for one in map(json.loads, printed.splitlines())}
        return [_told(case, said[case.note]) for case in cases]


_EXPLAIN = """
import json, sys
from interpose.doors.cli import main
for words in json.loads(sys.argv[1]):
    main(["explain", "--json", *words])
"""


class Explain(LibraryDoor):
    """`interpose check --explain --json`."""

    name = "interpose check --explain"

    def takes(self, case: Case) -> bool:
        return bool(case.command) and not case.agent

    def play(self, cases: Sequence[Case]) -> list[Told]:
        text = self.world.run("-c", _EXPLAIN, json.dumps([[case.command] for case in cases]))
        found = []
        for case in cases:
            said, end = json.JSONDecoder().raw_decode(text)
            text = text[end:].lstrip()
            found.append(_told(case, said))
        return found


def _told(case: Case, said: dict[str, Any]) -> Told:
    outcome = said["decision"]
    arguments = said.get("arguments", case.arguments)
    return Told(outcome=outcome, rule=said["rule"], reason=said["reason"], arguments=arguments)


_DRY_RUN = """
import contextlib, io, json, shlex, sys
from interpose.doors.cli import main
told = []
for command in json.loads(sys.argv[1]):
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        code = main(["run", "--dry-run", "--", *shlex.split(command)])
    told.append((code, out.getvalue()))
print(json.dumps(told))
"""


class DryRun(LibraryDoor):
    """`interpose run --dry-run`: it starts the words that it was given, or nothing."""

    name = "interpose run --dry-run"

    def takes(self, case: Case) -> bool:
        return bool(case.command) and not case.agent and shlex.join(shlex.split(case.command)) == case.command

    def play(self, cases: Sequence[Case]) -> list[Told]:
        told = json.loads(self.world.run("-c", _DRY_RUN, json.dumps([case.command for case in cases])))
        return [self._told(case, *one) for case, one in zip(cases, told, strict=True)]

    def _told(self, case: Case, code: int, text: str) -> Told:
        if code == 0:
            assert text == f"would run: {case.command}\n"
            return Told(outcome="allow", arguments=case.arguments)
        assert code == 77, text
        rule = next(line.partition("Policy: ")[2] for line in text.splitlines() if "Policy: " in line)
        return Told(outcome="ask" if "needs approval" in text else "deny", rule=rule.split()[0], text=text)
