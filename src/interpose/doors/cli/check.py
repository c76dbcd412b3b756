"""`interpose check`: what Interpose says to a call here and now, and what the call would do; or to rows from stdin."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
from msgspec import Struct

from interpose.core.config.load import load
from interpose.core.errors import InterposeError, InvalidCallError
from interpose.core.types import Context, Effect, ToolCall, Verdict
from interpose.doors.cli import EXIT_CONFIG, EXIT_INTERNAL, EXIT_USAGE
from interpose.doors.cli.auditing.jsonl_rows import BadRow, Row, decode, lines
from interpose.doors.cli.explaining.call_arguments import UsageError, given_arguments
from interpose.doors.cli.explaining.verdict_text import Ink, JudgedCall, explain
from interpose.doors.cli.shared.closed_values import one_of
from interpose.doors.cli.shared.json_output import encoded, print_json
from interpose.doors.cli.shared.terminal import colours_wanted

if TYPE_CHECKING:
    from interpose.engine.engine import Engine

EXIT_CODES = {"allow": 0, "rewrite": 0, "ask": 1, "deny": 2}

NEUTRAL_CWD = "/workspace/project"
NEUTRAL_HOME = "/home/dev"
_HOME_OF = re.compile(r"/(?:home|Users)/[^/]+|/root(?=/|$)")

_EPILOG = """The call passes the same guards, rules and configuration as an agent's call in that directory would.
Nothing is executed, nobody is asked and nothing is recorded.

exit codes: 0 allow, 1 ask, 2 deny, 64 wrong usage, 70 internal error, 78 a configuration or rules that can't be loaded

--jsonl reads one {"id", "tool", "args", "cwd"} a line on stdin and writes one {"id", "decision", "rule", "severity",
"reason", "effects", "interceptor"} a line, and the "arguments" that would run if they are others. A row without a
directory is judged here. --guards-only leaves out rules, plugins and configuration, judges rows without a directory in
a neutral one, and takes the home that a row's directory lies in for its user's: for comparing with others.

--explain shows what every guard and rule says to the call, who decides, and what would be allowed instead. Without a
command, --arg or a terminal, the call is read from stdin: {"tool": "exec", "args": {"command": "ls"}}, with "cwd",
"agent", "role", "principal" and "session" if they matter. No judge is asked."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `check` understands."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    parser.add_argument("command", nargs="?", help="the command to judge, as one shell text")
    parser.add_argument("--tool", default="exec", help="the tool that would be called (default: exec)")
    parser.add_argument(
        "--arg", action="append", default=[], metavar="NAME=VALUE", help="an argument of the call; may be repeated"
    )
    parser.add_argument("--cwd", help="where the call would run (default: here)")
    parser.add_argument("--home", help="the user's home directory (default: $HOME)")
    profiles = ("balanced", "strict")
    parser.add_argument(
        "--profile", type=one_of("profile", profiles), choices=profiles,
        help="of the command guard (default: as configured)",
    )  # fmt: skip
    parser.add_argument("--explain", action="store_true", help="show what every guard and rule says, and who decides")
    explained = parser.add_argument_group("with --explain")
    for who in ("agent", "role", "principal", "session"):
        explained.add_argument(f"--{who}", default="", help=f"the {who} of the call")
    explained.add_argument(
        "--policy", action="append", default=[], metavar="PATH", help="rules to use instead of those that hold here"
    )
    explained.add_argument(
        "--pack", action="append", default=[], metavar="NAME", help="a pack to use, with --policy or alone"
    )
    parser.add_argument("--guards-only", action="store_true", help="the built-in guards alone, as they are by default")
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")
    parser.add_argument("--jsonl", action="store_true", help="judge rows from stdin")


_EXPLAINED = ("agent", "role", "principal", "session", "policy", "pack")
_PLAIN = ("home", "profile", "guards_only", "jsonl")


def run(args: argparse.Namespace) -> int:
    """Run `interpose check`."""
    given = [name for name in (_PLAIN if args.explain else _EXPLAINED) if getattr(args, name)]
    if given:
        option = f"--{given[0].replace('_', '-')}"
        return _usage(f"{option} does not go with --explain" if args.explain else f"{option} needs --explain")
    if args.explain:
        from interpose.doors.cli.explain import run_explain

        return run_explain(args)
    if args.jsonl and (args.command is not None or args.arg or args.json):
        return _usage("--jsonl reads its rows from stdin and takes no command, --arg or --json")
    try:
        judge = _guards(args.profile) if args.guards_only else _product(args.profile)
        return _judge_rows(args, judge) if args.jsonl else _judge_one(args, judge)
    except (UsageError, InvalidCallError) as error:
        return _usage(str(error))
    except InterposeError as error:
        print(f"interpose check: {error}", file=sys.stderr)
        return EXIT_CONFIG


def _usage(message: str) -> int:
    print(f"interpose check: {message}", file=sys.stderr)
    return EXIT_USAGE


class Engines(Protocol):
    """Engines by where a call would run."""

    def engine(self, context: Context, /) -> Engine:
        """The one whose rules hold there."""


