"""Editing the call of a question at the prompt of `interpose approvals watch`: one line, with what would run in it."""

from __future__ import annotations

import json
import sys
import termios
from typing import Any

from interpose.core.errors import text_of
from interpose.core.formats.strict_json import StrictJsonError, decode
from interpose.doors.cli.explaining.call_arguments import UsageError
from interpose.doors.cli.explaining.verdict_text import visible
from interpose.people.approvals.questions import Question


def edit_call(question: Question) -> dict[str, Any] | None:
    """The arguments that shall run instead, as they were typed; None if nothing was changed. UsageError says why not.

    A command of one line is edited as it is. Anything else is JSON, in which what a terminal could obey is spelled out.
    """
    arguments = question.arguments
    if not isinstance(arguments, dict):
        raise UsageError(
            f"the call is too long to be edited here: interpose approvals approve {question.id} --edit FILE"
        )
    command = arguments.get("command")
    if isinstance(command, str) and "\n" not in command and visible(command) == command:
        typed = _typed_line(f"{question.tool}> ", command)
        return None if typed in ("", command) else {**arguments, "command": typed}
    typed = _typed_line("arguments> ", _json_line(arguments))
    if not typed:
        return None
    try:
        edited = decode(typed.encode())
    except (StrictJsonError, UnicodeEncodeError) as error:
        raise UsageError(f"not JSON: {text_of(error)}") from None
    if not isinstance(edited, dict):
        raise UsageError("arguments are an object: {...}")
    return None if edited == arguments else edited


def call_text(arguments: dict[str, Any]) -> str:
    """A call in a line: its command, or all of its arguments."""
    command = arguments.get("command")
    if isinstance(command, str) and len(arguments) == 1:
        return visible(command)
    return visible(_json_line(arguments))


def _json_line(arguments: dict[str, Any]) -> str:
    text = json.dumps(arguments, ensure_ascii=False)
    return text if visible(text) == text else json.dumps(arguments)


def _typed_line(prompt: str, text: str) -> str:
    """A line that begins as `text` and is edited; empty if that was given up."""
    import readline

    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    shown = [*before[:3], before[3] | termios.ECHO | termios.ICANON, *before[4:]]
    termios.tcsetattr(terminal, termios.TCSADRAIN, shown)  # where keys are not shown, readline shows no line either
    readline.set_startup_hook(lambda: readline.insert_text(text))
    try:
        return input(f"  {visible(prompt)}").strip()
    except (EOFError, KeyboardInterrupt):
        return ""
    finally:
        readline.set_startup_hook()
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)
