"""Calls that were decided and whose outcome is still to come, for hosts that run their tools themselves.

A host that names its calls is believed: the session and its own name find the call. For others the newest call of the
same session, tool and arguments is taken. Nothing is decided here: a call that is not found has an outcome of its own.

One call may be seen by several surfaces: a hook, then a gateway or a proxy. The host's name for it, together with the
digest of what it runs, joins them, so that there is one question and one record.

INVARIANT: a call is joined only to what a hook of the host has let through under the host's own name for it, and only
if it is exactly that call in the same place. A hook itself always decides. Text that the agent supplies joins nothing,
and each surface joins a call once.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from typing import Any

from msgspec import Struct
from msgspec.json import Encoder
from msgspec.structs import replace

from interpose.core.carried_calls import carrying
from interpose.core.errors import text_of
from interpose.core.late import late_logger
from interpose.core.types import Context, ToolCall, Verdict

log = late_logger("interpose.flow")

LIMIT = 20_000
ALIKE = 64
"""Calls that are remembered, and of these how many that look the same."""
MOST_BYTES = 64 << 20
"""Of all calls that are remembered."""
LARGE = 4 << 10
"""Arguments of more bytes are remembered by their digest: what ran is compared by that alone."""
_LARGE_VALUE = 512
_OVERHEAD = 2 << 10
"""Bytes of a remembered call besides its arguments, roughly."""

_encode = Encoder(enc_hook=text_of, order="sorted").encode


class PendingCall(Struct):
    """A call that may run now. `runs` are the digests of what may run under its name, `seen_by` who asked about it."""

    verdict: Verdict[ToolCall]
    runs: bytes
    seen_by: set[str]
    ended_by: set[str]
    may_run: bool = True
    """Not if it waits for an answer: it is remembered so that we notice if it runs all the same."""
    put: bool = True
    """Whether the host puts the call to its person, as far as it says so."""
    size: int = 0
    """Bytes that it takes to remember it."""

    @property
    def held(self) -> bool:
        """Whether a person's answer is still missing: it waits for one, or was handed over to the host's prompt."""
        return not self.may_run or self.verdict.outcome == "ask"

    def allows(self, ran: ToolCall) -> bool:
        """Whether what the host says that it ran is what may run. A host that does not say is believed."""
        return not ran.arguments or self.runs == _what(ran.original_name, ran.arguments)


class PendingCalls:
    """Safe for any number of threads. Past the limits the oldest calls are forgotten.

    INVARIANT: calls that were let through can't push out one that waits for a person or was handed over to the host's
    own prompt. If one of those has to be forgotten, that is an alarm: it could run without our noticing.
    """

    def __init__(self, limit: int = LIMIT, *, most_bytes: int = MOST_BYTES) -> None:
        self._limit, self._most_bytes = limit, most_bytes
        self._bytes = 0
        self._held: OrderedDict[bytes, list[PendingCall]] = OrderedDict()
        self._lock = threading.Lock()
        self._asked: OrderedDict[bytes, list[PendingCall]] = OrderedDict()
        self._open: OrderedDict[bytes, list[PendingCall]] = OrderedDict()

    def open(
        self, came: ToolCall, verdict: Verdict[ToolCall], key: str = "", *, may_run: bool = True, put: bool = True
    ) -> None:
        """Remember a call that may run now. `came` is the call as the host made it, `key` its own name for it.

        `put` is false if the host is still to say that it puts the call to its person.
        """
        call = verdict.payload
        found = _place(call.context, call.original_name or call.name, call.arguments, key)
        runs = _what(came.original_name, _running(came, call) if verdict.rewritten else came.arguments)
        light, size = _lightened(verdict)
        one = PendingCall(light, runs, {call.context.source}, set(), may_run, put, size)
        with self._lock:
            alike = self._held.pop(found, None) or self._open.pop(found, [])
            alike.append(one)
            if not put:
                self._leave_to_host(_place(call.context, came.original_name, came.arguments, ""), one)
            self._bytes += size - sum(gone.size for gone in alike[:-ALIKE])
            del alike[:-ALIKE]
            (self._held if any(each.held for each in alike) else self._open)[found] = alike
            self._make_room()

    def _make_room(self) -> None:
        while self._bytes > self._most_bytes or len(self._open) + len(self._held) > self._limit:
            if not self._open and len(self._held) == 1:
                return  # the newest alone is too large: it is the one that is about to run
            _, gone = (self._open or self._held).popitem(last=False)
            self._bytes -= sum(one.size for one in gone)
            for one in gone:
                if one.held:
                    call = one.verdict.payload
                    log.error(
                        "alarm: too many calls have no result, so call %s (%s of session %r) is forgotten, which waits "
                        "for a person: if its host runs it unasked, that is not noticed",
                        call.call_id, call.name[:64], call.context.session_id[:64],
                    )  # fmt: skip

    def _alike(self, found: bytes) -> list[PendingCall]:
        return self._held.get(found) or self._open.get(found) or []

    def _leave_to_host(self, found: bytes, one: PendingCall) -> None:
        """Hosts don't name a call when they say that they ask about it: it is found by what it is."""
        alike = self._asked.setdefault(found, [])
        alike.append(one)
        del alike[:-ALIKE]
        self._asked.move_to_end(found)
        if len(self._asked) > self._limit:
            self._asked.popitem(last=False)

    def put_to_person(self, came: ToolCall, context: Context) -> None:
        """The host says that it asks its person about this call now: the newest one like it that we left to it."""
        found = _place(context, came.original_name, came.arguments, "")
        with self._lock:
            alike = self._asked.get(found)
            if alike:
                alike.pop().put = True
            if alike == []:
                del self._asked[found]

    def seen_before(self, came: ToolCall, context: Context, key: str) -> Verdict[ToolCall] | None:
        """What a hook was told about this very call, if the host named it to both."""
        if not key or context.source.startswith(HOOK):
            return None
        said = came.original_name
        found, runs = _place(context, said, came.arguments, key), _what(said, came.arguments)
        with self._lock:
            for one in self._alike(found):
                opened = one.verdict.payload.context
                seen = context.source in one.seen_by or not one.may_run
                if seen or one.runs != runs or not opened.source.startswith(HOOK):
                    continue
                if all(_agree(getattr(opened, name), getattr(context, name)) for name in _WHERE):
                    one.seen_by.add(context.source)
                    # Its own arguments were remembered by their digest, which these have.
                    if _was_lightened(one.verdict.payload):
                        return replace(one.verdict, payload=one.verdict.payload.with_arguments(came.arguments))
                    return one.verdict
        return None

    def close(self, context: Context, name: str, arguments: dict[str, Any], key: str = "") -> PendingCall | None:
        """The call that ended, once for each surface that saw it; None if it was not opened here."""
        found = _place(context, name, arguments, key)
        with self._lock:
            alike = self._alike(found)
            for at in range(len(alike) - 1, -1, -1):
                one, opened = alike[at], alike[at].verdict.payload.context
                if context.source not in one.seen_by - one.ended_by:
                    continue
                if opened.source == context.source and not _agree(opened.principal, context.principal):
                    continue
                one.ended_by.add(context.source)
                if one.ended_by == one.seen_by:
                    alike.pop(at)
                    self._bytes -= one.size
                    if not alike:
                        (self._held if found in self._held else self._open).pop(found)
                return one
        return None


