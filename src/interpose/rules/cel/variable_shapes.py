"""What a variable holds, as far as it is known when an expression is loaded."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct


class Plain(Struct, frozen=True):
    """A text, a number, a time: something without fields."""

    type: str
    doc: str = ""


class FixedMap(Struct, frozen=True):
    """A map that always has these fields, and no other."""

    name: str
    fields: Mapping[str, Shape]
    doc: str = ""
    type: str = "map(string, dyn)"


class Listing(Struct, frozen=True):
    """A list of things of one shape."""

    of: Shape
    type: str
    doc: str = ""


class Dynamic(Struct, frozen=True):
    """What an agent or a tool made up: any field may be missing."""

    type: str = "dyn"
    doc: str = ""


Shape = Plain | FixedMap | Listing | Dynamic

UNKNOWN = Plain("dyn")
