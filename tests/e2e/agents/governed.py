"""Real agents with sub-agents under a governance file: who may write, who may only delegate, and who has no role.

The main agent is refused a file of its own, gives the work to a sub-agent that may write it, and is refused one that
has no role here. The roles are the user's file, the hooks are those that `interpose install` writes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from tests.e2e.agents.behaviours import POLICY, Seen
from tests.e2e.agents.dialects import ToolUse
from tests.e2e.agents.home import Home
from tests.e2e.agents.known import Agent

MARK = "BUILDER-OF-THIS-PROJECT"
"""What only the sub-agent's model is told."""

GOVERNANCE = """version: 1
agents:
  - {role: worker, agent: builder}
  - {role: coordinator, host: HOST, sub_agent: false}
scopes:
  META: {paths: [".framework/**"]}
  PROJECT: {paths: ["**"], others: [META]}
roles:
  coordinator:
    description: Hand out work
    tools: {allow: [read, glob, grep, task, todo]}
    write: []
    delegates: {to: [worker]}
    instead: Delegate to the agent builder
  worker:
    description: Work on files
    parent: coordinator
    tools: {allow: [read, write, edit, exec]}
    write: [PROJECT]
    delegates: {to: []}
    instead: Stay within the project
"""


class Team(Struct, frozen=True):
    """How a host knows a sub-agent: its file in the project, and the tool that starts it."""

    file: str
    text: str
    task: Callable[[str], ToolUse]


TEAMS = {
    "claude-code": Team(
        ".claude/agents/builder.md",
        f"---\nname: builder\ndescription: writes files\n---\nYou are the {MARK}.\n",
        lambda kind: ToolUse("Task", {"description": "write it", "prompt": "Do as told.", "subagent_type": kind}),
    ),
    "opencode": Team(
        ".opencode/agent/builder.md",
        f"---\ndescription: writes files\nmode: subagent\n---\nYou are the {MARK}.\n",
        lambda kind: ToolUse("task", {"description": "write it", "prompt": "Do as told.", "subagent_type": kind}),
    ),
}
"""Those whose sub-agents were seen to ask our hooks."""


def run_governed(
    agents: Sequence[Agent], parts: Mapping[str, Path], place: Path, say: Callable[[str], None]
) -> dict[str, dict[str, Seen]]:
    """One run of each agent that has sub-agents, and what is known of it afterwards."""
    rows: dict[str, dict[str, Seen]] = {}
    for agent in agents:
        if (team := TEAMS.get(agent.host)) is None:
            continue
        with Home(place / agent.host, agent, parts) as home:
            rows[f"{agent.host} {agent.version}"] = row = _row(home, agent, team)
        if agent.host == "opencode":
            from tests.e2e.agents.governed_texts import texts  # which stands on this module

            row |= texts(agent, parts, place)
        row |= {
            name: _stall(agent, parts, place, *one)
            for name, one in STALLS.items()
            if agent.host == "claude-code" or one[-1]  # the only one that starts them in the background
        }
        for name, seen in row.items():
            say(f"· {agent.host} {agent.version}, {name}: {seen.word}")
    return rows


def _row(home: Home, agent: Agent, team: Team) -> dict[str, Seen]:
    home.configure(20, POLICY)
    home.write(".config/interpose/governance.yaml", GOVERNANCE.replace("HOST", agent.host))
    home.install()
    definition = home.project / team.file
    definition.parent.mkdir(parents=True)
    definition.write_text(team.text, encoding="utf-8")
    own, inside, outside = (str(home.project / name) for name in ("own.txt", "inside.txt", ".framework/rules.txt"))
    home.sub_agent(MARK, [agent.write(inside, "x"), agent.write(outside, "x")])
    run = home.run([agent.write(own, "x"), team.task("builder"), team.task("general-purpose")])
    shown, given = (*run.results, "", "", "")[:3], (*home.sub_results(MARK), "", "")[:2]
    [session] = json.loads(home.interpose("session", "list", "--json").stdout)["sessions"]
    known = home.interpose("session", "show", session["id"]).stdout
    return {
        "coordinator writes": _refused("governance/role", shown[0], own),
        "worker writes": Seen("runs") if Path(inside).exists() else Seen(f"DOES NOT RUN: {given[0][:300]}", good=False),
        "worker writes outside": _refused("governance/scope", given[1], outside),
        "to one without a role": _refused("governance/", shown[2], ""),
        "on record": Seen("yes")
        if "worker" in known and "coordinator" in known
        else Seen(f"NO: {known[:300]}", good=False),
    }


def _stall(
    agent: Agent, parts: Mapping[str, Path], place: Path, answer: str, told: str, times: int, wait: bool
) -> Seen:
    """A sub-agent that answers the same again and again, started in the background or waited for."""
    team = TEAMS[agent.host]
    with Home(place / f"{agent.host}-{times}-{wait}", agent, parts) as home:
        home.configure(20, POLICY)
        home.write(".config/interpose/governance.yaml", GOVERNANCE.replace("HOST", agent.host))
        home.install()
        definition = home.project / team.file
        definition.parent.mkdir(parents=True)
        definition.write_text(team.text, encoding="utf-8")
        (home.project / "known.txt").write_text("known")
        home.sub_agent(MARK, [answer])
        steps: list[ToolUse] = []
        for number in range(times):
            task = team.task("builder")
            more = {"prompt": f"Check plan {number}.", "run_in_background": not wait}
            read = ToolUse("Read", {"file_path": str(home.project / "known.txt"), "limit": number + 1})
            steps += [ToolUse(task.tool, task.arguments | more), *[read] * (not wait)]
        run = home.run(steps)
        return Seen("told") if home.model_saw(told) else Seen(f"NOT TOLD: {run.results[-1][:300]!r}", good=False)


STALLS = {
    f"{kind} stall, {'waited for' if wait else 'in the background'}": (answer, told, times, wait)
    for kind, answer, told, times in (
        ("planner-checker", "Review:\n- no tests\n\nScore: 4/10", "The checker found the same issues", 4),
        ("validator-fix", "Verdict: FAIL\n- no tests", "The validator reported the same", 3),
    )
    for wait in (True, False)
}


def _refused(rule: str, shown: str, file: str) -> Seen:
    if file and Path(file).exists():
        return Seen("RUNS", good=False)
    return Seen("refused") if rule in shown else Seen(f"not refused: {shown[:300]!r}", good=False)
