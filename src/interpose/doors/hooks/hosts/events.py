"""What a host says, what it hears, and what is known of it. Nothing here decides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol

import msgspec
from msgspec import Struct

from interpose.core.errors import text_of
from interpose.core.formats.plain_text import plain
from interpose.core.types import Command, Context, Params, ToolCall, thaw
from interpose.effects.agents.agent import HookFacts, Point

Points = Mapping[str, Point]


class EventError(ValueError):
    """An event that can't be understood. The text says what is wrong with it."""


class HostEvent(Struct, frozen=True, kw_only=True):
    """One event of a host. `name` is the host's own word for it, `call_key` its own name for the call."""

    host: str
    name: str
    point: Point
    context: Context
    raw: dict[str, Any]
    call: ToolCall | None = None
    call_key: str = ""
    result: Any = None
    is_error: bool = False
    duration_ns: int = 0
    text: str = ""
    command: Command | None = None
    agreed: bool = False
    """Whether a person said yes to this very call, as it goes on."""
    params: Params | None = None
    """The model of a run, where the host names it with the message that starts the run."""
    version: str = ""
    """Of the host that runs, as far as it is known."""

    @property
    def tool(self) -> ToolCall:
        """The call of an event that has one."""
        if self.call is None:
            raise EventError(f"the event {self.name!r} carries no tool call")
        return self.call


class Reply(Struct, frozen=True):
    """What the hook's process says: standard output, one line of standard error, exit code."""

    stdout: bytes = b""
    stderr: str = ""
    exit_code: int = 0
    nobody_to_ask: bool = False
    """Refused because a person has to agree, and no server runs that could ask one."""


class HostFacts(HookFacts, frozen=True, kw_only=True):
    """What is known of a host: what its file says of its hooks, and how it is called."""

    name: str
    title: str

    def can_replace(self, event: HostEvent) -> bool:
        """Whether the agent sees what we put in the place of this result."""
        return event.name in self.replaces and event.tool.original_name.startswith(self.replaces_tools)

    def can_ask(self, event: HostEvent) -> bool:
        """Whether a person is asked if we say `ask` here.

        INVARIANT: a mode that is not known to ask is one that doesn't. The word is the host's, never the agent's.
        """
        return event.name in self.asks and self.mode_of(event) in self.asks_in

    def can_hand_over(self, event: HostEvent) -> bool:
        """Whether our `ask` may be given here to those who chose so: the host says when it asks, and names the call."""
        asks = event.name in self.asks and bool(self.says_it_asks) and bool(event.call_key)
        return asks and self.mode_of(event) in self.hands_over_in

    def mode_of(self, event: HostEvent) -> str | None:
        """In which mode the host says that it works; None if that is no word. Empty if its events don't say."""
        mode = event.raw.get(self.mode_field) if self.mode_field else ""
        return mode if isinstance(mode, str) else None

    @property
    def experimental(self) -> bool:
        """Whether the contract is known from others' words only."""
        return self.evidence == "hearsay"


class Host(Protocol):
    """One agent's language."""

    @property
    def facts(self) -> HostFacts:
        """What is known of it."""

    def read(self, raw: dict[str, Any], hint: str = "") -> HostEvent:
        """The event. `hint` names it where the host's payload doesn't. Raises EventError."""

    def allow(self, event: HostEvent) -> Reply:
        """No objection, or nothing to say."""

    def deny(self, event: HostEvent, reason: str) -> Reply:
        """A call, a question or a message that must not go on."""

    def ask(self, event: HostEvent, reason: str) -> Reply:
        """The host's own prompt. Only for events of `facts.asks`."""

    def rewrite(self, event: HostEvent, arguments: dict[str, Any], reason: str) -> Reply:
        """Run with these arguments, all of them. Only for events of `facts.rewrites`."""

    def replace(self, event: HostEvent, result: Any) -> Reply:
        """The result as the agent should see it, in the tool's own shape. Only for events of `facts.replaces`."""

    def context(self, event: HostEvent, text: str) -> Reply:
        """Tell the agent something, where a result or a message can't be held back."""

    def broken(self, reason: str) -> Reply:
        """We failed, or the event can't be understood: what makes this host refuse whatever it asked about."""


class Unable(Struct, frozen=True):
    """What a host can't do. Never asked of it, as its facts say so; if it is, that fails, and failing refuses."""

    facts: HostFacts
    EVENTS: ClassVar[Points] = {}

    def ask(self, event: HostEvent, _reason: str) -> Reply:
        """There is no prompt that holds the call."""
        raise EventError(f"{self.facts.title} can't ask a person in {event.name}")

    def rewrite(self, event: HostEvent, _arguments: dict[str, Any], _reason: str) -> Reply:
        """Nothing can be changed."""
        raise EventError(f"{self.facts.title} can't run a changed call in {event.name}")

    def replace(self, event: HostEvent, _result: Any) -> Reply:
        """Nothing can be replaced."""
        raise EventError(f"{self.facts.title} can't replace a result in {event.name}")


def spoken(value: Any, exit_code: int = 0) -> Reply:
    """A reply of one JSON object."""
    return Reply(_encode(thaw(value)), "", exit_code)


def noticed(facts: HostFacts, reply: Reply, text: str) -> Reply:
    """The same answer, and a text for the host's person, where the host has a place for it."""
    if not text or not facts.tells_person or not (reply.stdout or reply == Reply()):
        return reply
    said = msgspec.json.decode(reply.stdout) if reply.stdout else {}
    return spoken(said | {facts.tells_person: text}, reply.exit_code)


def refused(reason: str) -> Reply:
    """Exit code 2 with the reason on one line: the refusal that hosts without JSON understand."""
    return Reply(b"", one_line(reason), 2)


def one_line(text: str) -> str:
    """Text for the standard error: one line that can't steer a terminal. Never empty, or some hosts would go on."""
    return plain(" ".join(text.split())) or "refused"


_encode = msgspec.json.Encoder(enc_hook=text_of).encode
