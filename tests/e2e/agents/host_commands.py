"""Commands of agents' hosts under chain rules: one that a person types, refused and with a warning, and one that the
model starts itself. The rules are the user's governance file, the hooks are those that `interpose install` writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from tests.e2e.agents.behaviours import POLICY, Seen
from tests.e2e.agents.dialects import ToolUse
from tests.e2e.agents.home import Home
from tests.e2e.agents.known import Agent

SAID = "SHIP-IT-NOW"
"""What the command puts before the model."""
NEEDS, WARNS = "/ship needs the file BUILD", "/ship should wait for the file NOTES"

GOVERNANCE = """version: 1
unknown_role: allow
chains:
  rules:
    - {id: SHIP-01, command: ship, must_before: [{exists: BUILD}], action: redirect, target: /build}
    - {id: SHIP-02, command: ship, should_before: [{exists: NOTES}], action: warn}
"""


class Typed(Struct, frozen=True):
    """How a host knows a command: its file in the project, the words that start it, and the tool that does."""

    file: str
    words: tuple[str, ...]
    tool: ToolUse


HOSTS = {
    "claude-code": Typed(
        ".claude/commands/ship.md",
        ("-p", "/ship 3", "--dangerously-skip-permissions"),
        ToolUse("Skill", {"skill": "ship", "args": "3"}),
    ),
    "opencode": Typed(
        ".opencode/command/ship.md",
        ("run", "--model", "fake/fake", "--command", "ship", "3"),
        ToolUse("skill", {"name": "ship"}),
    ),
}
"""Those that are known to tell of commands."""


def run_commands(
    agents: Sequence[Agent], parts: Mapping[str, Path], place: Path, say: Callable[[str], None]
) -> dict[str, dict[str, Seen]]:
    """Three runs of each agent that tells of its commands."""
    rows: dict[str, dict[str, Seen]] = {}
    for agent in agents:
        if (typed := HOSTS.get(agent.host)) is None:
            continue
        row: dict[str, Seen] = {}
        for name, judge in (("typed", _typed), ("warned", _warned), ("by the model", _by_the_model)):
            with Home(place / agent.host / name.replace(" ", "-"), agent, parts) as home:
                _prepare(home, typed)
                row[name] = judge(home, typed)
            say(f"· {agent.host} {agent.version}, a command {name}: {row[name].word}")
        rows[f"{agent.host} {agent.version}"] = row
    return rows


def _prepare(home: Home, typed: Typed) -> None:
    home.configure(20, POLICY)
    home.write(".config/interpose/governance.yaml", GOVERNANCE)
    home.install()
    command = home.project / typed.file
    command.parent.mkdir(parents=True)
    command.write_text(f"---\ndescription: ships\n---\n{SAID} $ARGUMENTS\n", encoding="utf-8")


def _typed(home: Home, typed: Typed) -> Seen:
    """Without what must come before: the model never sees what the command says, and somebody is told why."""
    run = home.run((), typed.words)
    if home.model_saw(SAID):
        return Seen("RUNS", good=False)
    told = NEEDS in run.printed or home.model_saw(NEEDS)
    return Seen("refused, and why") if told else Seen(f"refused, not told why: {run.printed[-500:]}", good=False)


def _warned(home: Home, typed: Typed) -> Seen:
    """With it: the command runs, and the model reads the warning beside it."""
    (home.project / "BUILD").write_text("")
    run = home.run((), typed.words)
    if not home.model_saw(SAID):
        return Seen(f"DOES NOT RUN: {run.printed[-500:]}", good=False)
    return Seen("runs with its warning") if home.model_saw(WARNS) else Seen("runs without its warning", good=False)


def _by_the_model(home: Home, typed: Typed) -> Seen:
    run = home.run([typed.tool])
    if not run.results or home.model_saw(SAID):
        return Seen(f"RUNS: {run.printed[-500:]}", good=False)
    return Seen("refused, and why") if NEEDS in run.results[0] else Seen(f"other: {run.results[0][:300]}", good=False)
