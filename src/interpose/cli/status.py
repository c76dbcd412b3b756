"""`interpose status`: which rules hold here, in which revision, and what stands in their way."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import msgspec

from interpose.build import add_builtin_interceptors, add_standard_policy
from interpose.cli import EXIT_CONFIG, version
from interpose.cli.check import encoded
from interpose.cli.rendering import Ink, colours_wanted, visible
from interpose.errors import UnloadableError
from interpose.policy.catalogue import packs, standard_places
from interpose.policy.model import Level
from interpose.registry import create_interceptor_registry

HELP = "show which rules hold here, their revision, and what stands in their way"

_EPILOG = "exit codes: 0 all is well, 64 wrong usage, 70 internal error, 78 rules that can't be loaded"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `status` understands."""
    parser.epilog = _EPILOG
    parser.add_argument("--cwd", default="", help="where the agent works (default: here)")
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")


def run(args: argparse.Namespace) -> int:
    """Run `interpose status`."""
    told = _status(str(Path(args.cwd).absolute()))
    if args.json:
        print(msgspec.json.format(encoded(told), indent=2).decode())
    else:
        _show(told, Ink(colours_wanted()))
    return EXIT_CONFIG if told["problems"] else 0


def _status(cwd: str) -> dict[str, Any]:
    registry = add_builtin_interceptors(create_interceptor_registry())
    told: dict[str, Any] = {
        "version": version(),
        "guards": [entry.id for entry in registry.list()],
        "policy": None,
        "packs": [],
        "levels": {},
        "refused": [],
        "problems": [],
    }
    try:
        following = add_standard_policy(registry, cwd)
        told["packs"] = [pack.name for pack in packs(standard_places(cwd)) if pack.on]
    except UnloadableError as error:
        return told | {"problems": [_data(problem) for problem in error.problems]}
    rules = following.policy.rules
    told["policy"] = {"revision": following.status.revision, "rules": len(rules)}
    told["levels"] = {level.value: sum(each.rule.source.level is level for each in rules) for level in Level}
    told["refused"] = [_data(problem) for problem in following.status.refused]
    return told


def _data(problem: Any) -> dict[str, Any]:
    """A problem of rules or of the configuration."""
    return {"text": str(problem), **msgspec.to_builtins(problem)}


def _show(told: dict[str, Any], ink: Ink) -> None:
    print(f"interpose {told['version']}")
    print(f"{ink('guards', '2')}   {', '.join(told['guards'])}")
    if told["policy"]:
        levels = ", ".join(f"{count} {name}" for name, count in told["levels"].items() if count)
        print(
            f"{ink('policy', '2')}   revision {told['policy']['revision']}, {told['policy']['rules']} rules ({levels})"
        )
        print(f"{ink('packs', '2')}    {', '.join(told['packs']) or 'none'}")
    else:
        print(f"{ink('policy', '2')}   {ink('cannot be loaded', '31')}: every engine that starts now refuses to")
    for word, colour, found in (("problem", "31", told["problems"]), ("refused", "33", told["refused"])):
        for problem in found:
            print(f"{ink(word, colour)}  {visible(problem['text'])}")
