"""Entries as rows, and queries as conditions: what both stores share. Parameters are spelled `$1`, `$2`, ..."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol, get_args

from msgspec import ValidationError, convert

from interpose.record.store.protocols import Query, StoredEntry
from interpose.record.store.schema import IS_DECISION, IS_NOTE

COLUMNS = (
    "writer", "seq", "kind", "call_id", "time_ns", "prev", "hash", "session", "agent", "tool", "decision", "rule",
    "text", "terms", "body", "request", "rules",
)  # fmt: skip
"""In the order of the table. The body stands behind what is looked at to find an entry: nobody need read past it."""

SELECTED = (
    "writer, seq, kind, time_ns, prev, hash, body, call_id, session, agent, tool, decision, rule, text, terms, id, "
    "request, rules"
)
"""In the order of an entry's fields."""

_EXACT = ("call_id", "session", "agent", "tool", "decision")

RuledBy = Literal["entry", "call", "either"]
"""Where the rule of a query must stand: as the entry's own, among the rules of its call, or in one of both places."""


class Spelling(Protocol):
    """Conditions that the two databases don't spell alike. Each is about the text of a parameter."""

    def contains(self, column: str, number: int) -> str:
        """A column contains it, `text` whatever the case of its ASCII letters."""

    def in_request(self, number: int) -> str:
        """An entry is one of a call of which some entry came about in that request."""

    def in_rules(self, number: int) -> str:
        """An entry is one of a call of which some entry has it in its rules, which are lines."""


MAX_TEXT = 8192
"""Letters of an entry's text that can be searched. The body has all of it."""


def storable(text: str) -> str:
    """The text as every store can keep it: PostgreSQL has no NUL, and half a surrogate pair has no bytes."""
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def folded(text: str) -> str:
    """The text with its ASCII letters small, as both stores fold it."""
    return storable(text).translate(_SMALL)


_SMALL = {capital: capital + 32 for capital in range(ord("A"), ord("Z") + 1)}


def row_of(entry: StoredEntry) -> tuple[Any, ...]:
    """The columns of an entry."""
    return (
        storable(entry.writer), entry.seq, entry.kind, storable(entry.call_id), entry.time_ns, entry.prev, entry.hash,
        storable(entry.session), storable(entry.agent), storable(entry.tool), storable(entry.decision),
        storable(entry.rule), storable(entry.text[:MAX_TEXT]), _terms(entry), entry.body, storable(entry.request),
        _lines(entry.rules),
    )  # fmt: skip


def entries_in(rows: Sequence[Sequence[Any]]) -> list[StoredEntry]:
    """The entries in rows of `SELECTED`. A row that somebody filled with other types still is one, if no true one."""
    try:
        convert(rows, type=list[_Row])
    except ValidationError:
        rows = [[_as(kind, value) for kind, value in zip(_TYPES, row, strict=True)] for row in rows]
    return [_entry(*row[:-4], *_values(row[-4]), row[-3], row[-2], unlined(row[-1])) for row in rows]


_entry: Callable[..., StoredEntry] = StoredEntry


_Row = tuple[str, int, str, int, bytes, bytes, bytes, str, str, str, str, str, str, str, str, int, str, str]
_TYPES: tuple[type, ...] = get_args(_Row)


