"""Agents without any hook, with `interpose proxy` between them and their model: the proxy alone must hold.

Those that are told by a variable where their model is are started by `interpose proxy -- AGENT`; the others are given
the address of a proxy that runs already. A refused call ends the turn, so each wish that is refused has its own run.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tests.e2e.agents.behaviours import ALLOWED, ASKED, DENIED, ORIGINAL, POLICY, SECRET, Seen
from tests.e2e.agents.home import Home, Run
from tests.e2e.agents.known import Agent

CONFIGURED = "proxy: {wait: 0}\n"


def run_proxied(
    agents: Sequence[Agent], parts: Mapping[str, Path], place: Path, say: Callable[[str], None]
) -> dict[str, dict[str, Seen]]:
    """What became of each wish of the model, for each agent."""
    rows: dict[str, dict[str, Seen]] = {}
    for agent in agents:
        seen: dict[str, Seen] = {}
        took = 0.0
        for name, commands, judge in RUNS:
            with Home(place / agent.host / "proxy" / name, agent, parts, proxied=True) as home:
                (home.project / "notes.txt").write_text(f"the key is {SECRET}, keep it\n")
                home.configure(20, POLICY, CONFIGURED)
                run = home.run([agent.run(command) for command in commands])
                found = judge(home, run)
            seen |= found
            took += run.took
            if not all(one.good for one in found.values()):
                say(f"  {agent.host}, {name}: the model saw {run.results}, it printed:\n{run.printed[-1500:]}")
        rows[f"{agent.host} {agent.version}"] = seen
        words = ", ".join(f"{column}: {one.word}" for column, one in seen.items())
        say(f"· {agent.host} {agent.version} ({took:.0f} s): {words}")
    return rows


def _held(home: Home, run: Run) -> dict[str, Seen]:
    """The first two wishes run, the third is refused, and the agent shows the reason."""
    results = (*run.results, "", "")
    decided = _decisions(home)
    return {
        "runs": _seen("runs", _ran(home, "allowed") and "said-42" in results[0]),
        "secret": _seen("hidden", SECRET not in str(run.results) and "[redacted" in results[1]),
        "deny": _refused(home, run, "denied", "nobody has read"),
        "record": _seen("all three", decided == ["allow", "allow", "deny"], f"{decided}"),
    }


def _asked(home: Home, run: Run) -> dict[str, Seen]:
    return {"ask": _refused(home, run, "asked", "interpose approvals approve")}


def _rewritten(home: Home, _run: Run) -> dict[str, Seen]:
    if _ran(home, "original"):
        return {"rewrite": Seen("THE ORIGINAL RUNS", good=False)}
    return {"rewrite": _seen("arrives", _ran(home, "rewritten"))}


RUNS: tuple[tuple[str, tuple[str, ...], Callable[[Home, Run], dict[str, Seen]]], ...] = (
    ("held", (ALLOWED, "cat notes.txt", DENIED), _held),
    ("asked", (ASKED,), _asked),
    ("rewritten", (ORIGINAL,), _rewritten),
)


def _refused(home: Home, run: Run, marker: str, why: str) -> Seen:
    if _ran(home, marker):
        return Seen("RUNS", good=False)
    return _seen("refused", why in " ".join(run.printed.split()), "refused, not told why")


def _ran(home: Home, marker: str) -> bool:
    return (home.project / f"{marker}.marker").exists()


def _decisions(home: Home) -> list[str]:
    """What the ledger has of the wishes, the oldest first."""
    lines = home.interpose("audit", "search", "--json").stdout.splitlines()
    return [json.loads(line)["decision"] for line in reversed(lines)]


def _seen(word: str, good: bool, otherwise: str = "") -> Seen:
    return Seen(word if good else otherwise or f"not {word}", good=good)
