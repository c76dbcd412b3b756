"""The packs that come with Interpose, and which of them are on.

`packs.yaml` among the user's own rules says so. Nothing is ever written in the project.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from msgspec import Struct

from interpose.core.errors import PolicyError
from interpose.rules.policy.load import RulePlace, pack_names, pack_text, parsed, read
from interpose.rules.policy.own_rules import write_whole
from interpose.rules.policy.rule_places import DEFAULT_PACKS, PACKS, packs_text, user_directory
from interpose.rules.policy.rules import Level, PolicyProblem, Rule, RuleFile


class Pack(Struct, frozen=True):
    """A pack that comes with Interpose. `on` is the file that switches it on; empty if none does."""

    name: str
    summary: str
    rules: tuple[Rule, ...]
    on: str = ""
    level: Level | None = None


def packs(places: Sequence[RulePlace]) -> list[Pack]:
    """Every pack, and which file switches it on. Raises PolicyError."""
    switched: dict[str, RuleFile] = {}
    for text in read(places):
        file = parsed(text)
        for name, _ in file.packs:
            if name not in switched or file.level.rank > switched[name].level.rank:
                switched[name] = file
    found = [pack(name) for name in pack_names()]
    return [
        Pack(each.name, each.summary, each.rules, by.file, by.level) if (by := switched.get(each.name)) else each
        for each in found
    ]


def pack(name: str) -> Pack:
    """A pack as it is shipped. Raises PolicyError if there is none of this name."""
    known = pack_names()
    if name not in known:
        raise PolicyError((PolicyProblem("", 0, "", f"unknown pack {name!r}, expected one of {', '.join(known)}"),))
    text = pack_text(name)
    summary = text.text.partition("\n")[0].removeprefix("#").strip()
    return Pack(name, summary, parsed(text).rules)


def enabled(environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """The packs that the user switched on. Raises PolicyError if the file that says so is broken."""
    (text,) = read([RulePlace(str(user_directory(environ) / PACKS), Level.USER, packs_text(DEFAULT_PACKS))])
    file = parsed(text)
    if file.rules or file.disable or file.judge:
        why = "expected nothing but `packs`: put rules of your own into a file beside this one"
        raise PolicyError((PolicyProblem(text.file, 1, "", why),))
    return tuple(name for name, _ in file.packs)


def switch(name: str, *, on: bool, environ: Mapping[str, str] = os.environ) -> bool:
    """Switch a pack on or off for this user. True if that changed something. Raises PolicyError and OSError."""
    pack(name)
    before = enabled(environ)
    after = tuple(dict.fromkeys((*before, name))) if on else tuple(other for other in before if other != name)
    if after == before:
        return False
    write_whole(user_directory(environ) / PACKS, packs_text(after))
    return True
