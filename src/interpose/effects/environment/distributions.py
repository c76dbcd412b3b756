"""Installed distributions, read from what installers wrote down about them: names, versions, needs and files.

`importlib.metadata` reads the same files. It takes ten times as long to load, and a guard has to know within one call.
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterator, Mapping

from msgspec import Struct

TOP = "interpose"
_NAME = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")
_EXTRA = re.compile(r"\bextra\s*==")
_ALIKE = re.compile(r"[-_.]+")


class Distribution(Struct, frozen=True):
    """One installed package: its name as names are compared, and the directory in which its metadata are."""

    name: str
    version: str
    library: str
    info: str

    @property
    def title(self) -> str:
        """What people call it."""
        return f"{self.name} {self.version}"


class RecordedFile(Struct, frozen=True):
    """A file that an installer put there. Without a digest it was made later, or it is the record itself."""

    path: str
    digest: str
    """`sha256=...`, as installers write it."""


def has_packages(directory: str) -> bool:
    """Whether packages are installed in a directory: in the usual one, or in one that a `.pth` file adds."""
    return directory.endswith(("/site-packages", "/dist-packages")) or any(
        entry.endswith(".dist-info") for entry in entries(directory)
    )


def installed_in(libraries: tuple[str, ...]) -> dict[str, Distribution]:
    """All distributions by name. What is found first is what Python imports."""
    found: dict[str, Distribution] = {}
    for library in libraries:
        for entry in sorted(entries(library)):
            stem, dot, kind = entry.rpartition(".")
            name, dash, version = stem.partition("-")
            if dot and dash and kind in ("dist-info", "egg-info"):
                each = Distribution(_normal(name), version.partition("-")[0], library, f"{library}/{entry}")
                found.setdefault(each.name, each)
    return found


def needed_by_us(installed: Mapping[str, Distribution]) -> tuple[Distribution, ...]:
    """Our distribution and everything that it needs, extras of ours that are installed included."""
    found: dict[str, Distribution] = {}
    pending = [TOP]
    while pending:
        each = installed.get(pending.pop())
        if each is not None and each.name not in found:
            found[each.name] = each
            pending.extend(_needs(each))
    return tuple(found.values())


def recorded_files(distribution: Distribution) -> tuple[RecordedFile, ...] | None:
    """Every file of a distribution; None if the installer left no record."""
    try:
        with open(f"{distribution.info}/RECORD", encoding="utf-8", newline="") as file:  # noqa: PTH123 - no pathlib
            rows = [row for row in csv.reader(file) if row and row[0]]
    except (OSError, UnicodeDecodeError, csv.Error):
        return None
    library = distribution.library
    return tuple(
        RecordedFile(os.path.normpath(os.path.join(library, row[0])), row[1] if len(row) > 1 else "")  # noqa: PTH118
        for row in rows
    )


def recorded_tops(distribution: Distribution) -> frozenset[str]:
    """The names at the top of the library that a distribution put there, and the whole path of what is elsewhere.

    As `recorded_files` would say it, in a twentieth of the time: this is asked within a call.
    """
    lines = _text(f"{distribution.info}/RECORD").split("\n")
    return frozenset(
        line.partition(",")[0] if line.startswith(("../", "/")) else line.partition("/")[0].partition(",")[0]
        for line in lines
        if line and line[0] != '"'
    )


def is_editable(distribution: Distribution) -> bool:
    """Whether a checkout is run instead of what was installed."""
    return '"editable"' in _text(f"{distribution.info}/direct_url.json")


def _needs(distribution: Distribution) -> Iterator[str]:
    """The names that a distribution requires. Other packages' extras are not followed: nobody says which were asked."""
    text = _text(f"{distribution.info}/METADATA") or _text(f"{distribution.info}/PKG-INFO")
    for line in text.partition("\n\n")[0].split("\n"):
        if line.startswith("Requires-Dist:"):
            required = line.removeprefix("Requires-Dist:")
            found = _NAME.match(required)
            if found is not None and (distribution.name == TOP or not _EXTRA.search(required)):
                yield _normal(found[1])


def _normal(name: str) -> str:
    return _ALIKE.sub("-", name).lower()


def entries(directory: str) -> list[str]:
    """The names in a directory; none if it can't be read."""
    try:
        return os.listdir(directory)  # noqa: PTH208 - names are enough, and this is loaded within a call
    except OSError:
        return []


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - no pathlib
            return file.read()
    except OSError:
        return ""
