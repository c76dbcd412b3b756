"""`interpose check`: explain what one call would do and what the guards say, or judge rows from stdin."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable
from typing import Any

import msgspec

from interpose.cli import EXIT_INTERNAL, EXIT_USAGE
from interpose.cli.calls import UsageError, given_arguments
from interpose.cli.rendering import Ink, colours_wanted, explain
from interpose.cli.rows import BadRow, Row, decode, lines
from interpose.errors import InvalidCallError
from interpose.guards.command_rules import Profile
from interpose.guards.command_safety_guard import CommandSafetyGuard, Judgement, text_of
from interpose.guards.security_audit import SecurityAudit
from interpose.paths import FileSystem, Lexical, Lookup
from interpose.reading.call_reading import home_directory, starts_of
from interpose.tools import canonical
from interpose.types import Allow, Confirm, Context, Deny, FrozenDict, ToolCall, freeze

HELP = "explain what a command or tool call would do, and what the guards say to it"

EXIT_CODES = {"allow": 0, "ask": 1, "deny": 2}

NEUTRAL_CWD = "/workspace/project"
NEUTRAL_HOME = "/home/dev"
_HOME_OF = re.compile(r"/(?:home|Users)/[^/]+|/root(?=/|$)")

_EPILOG = """exit codes: 0 allow, 1 ask, 2 deny, 64 wrong usage, 70 internal error

--jsonl reads one {"id", "tool", "args", "cwd"} a line on stdin and writes one {"id", "decision", "rule", "reason",
"effects"} a line. Nothing is executed, and the file system is not consulted."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `check` understands."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    parser.add_argument("command", nargs="?", help="the command to explain, as one shell text")
    parser.add_argument("--tool", default="exec", help="the tool that would be called (default: exec)")
    parser.add_argument(
        "--arg", action="append", default=[], metavar="NAME=VALUE", help="an argument of the call; may be repeated"
    )
    parser.add_argument("--cwd", help="where the call would run (default: here)")
    parser.add_argument("--home", help="the user's home directory (default: $HOME)")
    parser.add_argument("--profile", choices=("balanced", "strict"), default="balanced")
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")
    parser.add_argument("--jsonl", action="store_true", help="judge rows from stdin")


def run(args: argparse.Namespace) -> int:
    """Run `interpose check`."""
    if not args.jsonl:
        return _explain_one(args)
    if args.command is not None or args.arg or args.json:
        return _usage("--jsonl reads its rows from stdin and takes no command, --arg or --json")
    return _judge_rows(args)


def _usage(message: str) -> int:
    print(f"interpose check: {message}", file=sys.stderr)
    return EXIT_USAGE


def _explain_one(args: argparse.Namespace) -> int:
    try:
        arguments = given_arguments(args.command, args.arg)
    except UsageError as error:
        return _usage(str(error))
    if not arguments:
        return _usage("nothing to check: give a command, or --tool with --arg")
    cwd = os.path.abspath(args.cwd or ".")  # noqa: PTH100 - a plain text, as the shell would say it
    home = args.home or home_directory()
    judge = Judge(args.profile, FileSystem())
    try:
        judgement = judge(args.tool, arguments, cwd, home)
    except InvalidCallError as error:
        return _usage(str(error))
    if args.json:
        answer = {"decision": judgement.decision, **_details(judgement), "instead": judgement.instead}
        sys.stdout.buffer.write(msgspec.json.format(encoded(answer), indent=2) + b"\n")
    else:
        text = text_of(canonical(ToolCall(args.tool, _frozen(arguments))))
        subject = text if isinstance(text, str) else " ".join(f"{name}={value}" for name, value in arguments.items())
        print(explain(subject, judgement, Ink(colours_wanted())))
    return EXIT_CODES[judgement.decision]


