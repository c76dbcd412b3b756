"""`interpose policy`: packs on and off, and rule files tested, read for mistakes, and described to editors."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from interpose.core.errors import UnloadableError
from interpose.core.formats.counted import plural
from interpose.doors.cli import EXIT_CONFIG, EXIT_INTERNAL, EXIT_USAGE
from interpose.doors.cli.explaining.call_arguments import UsageError
from interpose.doors.cli.explaining.junit import write_junit
from interpose.doors.cli.explaining.suggestions import unknown
from interpose.doors.cli.explaining.verdict_text import Ink, visible, visible_lines
from interpose.doors.cli.policies import policy_adding, policy_signing
from interpose.doors.cli.shared.json_output import print_json
from interpose.doors.cli.shared.terminal import colours_wanted, hanging
from interpose.rules.policy.load import RulePlace, pack_names, pack_text, read
from interpose.rules.policy.pack_catalogue import Pack, pack, packs, switch
from interpose.rules.policy.parsing import json_schema
from interpose.rules.policy.rule_places import standard_places
from interpose.rules.policy.rules import Rule
from interpose.rules.policy_trials.case_files import is_case_file
from interpose.rules.policy_trials.lint import Remark, lint
from interpose.rules.policy_trials.trials import Trial, pack_texts, run_trials

EXIT_FAILED = 1

_EPILOG = """exit codes: 0 done or clean, 1 a test failed or lint has remarks, 64 wrong usage, 70 internal error,
78 rules that can't be loaded

