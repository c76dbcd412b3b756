"""Values as they are kept: without their secrets, cut to size, with a keyed digest. Never failing."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import UNSET, MsgspecError, Raw, Struct
from msgspec.json import Decoder, Encoder

from interpose.core.errors import text_of
from interpose.core.types import Claims, FrozenDict, FrozenList, ToolCall
from interpose.effects.late_patterns import late
from interpose.reading.calls import home_directory, reading_of
from interpose.reading.secrets import Redactor
from interpose.reading.secrets.recognised import Recognised
from interpose.reading.secrets.session_memory import SessionMemories
from interpose.record.ledger.entry import NOT_KEPT, Said, SeenEffect
from interpose.record.ledger.keys import Keys

ARGUMENTS_LIMIT = 256 * 1024
RESULT_LIMIT = 64 * 1024
TEXT_LIMIT = 8 * 1024
"""Bytes of arguments, of a result and of searchable text that are kept; the digest covers all of it."""
REQUEST_LIMIT = 256
"""Letters of a request's id. Those that come over HTTP are shorter; an embedding program may call it anything."""
_OVERLAP = 8 * 1024
_NAMES = 1024
"""Names of sessions and the like that are known to hold no secret."""
_NUMBER = late(r"[0-9a-f-]{1,36}")
_PLAIN = frozenset({str, int, float, bool, type(None), dict, FrozenDict, list, FrozenList, tuple})

_encode = Encoder(enc_hook=text_of).encode
_said = Decoder(Said).decode
_any = Decoder().decode


class KeptCall(Struct, frozen=True):
    """A call's arguments, the words in them that can be searched for, and what it would do."""

    arguments: Raw
    words: str
    effects: tuple[SeenEffect, ...]
    told: Mapping[bytes, str]
    """Secrets in the arguments, to be hidden in the result, too. Not written anywhere."""


class KeptResult(Struct, frozen=True):
    """A result, its digest and its whole length."""

    result: Raw
    digest: str
    bytes: int


class Identity(Struct, frozen=True):
    """The names of a call and of those who asked for it, as they are kept."""

    call_id: str
    session: str
    agent: str
    role: str
    principal: str
    cwd: str
    trace_id: str
    claimed: str
    request: str
    claims: Claims


_NO_CLAIMS = Claims()


class Values:
    """Hides secrets in what is kept. One for each ledger: its keys decide what digests look like."""

    def __init__(self, keys: Keys, *, include_argument_values: bool) -> None:
        self._redactor, self._key = Redactor(keys.redaction), keys.digests
        self._sessions = SessionMemories(keys.redaction)
        self._values = include_argument_values
        self._harmless: dict[tuple[str, ...], tuple[str, ...]] = {}

    def call(self, call: ToolCall) -> tuple[KeptCall, str]:
        """The call as it is kept, and the digest of its arguments."""
        known = self._sessions.recognised(call.context.session_id)
        if known or not _is_plain(call.arguments):
            kept = self._kept_and_digested(call, known)
        else:
            about = (self._key, self._values)  # what is kept depends on the ledger's key
            kept = reading_of(call, home_directory()).remember(about, lambda: self._kept_and_digested(call, known))
        self._sessions.remember(call.context.session_id, kept[0].told)
        return kept

    def known(self, call: ToolCall) -> Recognised:
        """The secrets that the session has seen, and those of the call's arguments."""
        told = self.call(call)[0].told
        known = self._sessions.recognised(call.context.session_id)
        known.learn_all(told)
        return known

    def identity(self, call: ToolCall) -> Identity:
        """Who asked, from where and under which names. Whoever names a session after a token gets a marker, too."""
        context = call.context
        about = (
            context.session_id, context.agent_id or _host_of(context.source), context.role, context.principal,
            context.cwd, context.trace_id, context.claimed,
        )  # fmt: skip
        names = self._harmless.get(about)
        if names is None:
            names = tuple(self._name(clean(text)) for text in about)
            if names == about:  # what was hidden is not held in memory
                if len(self._harmless) >= _NAMES:
                    self._harmless.clear()
                self._harmless[about] = names
        session, agent, role, principal, cwd, trace_id, claimed = names
        call_id, request = self._name(clean(call.call_id)), self._name(request_name(context.request_id))
        claims = _NO_CLAIMS if context.claims is UNSET else self._claims(context.claims)
        return Identity(call_id, session, agent, role, principal, cwd, trace_id, claimed, request, claims)

    def _claims(self, said: Claims) -> Claims:
        """What a caller says of itself, without the secrets in it."""
        session, principal, client = (self._name(clean(text)) for text in (said.session, said.principal, said.client))
        return Claims(session=session, principal=principal, client=client)

    def _name(self, text: str) -> str:
        """Ids that are mere numbers are not searched: no secret is known by its digits alone."""
        return text if not text or _NUMBER.fullmatch(text) else self._redactor.redact(text).text

    def result(self, result: object, call: ToolCall) -> KeptResult:
        """A result as it is kept."""
        plain = json_of(result)
        kept = self._kept_result(result, plain, call) if self._values else NOT_KEPT
        return KeptResult(kept, self._digest(plain), len(plain))

    def said(self, said: Said, known: Recognised | None = None) -> Said:
        """What was said, without the secrets that it quotes."""
        plain = json_of(said)
        hidden, found = self._redactor.redact_after(b"", plain, known)
        if not found:
            return said if plain.isascii() else _said(plain)
        try:
            return _said(hidden)
        except MsgspecError:
            pass  # a marker stands where JSON needs something else
        try:
            return _said(_encode(self._redactor.redact_value(_any(plain), known)[0]))
        except MsgspecError:
            return Said(reason="(withheld: it could not be searched for secrets)")

    def _kept_and_digested(self, call: ToolCall, known: Recognised) -> tuple[KeptCall, str]:
        plain = json_of(call.arguments)
        return self._kept_call(call, plain, known), self._digest(plain)

    def _kept_call(self, call: ToolCall, plain: bytes, known: Recognised) -> KeptCall:
        found = _effects(call)
        if not self._values:
            return KeptCall(NOT_KEPT, "", self._shown(found), {})
        hidden, encoded = self._hidden(call.arguments, plain, known)
        kept = Raw(encoded) if len(encoded) <= ARGUMENTS_LIMIT else _part(encoded, ARGUMENTS_LIMIT)
        words = " ".join(_strings(hidden, TEXT_LIMIT))
        # INVARIANT: what is not searched again stands in the record anyway, in arguments in which nothing was hidden.
        repeated = encoded is plain and all(_repeats(effect.resource, words, call.context.cwd) for effect in found)
        return KeptCall(kept, words, found if repeated else self._shown(found, known), known.values)

    def _shown(self, effects: tuple[SeenEffect, ...], known: Recognised | None = None) -> tuple[SeenEffect, ...]:
        return self.said(Said(effects=effects), known).effects if effects else ()

    def _kept_result(self, result: object, plain: bytes, call: ToolCall) -> Raw:
        known = self.known(call)
        if len(plain) > RESULT_LIMIT:
            kept = _part(self._redactor.redact_after(b"", plain[: RESULT_LIMIT + _OVERLAP], known)[0], RESULT_LIMIT)
        else:
            kept = Raw(self._hidden(result, plain, known)[1])
        self._sessions.remember(call.context.session_id, known.values)
        return kept

    def _hidden(self, value: object, plain: bytes, known: Recognised) -> tuple[Any, bytes]:
        """The value and its JSON, both without secrets."""
        hidden, found = self._redactor.redact_value(value, known)
        encoded = json_of(hidden) if found else plain
        if _is_plain(value):
            return hidden, encoded
        # Once more as it is written: objects have names and texts only now.
        try:
            written = _any(encoded)
        except (MsgspecError, RecursionError):
            written = encoded.decode()
            encoded = _encode(written)
        hidden, found = self._redactor.redact_value(written, known)
        return hidden, json_of(hidden) if found else encoded

    def _digest(self, data: bytes) -> str:
        return hashlib.blake2b(data, digest_size=16, key=self._key).hexdigest()


