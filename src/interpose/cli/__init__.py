"""The command line: one verb a module, imported only when it is called."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

__all__ = ["VERBS", "main"]

VERBS: tuple[str, ...]
EXIT_USAGE = 64
EXIT_INTERNAL = 70
EXIT_CONFIG = 78
EXIT_INTERRUPTED = 130

_OPTIONS = ("--help", "--version")
_FEW = 3

_OURS = """
interpose {version} failed here. That is our mistake, not yours.
Please open an issue at {where}, with the lines above and without what is private in them.
`interpose doctor` says whether your agents are guarded.
"""


def __getattr__(name: str) -> object:
    if name == "VERBS":  # not for a hook, which an agent waits for
        from interpose.cli.verbs import HELPS

        return tuple(sorted(HELPS))
    raise AttributeError(name)


def version() -> str:
    """The version of the package, without importing the rest of it."""
    from interpose import __version__

    return __version__


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
    try:
        status = _run(given)
        if sys.stdout is not None:
            sys.stdout.flush()  # a reader that went away shows now, not when the interpreter ends
    except BrokenPipeError:
        # Whoever reads us has enough. Keep the interpreter from complaining when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_INTERNAL
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the exit code must say that it was us
        return _failed(error, *given[:1])
    return status


def _run(given: list[str]) -> int:
    match given:
        case [] | ["-h" | "--help", *_]:
            from interpose.cli.overview import overview

            print(overview())
        case ["-V" | "--version", *_]:
            print(f"interpose {version()}")
        case ["help"]:
            from interpose.cli.help_topics import listing

            print(listing())
        case _:
            return _verb(given[0], given[1:])
    return 0


def _verb(verb: str, rest: list[str]) -> int:
    from interpose.cli.verbs import HELPS, module_of

    if verb not in HELPS:
        return _no_such(verb, rest)
    from importlib import import_module

    from interpose.cli.parser import Parser

    module = import_module(module_of(verb))
    parser = Parser(prog=f"interpose {verb}", description=module.HELP)
    module.add_arguments(parser)
    status: int = module.run(parser.parse_args(rest))
    return status


def _no_such(word: str, rest: list[str]) -> int:
    from interpose.cli.suggestions import did_you_mean, shown
    from interpose.cli.verbs import HELPS

    if word.startswith("-"):
        verb = next((each for each in rest if each in HELPS), "")
        behind = f" Options stand behind the verb: interpose {verb} {word[:60]}" if verb and word.isprintable() else ""
        said = f"there is no option {shown(word)}.{behind or did_you_mean(word, _OPTIONS)}"
    else:
        option = f" Did you mean --{word}?" if f"--{word}" in _OPTIONS else ""
        said = f"there is no verb {shown(word)}.{option or did_you_mean(word, sorted(HELPS)) or _below(word)}"
    print(f"interpose: {said}\n`interpose --help` lists what there is.", file=sys.stderr)
    return EXIT_USAGE


def _below(word: str) -> str:
    """The verbs that have a verb of this name below them, if they are few."""
    from interpose.cli.command_tree import command_tree

    found = [f"interpose {act.name}" for verb in command_tree().acts for act in verb.acts if act.path[-1] == word]
    return f" Did you mean {' or '.join(found)}?" if 0 < len(found) <= _FEW else ""


def _failed(error: Exception, verb: str = "") -> int:
    if isinstance(error, ImportError):
        from interpose.cli.missing_packages import missing_extra

        if said := missing_extra(error, verb):
            print(f"interpose {verb}: {said}", file=sys.stderr)
            return EXIT_CONFIG
    import traceback

    traceback.print_exception(error)
    from interpose.cli.project_address import project_addresses

    where = project_addresses().get("Issues", "the repository of Interpose")
    print(_OURS.format(version=version(), where=where), end="", file=sys.stderr)
    return EXIT_INTERNAL
