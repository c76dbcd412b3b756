"""`interpose install`: an agent's hooks, in the file where the agent looks for them."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interpose.core.config.load import Loaded
from interpose.doors.cli.explaining.verdict_text import visible
from interpose.doors.cli.installing.install_shared import add_place, carried_out, done, target_in
from interpose.doors.cli.shared.json_output import print_json
from interpose.doors.hooks.hosts.all_hosts import HOSTS
from interpose.doors.hooks.install.places import spoken_path, target_of

if TYPE_CHECKING:
    from interpose.doors.hooks.install.plan import Plan

_KNOWN_FROM = """
Known by running it, from its source or from its documentation; experimental: from what others wrote.
`interpose help agents` says what each can do."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `install` understands."""
    add_place(parser)
    parser.add_argument(
        "--list", action="store_true", help="every agent, how it is known, its file, and where it is installed"
    )
    parser.add_argument(
        "--fail-open", action="store_true", help="let calls run that can't be decided; each is noted"
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Run `interpose install`."""
    return carried_out("install", args, lambda loaded: _list(args, loaded) if args.list else _install(args, loaded))


def _install(args: argparse.Namespace, loaded: Loaded) -> int:
    from interpose.doors.cli.installing.install_offer import choose_agents

    hosts = [args.host] if args.host else choose_agents(args, loaded)
    if isinstance(hosts, int):
        return hosts
    codes: list[int] = []
    for host in hosts:
        if codes:
            print()
        codes.append(_install_one(argparse.Namespace(**{**vars(args), "host": host}), loaded))
    if not args.json and not args.dry_run and 0 in codes:
        print("Next: `interpose doctor` tries the hook and says whether it holds.")
    return max(codes)


def _install_one(args: argparse.Namespace, loaded: Loaded) -> int:
    from interpose.doors.hooks.install.advice import advice
    from interpose.doors.hooks.install.plan import plan_install
    from interpose.doors.hooks.install.records import Records
    from interpose.people.presence.proof import proof_note

    target = target_in(args, "install")
    if isinstance(target, int):
        return target
    plan = plan_install(target, loaded, fail_open=args.fail_open)
    told = [*advice(plan, Records(loaded.places).all(), Path(args.cwd).absolute()), *_restarts(plan)]
    if note := proof_note(loaded.config.approvals):
        told.append(note)
    return done(plan, loaded, args, told, "install")


def _restarts(plan: Plan) -> list[str]:
    """Agents that run already read their hooks at their start."""
    from interpose.doors.hooks.install.running_agents import running_agents

    facts = plan.target.facts
    found = [str(each.pid) for each in running_agents() if each.host == facts.name] if plan.changed else []
    processes = f"process{'' if found[:-1] == [] else 'es'} {', '.join(found)}"
    return [f"{facts.title} runs already and has read its hooks: start it again ({processes})."] if found else []


def _list(args: argparse.Namespace, loaded: Loaded) -> int:
    from interpose.doors.hooks.install.records import Records

    records = Records(loaded.places).all()
    told: list[dict[str, Any]] = []
    for host in HOSTS.values():
        facts = host.facts
        told.append({
            "host": facts.name, "title": facts.title, "evidence": facts.evidence, "experimental": facts.experimental,
            **{scope: str(target_of(facts, scope, Path(args.cwd).absolute()).path) for scope in ("user", "project")},
            "installed": [record.path for record in records if record.host == facts.name],
        })  # fmt: skip
    if args.json:
        print_json(told)
        return 0
    for row in told:
        mark = "experimental" if row["experimental"] else row["evidence"]
        print(f"{row['host']:12} {row['title']:19} {mark:13} {visible(spoken_path(row['user']))}")
        for path in row["installed"]:
            print(f"{'':12} installed at {visible(spoken_path(path))}")
    print(_KNOWN_FROM, file=sys.stderr)
    return 0
