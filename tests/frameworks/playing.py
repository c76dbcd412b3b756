"""What a driver plays: one scripted run of a framework's agent behind `guard`, and what came of it.

Every agent has one tool, `note(text)`, which the driver makes out of `NoteTool` in its framework's own way. The model
is scripted: its first answer calls the tool once for each text of `Script.calls`, all at once, its second is "done".
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any, Literal, Protocol

from msgspec import Struct, field

Mode = Literal["sync", "async", "stream"]
"""How the run is started: blocking, awaited, or read event by event."""

MAIN, HELPER = "main", "helper"
"""The names of the agent and of the sub-agent."""
SESSION = "00000000-0000-4000-8000-000000000007"
"""The framework's own name for the conversation, where it has one. A driver sets it."""
DONE = "done"
ASKED = "please take notes"


class NoteTool:
    """The tool. It knows what it was really called with."""

    def __init__(self, does: Callable[[str], str] | None = None) -> None:
        self.ran: list[str] = []
        self._does = does or (lambda text: f"noted {text}")
        self._lock = threading.Lock()

    def run(self, text: str) -> str:
        with self._lock:
            self.ran.append(text)
        return self._does(text)

    async def arun(self, text: str) -> str:
        import asyncio

        await asyncio.sleep(0)  # another call of the same turn may come between
        return self.run(text)

    def pieces(self, text: str) -> Iterator[str]:
        """The result piece by piece, for frameworks with tools that yield."""
        for word in self.run(text).split(" "):
            yield f"{word} "


class Script(Struct, frozen=True, kw_only=True):
    """One run. `options` are those of `guard`; None is the framework alone, for the benchmark."""

    calls: tuple[str, ...]
    options: dict[str, Any] | None
    mode: Mode = "sync"
    tool: NoteTool = field(default_factory=NoteTool)
    person: Literal["yes", "no"] = "no"
    """What the person answers whom the framework asks."""
    message: str = ASKED
    """What the user says."""
    sub_agent: bool = False
    """The agent `main` hands the work to the agent `helper`, who makes the calls, both behind one guard."""
    streaming_tool: bool = False
    """The tool yields its result."""


class Played(Struct, kw_only=True):
    """What came of it."""

    seen: list[str] = field(default_factory=list)
    """What the model was given for each call, in the order of the calls. Nothing for calls of a run that ended."""
    questions: list[str] = field(default_factory=list)
    """What the framework showed its person: the question and the arguments, as text."""
    heard: str = ""
    """The user's message as the model noted it; empty if it was never asked."""
    said: str = ""
    """What the run ended with: the last answer, or the text of what it raised."""
    error: BaseException | None = None
    """What it raised."""


class Driver(Protocol):
    """Plays scripts in one framework. A module of tests/frameworks/drivers is one."""

    modes: tuple[Mode, ...]

    def play(self, script: Script) -> Played:
        """Play it with the real package."""

    def guard(self, **options: Any) -> Any:
        """The framework's `guard`, as far as it takes options alone."""
