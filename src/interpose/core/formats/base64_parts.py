"""Base64 inside nested values: shown as what it holds while somebody looks for secrets, and closed again afterwards.

Base64 that holds text is shown as that text. Base64 of a picture, a sound or an archive is shown as its size: searching
that for secrets would only damage it. Any other is left as it stands.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from interpose.core.types import MAX_DEPTH

Place = tuple[str | int, ...]

HoldsBase64 = Callable[[Mapping[str, Any], str], str | None]
"""What kind of data the text under this name of this object holds in base64; None if it is no such text."""

_SIGNATURES = (
    b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"RIFF", b"BM", b"II*\0", b"MM\0*", b"ID3",
    b"\xff\xfb", b"\xff\xf3", b"OggS", b"fLaC", b"%PDF-", b"PK\3\4", b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0", b"7z\xbc\xaf",
    b"\x28\xb5\x2f\xfd", b"\0asm", b"\x7fELF", b"SQLite format 3\0", b"\x1aE\xdf\xa3",
)  # fmt: skip
_FTYP = b"ftyp"
_DATA_URL, _BASE64 = "data:", ";base64,"


class HeldPart(Struct, frozen=True):
    """A text that is shown as something else. `is_text` says that it is shown as what it holds."""

    came: str
    shown: str
    is_text: bool = False
    before: str = ""
    """What stands before the base64, of an address that holds its own data."""


class OpenedValue(Struct, frozen=True):
    """A value with its base64 opened."""

    value: Any
    held: Mapping[Place, HeldPart]


def opened(value: Any, holds: HoldsBase64) -> OpenedValue:
    """A value as it is looked at. What nests too deep is left as it is: the pipeline refuses it."""
    held: dict[Place, HeldPart] = {}
    return OpenedValue(_opened(value, (), held, holds), held)


def _opened(value: Any, at: Place, held: dict[Place, HeldPart], holds: HoldsBase64) -> Any:
    """The same object if nothing in it is base64."""
    if len(at) > MAX_DEPTH:
        return value
    if isinstance(value, list):
        items = [_opened(item, (*at, place), held, holds) for place, item in enumerate(value)]
        return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
    if not isinstance(value, dict):
        return value
    changed: dict[str, Any] = {}
    for key, item in value.items():
        if isinstance(item, str):
            kind = holds(value, key)
            part = None if kind is None else part_of(item, kind)
            if part is not None:
                held[(*at, key)] = part
                changed[key] = part.shown
        elif (new := _opened(item, (*at, key), held, holds)) is not item:
            changed[key] = new
    return value | changed if changed else value


def part_of(text: str, kind: str) -> HeldPart | None:
    """What base64 holds; None if it is to be looked at as it stands: it is none, or nobody knows what it holds."""
    before = ""
    if text.startswith(_DATA_URL):
        before, border, rest = text.partition(_BASE64)
        if not border:
            return None
        before, text, came = before + border, rest, text
    else:
        came = text
    try:
        data = b64decode(text, validate=True)
    except ValueError:
        return None
    if b"\0" not in data:
        try:
            return HeldPart(came, data.decode(), is_text=True, before=before)
        except UnicodeDecodeError:
            pass
    if data.startswith(_SIGNATURES) or data[4:8] == _FTYP:
        return HeldPart(came, f"[{len(data)} bytes of {kind}]", before=before)
    return None


def closed(opened: OpenedValue, new: Any) -> Any:
    """What became of an opened value, with its base64 closed again."""
    return _closed(new, (), opened.held) if opened.held else new


def _closed(value: Any, at: Place, held: Mapping[Place, HeldPart]) -> Any:
    if isinstance(value, str):
        part = held.get(at)
        if part is None:
            return value
        if value == part.shown:
            return part.came
        return part.before + b64encode(value.encode("utf-8", "surrogatepass")).decode()
    if isinstance(value, dict):
        return {key: _closed(item, (*at, key), held) for key, item in value.items()}
    return [_closed(item, (*at, place), held) for place, item in enumerate(value)] if isinstance(value, list) else value
