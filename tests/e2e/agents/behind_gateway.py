"""Agents without any hook, whose MCP server stands behind `interpose mcp wrap`: the gateway alone must hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tests.e2e.agents.behaviours import POLICY, SECRET, Seen
from tests.e2e.agents.home import Home
from tests.e2e.agents.known import Agent

NOTES = ("refused", "fine", f"{SECRET} is the key")


def run_wrapped(
    agents: Sequence[Agent], parts: Mapping[str, Path], place: Path, say: Callable[[str], None]
) -> dict[str, dict[str, Seen]]:
    """One run of each agent: a note that is refused, one that is left, and one whose answer holds a secret."""
    rows: dict[str, dict[str, Seen]] = {}
    for agent in agents:
        with Home(place / agent.host / "gateway", agent, parts, wrapped=True) as home:
            home.configure(20, POLICY)
            run = home.run([agent.note({"note": note}) for note in NOTES])
        results = (*run.results, "", "", "")
        seen = {
            "refused": _refused(home, results[0]),
            "runs": _seen("runs", left(home, "fine") and "noted fine" in results[1]),
            "secret": _seen("hidden", SECRET not in results[2] and "redacted" in results[2]),
        }
        rows[f"{agent.host} {agent.version}"] = seen
        say(f"· {agent.host} {agent.version} ({run.took:.0f} s): {', '.join(one.word for one in seen.values())}")
        if not all(one.good for one in seen.values()):
            say(f"  results: {[result[:300] for result in run.results]}\n  printed: {run.printed[-800:]}")
    return rows


def left(home: Home, note: str) -> bool:
    """Whether the server got this note."""
    return (home.project / f"noted-{note}.marker").exists()


def _refused(home: Home, result: str) -> Seen:
    if left(home, "refused"):
        return Seen("RUNS", good=False)
    return _seen("refused", "No notes here" in result)


def _seen(word: str, good: bool) -> Seen:
    return Seen(word if good else f"not {word}", good=good)
