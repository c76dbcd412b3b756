"""What a call would do. A command is analysed once for all that ask: guards and policies."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable

from interpose.answers import Answers
from interpose.shell import Analysis, analyse
from interpose.tools import command_of, cwd_of, patched_of, paths_of, urls_of
from interpose.types import Effect, EffectKind, ToolCall

DEFAULT_CWD = "/workspace/project"
"""Where a command is judged when nobody said where it would run."""

NOTHING = Analysis(())

_EFFECT_BYTES = 512
_KNOWN: Answers[Analysis] = Answers()
_FILE_TOOLS: dict[str, EffectKind] = {
    "read": "fs.read", "grep": "fs.read", "list": "fs.read", "glob": "fs.read",
    "write": "fs.write", "edit": "fs.write", "apply_patch": "fs.write",
}  # fmt: skip


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


def analysis_of_call(call: ToolCall, home: str) -> Analysis:
    """The analysis of the command that an `exec` call would run; an empty one for other tools."""
    command = command_of(call) if call.name == "exec" else None
    if command is None:
        return NOTHING
    return analysis_of(command, start_of(call, call.context.cwd or DEFAULT_CWD), home)


def start_of(call: ToolCall, cwd: str) -> str:
    """Where the command of a call starts: in `cwd` unless its arguments say otherwise."""
    moved = cwd_of(call)
    return posixpath.join(cwd, moved) if moved else cwd


def effects_of_call(call: ToolCall, home: str) -> tuple[Effect, ...]:
    """The effects of a command, of a file tool and of fetching; none of other tools."""
    if call.name == "exec":
        return analysis_of_call(call, home).effects
    if call.name == "web_fetch":
        return tuple(Effect("net.download", url) for url in urls_of(call))
    kind = _FILE_TOOLS.get(call.name)
    return tuple(_file_effects(call, kind)) if kind else ()


def _file_effects(call: ToolCall, kind: EffectKind) -> Iterable[Effect]:
    yield from (Effect("fs.delete", file.path) for file in patched_of(call) if file.kind == "delete")
    yield from (Effect(kind, path) for path in paths_of(call))
