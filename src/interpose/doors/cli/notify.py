"""`interpose approvals notify`: how people are told of questions."""

from __future__ import annotations

import argparse
import re
import sys
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from interpose.core.config.load import load
from interpose.core.errors import NotProvenError
from interpose.doors.cli.approving.approvals_desk import (
    EXIT_NOT_DONE,
    ServerDesk,
    add_place,
    answered,
    listening_desk,
    server_named,
)
from interpose.doors.cli.auditing.kept_store import kept_store
from interpose.doors.cli.explaining.call_arguments import UsageError
from interpose.doors.cli.explaining.verdict_text import visible
from interpose.doors.cli.shared.json_output import print_json
from interpose.people.approvals.desk import NO_SERVER
from interpose.people.approvals.seal import open_verifier
from interpose.people.notifications.channel_answers import NotificationsAnswer, ShownChannel, TryoutAnswer
from interpose.people.notifications.standing import read_mute, read_standing

_EPILOG = """  interpose approvals notify list               the channels, and how their last notification went
  interpose approvals notify test [NAME ...]    send a try-out by each channel, or by these, and say what happened
  interpose approvals notify mute 1h            send nothing for a while (24h at most), then one summary of what is open
  interpose approvals notify unmute             send again

Channels are set as notifications.channels in interpose.yaml. The server sends: it must run.

exit codes: 0 done; 1 a channel did not take the try-out, or no server runs; 64 wrong usage; 70 internal error, or a
server that can't be reached; 78 a configuration that can't be loaded"""

_SPAN = re.compile(r"([0-9]{1,4})([mh])")
_MOST_MINUTES = 1440


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `notify` understands."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    parser.add_argument(
        "act", nargs="?", default="list", choices=("list", "test", "mute", "unmute"), help="what to do (default: list)"
    )
    parser.add_argument(
        "words", metavar="TIME|NAME", nargs="*", help="mute: how long, such as 30m or 1h; test: channels"
    )
    add_place(parser)


def run(args: argparse.Namespace) -> int:
    """Run `interpose approvals notify`."""

    def act() -> int:
        match args.act:
            case "test":
                return _test(args, _server(args))
            case "mute":
                return _mute(args, minutes_of(args.words))
            case "unmute":
                _require_none(args)
                return _told(args, _server(args).do("unmute", NotificationsAnswer))
            case _:
                _require_none(args)
                return _told(args, _listed(args))

    return answered("approvals notify", args, act)


def minutes_of(words: list[str]) -> int:
    """How many minutes are meant. UsageError if it is no such time, or too long."""
    found = _SPAN.fullmatch(words[0]) if len(words) == 1 else None
    if found is None:
        raise UsageError("say for how long: interpose approvals notify mute 30m, or 1h")
    minutes = int(found[1]) * (60 if found[2] == "h" else 1)
    if not 1 <= minutes <= _MOST_MINUTES:
        raise UsageError("notifications are muted for 1 minute to 24 hours")
    return minutes


def _server(args: argparse.Namespace) -> ServerDesk:
    found = server_named(args) or listening_desk(load(args.config).config)
    if found is None:
        raise NotProvenError(NO_SERVER, "no_server")
    return found


def _require_none(args: argparse.Namespace) -> None:
    if args.words:
        raise UsageError(f"notify {args.act} takes no {args.words[0]!r}")


def _mute(args: argparse.Namespace, minutes: int) -> int:
    return _told(args, _server(args).do("mute", NotificationsAnswer, {"minutes": minutes}))


def _listed(args: argparse.Namespace) -> NotificationsAnswer:
    """As the server has it; without one, what is configured and what the store has."""
    config = load(args.config).config
    if (desk := server_named(args) or listening_desk(config)) is not None:
        return desk.do("channels", NotificationsAnswer)
    with kept_store(config) as store:
        channels = [
            ShownChannel(
                name=name, kind=one.kind, after=one.after, person=one.person, failed=how.failed, problem=how.problem,
                at=how.at,
            )
            for name, one in config.notifications.channels.items()
            for how in (read_standing(store, name),)
        ]  # fmt: skip
        mute = read_mute(store, open_verifier(Path(config.approvals.key)))
    if mute is None or mute.until <= datetime.now(UTC):
        return NotificationsAnswer(channels=channels)
    return NotificationsAnswer(channels=channels, muted_until=mute.until, muted_by=mute.by)


def _told(args: argparse.Namespace, found: NotificationsAnswer) -> int:
    if args.json:
        print_json(msgspec.to_builtins(found))
        return 0
    for one in found.channels:
        print(channel_text(one))
    if not found.channels:
        print("no channel is set: see notifications.channels in `interpose help notifications`", file=sys.stderr)
    if found.muted_until is not None:
        until = f"{found.muted_until.astimezone():%Y-%m-%d %H:%M}"
        print(f"muted until {until}, by {visible(found.muted_by)}; end it with: interpose approvals notify unmute")
    return 0


def channel_text(one: ShownChannel) -> str:
    """A channel in one line."""
    after = f", after {one.after:g} s" if one.after else ""
    whose = f", for {visible(one.person)}" if one.person else ""
    failed = f"  FAILS ({one.failed} in a row): {visible(one.problem)}" if one.problem else ""
    return f"{one.name:16} {one.kind}{after}{whose}{failed}"


def _test(args: argparse.Namespace, desk: ServerDesk) -> int:
    body = {"channels": args.words}
    tried = desk.do("try-channels", TryoutAnswer, body, timeout=60.0).tried
    if args.json:
        print_json({"tried": msgspec.to_builtins(tried)})
    else:
        for one in tried:
            print(f"{one.channel:16} {one.kind}: {'sent' if one.sent else f'NOT SENT: {visible(one.problem)}'}")
        if not tried:
            print("no channel is set: see notifications.channels in `interpose help notifications`", file=sys.stderr)
    return 0 if tried and all(one.sent for one in tried) else EXIT_NOT_DONE
