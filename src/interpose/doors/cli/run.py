"""`interpose run -- command ...`: a command runs if the rules let it, in this very process."""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import sys
from pathlib import Path
from typing import NoReturn

from msgspec.structs import replace

from interpose.composition.build import record_undecided
from interpose.core.config.load import load
from interpose.core.config.settings import Config
from interpose.core.errors import ApprovalError, ConfigError, InterposeError, StoreError, UnloadableError, text_of
from interpose.core.types import ToolCall
from interpose.doors.cli import EXIT_CONFIG, EXIT_INTERNAL, EXIT_USAGE
from interpose.doors.cli.explaining.run_deciding import (
    AskedServer,
    Here,
    RunAnswer,
    UnreachableError,
    answered_at_terminal,
    called,
)
from interpose.doors.cli.explaining.verdict_text import visible, visible_lines

EXIT_DENIED = 77
EXIT_NOT_EXECUTABLE = 126
EXIT_NOT_FOUND = 127

_EPILOG = """This user's server is asked if it runs, or the one that --server names; else the decision is made here, by
the same rules and into the same ledger. A command that is let through replaces this process: same process id,
same input and output, its own exit code.

exit codes: the command's own; 77 denied, or a person would have to agree and nobody could be asked; 126 and 127 the
command can't be started or found; 64 wrong usage, 70 no decision could be made, 78 a configuration or rules that
can't be loaded"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `run` understands."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.usage = "interpose run [--dry-run] [--fail-open] [--server URL] [--timeout SECONDS] -- COMMAND [ARG ...]"
    parser.epilog = _EPILOG
    parser.add_argument(
        "--dry-run", action="store_true",
        help="say what would be decided; nothing runs, and without --server nothing is recorded and nobody is asked",
    )  # fmt: skip
    parser.add_argument(
        "--fail-open", action="store_true",
        help="run the command if no decision could be made and that can be recorded",
    )  # fmt: skip
    parser.add_argument("--server", metavar="URL", default="", help="ask this server (http://, https:// or unix:/path)")
    parser.add_argument(
        "--timeout", type=float, default=30.0, metavar="SECONDS", help="how long a server may take (default: 30)"
    )
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="-- COMMAND", help="what to run")


def run(args: argparse.Namespace) -> int:
    """Run `interpose run`."""
    words = args.command[1:]
    if args.command[:1] != ["--"] or not words:
        return _failed("give the command behind `--`: interpose run -- ls -l", EXIT_USAGE)
    args.server = args.server.removeprefix("unix:")
    if args.server and not args.server.startswith(("http://", "https://", "/")):
        return _failed("--server needs an address with http:// or https://, or unix: and a path", EXIT_USAGE)
    if not 0 < args.timeout <= 3600:
        return _failed("--timeout needs seconds, above 0 and at most 3600", EXIT_USAGE)
    try:
        shlex.join(words).encode()
    except UnicodeEncodeError:
        return _failed("an argument is not UTF-8 text, so nobody can say what would run", EXIT_DENIED)
    try:
        # The flag is a setting like any other: an organisation that locked it has the last word.
        config = load(flags={"hooks.fail_open": True} if args.fail_open else {}).config
    except ConfigError as error:
        return _failed(f"a configuration that can't be loaded\n{error}", EXIT_CONFIG)
    return _run(args, config, words)


def _run(args: argparse.Namespace, config: Config, words: list[str]) -> int:
    here = Here(config)
    try:
        call = called(words)
        try:
            if not config.cli_validation.covers(words[0]):
                answer = RunAnswer(word="allow")
            else:
                answer = _decided(args, config, here, call, words)
        except UnloadableError as error:
            return _undecided(args, config, call, words, f"rules that can't be loaded\n{error}", EXIT_CONFIG)
        except (InterposeError, OSError) as error:
            return _undecided(args, config, call, words, text_of(error), EXIT_INTERNAL)
    finally:
        here.close()
    if args.dry_run:
        return _told(answer, words)
    return _denied(answer) if answer.word != "allow" else _become(words)


def _decided(args: argparse.Namespace, config: Config, here: Here, call: ToolCall, words: list[str]) -> RunAnswer:
    if args.dry_run and not args.server:
        return here.looked(call)
    answer = _answered(args, config, here, call, words)
    if answer.word != "ask" or not answer.approval or args.dry_run or not _at_a_terminal():
        return answer
    try:
        agreed = answered_at_terminal(config, call, answer)
    except (ApprovalError, StoreError) as error:  # it was decided: --fail-open is not for this
        print(f"interpose run: {visible(text_of(error))}", file=sys.stderr)
        return answer
    if not agreed:
        return replace(answer, word="deny", reason=f"Denied at the terminal: {answer.reason}")
    return _answered(args, config, here, call, words)


def _answered(args: argparse.Namespace, config: Config, here: Here, call: ToolCall, words: list[str]) -> RunAnswer:
    """The server's word, or ours if there is none. Only a server that somebody named is missed."""
    at = args.server or config.server.socket
    if at and (args.server or Path(at).exists()):
        try:
            return AskedServer(at, args.timeout).answer(call, words)
        except UnreachableError as error:
            print(f"interpose run: {visible(str(error))}; decided here", file=sys.stderr)
    return here.answer(call, at_terminal=_at_a_terminal() and not args.dry_run)


def _at_a_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _undecided(
    args: argparse.Namespace, config: Config, call: ToolCall, words: list[str], why: str, status: int
) -> int:
    if not args.fail_open or args.dry_run:
        return _failed(f"no decision could be made: {why}", status)
    try:
        record_undecided(config, call, f"{why}; it runs, as --fail-open was chosen")
    except (InterposeError, OSError) as error:
        return _failed(f"no decision could be made: {why}\nnor can it be recorded: {text_of(error)}", status)
    print(f"interpose run: no decision could be made, running it (--fail-open): {visible_lines(why)}", file=sys.stderr)
    return _become(words)


def _denied(answer: RunAnswer) -> int:
    asked = answer.word == "ask"
    print("Error: Command needs approval" if asked else "Error: Command denied by policy", file=sys.stderr)
    for name, text in (
        ("Request ID", answer.request_id), ("Policy", answer.rule), ("Reason", answer.reason),
        ("Instead", answer.instead),
    ):  # fmt: skip
        if text:
            print(f"  {name}: {visible(text)}", file=sys.stderr)
    if asked and answer.approval:
        id = visible(answer.approval)
        print(f"  Approval: {id} (interpose approvals approve {id}, then run it again)", file=sys.stderr)
    return EXIT_DENIED


def _told(answer: RunAnswer, words: list[str]) -> int:
    if answer.word != "allow":
        return _denied(answer)
    print(f"would run: {visible(shlex.join(words))}")
    return 0


def _failed(why: str, status: int) -> int:
    print(f"interpose run: {visible_lines(why)}", file=sys.stderr)
    return status


def _become(words: list[str]) -> int:
    sys.stdout.flush()
    sys.stderr.flush()
    # Python ignores these, and a command would inherit that: `yes | head` would never end.
    for name in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(name, signal.SIG_DFL)
    try:
        _replace(words)
    except FileNotFoundError:
        return _failed(f"{words[0]}: not found", EXIT_NOT_FOUND)
    except OSError as error:
        return _failed(f"{words[0]}: {error.strerror}", EXIT_NOT_EXECUTABLE)


def _replace(words: list[str]) -> NoReturn:
    os.execvp(words[0], words)  # noqa: S606 - this is what we are for
