"""`interpose governance command`: whether a host's command may run now, and letting one pass its chain rules."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from interpose.composition.service.bypass_desk import BypassDesk, SeenBypass
from interpose.composition.service.operation_answers import BypassesAnswer, BypassRow
from interpose.core.command_text import command_words
from interpose.core.config.load import load
from interpose.core.errors import NoQuestionError
from interpose.core.types import Context, Finding, Outcome
from interpose.doors.cli.approving.approvals_desk import (
    EXIT_NOT_DONE,
    ServerDesk,
    add_place,
    answered,
    listening_desk,
    server_named,
    started_desk,
)
from interpose.doors.cli.auditing.kept_store import kept_store
from interpose.doors.cli.explaining.call_arguments import UsageError
from interpose.doors.cli.explaining.verdict_text import COLOURS, Ink, visible
from interpose.doors.cli.shared.json_output import print_json
from interpose.doors.cli.shared.terminal import colours_wanted, hanging
from interpose.people.approvals.questions import moment
from interpose.people.approvals.seal import open_verifier
from interpose.rules.governance.budgets.durations import NANOSECONDS, duration_ns
from interpose.rules.governance.roles.bypasses import MOST_SECONDS

EXIT_CODES = {"allow": 0, "rewrite": 0, "ask": 1, "deny": 2}

EPILOG = """`check` asks what an agent's host would hear: nothing runs and nothing is recorded. `bypass` lets commands
pass their chain rules for a while; for that you prove to be no agent, as with `interpose approvals`. A word in the
command itself, such as --force, lets nothing pass.

exit codes: check: 0 allowed or only warned, 1 asked, 2 denied. Others: 0 done, 1 there is no such bypass, or the proof
was not enough. 64 wrong usage; 70 internal error, or a store or server that can't be reached; 78 a configuration that
can't be loaded"""


class _Checked(Struct, frozen=True):
    """What is said about a command, as the server says it."""

    decision: Outcome
    reason: str
    findings: tuple[Finding, ...] = ()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `command` understands."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = EPILOG
    acts = parser.add_subparsers(dest="act", metavar="act", required=True)
    check = acts.add_parser("check", help="say whether a command may run now, what is missing and how to get there")
    check.add_argument("command", metavar="COMMAND", help="the command, with or without a slash and arguments")
    check.add_argument("arguments", nargs="*", metavar="ARGUMENT", help="its arguments, if they stand apart")
    check.add_argument("--cwd", help="the project's directory (default: here)")
    check.add_argument("--session", default="", metavar="S", help="as if in this session")
    give = acts.add_parser("bypass", help="let commands pass their chain rules for a while")
    give.add_argument("command", metavar="COMMAND-PATTERN", help="a name or a glob; or the id of a rule about a state")
    give.add_argument("--for", dest="time", default="10m", metavar="TIME", help="90s, 10m, 8h at most (default: 10m)")
    give.add_argument("--session", default="", metavar="S", help="in this session only")
    give.add_argument("--reason", required=True, metavar="WHY", help="for those who look later")
    listing = acts.add_parser("bypasses", help="what passes now, and until when; INVALID ones, too")
    revoke = acts.add_parser("revoke", help="take a bypass back")
    revoke.add_argument("id", metavar="ID", help="the id of the bypass")
    for act in (check, give, listing, revoke):
        add_place(act)


def run(args: argparse.Namespace) -> int:
    """Run `interpose governance command`."""
    return answered("governance command", args, lambda: _ACTS[args.act](args))


def _check(args: argparse.Namespace) -> int:
    # `check '/review 12'` and `check /review 12` are the same command.
    name, rest = command_words(args.command)
    arguments = " ".join([rest, *args.arguments]).strip()
    if not name:
        raise UsageError("nothing to check: give a command")
    cwd = os.path.abspath(args.cwd or ".")  # noqa: PTH100 - a plain text, as the shell would say it
    found = _checked(args, name, arguments, cwd)
    if args.json:
        print_json({"command": name, "arguments": arguments, **msgspec.to_builtins(found)})
    else:
        print(_explained(f"/{name} {arguments}".rstrip(), found, Ink(colours_wanted())))
    return EXIT_CODES[found.decision]


