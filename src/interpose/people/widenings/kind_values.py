"""The values: a kind of call, and what its effects may be. They are signed and kept, so they are plain data."""

from __future__ import annotations

import re
from typing import Any, Final, Literal

from msgspec import Struct, field

from interpose.core.types import EffectKind, FrozenDict

Hole = Literal["number", "hex", "name", "path", "address"]
"""What may stand in the one place that varies. None of these means anything to a shell."""

Matching = Literal["is", "in", "below", "host", "ref", "like"]
"""How a resource is held: exactly; directly in a directory; at any depth below it; at one host; a branch of one remote;
or the same text with another number."""

NEVER: Final[frozenset[EffectKind]] = frozenset(
    {"opaque", "guard.tamper", "code.remote", "privilege", "secret.read", "system", "persistence"}
)
"""Effects that are agreed to one by one, never as a kind."""

_SEGMENT = r"[A-Za-z0-9_][A-Za-z0-9._@+,-]{0,199}"
_HOLES: Final[dict[Hole, re.Pattern[str]]] = {
    # No zero: it means all, nobody or the superuser too often. And none before a number, which is then of another base.
    "number": re.compile(r"[1-9][0-9]{0,19}"),
    "hex": re.compile(r"[0-9a-f]{7,64}"),
    "name": re.compile(_SEGMENT),
    "path": re.compile(rf"{_SEGMENT}(?:/{_SEGMENT}){{0,19}}"),
    "address": re.compile(r"[A-Za-z0-9._%/+=,@-]{1,500}"),
}


class EffectBound(Struct, frozen=True, omit_defaults=True):
    """One effect that a call of a kind may have.

    `resource` is the resource itself, the directory, the host with its scheme, the remote, or the text before a number;
    `rest` is where the directory really lay when it was offered, the beginning of the branch, or the text behind the
    number. `details` must be the same: a push that is forced is another one.
    """

    kind: EffectKind
    matching: Matching = "is"
    resource: str = ""
    rest: str = ""
    details: dict[str, Any] = field(default_factory=FrozenDict)
    via: tuple[str, ...] = ()
    hole: Hole = "number"
    """What stands in the place of the number, where it is an id."""
    lay: str = ""
    """Where the directory of a numbered file really lay."""


class CallKind(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Calls of one tool that are alike but for one place in one argument.

    The value of `argument` is `before`, what fits the `hole`, and `behind`. The arguments of `free` may be anything,
    all others are those of `fixed`. `number` says that the value is a number and no text.
    """

    id: str
    text: str
    tool: str
    said: str
    argument: str
    hole: Hole
    before: str = ""
    behind: str = ""
    number: bool = False
    free: tuple[str, ...] = ()
    fixed: dict[str, Any] = field(default_factory=FrozenDict)
    effects: tuple[EffectBound, ...] = ()
    understood: bool = True


def fills(hole: Hole, text: str) -> bool:
    """Whether a text may stand in a hole."""
    return _HOLES[hole].fullmatch(text) is not None and ".." not in text
