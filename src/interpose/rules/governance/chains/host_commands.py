"""Commands of the host that an agent starts by itself, through a tool: `Skill`, `SlashCommand`, `activate_skill`."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from msgspec import json as fast

from interpose.core.command_text import command_words, plain_command
from interpose.core.tools import plain_name
from interpose.core.types import Command, ToolCall

_TOOLS = frozenset({"skill", "slashcommand", "runslashcommand", "activateskill", "runskill", "useskill"})
"""Names of such tools, without case and dashes."""
_NAMES = frozenset({"skill", "skillname", "name", "command", "commandname", "slashcommand"})
_ARGUMENTS = frozenset({"args", "arguments", "input", "params", "parameters"})
_LONGEST = 20_000
_SHORT = 64


def starts_commands(call: ToolCall) -> bool:
    """Whether a tool is one that starts commands of the host."""
    return any(_remembered(name) if len(name) <= _SHORT else _starts(name) for name in (call.name, call.original_name))


def _starts(name: str) -> bool:
    return plain_name(name) in _TOOLS


_remembered = lru_cache(maxsize=1024)(_starts)


def commands_in(call: ToolCall) -> tuple[Command, ...]:
    """The commands that a tool call would start. Which of several arguments the tool takes is not ours to guess."""
    if not starts_commands(call):
        return ()
    # INVARIANT: every spelling counts. A host takes one of `skill` and `Skill`, and an agent may send both.
    given = [(plain_name(key), value) for key, value in call.arguments.items()]
    arguments = " ".join(_text(value) for key, value in given if key in _ARGUMENTS)
    named = [value for key, value in given if key in _NAMES and isinstance(value, str)]
    return tuple(_command(text[:_LONGEST], arguments[:_LONGEST], call) for text in named if plain_command(text))


def _command(text: str, arguments: str, call: ToolCall) -> Command:
    """`/review 12` may stand in one argument."""
    name, rest = command_words(text)
    return Command(name, f"{rest} {arguments}".strip(), call.context)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    try:
        return fast.encode(value).decode()
    except (TypeError, ValueError, RecursionError):  # values of other types, which only a library's call can have
        return ""
