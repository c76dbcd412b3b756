"""`interpose policy add` and `remove`: rule files of the user's own."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import msgspec

from interpose.core.formats.counted import plural
from interpose.doors.cli.explaining.call_arguments import UsageError
from interpose.doors.cli.explaining.suggestions import did_you_mean, shown
from interpose.doors.cli.explaining.verdict_text import visible
from interpose.doors.hooks.install.places import spoken_path
from interpose.rules.policy.own_rules import OwnRules, add_rules, own_files, remove_rules


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
    return _say(args, add_rules([Path(file) for file in args.files]))


def remove(args: argparse.Namespace) -> int:
    """Take one out."""
    there = own_files()
    found = next((file for file in there if args.name in (file.name, file.stem)), None)
    if found is None:
        names = [file.name for file in there]
        known = f" Yours {'is' if len(names) == 1 else 'are'} {', '.join(names)}." if names else " You have none."
        meant = did_you_mean(args.name, [file.stem for file in there])
        raise UsageError(f"there is no rule file {shown(args.name)} of yours.{meant}{known}")
    return _say(args, [remove_rules(found)])


def _say(args: argparse.Namespace, changed: Sequence[OwnRules]) -> int:
    if args.json:
        told = [{"file": str(own.file), "change": own.change, "rules": own.rules} for own in changed]
        print(msgspec.json.format(msgspec.json.encode(told), indent=2).decode())
        return 0
    for own in changed:
        passed = f", {plural(own.examples, 'example')} passed" if own.examples else ""
        print(f"{own.change}  {visible(spoken_path(own.file))}  {plural(len(own.rules), 'rule')}{passed}")
    return 0