class Judge:
    """The built-in guards, asked about one call at a time."""

    def __init__(self, profile: Profile, lookup: Lookup | None = None) -> None:
        self._lookup: Lookup = Lexical() if lookup is None else lookup
        self._commands = CommandSafetyGuard(profile=profile)
        self._files: dict[str, SecurityAudit] = {}

    def __call__(self, tool: str, arguments: dict[str, Any], cwd: str, home: str) -> Judgement:
        """What the guards say to a call."""
        call = canonical(ToolCall(tool, _frozen(arguments), call_id="check", context=Context(cwd=cwd)))
        text = text_of(call)
        if isinstance(text, str):
            return self._commands.judge_call(call, text, starts_of(call, cwd, home), home, cwd)
        audit = self._files.get(home) or self._files.setdefault(home, SecurityAudit(home=home, lookup=self._lookup))
        match text if isinstance(text, Deny) else audit.intercept(call):
            case Deny(reason=reason, rule=rule, severity=severity, instead=instead):
                return Judgement("deny", rule, severity, reason, instead)
            case Confirm(message=reason, rule=rule, severity=severity, instead=instead):
                return Judgement("ask", rule, severity, reason, instead)
            case Allow():
                return Judgement("allow")


def _frozen(arguments: dict[str, Any]) -> FrozenDict:
    frozen = freeze(arguments)
    assert isinstance(frozen, FrozenDict)  # noqa: S101 - a dict freezes to a FrozenDict
    return frozen


def _details(judgement: Judgement) -> dict[str, Any]:
    return {
        "rule": judgement.rule,
        "severity": judgement.severity,
        "reason": judgement.reason,
        "effects": judgement.effects,
    }


def _judge_rows(args: argparse.Namespace) -> int:
    out = bytearray()
    stdin, stdout = sys.stdin.fileno(), sys.stdout.fileno()

    def flush() -> None:
        view = memoryview(bytes(out))
        out.clear()
        while view:
            view = view[os.write(stdout, view) :]

    return judge_rows(
        lambda size: os.read(stdin, size), out, flush, Judge(args.profile), cwd=args.cwd or "", home=args.home or ""
    )


def judge_rows(
    read: Callable[[int], bytes],
    out: bytearray,
    flush: Callable[[], None],
    judge: Judge,
    *,
    cwd: str = "",
    home: str = "",
) -> int:
    """Answer every row. `flush` is called before each read that could block, so nobody waits for an answer we hold."""
    status = 0
    for line in lines(read, flush):
        if isinstance(line, bytes) and (not line or line.isspace()):
            continue
        try:
            row = _row(line)
            answer = _answer(row, judge, cwd, home)
        except BadRow as refused:
            answer = {"id": refused.id, "decision": "deny", "rule": "bad-input", "reason": str(refused), "effects": ()}
        except InvalidCallError as error:
            answer = {"id": row.id, "decision": "deny", "rule": "bad-input", "reason": str(error), "effects": ()}
        except Exception as error:  # noqa: BLE001 - one row must not end the others
            status = EXIT_INTERNAL
            reason = f"The analysis failed on this row ({type(error).__name__}), so it is refused."
            answer = {"id": row.id, "decision": "deny", "rule": "internal-error", "reason": reason, "effects": ()}
        out += encoded(answer)
        out += b"\n"
        if len(out) > 1 << 16:
            flush()
    flush()
    return status


_encode = msgspec.json.Encoder().encode


def encoded(answer: Any) -> bytes:
    """An answer as JSON. A command can spell characters that are none (`$'\\ud800'`); these are shown escaped."""
    try:
        return _encode(answer)
    except UnicodeEncodeError:
        return _encode(_writable(msgspec.to_builtins(answer)))


def print_json(data: Any) -> None:
    """Print an answer for programs that people may look at."""
    sys.stdout.buffer.write(msgspec.json.format(encoded(data), indent=2) + b"\n")


def _writable(value: Any) -> Any:
    match value:
        case str():
            return value.encode("utf-8", "backslashreplace").decode()
        case dict():
            return {_writable(key): _writable(item) for key, item in value.items()}
        case list() | tuple():
            return [_writable(item) for item in value]
        case _:
            return value


def _row(line: bytes | BadRow) -> Row:
    if isinstance(line, BadRow):
        raise line
    return decode(line)


def _answer(row: Row, judge: Judge, cwd: str, home: str) -> dict[str, Any]:
    where = row.cwd or cwd or NEUTRAL_CWD
    judgement = judge(row.tool, row.args, where, home or home_of(where))
    return {"id": row.id, "decision": judgement.decision, **_details(judgement)}


def home_of(cwd: str) -> str:
    """Whose home a row means: the one its directory lies in, else a neutral one."""
    found = _HOME_OF.match(cwd)
    return found.group() if found else NEUTRAL_HOME