HOOK = "hook:"
"""How the sources of agents' own hooks begin."""
_WHERE = ("cwd", "agent_id", "role")


def _agree(one: str, other: str) -> bool:
    """Whether two surfaces say the same, or one of them doesn't know."""
    return not one or not other or one == other


def place_of(context: Context, came: ToolCall) -> str:
    """What a call is, and who asked, for events of hosts that name no call."""
    return _place(context, came.original_name, came.arguments, "").hex()


def _place(context: Context, name: str, arguments: dict[str, Any], key: str) -> bytes:
    """Where a call is remembered: under the host's name for it, or under what it is and who asked."""
    if key:
        return _digest((context.session_id, key))
    return _digest((context.session_id, context.source, name, arguments))


def _lightened(verdict: Verdict[ToolCall]) -> tuple[Verdict[ToolCall], int]:
    """A verdict as it is remembered, and how many bytes that takes: large arguments by their digests alone.

    What was rewritten stays whole, as the host may still be told it.
    """
    call = verdict.payload
    size = len(_encoded(call.arguments))
    if size <= LARGE or verdict.rewritten:
        other = 0 if verdict.original is None else len(_encoded(verdict.original.arguments))
        return verdict, _OVERHEAD + size + other
    kept = {name: _light(value) for name, value in call.arguments.items()}
    light = ToolCall(call.name, kept, call.call_id, call.context, {}, call.original_name)
    return replace(verdict, payload=light, original=None), _OVERHEAD + len(_encoded(kept))


class _Digest(str):
    """What is kept of a large value."""

    __slots__ = ()


def _light(value: Any) -> Any:
    encoded = _encoded(value)
    if len(encoded) <= _LARGE_VALUE:
        return value
    return _Digest(f"({len(encoded)} bytes, blake2b {hashlib.blake2b(encoded, digest_size=16).hexdigest()})")


def _was_lightened(call: ToolCall) -> bool:
    return any(isinstance(value, _Digest) for value in call.arguments.values())


def _running(came: ToolCall, call: ToolCall) -> dict[str, Any]:
    """The arguments of the host's own call: one that only carries another keeps what stands around it."""
    return carrying(came.original_name, came.arguments, call.arguments)


def _what(name: str, arguments: dict[str, Any]) -> bytes:
    """What runs: under the very name that was said, as `Bash` and `PowerShell` do different things with one text."""
    return _digest((name, arguments))


def _digest(what: object) -> bytes:
    return hashlib.blake2b(_encoded(what), digest_size=16).digest()


def _encoded(what: object) -> bytes:
    try:
        return _encode(what)
    except Exception:  # noqa: BLE001 - arguments that have no JSON form are found by their text
        return repr(what).encode("utf-8", "backslashreplace")
