"""Redaction: text and nested data come back in their own shape, with a marker where a secret was."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from interpose.reading.secrets.effort import Effort
from interpose.reading.secrets.hits import Hit
from interpose.reading.secrets.nested import Nested, Repeats
from interpose.reading.secrets.recognised import Recognised, digest, usable_key


class FoundSecret(Struct, frozen=True):
    """A secret that was hidden: what it was, its keyed digest, and where it stood in the original text."""

    kind: str
    digest: str
    span: tuple[int, int]

    @property
    def marker(self) -> str:
        """What stands there now."""
        return f"[redacted:{self.kind}:{self.digest}]"


class Redaction(Struct, frozen=True):
    """A text without its secrets."""

    text: str
    found: tuple[FoundSecret, ...] = ()


class Redactor:
    """Hides secrets. The key makes digests comparable: one key for all who should see that two secrets are equal."""

    def __init__(self, key: bytes | None = None) -> None:
        self._key = usable_key(key)

    def redact(self, text: str, effort: Effort | None = None, known: Recognised | None = None) -> Redaction:
        """The text with every secret replaced by `[redacted:<kind>:<digest>]`, wherever it stands.

        `effort` is shared by texts that belong together; what is left of a text when it is spent is withheld. What is
        found here is added to what is `known`.
        """
        data = text.encode("utf-8", "surrogatepass")
        return self._in_text(text, data, *self.redact_bytes(data, effort, known))

    def redact_known(self, text: str, known: Recognised) -> Redaction:
        """The text without what is known already; nothing else is looked for."""
        data = text.encode("utf-8", "surrogatepass")
        return self._in_text(text, data, *self.redact_known_bytes(data, known))

    def redact_known_bytes(self, data: bytes, known: Recognised) -> tuple[bytes, tuple[FoundSecret, ...]]:
        """The same for bytes."""
        from interpose.reading.secrets.scanner import scanner

        return self._hidden(data, scanner().find_known(data, known))

    def _in_text(self, text: str, data: bytes, clean: bytes, found: tuple[FoundSecret, ...]) -> Redaction:
        if not found:
            return Redaction(text)
        if len(data) != len(text):
            found = _in_characters(data, found)
        return Redaction(clean.decode("utf-8", "surrogatepass"), found)

    def redact_bytes(
        self, data: bytes, effort: Effort | None = None, known: Recognised | None = None
    ) -> tuple[bytes, tuple[FoundSecret, ...]]:
        """The same for bytes in any encoding that agrees with ASCII. Spans count bytes."""
        from interpose.reading.secrets.scanner import scanner

        return self._hidden(data, scanner().find(data, effort, known))

    def redact_after(
        self, before: bytes, data: bytes, known: Recognised | None = None
    ) -> tuple[bytes, tuple[FoundSecret, ...]]:
        """Redact data that follows text which is already out of reach, but says what the data is."""
        from interpose.reading.secrets.scanner import disjoint, scanner

        base = len(before)
        repeated = [] if known is None else scanner().find_known(before + data, known)
        found = scanner().find(before + data, None, known)
        hits = [
            Hit(max(0, hit.start - base), hit.end - base, hit.kind, hit.secret)
            for hit in disjoint([*found, *repeated])
            if hit.end > base
        ]
        return self._hidden(data, hits)

    def redact_value(self, value: Any, known: Recognised | None = None) -> tuple[Any, tuple[FoundSecret, ...]]:
        """Nested data in its own shape; the very object that was given if nothing was found. Never raises.

        What is nested too deep or is too large to be searched is withheld, and counts as found. What one text tells is
        hidden in all the others, too.
        """
        alone = known is None and type(value) in (str, bytes)
        known = Recognised() if known is None else known
        clean, found = Nested(self, known).redacted(value)
        if alone or not known:
            return clean, found
        clean, again = Repeats(self, known).redacted(clean)
        return clean, (*found, *again)

    def learn(self, value: Any, known: Recognised) -> None:
        """Only look: know what a value tells."""
        Nested(self, known).redacted(value)

    def redact_named(
        self, name: str, text: str, effort: Effort | None = None, known: Recognised | None = None
    ) -> Redaction:
        """A text that is the value of a name, as in a mapping: the name may tell what the text does not."""
        from interpose.reading.secrets.assignment import kind_of

        redaction = self.redact(text, effort, known)
        if redaction.found or not text or "\n" in text:
            return redaction
        told = kind_of(name.encode("utf-8", "surrogatepass"), text.encode("utf-8", "surrogatepass"), quoted=True)
        return self._as_line(name, text, effort, known) if told is None else self.hide(text, told[0], known)

    def hide(self, text: str, kind: str, known: Recognised | None = None) -> Redaction:
        """A text that is a secret as a whole."""
        if known is not None:
            known.learn(text.encode("utf-8", "surrogatepass"), kind)
        found = FoundSecret(kind, digest(text.encode("utf-8", "surrogatepass"), self._key), (0, len(text)))
        return Redaction(found.marker, (found,))

    def _as_line(self, name: str, text: str, effort: Effort | None, known: Recognised | None) -> Redaction:
        """Headers are found by their names too: `Authorization: ...`, `Cookie: ...`."""
        if name.lower().rsplit("-", 1)[-1] not in ("authorization", "cookie"):
            return Redaction(text)
        head = f"{name}: "
        line = self.redact(head + text, effort, known)
        moved = tuple(
            FoundSecret(found.kind, found.digest, (found.span[0] - len(head), found.span[1] - len(head)))
            for found in line.found
        )
        return Redaction(line.text[len(head) :], moved)

    def withheld(self, kind: str) -> FoundSecret:
        """The marker for something that could not be searched."""
        return FoundSecret(kind, digest(kind.encode(), self._key), (0, 0))

    def _hidden(self, data: bytes, hits: list[Hit]) -> tuple[bytes, tuple[FoundSecret, ...]]:
        if not hits:
            return data, ()
        parts: list[bytes] = []
        found: list[FoundSecret] = []
        at = 0
        for hit in hits:
            end = _before_escape(data, hit.start, hit.end)
            one = FoundSecret(hit.kind, digest(hit.secret, self._key), (hit.start, end))
            parts += (data[at : hit.start], one.marker.encode())
            found.append(one)
            at = end
        parts.append(data[at:])
        return b"".join(parts), tuple(found)


def _before_escape(data: bytes, start: int, end: int) -> int:
    """A backslash at the end belongs to what follows: taking it away would end a JSON string too early."""
    while end > start + 1 and data[end - 1 : end] == b"\\":
        end -= 1
    return end


def _in_characters(data: bytes, found: tuple[FoundSecret, ...]) -> tuple[FoundSecret, ...]:
    moved: list[FoundSecret] = []
    at = characters = 0
    for one in found:
        start, end = one.span
        first = characters + len(data[at:start].decode("utf-8", "surrogatepass"))
        characters = first + len(data[start:end].decode("utf-8", "surrogatepass"))
        at = end
        moved.append(FoundSecret(one.kind, one.digest, (first, characters)))
    return tuple(moved)
