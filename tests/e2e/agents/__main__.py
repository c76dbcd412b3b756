"""Run the real agents with our hooks, offline, and print what was seen: what holds, and what each mode does.

`scripts/agents` starts this. Without names all agents are run. The exit code is 1 if one promise was not kept.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tests.e2e.agents import (
    behind_gateway,
    behind_proxy,
    governed,
    host_commands,
    off_switches,
    openclaw,
    readers,
    waits,
)
from tests.e2e.agents.behaviours import COLUMNS, SCENARIOS, Seen, seen_in
from tests.e2e.agents.fetch import FetchError, cache, fetched, installed, name_of
from tests.e2e.agents.home import Home
from tests.e2e.agents.known import AGENTS, Agent
from tests.e2e.agents.modes import trials, tried

_INSIDE = "INTERPOSE_AGENTS_OFFLINE"


INSTEAD = {
    "gateway": behind_gateway.run_wrapped,
    "commands": host_commands.run_commands,
    "governance": governed.run_governed,
    "openclaw": openclaw.run_openclaw,
    "proxy": behind_proxy.run_proxied,
    "waits": waits.run_waits,
}
"""What can be run in the place of the two tables."""


def main(argv: Sequence[str] | None = None) -> int:
    """Fetch, cut off the network, run, print."""
    parser = argparse.ArgumentParser(prog="scripts/agents", description="Run the real agents with our hooks, offline.")
    names = [agent.host for agent in AGENTS]
    parser.add_argument("agents", nargs="*", metavar="AGENT", help=f"which of {', '.join(names)} (default: all)")
    parser.add_argument(
        "--only", action="append", default=[], metavar="NAME", help="one scenario, mode or switch, by its name"
    )
    parser.add_argument("--table", choices=("behaviours", "modes"), help="one of the two tables (default: both)")
    parser.add_argument("--keep", action="store_true", help="leave the homes, for a look at what happened")
    parser.add_argument("--switches", action="store_true", help="turn every off switch of the agents, instead")
    parser.add_argument("--gateway", action="store_true", help="no hooks, but the MCP server wrapped, instead")
    parser.add_argument("--commands", action="store_true", help="their own commands under chain rules, instead")
    parser.add_argument("--governance", action="store_true", help="with sub-agents, under a governance file, instead")
    parser.add_argument("--proxy", action="store_true", help="no hooks, but the model behind our proxy, instead")
    parser.add_argument("--waits", action="store_true", help="hooks that wait for a person at a terminal, instead")
    parser.add_argument("--openclaw", action="store_true", help="OpenClaw alone, which comes with much else, instead")
    parser.add_argument("--readers", action="store_true", help="see what the agents read besides JSON, instead")
    args = parser.parse_args(argv)
    for name in args.agents:
        if name not in names:
            parser.error(f"there is no agent {name!r}; there are {', '.join(names)}")
    wanted = (
        [openclaw.AGENT] if args.openclaw else [one for one in AGENTS if not args.agents or one.host in args.agents]
    )
    parts, missing = _fetch_all(wanted)
    for problem in missing.values():
        _say(f"· {problem}")
    if not os.environ.get(_INSIDE):
        return _offline(list(sys.argv[1:] if argv is None else argv), own_system=args.switches)
    place = Path(tempfile.mkdtemp(prefix="agents-"))
    found = [agent for agent in wanted if agent.host not in missing]
    rows: dict[str, dict[str, Seen]] = {}
    modes: dict[tuple[str, str], dict[str, Seen]] = {}
    try:
        for name, run in INSTEAD.items():
            if getattr(args, name):
                rows = run(found, parts, place, _say)
                _say(f"\n{_table(rows, dict.fromkeys(column for row in rows.values() for column in row))}")
                return int(not all(seen.good for row in rows.values() for seen in row.values()))
        if args.readers:
            read = readers.run_readers(found, parts, place, _say)
            _say(f"\n{readers.table(read)}")
            return int(not all(one.good for one in read))
        if args.switches:
            turned = off_switches.run_rows(found, parts, place, args.only, _say)
            _say(f"\n{off_switches.table(turned)}")
            return int(any("SAYS NOTHING" in (each.doctor, each.status) and each.user == "RUNS" for each in turned))
        if args.table != "modes":
            rows = {f"{agent.host} {agent.version}": _row(agent, parts, place, args.only) for agent in found}
        if args.table != "behaviours":
            for agent in found:
                modes |= _modes(agent, parts, place, args.only)
    finally:
        if args.keep:
            _say(f"· everything is left in {place}")
        else:
            shutil.rmtree(place, ignore_errors=True)
    if rows:
        _say(f"\n{_table(rows, COLUMNS)}")
    if modes:
        _say(f"\n{_table_of_modes(modes)}")
    every = [*rows.values(), *modes.values()]
    return int(bool(missing) or any(not seen.good for row in every for seen in row.values()))


def _fetch_all(agents: Sequence[Agent]) -> tuple[dict[str, Path], dict[str, str]]:
    parts: dict[str, Path] = {}
    missing: dict[str, str] = {}
    for agent in agents:
        try:
            parts |= {
                name_of(package): (installed if package in agent.needing else fetched)(package, cache())
                for package in agent.packages
            }
        except FetchError as error:
            missing[agent.host] = str(error)
    return parts, missing


def _offline(arguments: list[str], *, own_system: bool = False) -> int:
    """Ourselves once more where there is no network but loopback, and no process of ours outlives the run."""
    here = [sys.executable, "-m", "tests.e2e.agents", *arguments]
    if own_system:
        with tempfile.TemporaryDirectory(prefix="agents-") as place:
            return _cut_off(off_switches.with_own_system(here, Path(place)), needs_own_system=True)
    return _cut_off(here, needs_own_system=False)


def _cut_off(here: list[str], *, needs_own_system: bool) -> int:
    cut = ["unshare", "-rnpfm", "--mount-proc", "--kill-child"]
    environment = os.environ | {_INSIDE: "yes"}
    can = shutil.which("unshare") and subprocess.run([*cut, "true"], check=False, capture_output=True).returncode == 0
    if not can and needs_own_system:
        _say("· no namespace can be made here, and the switches need an /etc of their own: nothing was run")
        return 1
    if not can:
        _say("· no network namespace can be made here: the agents could reach the network")
        return subprocess.run(here, check=False, env=environment).returncode
    # The shell stays: as the first process there it buries those whose parents are gone.
    loopback = ["sh", "-c", 'ip link set lo up && "$@"; exit $?', "sh"]
    return subprocess.run([*cut, *loopback, *here], check=False, env=environment).returncode


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _row(agent: Agent, parts: Mapping[str, Path], place: Path, only: Sequence[str]) -> dict[str, Seen]:
    row: dict[str, Seen] = {}
    for scenario in SCENARIOS:
        if only and scenario.name not in only:
            continue
        with Home(place / agent.host / scenario.name.replace(" ", "-"), agent, parts) as home:
            seen, run = seen_in(scenario, home)
        row |= seen
        words = ", ".join(f"{column}: {one.word}" for column, one in seen.items())
        _say(f"· {agent.host} {agent.version}, {scenario.name} ({run.took:.0f} s): {words}")
        if not all(one.good for one in seen.values()):
            ended = "had to be stopped" if run.exit_code is None else f"ended with {run.exit_code}"
            _say(f"  it {ended} and printed:\n{run.printed[-2000:]}\n  the model saw: {run.results}")
    return row


def _modes(
    agent: Agent, parts: Mapping[str, Path], place: Path, only: Sequence[str]
) -> dict[tuple[str, str], dict[str, Seen]]:
    """For each mode what became of each wish: with a hook that says `ask`, and with ours."""
    rows: dict[tuple[str, str], dict[str, Seen]] = {}
    for trial in trials(agent):
        if only and trial.mode.name not in only:
            continue
        if trial.mode.screen and shutil.which("tmux") is None:
            _say(f"· {agent.host}, {trial.mode.name}: not run, there is no tmux here for its screen")
            continue
        with Home(place / agent.host / "modes" / trial.name, agent, parts) as home:
            seen, run, words = tried(trial, home)
        rows.setdefault((agent.host, trial.mode.name), {})[trial.column] = seen
        named = f", its events say {' and '.join(words)}" if words else ""
        _say(f"· {agent.host}, {trial.mode.name}, {trial.column} ({run.took:.0f} s): {seen.word}{named}")
        if not seen.good:
            _say(f"  it printed:\n{run.printed[-2000:]}\n  the model saw: {run.results}")
    return rows


def _table_of_modes(rows: Mapping[tuple[str, str], Mapping[str, Seen]]) -> str:
    columns = list(dict.fromkeys(column for row in rows.values() for column in row))
    lines = [["agent", "mode", *columns], ["---"] * (len(columns) + 2)]
    for (host, mode), row in rows.items():
        cells = [row.get(column, Seen("-")) for column in columns]
        lines.append([host, mode, *(cell.word if cell.good else f"**{cell.word}**" for cell in cells)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _table(rows: Mapping[str, Mapping[str, Seen]], columns: Iterable[str]) -> str:
    lines = [["behaviour", *rows], ["---"] * (len(rows) + 1)]
    for column in columns:
        cells = [row.get(column, Seen("not run")) for row in rows.values()]
        lines.append([column, *(cell.word if cell.good else f"**{cell.word}**" for cell in cells)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    sys.exit(main())
