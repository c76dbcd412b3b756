"""What is wrong with a configuration, said so that it can be put right."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct


class Problem(Struct, frozen=True):
    """Where something is wrong (file and line, a variable, the command line), with which key, and what was expected."""

    where: str
    key: str
    message: str

    def __str__(self) -> str:
        return ": ".join(part for part in (self.where, self.key, self.message) if part)


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """`unknown key 'prot', did you mean 'port'?`, or what there is if nothing is near."""
    from difflib import get_close_matches

    listed = list(known)
    near = get_close_matches(name, listed, 1)
    hint = f"did you mean {near[0]!r}?" if near else f"expected one of {', '.join(listed)}"
    return f"unknown {what} {name[:100]!r}, {hint}"
