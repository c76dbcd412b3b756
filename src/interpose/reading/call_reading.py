"""What a call would do. A command is analysed once for all that ask: guards and policies."""

from __future__ import annotations

import os
import posixpath
import shlex
from collections.abc import Iterable
from typing import TypeVar

from msgspec.structs import replace

from interpose.paths import Lexical
from interpose.reading.reading_cache import Answers
from interpose.shell import Analysis, Ran, analyse
from interpose.tools import (
    command_of,
    cwds_of,
    environment_of,
    is_destination,
    is_powershell,
    patched_of,
    path_arguments,
    paths_of,
    seen_as,
    typed_of,
    urls_of,
)
from interpose.types import Effect, EffectKind, FrozenDict, ToolCall

DEFAULT_CWD = "/workspace/project"
"""Where a command is judged when nobody said where it would run."""

NOTHING = Analysis(())
_LEXICAL = Lexical()

Part = TypeVar("Part", Effect, Ran)

_EFFECT_BYTES = 512
_KNOWN: Answers[Analysis] = Answers()
_FILE_TOOLS: dict[str, EffectKind] = {
    "read": "fs.read", "grep": "fs.read", "list": "fs.read", "glob": "fs.read",
    "write": "fs.write", "edit": "fs.write", "apply_patch": "fs.write", "delete": "fs.delete",
}  # fmt: skip
_MOVED = FrozenDict({"moved": True})


def home_directory() -> str:
    """The home of the user that we run as."""
    return os.environ.get("HOME", "/root")


def analysis_of(command: str, cwd: str, home: str) -> Analysis:
    """The analysis of a command. It looks at the text alone, so its answer holds as long as the process."""
    key = (command, cwd, home)
    known = _KNOWN.get(key)
    if known is None:
        known = analyse(command, cwd=cwd, home=home)
        _KNOWN.put(key, known, len(command) + _EFFECT_BYTES * (len(known.effects) + len(known.commands)))
    return known


def effects_of(command: str, cwd: str, home: str) -> tuple[Effect, ...]:
    """The effects of a command."""
    return analysis_of(command, cwd, home).effects


def script_of(call: ToolCall) -> tuple[str, int] | None:
    """The command of a call with all that its arguments put around it, and where in that text the command starts.

    Variables and standard input decide what a command does: `git log` with a pager of the agent's choice, `bash` with a
    script. So does the shell of the tool. None if the call has no command.
    """
    command = command_of(call)
    if command is None:
        return None
    if is_powershell(call):
        command = f"pwsh -Command {shlex.quote(command)}"
    if len(call.arguments) == 1:
        return command, 0
    before = "".join(f"export {shlex.quote(variable)}\n" for variable in environment_of(call))
    if typed := typed_of(call):
        return f"{before}{{ {command}\n}} <<< {shlex.quote(typed)}", len(before) + 2
    return before + command, len(before)


def analysis_of_call(call: ToolCall, home: str) -> Analysis:
    """The analysis of the command that an `exec` call would run; an empty one for other tools."""
    call = call if call.name == "exec" else seen_as(call)
    script = script_of(call) if call.name == "exec" else None
    if script is None:
        return NOTHING
    text, offset = script
    starts = starts_of(call, call.context.cwd or DEFAULT_CWD, home)
    found = [analysis_of(text, start, home) for start in starts]
    if len(found) == 1 and not offset:
        return found[0]
    effects = dict.fromkeys(effect for analysis in found for effect in analysis.effects)
    commands = tuple(_moved(ran, offset) for ran in found[0].commands)
    return Analysis(tuple(_moved(effect, offset) for effect in effects), found[0].problems, commands)


def _moved(part: Part, offset: int) -> Part:
    """The part with its span counted from where the command starts."""
    return replace(part, span=(max(0, part.span[0] - offset), max(0, part.span[1] - offset)))


def start_of(call: ToolCall, cwd: str) -> str:
    """Where the command of a call starts: in `cwd` unless its arguments say otherwise."""
    moved = cwds_of(call)
    return posixpath.join(cwd, moved[0]) if moved else cwd


def starts_of(call: ToolCall, cwd: str, home: str) -> tuple[str, ...]:
    """Every directory in which a call could start: each that its arguments name, read in every way (`~`, `$HOME`)."""
    moved = cwds_of(call)
    if not moved:
        return (cwd,)
    found = [path for text in moved for path in _LEXICAL.spellings(text, cwd=cwd, home=home).paths]
    return tuple(dict.fromkeys(found)) or (start_of(call, cwd),)


def effects_of_call(call: ToolCall, home: str) -> tuple[Effect, ...]:
    """The effects of a command, of a file tool and of fetching; none of other tools."""
    if call.name != "exec":
        call = seen_as(call)
    if call.name == "exec":
        return analysis_of_call(call, home).effects
    if call.name == "web_fetch":
        return tuple(Effect("net.download", url) for url in urls_of(call))
    if call.name in ("move", "copy"):
        return tuple(_moving_effects(call))
    kind = _FILE_TOOLS.get(call.name)
    return tuple(_file_effects(call, kind)) if kind else ()


def _moving_effects(call: ToolCall) -> Iterable[Effect]:
    for argument, path in path_arguments(call):
        if not isinstance(path, str):
            continue
        if is_destination(argument):
            yield Effect("fs.write", path)
        else:
            yield Effect("fs.read", path)
            if call.name == "move":
                yield Effect("fs.delete", path, details=_MOVED)


def _file_effects(call: ToolCall, kind: EffectKind) -> Iterable[Effect]:
    yield from (Effect("fs.delete", file.path) for file in patched_of(call) if file.kind == "delete")
    yield from (Effect(kind, path) for path in paths_of(call))
