"""The section of CHANGELOG.md that speaks of one version."""

from __future__ import annotations

import re
from datetime import date

_HEADING = re.compile(r"^## \[(?P<version>[^\]]+)\](?: - (?P<date>\S+))?\s*$", re.MULTILINE)


class ChangesError(ValueError):
    """What is wrong with the changelog, and what to write."""


def section_of(text: str, version: str, today: date) -> str:
    """What changed in a version, its heading included. Raises ChangesError."""
    headings = list(_HEADING.finditer(text))
    names = [found["version"] for found in headings]
    if version not in names:
        wanted = f"## [{version}] - {today.isoformat()}"
        raise ChangesError(f"CHANGELOG.md has no section for {version}: write `{wanted}` above what is in it")
    at = names.index(version)
    found = headings[at]
    try:
        said = date.fromisoformat(found["date"] or "")
    except ValueError:
        raise ChangesError(f"CHANGELOG.md: `{found[0].strip()}` has no date (YYYY-MM-DD)") from None
    if said > today:
        raise ChangesError(f"CHANGELOG.md: {version} is dated {said}, which is yet to come")
    if any(_body(text, headings, index) for index, name in enumerate(names) if name == "Unreleased"):
        raise ChangesError(
            f"CHANGELOG.md has changes under [Unreleased]: they belong to {version}, or to no release yet"
        )
    if at != next((index for index, name in enumerate(names) if name != "Unreleased"), None):
        raise ChangesError(f"CHANGELOG.md: {names[at - 1]} stands above {version}")
    body = _body(text, headings, at)
    if not body:
        raise ChangesError(f"CHANGELOG.md says nothing of {version}")
    return f"{found[0].strip()}\n\n{body}\n"


def _body(text: str, headings: list[re.Match[str]], at: int) -> str:
    end = headings[at + 1].start() if at + 1 < len(headings) else len(text)
    return text[headings[at].end() : end].strip()
