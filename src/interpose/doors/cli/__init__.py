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
        from interpose.effects.ourselves.command_line import VERBS as ROWS

        return tuple(sorted(ROWS))
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
        from interpose.doors.cli.hook import main as hook

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
        return _failed(error, given)
    return status


def _run(given: list[str]) -> int:
    match given:
        case []:
            from interpose.doors.cli.helping.overview import beginning

            print(beginning())
        case ["-h" | "--help", *_]:
            from interpose.doors.cli.helping.overview import overview

            print(overview())
        case ["-V" | "--version", *_]:
            print(f"interpose {version()}")
        case ["help"]:
            from interpose.doors.cli.helping.help_topics import listing

            print(listing())
        case _:
            return _verb(given)
    return 0


def _verb(given: list[str]) -> int:
    from interpose.effects.ourselves.command_line import spelled_now, verb_of

    words = spelled_now(given)
    verb = verb_of(words)
    if verb is None:
        return _no_such(given[0], given[1:])
    if words != given:
        _hint(given[0], words)
    from importlib import import_module

    from interpose.doors.cli.parser import parser_of
    from interpose.doors.cli.verbs import module_of

    rest = words[len(verb.path) :]
    if verb.alone and (not rest or (rest[0].startswith("-") and rest[0] not in ("-h", "--help"))):
        rest = [verb.alone, *rest]
    module = import_module(module_of(verb))
    status: int = module.run(parser_of(verb, module).parse_args(rest))
    return status


def _hint(old: str, words: list[str]) -> None:
    """Say at a terminal how it is spelled now. A program that calls us reads nothing that it did not read before."""
    from interpose.effects.ourselves.command_line import KEPT, OLD

    if old not in KEPT and sys.stderr is not None and sys.stderr.isatty():
        print(f"`interpose {old}` is now `interpose {' '.join(words[: len(OLD[old])])}`.", file=sys.stderr)


def _no_such(word: str, rest: list[str]) -> int:
    from interpose.doors.cli.explaining.suggestions import did_you_mean, shown
    from interpose.doors.cli.verbs import HELPS
    from interpose.effects.ourselves.command_line import OLD

    if word.startswith("-"):
        verb = next((each for each in rest if each in HELPS), "")
        behind = f" Options stand behind the verb: interpose {verb} {word[:60]}" if verb and word.isprintable() else ""
        said = f"there is no option {shown(word)}.{behind or did_you_mean(word, _OPTIONS)}"
    else:
        option = f" Did you mean --{word}?" if f"--{word}" in _OPTIONS else ""
        said = f"there is no verb {shown(word)}.{option or did_you_mean(word, sorted({*HELPS, *OLD})) or _below(word)}"
    print(f"interpose: {said}\n`interpose --help` lists what there is.", file=sys.stderr)
    return EXIT_USAGE


def _below(word: str) -> str:
    """The verbs that have a verb of this name below them, if they are few."""
    from interpose.doors.cli.helping.command_tree import command_tree

    found = [f"interpose {verb.name}" for verb in command_tree().walk() if len(verb.path) > 1 and verb.path[-1] == word]
    return f" Did you mean {' or '.join(found)}?" if 0 < len(found) <= _FEW else ""


def _failed(error: Exception, given: list[str]) -> int:
    if isinstance(error, ImportError):
        from interpose.doors.cli.shared.missing_packages import missing_extra
        from interpose.effects.ourselves.command_line import spelled_now, verb_of

        verb = verb_of(spelled_now(given))
        name = verb.name if verb is not None else ""
        if said := missing_extra(error, name):
            print(f"interpose {name}: {said}".replace(" :", ":"), file=sys.stderr)
            return EXIT_CONFIG
    import traceback

    traceback.print_exception(error)
    from interpose.doors.cli.helping.project_address import project_addresses

    where = project_addresses().get("Issues", "the repository of Interpose")
    print(_OURS.format(version=version(), where=where), end="", file=sys.stderr)
    return EXIT_INTERNAL
