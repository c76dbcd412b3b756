"""`interpose demo`: watch the pipeline decide. A short tour, then whatever you type. Nothing is executed."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any, cast

from msgspec import Struct

from interpose import Context, Engine, InteractiveConfirmation, InterceptorRegistry, ToolCall
from interpose.composition.build import open_engine
from interpose.core.errors import InterposeError
from interpose.doors.cli import EXIT_CONFIG
from interpose.doors.cli.explaining.verdict_text import COLOURS, Ink, visible
from interpose.doors.cli.shared.terminal import colours_wanted


class _Stop(Struct, frozen=True):
    """One call of the tour. With an answer of its tool, what the agent gets of that is shown."""

    title: str
    command: str
    answer: str = ""


_DOWNLOAD = "curl https://example.com/data.json"
_TOUR = (
    _Stop("What harms nothing passes.", "git status && npm test"),
    _Stop("What nobody wants is refused, with a reason.", "rm -rf ~/"),
    _Stop("It is read as a shell would read it.", "echo cm0gLXJmIC8= | base64 -d | sh"),
    _Stop("A text is no command.", "git commit -m 'docs: never run rm -rf /'"),
    _Stop("What somebody may want is asked about.", "git reset --hard HEAD~3"),
    _Stop("An interceptor may change a call. This one is the demo's.", _DOWNLOAD),
    _Stop("Secrets in an answer never reach the agent.", "cat settings.ini",
          "[db]\nurl = postgres://app:correct-horse-battery@db.internal/prod\n"),
)  # fmt: skip
_WORDS = {"deny": "refused", "ask": "asks", "rewrite": "runs as", "allow": "runs"}
_RAN = "ran"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `demo` understands."""
    parser.add_argument("--tour", action="store_true", help="only the tour: nobody is asked, and there is no prompt")


def run(args: argparse.Namespace) -> int:
    """Run the demo."""
    ink = Ink(colours_wanted())
    person = InteractiveConfirmation(output=sys.stdout) if sys.stdin.isatty() and not args.tour else None
    try:
        engine = open_engine(confirm=person, verbose="on", sinks=[lambda _line: None])  # the tour shows refusals itself
    except InterposeError as error:
        print(f"interpose demo: {error}", file=sys.stderr)
        return EXIT_CONFIG
    registry = cast("InterceptorRegistry", engine.interceptors)
    registry.on("tool.before", id="demo:half-a-minute")(_half_a_minute)
    print("Calls of an agent pass your guards and rules. Nothing is executed, and nothing is recorded.\n")
    for number, stop in enumerate(_TOUR, 1):
        print(ink(f"{number}. {stop.title}", "1"))
        _visit(engine, stop, ink, asks=person is not None)
    if args.tour:
        return 0
    print("Your turn: type a shell command, or nothing to leave.")
    while True:
        sys.stdout.write(ink("exec> ", "1"))
        sys.stdout.flush()
        command = sys.stdin.readline().strip()
        if not command:
            print()
            return 0
        _decide(engine, command, ink, asks=person is not None)


def _visit(engine: Engine, stop: _Stop, ink: Ink, *, asks: bool) -> None:
    _say("agent", "2", stop.command, ink)
    if not stop.answer:
        _decide(engine, stop.command, ink, asks=asks)
        return
    for line in str(engine.run_tool(_call(stop.command), lambda _: stop.answer)).splitlines():
        _say("reads", COLOURS["rewrite"], line, ink)
    print()


def _half_a_minute(_input: Any, output: Any) -> None:
    """A handler as anybody can write it. What you type yourself is decided without it."""
    if output.args.get("command") == _DOWNLOAD:
        output.args["command"] += " --max-time 30"


def _decide(engine: Engine, command: str, ink: Ink, *, asks: bool) -> None:
    call = _call(command)
    verdict = engine.decide(call)
    if verdict.outcome == "ask" and asks:
        answered = engine.run_tool(call, lambda _: _RAN)
        if answered is _RAN:
            _say("runs", COLOURS["allow"], "since you said yes", ink)
        else:
            _say("refused", COLOURS["deny"], "since you did not say yes", ink)
        print()
        return
    said = verdict.payload.arguments["command"] if verdict.outcome == "rewrite" else verdict.reason
    _say(_WORDS[verdict.outcome], COLOURS[verdict.outcome], said, ink)
    if verdict.instead:
        _say("safer", "2", verdict.instead, ink)
    print()


def _say(word: str, colour: str, text: str, ink: Ink) -> None:
    print(f"   {ink(f'{word:8}', colour)} {visible(text)}".rstrip())


def _call(command: str) -> ToolCall:
    context = Context(agent_id="demo", cwd=os.getcwd(), source="demo")  # noqa: PTH109 - text
    return ToolCall("exec", {"command": command}, context=context)
