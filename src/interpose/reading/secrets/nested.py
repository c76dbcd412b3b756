"""Redacting nested data: the same shape comes back, and untouched parts are the same objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interpose.core.formats.nested_values import NestedWalk
from interpose.reading.secrets.effort import Effort
from interpose.reading.secrets.recognised import SHORTEST

if TYPE_CHECKING:
    from interpose.reading.secrets.recognised import Recognised
    from interpose.reading.secrets.redact import FoundSecret, Redaction, Redactor

MAX_BYTES = 64 * 1024 * 1024
_NAMES = ("name", "key", "Name", "Key")
_VALUES = ("value", "Value")
_SECRET_PARTS = ("data", "stringData")

_KEYS, _KEY_LENGTH = 4096, 64
_PLAIN_KEYS: set[str] = set()
"""Keys that are no secrets: those of tools' arguments come with every call."""


class Nested(NestedWalk):
    """One walk that hides secrets."""

    def __init__(self, redactor: Redactor, known: Recognised) -> None:
        super().__init__()
        self._redactor, self._known = redactor, known
        self._left = MAX_BYTES
        self._effort = Effort()
        self._found: list[FoundSecret] = []

    def redacted(self, value: Any) -> tuple[Any, tuple[FoundSecret, ...]]:
        """The value without secrets, and what was found."""
        clean = self.replaced(value)
        return (clean, tuple(self._found)) if self._found else (value, ())

    def begin_again(self) -> None:
        """Count from the start."""
        self._left, self._found, self._effort = MAX_BYTES, [], Effort()

    def text(self, text: str, name: str) -> str:
        """A text without its secrets; its name may tell what it does not."""
        self._left -= len(text)
        if self._left < 0:
            return self.withhold(text, "too-large")
        effort, known, redactor = self._effort, self._known, self._redactor
        redaction = redactor.redact_named(name, text, effort, known) if name else redactor.redact(text, effort, known)
        return self._taken(text, redaction)

    def data(self, data: bytes) -> bytes:
        """Bytes without their secrets."""
        self._left -= len(data)
        if self._left < 0:
            return self.withhold(data, "too-large").encode()
        clean, found = self._redactor.redact_bytes(data, self._effort, self._known)
        self._found += found
        return clean if found else data

    def sealed(self, content: Any) -> Any:
        """All of it: its class says that it is a secret."""
        if isinstance(content, bytes):
            return self._hidden(content.decode("utf-8", "replace"), "secret-value").encode() if content else content
        return self._hidden(content, "secret-value") if isinstance(content, str) and content else content

    def items_of(self, mapping: dict[Any, Any], depth: int) -> dict[Any, Any]:
        """Names tell what values do not."""
        named = self._name_of_pair(mapping)
        is_secret = mapping.get("kind") == "Secret"
        changed: dict[Any, Any] = {}
        same = True
        for key, item in mapping.items():
            name = key if isinstance(key, str) else ""
            if is_secret and key in _SECRET_PARTS and isinstance(item, dict):
                new = {self._key(entry): self._whole(text, depth + 1) for entry, text in item.items()}
            else:
                new = self.walk(item, named if named and key in _VALUES else name, depth + 1)
            new_key = self._key(key)
            same = same and new is item and new_key is key
            changed[new_key] = new
        return mapping if same else changed

    def _key(self, key: Any) -> Any:
        """Keys stay, unless a key is itself a secret."""
        if type(key) is str and key in _PLAIN_KEYS:
            return key
        new = self.text(key, "") if isinstance(key, str) else self.data(key) if isinstance(key, bytes) else key
        if new is key and type(key) is str and len(key) <= _KEY_LENGTH and len(_PLAIN_KEYS) < _KEYS:
            _PLAIN_KEYS.add(key)
        return new

    def _name_of_pair(self, value: dict[Any, Any]) -> str:
        """`{"name": "API_KEY", "value": "..."}`: environments and headers are often listed so."""
        if not any(key in value for key in _VALUES):
            return ""
        return next((value[key] for key in _NAMES if isinstance(value.get(key), str)), "")

    def _whole(self, text: Any, depth: int) -> Any:
        return self._hidden(text, "kubernetes-secret") if isinstance(text, str) and text else self.walk(text, "", depth)

    def _hidden(self, text: str, kind: str) -> str:
        return self._taken(text, self._redactor.hide(text, kind, self._known))

    def _taken(self, text: str, redaction: Redaction) -> str:
        self._found += redaction.found
        return redaction.text if redaction.found else text

    def withhold(self, _value: Any, kind: str) -> str:
        """A marker, which counts as found."""
        found = self._redactor.withheld(kind)
        self._found.append(found)
        return found.marker


class Repeats(NestedWalk):
    """Another walk over what the first one gave back: a text may show what only a later one told."""

    def __init__(self, redactor: Redactor, known: Recognised) -> None:
        super().__init__()
        self._redactor, self._known = redactor, known
        self._found: list[FoundSecret] = []

    def redacted(self, value: Any) -> tuple[Any, tuple[FoundSecret, ...]]:
        """The value without what is known, and what was found."""
        return self.replaced(value), tuple(self._found)

    def begin_again(self) -> None:
        """Count from the start."""
        self._found = []

    def text(self, text: str, _name: str) -> str:
        """A text without what is known."""
        if len(text) < SHORTEST:
            return text
        redaction = self._redactor.redact_known(text, self._known)
        self._found += redaction.found
        return redaction.text if redaction.found else text

    def data(self, data: bytes) -> bytes:
        """Bytes without what is known."""
        clean, found = self._redactor.redact_known_bytes(data, self._known)
        self._found += found
        return clean if found else data

    def items_of(self, mapping: dict[Any, Any], depth: int) -> dict[Any, Any]:
        """Keys may be secrets, too."""
        items = super().items_of(mapping, depth)
        keys = {key: self.walk(key, "", depth + 1) if isinstance(key, str | bytes) else key for key in items}
        if all(new is key for key, new in keys.items()):
            return items
        return {keys[key]: item for key, item in items.items()}

    def withhold(self, _value: Any, kind: str) -> Any:
        """The first walk has withheld what it could not look into; this one stops at the same places."""
        found = self._redactor.withheld(kind)
        self._found.append(found)
        return found.marker
