"""`interpose policy add` and `remove`: rule files of the user's own."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import msgspec

from interpose.cli.call_arguments import UsageError
from interpose.cli.verdict_text import visible
from interpose.install.places import spoken_path
from interpose.policy.own_rules import OwnRules, add_rules, own_files, remove_rules


def add_acts(acts: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """What both understand."""
    adding = acts.add_parser("add", help="make a rule file hold for all that your agents do, if its examples pass")
    adding.add_argument("files", nargs="+", metavar="FILE")
    removing = acts.add_parser("remove", help="take a rule file of yours out again")
    removing.add_argument("name", metavar="NAME", help="of the file, with or without .yaml")
    for act in (adding, removing):
        act.add_argument("--json", action="store_true", help="print the answer as JSON")


def add(args: argparse.Namespace) -> int:
    """Put each file among the user's rules."""
    for file in args.files:
        if not Path(file).is_file():
            raise UsageError(f"there is no file {file}")
    return _say(args, [add_rules(Path(file)) for file in args.files])


def remove(args: argparse.Namespace) -> int:
    """Take one out."""
    there = own_files()
    found = next((file for file in there if args.name in (file.name, file.stem)), None)
    if found is None:
        known = f"there are {', '.join(file.name for file in there)}" if there else "there are none"
        raise UsageError(f"{args.name!r} is no rule file of yours; {known}")
    return _say(args, [remove_rules(found)])


def _say(args: argparse.Namespace, changed: Sequence[OwnRules]) -> int:
    if args.json:
        told = [{"file": str(own.file), "change": own.change, "rules": own.rules} for own in changed]
        print(msgspec.json.format(msgspec.json.encode(told), indent=2).decode())
        return 0
    for own in changed:
        passed = f", {_counted(own.examples, 'example')} passed" if own.examples else ""
        print(f"{own.change}  {visible(spoken_path(own.file))}  {_counted(len(own.rules), 'rule')}{passed}")
    return 0


def _counted(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