class CallJudge:
    """Asks the engine about one call at a time. Each home directory has engines of its own."""

    def __init__(self, open_at_home: Callable[[], Engines]) -> None:
        self._open, self._by_home = open_at_home, dict[str, Engines]()

    def __call__(self, tool: str, arguments: dict[str, Any], cwd: str, home: str) -> JudgedCall:
        """What is decided about a call. Raises what keeps an engine from being opened."""
        from interpose.core.carried_calls import canonical
        from interpose.reading.calls import reading_of

        os.environ["HOME"] = home  # guards and rules take the home of whoever runs them
        if home not in self._by_home:
            self._by_home[home] = self._open()
        canonical(ToolCall(tool, arguments))  # what is no call is wrong usage, or a bad row
        context = Context(cwd=cwd, source="check", search_path=os.environ.get("PATH", ""))
        verdict = self._by_home[home].engine(context).decide(ToolCall(tool, arguments, "check", context))
        return _judged(verdict, reading_of(verdict.payload, home).effects)


class _Everywhere(Struct, frozen=True):
    only: Engine

    def engine(self, _context: Context, /) -> Engine:
        return self.only


def _product(profile: str | None) -> CallJudge:
    from interpose.composition.build import open_engines

    flags = {"interceptors.builtin:command-safety-guard.profile": profile} if profile else {}
    config = load(flags=flags).config
    return CallJudge(lambda: open_engines(config))


def _guards(profile: str | None) -> CallJudge:
    from interpose.composition.build import open_guards
    from interpose.core.config.settings import BUILTIN_INTERCEPTORS, Config

    settings: Any = dict(BUILTIN_INTERCEPTORS)
    if profile:
        id = "builtin:command-safety-guard"
        settings[id] = msgspec.structs.replace(settings[id], profile=profile)
    return CallJudge(lambda: _Everywhere(open_guards(Config(interceptors=settings))))


def _judged(verdict: Verdict[ToolCall], effects: tuple[Effect, ...]) -> JudgedCall:
    decider = verdict.decided_by
    arguments = dict(verdict.payload.arguments) if verdict.rewritten else None
    if decider is None:
        return JudgedCall(verdict.outcome, effects=effects, arguments=arguments)
    return JudgedCall(
        verdict.outcome, decider.rule, decider.severity, verdict.reason, effects, verdict.instead,
        decider.interceptor, decider.part, arguments,
    )  # fmt: skip


def _judge_one(args: argparse.Namespace, judge: CallJudge) -> int:
    from interpose.reading.calls import home_directory

    arguments = given_arguments(args.command, args.arg)
    if not arguments:
        raise UsageError("nothing to check: give a command, or --tool with --arg")
    cwd = os.path.abspath(args.cwd or ".")  # noqa: PTH100 - a plain text, as the shell would say it
    judged = judge(args.tool, arguments, cwd, args.home or home_directory())
    if args.json:
        print_json({name: value for name, value in msgspec.structs.asdict(judged).items() if name != "part"})
    else:
        subject = _subject(args.tool, arguments)
        print(explain(subject, judged, Ink(colours_wanted())))
    return EXIT_CODES[judged.decision]


def _subject(tool: str, arguments: dict[str, Any]) -> str:
    """The text that was judged, with all that the arguments put around a command."""
    from interpose.core.carried_calls import canonical
    from interpose.reading.calls import home_directory, reading_of

    script = reading_of(canonical(ToolCall(tool, arguments)), home_directory()).script
    return script[0] if script else " ".join(f"{name}={value}" for name, value in arguments.items())


def _judge_rows(args: argparse.Namespace, judge: CallJudge) -> int:
    from interpose.reading.calls import home_directory

    out = bytearray()
    stdin, stdout = sys.stdin.fileno(), sys.stdout.fileno()

    def flush() -> None:
        view = memoryview(bytes(out))
        out.clear()
        while view:
            view = view[os.write(stdout, view) :]

    here = NEUTRAL_CWD if args.guards_only else os.getcwd()  # noqa: PTH109 - a plain text
    home = args.home or ("" if args.guards_only else home_directory())
    return judge_rows(lambda size: os.read(stdin, size), out, flush, judge, cwd=args.cwd or here, home=home)


def judge_rows(
    read: Callable[[int], bytes],
    out: bytearray,
    flush: Callable[[], None],
    judge: CallJudge,
    *,
    cwd: str = NEUTRAL_CWD,
    home: str = "",
) -> int:
    """Answer every row. `flush` is called before each read that could block, so nobody waits for an answer we hold.

    `home` is that of every row; without it a row means the home that its directory lies in, or a neutral one.
    """
    status = 0
    for line in lines(read, flush):
        if isinstance(line, bytes) and (not line or line.isspace()):
            continue
        try:
            row = _row(line)
            where = os.path.abspath(row.cwd or cwd)  # noqa: PTH100 - a plain text, as the shell would say it
            judged = judge(row.tool, row.args, where, home or home_of(where) or NEUTRAL_HOME)
            answer = {"id": row.id, **_details(judged)}
        except BadRow as refused:
            answer = {"id": refused.id, "decision": "deny", "rule": "bad-input", "reason": str(refused), "effects": ()}
        except ValueError as error:  # arguments that are nested too deep
            answer = {"id": row.id, "decision": "deny", "rule": "bad-input", "reason": str(error), "effects": ()}
        except InterposeError:
            raise
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


def _details(judged: JudgedCall) -> dict[str, Any]:
    return {
        "decision": judged.decision,
        "rule": judged.rule,
        "severity": judged.severity,
        "reason": judged.reason,
        "effects": judged.effects,
        "interceptor": judged.interceptor,
        **({} if judged.arguments is None else {"arguments": judged.arguments}),
    }


def _row(line: bytes | BadRow) -> Row:
    if isinstance(line, BadRow):
        raise line
    return decode(line)


def home_of(cwd: str) -> str:
    """The home that a directory lies in; empty if it lies in none."""
    found = _HOME_OF.match(cwd)
    return found.group() if found else ""
