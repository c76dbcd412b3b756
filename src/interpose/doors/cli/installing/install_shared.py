"""What `install` and `uninstall` share: which place is meant, what changes there, and the question before it does."""

from __future__ import annotations

import argparse
import difflib
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from interpose.core.config.load import Loaded, load
from interpose.core.errors import ConfigError, SetupError
from interpose.doors.cli import EXIT_CONFIG, EXIT_USAGE
from interpose.doors.cli.explaining.suggestions import unknown
from interpose.doors.cli.explaining.verdict_text import Ink, visible
from interpose.doors.cli.shared.closed_values import directory
from interpose.doors.cli.shared.json_output import print_json
from interpose.doors.cli.shared.terminal import colours_wanted, hanging
from interpose.doors.hooks.hosts.all_hosts import HOSTS, host_named
from interpose.doors.hooks.install.places import InstallTarget, spoken_path, target_of

if TYPE_CHECKING:
    from interpose.doors.hooks.install.plan import FileChange, Plan
    from interpose.doors.hooks.install.summary import SummaryLine

EXIT_REFUSED = 1

EPILOG = """exit codes: 0 done, or nothing to do; 1 refused, or not agreed to; 64 wrong usage; 70 internal error; 78 a
configuration that can't be loaded"""


def add_place(parser: argparse.ArgumentParser) -> None:
    """Which host, where, and how much is asked."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = EPILOG
    parser.add_argument("host", nargs="?", metavar="HOST", help="the agent: " + ", ".join(HOSTS))
    scope = parser.add_mutually_exclusive_group()
    scope.add_argument("--user", dest="scope", action="store_const", const="user", help="for all you do (default)")
    scope.add_argument(
        "--project", dest="scope", action="store_const", const="project", help="for the project in this directory"
    )
    scope.add_argument(
        "--managed",
        dest="scope",
        action="store_const",
        const="managed",
        help="for everybody on this machine, in the agent's managed settings; needs root",
    )
    parser.add_argument(
        "--cwd", type=directory, default="", metavar="DIR", help="the project's directory (default: here)"
    )
    parser.add_argument("--dry-run", action="store_true", help="show what would change, and change nothing")
    parser.add_argument("--diff", action="store_true", help="show every line that changes, too")
    parser.add_argument("-y", "--yes", action="store_true", help="don't ask at the terminal")
    parser.add_argument("--json", action="store_true", help="print the answer as JSON, and don't ask")


def carried_out(verb: str, args: argparse.Namespace, act: Callable[[Loaded], int]) -> int:
    """Run one of the verbs. What stands in its way is said in a few lines, with the exit code for it."""
    try:
        # As a setting, so that an organisation that locks it is heard.
        return act(load(flags={"hooks.fail_open": True} if getattr(args, "fail_open", False) else {}))
    except SetupError as error:
        if args.json:
            print_json({"ok": False, "problem": str(error)})
        else:
            print(f"interpose {verb}: {visible(str(error))}", file=sys.stderr)
        return EXIT_REFUSED
    except ConfigError as error:
        print(f"interpose {verb}: a configuration that can't be loaded", file=sys.stderr)
        print("\n".join(visible(str(problem)) for problem in error.problems), file=sys.stderr)
        return EXIT_CONFIG


def target_in(args: argparse.Namespace, verb: str) -> InstallTarget | int:
    """The place that is meant, or the exit code if there is no such host."""
    host = host_named(args.host or "")
    if host is None:
        every = " Or --all." if verb == "uninstall" else ""
        said = unknown("agent", args.host, HOSTS) if args.host else f"which agent? Known are {', '.join(HOSTS)}.{every}"
        print(f"interpose {verb}: {said}", file=sys.stderr)
        return EXIT_USAGE
    target = target_of(host.facts, args.scope or "user", Path(args.cwd).absolute())
    if args.scope == "managed" and not args.dry_run and os.geteuid() != 0:
        raise SetupError(
            f"{target.path} is the administrator's: run `sudo interpose {verb} {host.facts.name} --managed`"
        )
    return target


def done(plan: Plan, loaded: Loaded, args: argparse.Namespace, advice: Iterable[str], verb: str) -> int:
    """Show what a plan does, ask, and carry it out."""
    from interpose.doors.hooks.install.apply import apply
    from interpose.doors.hooks.install.host_version import host_version
    from interpose.doors.hooks.install.summary import summary

    told, lines = list(advice), summary(plan, host_version(plan.target.facts.setup))
    if not args.json:
        _show_summary(lines)
    if args.diff and not args.json:
        show(plan)
    agreed = args.dry_run or _agreed(plan, args)
    backups = apply(plan, loaded.places) if agreed and not args.dry_run and _worth_it(plan) else []
    if args.json:
        print_json({
            "ok": True, "host": plan.target.facts.name, "scope": plan.target.scope, "path": str(plan.target.path),
            "done": bool(agreed and not args.dry_run), "changes": [_told(change) for change in plan.changed],
            "backups": [str(path) for path in backups], "advice": told,
            "summary": {line.label.replace(" ", "_"): line.text for line in lines},
        })  # fmt: skip
        return 0
    place = _spoken(plan.target.path)
    if not agreed:
        print("Nothing was changed.")
        return EXIT_REFUSED
    if args.dry_run:
        print("Nothing was changed: this was a dry run.")
    elif not plan.changed:
        print(f"{plan.target.facts.title} is {'already' if verb == 'install' else 'not'} installed at {place}.")
    else:
        print(f"{plan.target.facts.title}: {verb}ed at {place}.")
    for path in backups:
        print(f"What was there before is kept in {_spoken(path)}.")
    for line in told:
        print(hanging("- ", visible(line)))
    return 0


def _show_summary(lines: Iterable[SummaryLine]) -> None:
    ink = Ink(colours_wanted())
    for line in lines:
        print(hanging(f"{ink(f'{line.label:12}', '2')}", visible(line.text)))


def show(plan: Plan) -> None:
    """What changes in the host's files, and which files of our own come or go."""
    ink = Ink(colours_wanted())
    for change in plan.changed:
        name = _spoken(change.path)
        if change.theirs:
            for line in difference(change, name):
                colour = {"+": "32", "-": "31", "@": "36"}.get(line[:1], "")
                print(ink(visible(line), colour) if colour else visible(line))
        else:
            print(f"{'removes' if change.after is None else 'writes'} {name}")


def difference(change: FileChange, name: str) -> Iterable[str]:
    """The lines of what changes in a file."""
    before, after = (
        (content or b"").decode(errors="replace").splitlines() for content in (change.before, change.after)
    )
    old = name if change.before is not None else "/dev/null"
    new = name if change.after is not None else "/dev/null"
    return difflib.unified_diff(before, after, old, new, lineterm="")


def _agreed(plan: Plan, args: argparse.Namespace) -> bool:
    if args.yes or args.json or not plan.changed or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return True
    return said_yes("Write this?")


def said_yes(question: str) -> bool:
    """Ask at the terminal. Whoever closes it, or types what is no text, has not said yes."""
    try:
        return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")
    except (EOFError, UnicodeError):
        print()
        return False


def _worth_it(plan: Plan) -> bool:
    return bool(plan.changed) or plan.record != plan.was


def _told(change: FileChange) -> dict[str, object]:
    kind = "created" if change.before is None else "removed" if change.after is None else "changed"
    lines = "\n".join(difference(change, str(change.path))) if change.theirs else ""
    return {"path": str(change.path), "change": kind, "diff": lines}


def _spoken(path: Path) -> str:
    return visible(spoken_path(path))
