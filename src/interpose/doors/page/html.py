"""HTML that is safe by construction: text becomes part of a page through here, and never as it came.

    tag("p", "agents say ", tag("b", anything), class_="word")

Every field of a page is written by somebody who may be hostile. So there is one type for what is markup (`Html`), it is
made by `tag` alone, and everything else is text: escaped, and with letters spelled out that hide or turn other text.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from msgspec import Struct

from interpose.core.formats.plain_text import BLANK


class Html(Struct, frozen=True):
    """Markup. INVARIANT: it is made by this module, from names that we wrote and from text that was escaped."""

    text: str


Content = Html | str | int | float | None | Iterable["Content"]
Attribute = str | int | float | bool | None

_VOID = frozenset({"meta", "link", "input", "br", "hr", "img"})
_ADDRESSES = frozenset({"href", "src", "action", "formaction"})
_ESCAPES = {ord("&"): "&amp;", ord("<"): "&lt;", ord(">"): "&gt;", ord('"'): "&quot;", ord("'"): "&#39;"}
_UNSEEN = ("Cf", "Cc", "Co", "Cs", "Cn", "Zl", "Zp")
_LINES = "\n\t"
NOTHING = Html("")


def tag(name: str, /, *content: Content, **attributes: Attribute) -> Html:
    """One element. `class_` is `class`, `aria_label` is `aria-label`; None and False leave an attribute out."""
    if not name.isalnum():
        raise ValueError(f"{name!r} is no element")
    inside = joined(*content)
    start = f"<{name}{''.join(_attribute(key, value) for key, value in attributes.items())}>"
    return Html(start if name in _VOID else f"{start}{inside.text}</{name}>")


def joined(*content: Content) -> Html:
    """Pieces one after the other."""
    return Html("".join(_piece(one) for one in content))


def exact(text: str) -> Html:
    """Text in a field that is sent back as it is, so nothing in it is spelled out: see `is_plain`."""
    return Html(text.translate(_ESCAPES))


def document(head: Html, body: Html) -> bytes:
    """A whole page."""
    return f'<!doctype html><html lang="en">{tag("head", head).text}{body.text}</html>'.encode()


def is_own_address(text: str) -> bool:
    """Whether an address leads to this server, however a browser reads it: it takes no notice of some letters."""
    if any(char <= " " for char in text):
        return False
    return text.startswith(("/", "#", "?")) and not text.startswith(("//", "/\\"))


def is_plain(text: str) -> bool:
    """Whether a text is seen as what it is, and comes back from a field as it was."""
    return all(char in _LINES or _is_seen(char) for char in text)


def spelled(text: str) -> str:
    """Text without letters that hide or turn other text: those are spelled out. Lines and tabs stay."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(char if char in _LINES or _is_seen(char) else _spelled(char) for char in text)


def _piece(one: Content) -> str:
    match one:
        case Html(text):
            return text
        case None:
            return ""
        case str():
            return _marked(one)
        case int() | float():
            return str(one)
        case _:
            return "".join(_piece(each) for each in one)


def _marked(text: str) -> str:
    """Text as it is seen. What was spelled out stands out, so that nobody takes it for what was written."""
    if text.isascii() and text.isprintable():
        return text.translate(_ESCAPES)
    return "".join(
        char.translate(_ESCAPES) if char in _LINES or _is_seen(char) else f'<i class="unseen">{_spelled(char)}</i>'
        for char in text
    )


def _attribute(name: str, value: Attribute) -> str:
    name = name.rstrip("_").replace("_", "-")
    # INVARIANT: nothing that runs stands in an attribute, and an address is one of ours.
    if name.startswith("on") or name == "style" or not name.replace("-", "").isalnum():
        raise ValueError(f"{name!r} is no attribute of a page")
    if value is None or value is False:
        return ""
    if value is True:
        return f" {name}"
    text = spelled(str(value))
    if name in _ADDRESSES and not is_own_address(text):
        raise ValueError(f"{text!r} is no address of the page")
    return f' {name}="{text.translate(_ESCAPES)}"'


def _is_seen(char: str) -> bool:
    return char.isprintable() and char not in BLANK and unicodedata.category(char) not in _UNSEEN


def _spelled(char: str) -> str:
    return char.encode("unicode_escape", "surrogatepass").decode("ascii")
