"""A hook that waits for a person, where its host has no prompt of its own or is in a mode without one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from interpose.formats.strict_json import StrictJsonError, decode
from interpose.surfaces.hosts.all_hosts import speaking
from interpose.surfaces.hosts.events import EventError

if TYPE_CHECKING:
    from interpose.config.settings import Config
    from interpose.surfaces.hosts.events import Host, HostEvent

_WAITING = ("tool.before", "tool.after", "permission.ask")
"""Where an event stands that is worth waiting for. A message is its own person's, who can send it again."""


class HookWait:
    """How long the other end of a hook can wait, and what it is told when it has to.

    `begins` hears of the question and of how many seconds its answer is waited for. One that does not `hold` only says
    what would be waited for, and how long: whoever holds the event waits.
    """

    def __init__(
        self, seconds: float = 0.0, begins: Callable[[str, float], object] | None = None, *, holds: bool = True
    ) -> None:
        self._seconds, self._begins, self._holds = seconds, begins, holds
        self.longest = 0.0
        self.question = ""
        """What the event was left waiting for, when it was answered."""
        self.agreed = False
        """Whether a person said yes."""

    def seconds_for(self, event: HostEvent, config: Config) -> float:
        """How long this event waits: no longer than the client can, and than the host was said to."""
        if self._seconds <= 0 or event.point not in _WAITING:
            return 0.0
        from interpose.config.waiting_times import hook_wait

        self.longest = min(self._seconds, hook_wait(event.host, config))
        return self.longest if self._holds else 0.0

    def begin(self, question: str) -> None:
        """The answer to a question is waited for now."""
        if self._begins is not None:
            self._begins(question, self.longest)

    def said_yes(self) -> None:
        """A person agreed to the call."""
        self.agreed = True


def where_to_answer(question: str) -> str:
    """For the person at the host, while the hook waits."""
    return (
        f"Interpose waits for an answer to question {question}: interpose approvals approve {question} (or: interpose "
        f"approvals watch), in another terminal"
    )


def names_call(named: Host, event: str, body: bytes) -> bool:
    """Whether an event has the host's own name for the call that it is about."""
    try:
        raw = decode(body)
        return isinstance(raw, dict) and bool(speaking(raw, named).read(raw, event).call_key)
    except (StrictJsonError, EventError):
        return False