def _checked(args: argparse.Namespace, name: str, arguments: str, cwd: str) -> _Checked:
    """What the server says that runs here: it knows sessions and bypasses. Without one, what the rules alone say."""
    desk = server_named(args)
    config = load(args.config).config
    if desk is None and args.config is None:
        desk = listening_desk(config)
    if desk is not None:
        body = {"name": name, "arguments": arguments, "cwd": cwd, "context": {"sessionId": args.session}}
        return desk.ask("POST", "commands/check", _Checked, body)
    from interpose.composition.build import open_engine

    context = Context(cwd=cwd, session_id=args.session, source="check")
    verdict = open_engine(config, cwd).run(context).decide_command(name, arguments)
    return _Checked(verdict.outcome, verdict.reason, verdict.findings)


def _explained(command: str, found: _Checked, ink: Ink) -> str:
    """The word, what every rule says, and how to get there."""
    parts = [f"{ink(found.decision.upper(), f'1;{COLOURS[found.decision]}')}  {visible(command)}"]
    for said in found.findings:
        watched = " (only watched)" if said.mode == "watch" else ""
        parts.append(
            hanging(f"  {said.said}  {visible(said.rule or said.interceptor)}{watched}  ", visible(said.reason))
        )
        if said.instead:
            parts.append(hanging("    instead  ", visible(said.instead)))
    if not found.findings and found.reason:
        parts.append(hanging("  ", visible(found.reason)))
    return "\n".join(parts)


def _bypass(args: argparse.Namespace) -> int:
    try:
        seconds = duration_ns(args.time) // NANOSECONDS
    except ValueError as error:
        raise UsageError(f"--for: {error}") from None
    if not 1 <= seconds <= MOST_SECONDS:
        raise UsageError(f"--for: a bypass lasts {MOST_SECONDS // 3600}h at most, not {args.time}")
    body = {"command": args.command, "reason": args.reason, "seconds": seconds, "session": args.session}
    given = _desk(args).do("bypass", BypassRow, body)
    if args.json:
        print_json(msgspec.to_builtins(given))
    else:
        print(_line(given))
    return 0


def _bypasses(args: argparse.Namespace) -> int:
    found = _listed(args)
    if args.json:
        print_json({"bypasses": msgspec.to_builtins(found)})
        return 0
    for one in found:
        print(_line(one))
    if not found:
        print("no command passes its chain rules now", file=sys.stderr)
    return 0


def _revoke(args: argparse.Namespace) -> int:
    try:
        _desk(args).do("revoke-bypass", dict[str, Any], id=args.id)
    except NoQuestionError:
        print(f"interpose governance command revoke: there is no bypass {visible(args.id)}", file=sys.stderr)
        return EXIT_NOT_DONE
    if args.json:
        print_json({"id": args.id, "revoked": True})
    else:
        print(f"revoked {visible(args.id)}")
    return 0


def _desk(args: argparse.Namespace) -> ServerDesk:
    """INVARIANT: who lets something pass is proven by a server, never by this process, which an agent could start."""
    return server_named(args) or started_desk(load(args.config).config)


def _listed(args: argparse.Namespace) -> list[BypassRow]:
    """What the server has; without one, what the store has."""
    config = load(args.config).config
    if (desk := server_named(args) or listening_desk(config)) is not None:
        return desk.do("bypasses", BypassesAnswer).bypasses
    with kept_store(config) as store:
        seen = BypassDesk(store, verifier=open_verifier(Path(config.approvals.key))).seen()
    return [_kept(one) for one in seen]


def _kept(one: SeenBypass) -> BypassRow:
    word = one.bypass
    return BypassRow(
        id=word.id, command=word.command, by=word.by, reason=word.reason, given=moment(word.given_ns),
        ends=moment(word.ends_ns), session=word.session, problem=one.problem,
    )  # fmt: skip


def _line(one: BypassRow) -> str:
    where = f" in session {visible(one.session)}" if one.session else ""
    invalid = f"  INVALID: {visible(one.problem)}" if one.problem else ""
    ends = f"{one.ends:%Y-%m-%d %H:%M:%S} UTC"
    return (
        f"{one.id}  {visible(one.command)}{where}  until {ends}  by {visible(one.by)}: {visible(one.reason)}{invalid}"
    )


_ACTS = {"check": _check, "bypass": _bypass, "bypasses": _bypasses, "revoke": _revoke}