def _as(kind: type, value: object) -> object:
    if type(value) is kind:
        return value
    if kind is int:
        return 0
    if kind is bytes:
        return str(value).encode("utf-8", "replace")
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def conditions(query: Query, spelling: Spelling, ruled_by: RuledBy = "entry") -> tuple[list[str], list[Any]]:
    """What a row must fulfil, and the parameters of it.

    Some of it only repeats what the partial indexes say: no planner would use them otherwise.
    """
    found: list[str] = []
    values: list[Any] = []
    contains = spelling.contains

    def add(value: object) -> int:
        values.append(value)
        return len(values)

    if query.kinds:
        found.append(f"kind IN ({', '.join(f'${add(kind)}' for kind in query.kinds)})")
        if not {"decided", "finished"} & set(query.kinds):
            found.append(IS_NOTE)
        elif set(query.kinds) == {"decided"}:
            found.append(IS_DECISION)
    for column in _EXACT:
        if wanted := getattr(query, column):
            found.append(_is(column, add(storable(wanted))))
    if query.request:
        found.append(spelling.in_request(add(storable(query.request))))
    if query.rule:
        found.append(_ruled(query.rule, ruled_by, spelling, add))
    if query.effect:
        found.append(contains("terms", add(_term("effect", query.effect))))
    if query.host:
        found.append(contains("terms", add(_term("host", query.host))))
    if query.path:
        itself = contains("terms", add(_term("path", query.path)))
        under = contains("terms", add(_term("path", query.path.rstrip("/") + "/").rstrip("\n")))
        found.append(f"({itself} OR {under})")
    if query.text:
        found.append(contains("text", add(folded(query.text))))
    if query.since_ns is not None:
        found.append(f"time_ns >= ${add(query.since_ns)}")
    if query.until_ns is not None:
        found.append(f"time_ns < ${add(query.until_ns)}")
    return found, values


def _ruled(rule: str, ruled_by: RuledBy, spelling: Spelling, add: Callable[[object], int]) -> str:
    match ruled_by:
        case "entry":
            return _is("rule", add(storable(rule)))
        case "call":
            return spelling.in_rules(add(_lines((rule,))))
        case "either":
            own = f"({IS_DECISION} AND {_is('rule', add(storable(rule)))})"
            return f"({own} OR {spelling.in_rules(add(_lines((rule,))))})"


def _is(column: str, number: int) -> str:
    return f"({column} = ${number} AND {column} <> '')"


def needles(query: Query) -> list[str]:
    """Texts that an index of text and terms can look for, of which an entry holds every one."""
    found = [query.text] if query.text else []
    if query.effect:
        found.append(_term("effect", query.effect))
    if query.host:
        found.append(_term("host", query.host))
    if query.path:
        found.append(_term("path", query.path).rstrip("\n").rstrip("/"))
    return [storable(needle) for needle in found]


def threes(needle: str) -> list[str]:
    """Three letters each, which cover a text: all there are would be slower to look for and find hardly less."""
    if len(needle) < 3:
        return []
    starts = [*range(0, len(needle) - 2, 3)][: _MAX_THREES - 1]
    return [needle[start : start + 3] for start in (*starts, len(needle) - 3)]


_MAX_THREES = 12


def _terms(entry: StoredEntry) -> str:
    """Effects, paths and hosts as one text, each between line ends, so that one index serves them all."""
    if not (entry.effects or entry.paths or entry.hosts):
        return ""
    parts = [
        _term(field, value)[1:]
        for field, values in (("effect", entry.effects), ("path", entry.paths), ("host", entry.hosts))
        for value in values
    ]
    return "\n" + "".join(parts)


def _term(field: str, value: str) -> str:
    return f"\n{field}:{_one_line(value)}\n"


def _one_line(value: str) -> str:
    return storable(value).replace(_LINE_END, _NO_LINE_END)


def _lines(values: Sequence[str]) -> str:
    """Each between line ends."""
    return "\n" + "".join(f"{_one_line(value)}\n" for value in values) if values else ""


def unlined(text: str) -> tuple[str, ...]:
    """The values of a column that has each between line ends."""
    return tuple(text[1:-1].split("\n")) if text else ()


_LINE_END, _NO_LINE_END = "\n", "\u2424"


def _values(terms: str) -> tuple[tuple[str, ...], ...]:
    """Effects, paths and hosts."""
    if not terms:
        return _NO_VALUES
    lines = terms.split("\n")
    return tuple(tuple(line[len(start) :] for line in lines if line.startswith(start)) for start in _STARTS)


_NO_VALUES = ((), (), ())
_STARTS = ("effect:", "path:", "host:")
