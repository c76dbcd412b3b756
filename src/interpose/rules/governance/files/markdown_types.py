"""What a managed document is, by where it lies, and what it is called."""

from __future__ import annotations

import posixpath

from interpose.effects.late_patterns import late

# The order counts: the first word that the path has says what the document is.
_BY_PATH = (
    ("phase", "phase"), ("task", "task"), ("todo", "task"), ("research", "research"), ("decision", "decision"),
    ("adr-", "decision"), ("validation", "validation"), ("sessions", "session"), ("checkpoint", "checkpoint"),
)  # fmt: skip
_PHASE_NAME = late(r"(?i)(?:p?[0-9]{1,4}-|phase-)")
_WITH_SCHEMA = frozenset({"phase", "task", "research", "decision"})
_HEADING = late(r"(?m)^#[ \t]+(\S[^\r\n]{0,300})")
_HEAD = 20_000
UNTITLED = "Untitled"


def type_of(path: str) -> str:
    """The type of a document in a project, by its path there: a known word in it, a phase's name, or its directory."""
    lower = path.lower()
    if found := next((kind for word, kind in _BY_PATH if word in lower), ""):
        return found
    if _PHASE_NAME.match(posixpath.basename(path)):
        return "phase"
    return _singular(posixpath.basename(posixpath.dirname(lower))) or "document"


def _singular(name: str) -> str:
    plain = "".join(letter for letter in name if letter.isalnum() or letter in "-_")
    if plain.endswith("ies") and len(plain) > 4:
        return f"{plain[:-3]}y"
    return plain[:-1] if plain.endswith("s") and not plain.endswith("ss") and len(plain) > 2 else plain


def schema_of(kind: str) -> str:
    """The schema that documents of a type follow."""
    return f"{kind}-v1" if kind in _WITH_SCHEMA else "base-v1"


def title_of(body: str, path: str) -> str:
    """The first heading; or else the name of the file, as people would write it."""
    if not body.strip():
        return UNTITLED
    if found := _HEADING.search(body[:_HEAD]):
        return found[1].rstrip().rstrip("#").rstrip() or UNTITLED
    name = posixpath.basename(path).rpartition(".")[0].replace("-", " ").strip()
    return name[:1].upper() + name[1:] or UNTITLED
