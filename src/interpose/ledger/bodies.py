"""From a verdict and an outcome to the entries that are kept: redacted, cut to size, and never failing."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from time import time_ns
from typing import Any
from urllib.parse import urlsplit

from msgspec import MsgspecError, Raw
from msgspec.json import Decoder, Encoder

from interpose.analysis import effects_of_call, home_directory
from interpose.errors import text_of
from interpose.ledger.chain import Draft
from interpose.ledger.entry import NOT_KEPT, NOTHING_SAID, Decided, Finished, OutcomeWord, Said, SeenEffect
from interpose.ledger.keys import Keys
from interpose.secrets import Redactor
from interpose.types import Deny, ToolCall, ToolOutcome, Verdict

ARGUMENTS_LIMIT = 256 * 1024
RESULT_LIMIT = 64 * 1024
TEXT_LIMIT = 8 * 1024
"""Bytes of arguments, of a result and of searchable text that are kept; the digest covers all of it."""
_OVERLAP = 8 * 1024
_EXIT_CODES = ("exit_code", "exitCode", "returncode")

_encode = Encoder(enc_hook=text_of).encode
_encode_plain = Encoder().encode
_said = Decoder(Said).decode
_any = Decoder().decode


class Bodies:
    """Makes entries. One for each ledger: its keys decide what digests look like."""

    def __init__(self, keys: Keys, *, include_argument_values: bool = True) -> None:
        self._redactor, self._key = Redactor(keys.redaction), keys.digests
        self._values = include_argument_values

    def decided(self, verdict: Verdict[ToolCall]) -> Draft:
        """What was decided about a call."""
        call, context = verdict.payload, verdict.payload.context
        said = self._said(verdict)
        kept = NOT_KEPT
        words = ""
        plain = _json(call.arguments)
        if self._values:
            hidden, _ = self._redactor.redact_value(call.arguments)
            encoded = plain if hidden is call.arguments else _json(hidden)
            words = " ".join(_strings(hidden, TEXT_LIMIT))
            kept = Raw(encoded) if len(encoded) <= ARGUMENTS_LIMIT else _part(encoded, ARGUMENTS_LIMIT)
        body = Decided(
            arguments=kept, arguments_digest=self._digest(plain), original_name=call.original_name,
            role=context.role, principal=context.principal, cwd=context.cwd,
            trace_id=context.trace_id, source=context.source, said=said, rewritten=verdict.rewritten,
            approver=verdict.approver, elapsed_ns=verdict.elapsed_ns, policy=verdict.policy,
            timings=verdict.timings,
        )  # fmt: skip
        return Draft(
            kind="decided", body=_json(body), time_ns=time_ns(), call_id=_clean(call.call_id),
            session=_clean(context.session_id), agent=_clean(context.agent_id), tool=_clean(call.name),
            decision=verdict.outcome, rule=_rule(verdict), text=_clean(f"{words} {said.reason}")[:TEXT_LIMIT],
            effects=tuple(dict.fromkeys(effect.kind for effect in said.effects)),
            paths=_unique(e.resource for e in said.effects if e.kind.startswith("fs.") or e.kind == "secret.read"),
            hosts=_unique(_host(e.resource) for e in said.effects if e.kind in ("net.upload", "net.download")),
        )  # fmt: skip

    def finished(self, outcome: ToolOutcome) -> Draft:
        """What came of a call."""
        call, word = outcome.call, outcome_word(outcome)
        plain = _json(outcome.result)
        body = Finished(
            outcome=word, duration_ns=outcome.duration_ns, exit_code=_exit_code(outcome.result), bytes=len(plain),
            result=self._result(outcome.result, plain) if self._values else NOT_KEPT, result_digest=self._digest(plain),
            approver=outcome.approver,
        )  # fmt: skip
        context = call.context
        return Draft(
            kind="finished", body=_json(body), time_ns=time_ns(), call_id=_clean(call.call_id),
            session=_clean(context.session_id), agent=_clean(context.agent_id), tool=_clean(call.name), decision=word,
        )  # fmt: skip

    def _said(self, verdict: Verdict[ToolCall]) -> Said:
        effects = _effects(verdict.payload)
        reason = verdict.reason
        if not (reason or verdict.questions or verdict.findings or effects):
            return NOTHING_SAID
        said = Said(reason=reason, questions=verdict.questions, findings=verdict.findings, effects=effects)
        plain = _json(said)
        hidden, found = self._redactor.redact_bytes(plain)
        if not found:
            return said if plain.isascii() else _said(plain)
        try:
            return _said(hidden)
        except MsgspecError:
            pass  # a marker stands where JSON needs something else
        try:
            return _said(_encode(self._redactor.redact_value(_any(plain))[0]))
        except MsgspecError:
            return Said(reason="(withheld: it could not be searched for secrets)")

    def _result(self, result: object, plain: bytes) -> Raw:
        if len(plain) > RESULT_LIMIT:
            return _part(self._redactor.redact_bytes(plain[: RESULT_LIMIT + _OVERLAP])[0], RESULT_LIMIT)
        hidden, found = self._redactor.redact_value(result)
        encoded = _json(hidden) if found else plain
        if _is_plain(hidden):
            return Raw(encoded)
        # Once more as text: what is neither a mapping nor a sequence is text only now.
        clean, found = self._redactor.redact_bytes(encoded)
        return _part(clean, RESULT_LIMIT) if found and not _is_json(clean) else Raw(clean)

    def _digest(self, data: bytes) -> str:
        return hashlib.blake2b(data, digest_size=16, key=self._key).hexdigest()


def outcome_word(outcome: ToolOutcome) -> OutcomeWord:
    """How a call ended."""
    return "denied" if outcome.denied else "error" if outcome.is_error else "success"


def _effects(call: ToolCall) -> tuple[SeenEffect, ...]:
    try:
        found = effects_of_call(call, home_directory())
    except Exception:  # noqa: BLE001 - a call that was refused because it can't be read has a record all the same
        return ()
    return tuple(SeenEffect(effect.kind, effect.resource, effect.certainty) for effect in found)


def _rule(verdict: Verdict[ToolCall]) -> str:
    if isinstance(verdict.decision, Deny) and verdict.decision.rule:
        return _clean(verdict.decision.rule)
    return next((_clean(found.rule) for found in verdict.findings if found.rule), "")


def _json(value: object) -> bytes:
    """JSON of any value; of half characters and of what has no JSON form, the text."""
    try:
        return _encode(value)
    except UnicodeEncodeError:
        return _encode(_whole(value))
    except Exception as error:  # noqa: BLE001 - results are any Python value
        return _encode(f"(not kept: {_clean(text_of(error))})")


def _is_plain(value: object) -> bool:
    """Whether a value is JSON by itself: nothing of it became text only on the way."""
    try:
        _encode_plain(value)
    except Exception:  # noqa: BLE001 - results are any Python value
        return False
    return True


def _whole(value: Any) -> Any:
    """The value with its half characters escaped."""
    kind = type(value)
    if kind is str:
        return _clean(value)
    if issubclass(kind, dict):
        return {_clean(text_of(key)): _whole(one) for key, one in value.items()}
    if issubclass(kind, list | tuple):
        return [_whole(one) for one in value]
    if hasattr(kind, "__struct_fields__"):
        return {name: _whole(getattr(value, name)) for name in kind.__struct_fields__}
    return value


def _clean(text: str) -> str:
    """Text that every store can keep: no half characters, no NUL."""
    if text.isascii():
        return text.replace("\0", "\\0") if "\0" in text else text
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\0")


def _part(data: bytes, limit: int) -> Raw:
    return Raw(_encode(data[:limit].decode("utf-8", "ignore") + ("…" if len(data) > limit else "")))


def _is_json(data: bytes) -> bool:
    try:
        _any(data)
    except MsgspecError:
        return False
    return True


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


def _unique(texts: Iterator[str]) -> tuple[str, ...]:
    # Stores keep these as lines.
    return tuple(dict.fromkeys(_clean(text).replace("\n", "\u2424") for text in texts if text))


def _host(resource: str) -> str:
    try:
        return urlsplit(resource if "://" in resource else f"//{resource}").hostname or ""
    except ValueError:
        return ""


def _exit_code(result: object) -> int | None:
    if not issubclass(type(result), dict):
        return None
    found = (result.get(name) for name in _EXIT_CODES)  # type: ignore[attr-defined]  # it is a dict
    return next((code for code in found if type(code) is int and abs(code) < 1 << 31), None)