def _repeats(resource: str, words: str, cwd: str) -> bool:
    """Whether a resource is a part of the arguments' own words, or one in the working directory."""
    return resource.isascii() and (resource in words or (bool(cwd) and resource.removeprefix(f"{cwd}/") in words))


def json_of(value: object) -> bytes:
    """JSON of any value; of half characters and of what has no JSON form, the text."""
    try:
        try:
            return _encode(value)
        except UnicodeEncodeError:
            return _encode(_whole(value))
    except Exception as error:  # noqa: BLE001 - results are any Python value
        return _encode(f"(not kept: {clean(text_of(error))})")


def clean(text: str) -> str:
    """Text that every store can keep: no half characters, no NUL."""
    if text.isascii():
        return text.replace("\0", "\\0") if "\0" in text else text
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\0")


def _host_of(source: str) -> str:
    """The host whose hook asked: that is who people know as the agent, where it names none."""
    return source.removeprefix("hook:") if source.startswith("hook:") else ""


def request_name(text: str) -> str:
    """A request's id as it is kept, and so as it is looked for."""
    return clean(text)[:REQUEST_LIMIT] if text else ""


def _effects(call: ToolCall) -> tuple[SeenEffect, ...]:
    try:
        found = reading_of(call, home_directory()).effects
    except Exception:  # noqa: BLE001 - a call that was refused because it can't be read has a record all the same
        return ()
    return tuple(SeenEffect(effect.kind, effect.resource, effect.certainty) for effect in found)


def _is_plain(value: object) -> bool:
    """Whether a value is nothing but JSON: no object of it gets its names and texts only when it is written."""
    left = [value]
    while left:
        one: Any = left.pop()
        kind = type(one)
        if kind not in _PLAIN:
            return False
        if kind is dict or kind is FrozenDict:
            for key, item in one.items():
                if type(key) is not str:
                    return False
                if type(item) is not str:
                    left.append(item)
        elif kind is list or kind is FrozenList or kind is tuple:
            left.extend(one)
    return True


def _whole(value: Any) -> Any:
    """The value with its half characters escaped."""
    kind = type(value)
    if kind is str:
        return clean(value)
    if issubclass(kind, dict):
        return {clean(text_of(key)): _whole(one) for key, one in value.items()}
    if issubclass(kind, list | tuple):
        return [_whole(one) for one in value]
    if hasattr(kind, "__struct_fields__"):
        return {name: _whole(getattr(value, name)) for name in kind.__struct_fields__}
    return value


def _part(data: bytes, limit: int) -> Raw:
    return Raw(_encode(data[:limit].decode("utf-8", "ignore") + ("…" if len(data) > limit else "")))


def _strings(value: Any, room: int) -> Iterator[str]:
    """The texts in nested data, until `room` characters are used up."""
    left = [value]
    while left and room > 0:
        one = left.pop()
        kind = type(one)
        if kind is str:
            room -= len(one) + 1
            yield one
        elif issubclass(kind, dict):
            left.extend(reversed(one.values()))
        elif issubclass(kind, list | tuple):
            left.extend(reversed(one))
