"""A hook that waits for a person, where its host has no prompt of its own or is in a mode without one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from interpose.core.formats.plain_text import one_line
from interpose.core.formats.strict_json import StrictJsonError, decode
from interpose.doors.hooks.hosts.all_hosts import speaking
from interpose.doors.hooks.hosts.events import EventError

if TYPE_CHECKING:
    from interpose.core.config.settings import Config
    from interpose.doors.hooks.hosts.events import Host, HostEvent
    from interpose.people.approvals.questions import Question

_WAITING = ("tool.before", "tool.after", "permission.ask")
"""Where an event stands that is worth waiting for. A message is its own person's, who can send it again."""
_LINE = 200


Begins = Callable[["Question", float], object]
"""Hears of a question, and of how many seconds its answer is waited for."""


class HookWait:
    """How long the other end of a hook can wait, and what it is told when it has to.

    `begins` hears of the question that is waited for. One that does not `hold` only says what would be waited for, and
    how long: whoever holds the event waits. `is_alone` says whether only this machine's person can answer, and may
    block.
    """

    def __init__(
        self,
        seconds: float = 0.0,
        begins: Begins | None = None,
        *,
        holds: bool = True,
        is_alone: Callable[[], bool] = lambda: False,
    ) -> None:
        self._seconds, self._begins, self.holds, self._is_alone = seconds, begins, holds, is_alone
        self._fitted: Callable[[bool], float] | None = None
        self.question = ""
        """What the event was left waiting for, when it was answered."""
        self.agreed = False
        """Whether a person said yes."""

    def seconds_for(self, event: HostEvent, config: Config) -> float:
        """How long this event waits: no longer than the client can, and than the host was said to."""
        if self._seconds <= 0 or event.point not in _WAITING:
            return 0.0
        from interpose.core.config.waiting_times import hook_wait

        self._fitted = lambda alone: min(self._seconds, hook_wait(event.host, config, alone=alone))
        return self._fitted(False) if self.holds else 0.0

    def patience(self) -> tuple[float, float]:
        """Seconds that the answer to a question is waited for: while the event is decided, and after that. Blocks."""
        seconds = 0.0 if self._fitted is None else self._fitted(self._is_alone())
        return (seconds, 0.0) if self.holds else (0.0, seconds)

    def begin(self, question: Question, seconds: float) -> None:
        """The answer to a question is waited for now."""
        if self._begins is not None:
            self._begins(question, seconds)

    def said_yes(self) -> None:
        """A person agreed to the call."""
        self.agreed = True


def what_is_asked(question: Question) -> str:
    """The question in one line: its id, its rules and why. Without secrets, as the question itself."""
    rules = f" ({', '.join(question.rules)})" if question.rules else ""
    return shorter(one_line(f"Interpose asks {question.id}{rules}: {question.message}"))


def where_to_answer(question: Question) -> str:
    """What to type for it."""
    return f"interpose approvals approve {question.id} (or: interpose approvals watch), in another terminal"


def while_it_waits(question: Question, seconds: float) -> str:
    """For the person at the host, while the hook waits."""
    return f"{what_is_asked(question)} [{seconds:.0f} s left] Answer: {where_to_answer(question)}"


def shorter(text: str) -> str:
    """As much as fits a line of a wide terminal."""
    return text if len(text) <= _LINE else f"{text[: _LINE - 1]}…"


def names_call(named: Host, event: str, body: bytes) -> bool:
    """Whether an event has the host's own name for the call that it is about."""
    try:
        raw = decode(body)
        return isinstance(raw, dict) and bool(speaking(raw, named).read(raw, event).call_key)
    except (StrictJsonError, EventError):
        return False