Packs are switched on and off in ~/.config/interpose/policy/packs.yaml (XDG_CONFIG_HOME is respected); `add` copies rule
files beside it."""

_COLOURS = {"passed": "32", "failed": "31", "skipped": "33"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `policy` understands."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    acts = parser.add_subparsers(dest="act", metavar="act", required=True)
    listing = acts.add_parser("list", help="the packs, and which are on here")
    show = acts.add_parser("show", help="the rules of a pack")
    show.add_argument("name")
    show.add_argument("--yaml", action="store_true", help="print the pack as it is written")
    enable = acts.add_parser("enable", help="switch a pack on")
    enable.add_argument("name")
    disable = acts.add_parser("disable", help="switch a pack off")
    disable.add_argument("name")
    test = acts.add_parser("test", help="run the examples inside rules, and case files")
    test.add_argument("--tag", action="append", default=[], help="only what has this tag; may be repeated")
    test.add_argument("--junit", metavar="FILE", help="write a JUnit report")
    reading = acts.add_parser("lint", help="find dead, shadowed, contradictory, repeated and untested rules")
    for act in (test, reading):
        act.add_argument("paths", nargs="*", metavar="FILE or DIR", help="(default: the rules that hold here)")
        act.add_argument(
            "--pack", action="append", default=[], metavar="NAME", help="a pack to look at; may be repeated"
        )
    policy_adding.add_acts(acts)
    policy_signing.add_acts(acts)
    acts.add_parser("schema", help="the JSON Schema of rule files")
    for act in (listing, show, enable, disable, test, reading):
        act.add_argument("--json", action="store_true", help="print the answer as JSON")


def run(args: argparse.Namespace) -> int:
    """Run `interpose policy`."""
    try:
        return _ACTS[args.act](args)
    except UsageError as error:
        print(f"interpose policy {args.act}: {visible(str(error))}", file=sys.stderr)
        return EXIT_USAGE
    except UnloadableError as error:
        print(f"interpose policy {args.act}: rules that can't be loaded\n{visible_lines(str(error))}", file=sys.stderr)
        return EXIT_CONFIG
    except BrokenPipeError:
        raise  # not an error of ours: see cli/__init__.py
    except OSError as error:
        print(f"interpose policy {args.act}: {visible(str(error))}", file=sys.stderr)
        return EXIT_INTERNAL


def _list(args: argparse.Namespace) -> int:
    found = packs(standard_places())
    if args.json:
        print_json([_pack_data(each) for each in found])
        return 0
    ink = Ink(colours_wanted())
    names = max(len(each.name) for each in found)
    for each in found:
        word = ink("on ", "32") if each.on else ink("off", "2")
        by = ink(f"  ({_by(each)})", "2") if each.on else ""
        counted = f"{plural(len(each.rules), 'rule'):>8}"
        print(hanging(f"{word}  {each.name:{names}}  {counted}  ", f"{each.summary}{by}"))
    return 0


def _by(each: Pack) -> str:
    return f"{each.level}: {visible(each.on)}" if Path(each.on).exists() else "by default"


def _pack_data(each: Pack) -> dict[str, Any]:
    return {
        "name": each.name, "summary": each.summary, "on": bool(each.on), "by": each.on, "level": each.level,
        "rules": [rule.id for rule in each.rules],
    }  # fmt: skip


def _show(args: argparse.Namespace) -> int:
    shown = pack(_known(args.name))
    if args.json:
        print_json({"name": shown.name, "summary": shown.summary, "rules": [_rule_data(rule) for rule in shown.rules]})
    elif args.yaml:
        print(pack_text(shown.name).text, end="")
    else:
        ink = Ink(colours_wanted())
        print(f"{ink(shown.name, '1')}: {shown.summary}\n")
        names = max(len(rule.id) for rule in shown.rules)
        for rule in shown.rules:
            print(hanging(f"{rule.action:6}  {rule.id:{names}}  {rule.severity:8}  ", rule.text))
            if rule.instead:
                print(hanging(" " * (names + 20), ink(rule.instead, "2")))
    return 0


def _rule_data(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id, "description": rule.description, "action": rule.action, "severity": rule.severity,
        "message": rule.message, "instead": rule.instead, "points": rule.on.points, "tools": rule.on.tools,
        "when": rule.when, "tags": rule.tags,
    }  # fmt: skip


def _known(name: str) -> str:
    known = pack_names()
    if name not in known:
        raise UsageError(unknown("pack", name, known))
    return name


def _switch(args: argparse.Namespace) -> int:
    on = args.act == "enable"
    changed = switch(_known(args.name), on=on)
    (now,) = (each for each in packs(standard_places()) if each.name == args.name)
    if args.json:
        print_json({"name": now.name, "on": bool(now.on), "by": now.on, "changed": changed})
    else:
        state = f"is {'on' if on else 'off'}" if changed else f"was {'on' if on else 'off'} already"
        print(f"{now.name} {state}")
        if now.on and not on:
            print(f"it still holds here, since {visible(now.on)} names it", file=sys.stderr)
    return EXIT_FAILED if now.on and not on else 0


def _places(args: argparse.Namespace) -> tuple[RulePlace, ...]:
    if not args.paths:
        return () if args.pack else standard_places()
    for path in args.paths:
        if not Path(path).exists():
            raise UsageError(f"there is no {path}")
    return tuple(RulePlace(path) for path in args.paths)


def _test(args: argparse.Namespace) -> int:
    trials = run_trials(_places(args), packs=[_known(name) for name in args.pack], tags=args.tag)
    if not trials:
        raise UsageError(f"no test has the tag {', '.join(args.tag)}" if args.tag else "there are no tests")
    failed = [trial for trial in trials if trial.status == "failed"]
    if args.junit:
        write_junit(args.junit, trials)
    if args.json:
        counts = {status: sum(trial.status == status for trial in trials) for status in _COLOURS}
        print_json({"tests": len(trials), **counts, "trials": trials})
    else:
        _print_trials(trials, failed)
    return EXIT_FAILED if failed else 0


def _print_trials(trials: Sequence[Trial], failed: Sequence[Trial]) -> None:
    ink = Ink(colours_wanted())
    for trial in failed:
        print(f"{ink('failed', _COLOURS['failed'])}  {visible(trial.file)}:{trial.line}: {visible(trial.name)}")
        print(f"        {visible(trial.message)}")
    counts = ((status, sum(trial.status == status for trial in trials)) for status in _COLOURS)
    print(", ".join(ink(f"{count} {status}", _COLOURS[status]) for status, count in counts if count))


def _lint(args: argparse.Namespace) -> int:
    texts = [text for text in read(_places(args)) if not is_case_file(text.text)]
    remarks = lint([*texts, *pack_texts(texts, [_known(name) for name in args.pack])])
    if args.json:
        print_json(remarks)
    else:
        _print_remarks(remarks)
    return EXIT_FAILED if remarks else 0


def _print_remarks(remarks: Sequence[Remark]) -> None:
    ink = Ink(colours_wanted())
    kinds = max((len(remark.kind) for remark in remarks), default=0)
    for remark in remarks:
        where = f"{visible(remark.file)}:{remark.line}"
        print(f"{ink(f'{remark.kind:{kinds}}', '33')}  {where}: {visible(remark.rule)}: {visible(remark.message)}")
    if not remarks:
        print("nothing to remark")


def _schema(_args: argparse.Namespace) -> int:
    print_json(json_schema())
    return 0


_ACTS = {
    "list": _list, "show": _show, "enable": _switch, "disable": _switch, "test": _test, "lint": _lint,
    "schema": _schema, "keygen": policy_signing.keygen, "sign": policy_signing.sign_files,
    "add": policy_adding.add, "remove": policy_adding.remove,
}  # fmt: skip
