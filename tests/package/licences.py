"""The licences of everything that Interpose needs: whoever ships it ships them along, and must be able to."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import Distribution

from msgspec import Struct

ALLOWED = frozenset({
    "0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MIT-0", "MPL-2.0", "PSF-2.0", "Unlicense",
    "Zlib",
})  # fmt: skip
"""Licences that ask of who ships a program no more than to name them, or (MPL) to hand on changes of its own files."""
SPELLED = {
    "3-Clause BSD License": "BSD-3-Clause",
    "MIT License": "MIT",
    "License :: OSI Approved :: BSD License": "BSD-3-Clause",
    "License :: OSI Approved :: MIT License": "MIT",
    "License :: OSI Approved :: Apache Software License": "Apache-2.0",
    "License :: OSI Approved :: Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
}
"""How packages say it that don't use the names of SPDX."""
_LONGEST = 60


class Licence(Struct, frozen=True):
    """What one distribution says of itself."""

    name: str
    version: str
    says: str
    allowed: bool


def licence_of(dist: Distribution) -> Licence:
    """Its licence, in the words of SPDX where it can be told."""
    told = dist.metadata
    said = [text for name in ("License-Expression", "License") for text in told.get_all(name) or []]
    classified = [text for text in told.get_all("Classifier") or [] if text.startswith("License ::")]
    named = next((text for text in said if text and len(text) < _LONGEST), "")
    if not named and classified:
        named = " OR ".join(SPELLED.get(text, text) for text in classified)
    named = SPELLED.get(named, named)
    return Licence(told["Name"], dist.version, named or "nothing", may_be_shipped(named))


def may_be_shipped(expression: str) -> bool:
    """Whether one of the choices that an SPDX expression gives is made of allowed licences only."""
    choices = expression.replace("(", " ").replace(")", " ").split(" OR ")
    return any(all(part.strip() in ALLOWED for part in choice.split(" AND ")) for choice in choices)


def table(licences: Iterable[Licence]) -> str:
    """For people: a page of Markdown."""
    rows = [
        f"| {one.name} | {one.version} | {one.says} |" for one in sorted(licences, key=lambda one: one.name.lower())
    ]
    return "\n".join(["| package | version | licence |", "|---|---|---|", *rows]) + "\n"
