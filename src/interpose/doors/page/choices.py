"""One of a few words in an address, and the links to the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from interpose.doors.page.html import Html, tag
from interpose.doors.page.page_visits import TOLD, Visit


def chosen(visit: Visit, name: str, words: Mapping[str, Any], usual: str) -> str:
    """The word that an address has; the usual one if it has none that we know."""
    said = visit.request.query.get(name, usual)
    return said if said in words else usual


def here_with(visit: Visit, **fields: str) -> str:
    """This address with other fields; those that are empty are left out."""
    kept = {name: value for name, value in (visit.request.query | fields).items() if value and name != TOLD}
    return f"?{urlencode(kept)}"


def ways(visit: Visit, name: str, words: Mapping[str, str], current: str) -> Html:
    """Links to all of them."""
    links = [
        tag("a", text, href=here_with(visit, **{name: word}), aria_current="true" if word == current else None)
        for word, text in words.items()
    ]  # fmt: skip
    return tag("nav", links, class_="ways", aria_label=name)
