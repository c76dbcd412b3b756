"""What is odd about a definition: enough to hold it even when its server is new, or only worth a person's look."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from msgspec import Struct

from interpose.core.types import EMPTY
from interpose.record.pins.definitions import Definition, item_of
from interpose.record.pins.hidden_text import hidden_in
from interpose.record.pins.lookalikes import BUILT_IN, NameIndex, are_disguised, disguise_of, skeleton
from interpose.record.pins.orders import orders_in, telling_names

MOST_READ = 64 << 10
"""Characters of a definition that are read. One that says more to a model is odd by that alone."""
_MOST_ODDITIES = 12
_NOT_READ = frozenset({"icons", "$ref", "$schema", "$id", "pattern", "uriTemplate", "uri"})


class Oddity(Struct, frozen=True):
    """Something odd. What `holds` keeps a definition back until a person says yes, whenever it comes.

    INVARIANT: `what` has no word of the server's, as agents read it. `said` has, with the place, for people.
    """

    what: str
    holds: bool = True
    said: str = ""

    @property
    def text(self) -> str:
        """For people."""
        return f"{self.what}: {self.said}" if self.said else self.what


class Neighbours:
    """The names beside which a name stands: of the same server, of others with their server, and of other servers."""

    def __init__(self, own: Iterable[str] = (), others: Mapping[str, str] = EMPTY, servers: Iterable[str] = ()) -> None:
        """`others` are the tools of other servers, and whose they are."""
        self._own, self.others, self._servers = own, others, servers

    @cached_property
    def own(self) -> NameIndex:
        """The tools of the same server."""
        return NameIndex(self._own)

    @cached_property
    def servers(self) -> NameIndex:
        """Other servers."""
        return NameIndex(self._servers)

    @cached_property
    def foreign(self) -> frozenset[str]:
        """Names of other servers' tools that no text has by chance."""
        return telling_names(self.others)

    @cached_property
    def of_others(self) -> NameIndex:
        """The tools of other servers."""
        return NameIndex(self.others)


def oddities_of(definition: Definition, server: str, beside: Neighbours) -> tuple[Oddity, ...]:
    """All that is odd about what a server shows."""
    if definition.problem:
        return (Oddity(definition.problem),)
    if definition.kind == "connection":
        found = _server_names(server, beside.servers)
    else:
        found = reading_of(item_of(definition.text), beside).oddities
        if definition.kind == "tools":
            found = (*_tool_names(definition.name, beside), *found)
        elif definition.kind == "prompts" and (disguise := disguise_of(definition.name)):
            found = (Oddity("letters in its name are not what they seem", said=disguise), *found)
    return tuple(dict.fromkeys(found))[:_MOST_ODDITIES]


def texts_of(value: Any, at: str = "") -> Iterator[tuple[str, str]]:
    """Every text in a definition that a model reads, names of arguments included, with where it stands."""
    if isinstance(value, str):
        yield at, value
    elif isinstance(value, dict):
        for name, each in value.items():
            if name not in _NOT_READ or not isinstance(each, str | list):
                yield at, name
                yield from texts_of(each, f"{at}.{name}" if at else name)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from texts_of(each, at)


class TextReading(Struct, frozen=True):
    """What was found in a text, and how many characters were read."""

    oddities: tuple[Oddity, ...]
    read: int


def reading_of(item: Mapping[str, Any], beside: Neighbours, most: int = MOST_READ) -> TextReading:
    """What is odd in all that an item says to a model."""
    found: list[Oddity] = []
    most = left = min(most, MOST_READ)
    for at, text in texts_of(dict(item)):
        left -= len(text)
        if left < 0:
            found.append(Oddity(f"there are more than {most >> 10} KiB of text, and nobody read the rest"))
            break
        if len(text) < 2:
            continue
        place = f"in {at}" if at not in ("description", "instructions") else ""
        found += [Oddity(f"it hides {what}", said=place) for what in hidden_in(text)]
        found += [Oddity(what, said=f"“{said}” {place}".strip()) for what, said in orders_in(text, beside.foreign)]
        if len(found) >= _MOST_ODDITIES:
            break
    return TextReading(tuple(found), most - left)


def _tool_names(name: str, beside: Neighbours) -> tuple[Oddity, ...]:
    found: list[Oddity] = []
    if disguise := disguise_of(name):
        found.append(Oddity("letters in its name are not what they seem", said=disguise))
    if any(True for _ in hidden_in(name)):
        found.append(Oddity("its name has characters that nobody sees"))
    if name in BUILT_IN:
        # Spelled as agents spell their own. `bash` or `read` may be anybody's word.
        found.append(Oddity("it has the name of a tool that agents bring along", holds=name[0].isupper()))
    found += [
        Oddity(
            "it looks like another tool of the same server",
            said=f"`{other}`",
            holds=not name.isascii() or not other.isascii(),
        )
        for other in beside.own.same_for_the_eye(name)
    ]
    if (owner := beside.others.get(name)) is not None:
        found.append(Oddity(f"{owner} has a tool of the same name", holds=False))
    found += [
        Oddity(f"it looks like a tool of {beside.others[other]}", said=f"`{other}`", holds=are_disguised(name, other))
        for other in beside.of_others.alike(name)
    ]
    return tuple(found)


def _server_names(server: str, servers: NameIndex) -> tuple[Oddity, ...]:
    found = (
        [Oddity("letters in its name are not what they seem", said=disguise)]
        if (disguise := disguise_of(server))
        else []
    )
    found += [
        Oddity(f"the server's name looks like that of `{other}`", holds=skeleton(server) == skeleton(other))
        for other in servers.alike(server)
    ]
    return tuple(found)
