"""The command line: one verb a module, imported only when it is called."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence

__all__ = ["VERBS", "main"]

VERBS = (
    "approvals", "audit", "check", "config", "demo", "doctor", "explain", "gateway", "grants", "hook", "install",
    "interceptor-server", "operator", "pins", "policy", "redact", "run", "serve", "status", "token", "uninstall",
    "wrap",
)  # fmt: skip
EXIT_USAGE = 64
EXIT_INTERNAL = 70
EXIT_CONFIG = 78
EXIT_INTERRUPTED = 130


def version() -> str:
    """The version of the package, without importing it."""
    from interpose import __version__

    return __version__


def _module(verb: str) -> str:
    return f"interpose.cli.{verb.replace('-', '_')}"


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb. The console script exits with what this returns."""
    given = list(sys.argv[1:] if argv is None else argv)
    if given[:1] == ["hook"] and not {"-h", "--help"} & set(given):
        # An agent waits for it and takes most exit codes for a yes: it parses and fails in its own way, and faster.
        from interpose.cli.hook import main as hook

        code = hook(given[1:])
        if argv is None:
            os._exit(code)  # everything is written; taking the interpreter apart would only make the agent wait
        return code
    from interpose.cli.parser import Parser

    parser = Parser(prog="interpose", description="The layer between AI agents and their tools.")
    parser.add_argument("--version", action="version", version=f"interpose {version()}")
    verbs = parser.add_subparsers(dest="verb", metavar="verb", required=True)
    wanted = next((word for word in given if not word.startswith("-")), None)
    for name in VERBS:
        # Only the verb that was asked for is imported, unless help has to describe them all.
        if wanted in (name, None):
            module = importlib.import_module(_module(name))
            module.add_arguments(verbs.add_parser(name, help=module.HELP, description=module.HELP))
        else:
            verbs.add_parser(name)
    args = parser.parse_args(given)
    try:
        status: int = importlib.import_module(_module(args.verb)).run(args)
        if sys.stdout is not None:
            sys.stdout.flush()  # a reader that went away shows now, not when the interpreter ends
    except BrokenPipeError:
        # Whoever reads us has enough. Keep the interpreter from complaining when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_INTERNAL
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except Exception:  # noqa: BLE001 - the exit code must say that it was us
        import traceback

        traceback.print_exc()
        return EXIT_INTERNAL
    return status
