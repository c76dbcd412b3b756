"""Whether those who search find what is there: searched columns have the form that the searches expect, and indexes
have what they should.

The chain covers what the columns mean. It does not cover how they are spelled, and says nothing of the indexes.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from interpose.effects.late_patterns import late
from interpose.record.store.indexing import index_chunk
from interpose.record.store.protocols import SearchFlaw
from interpose.record.store.rows import COLUMNS, SELECTED, entries_in, row_of
from interpose.record.store.schema import IS_DECISION

MISSPELLED = "its searched columns are not as they were written: searches would not find it"
_PAGE = 2000
_SHOWN = 20
"""Places that are named. Whoever changed more than that is found out by these."""

_TERMS = late(r"(?:\n(?:effect:[^\n]*\n)*(?:path:[^\n]*\n)*(?:host:[^\n]*\n)*)?")
_RULES = late(r"(?:\n(?:[^\n]*\n)+)?")
_AT = {name: COLUMNS.index(name) for name in ("terms", "rules")}

Read = Callable[..., list[tuple[Any, ...]]]


def is_spelled_right(terms: object, rules: object) -> bool:
    """Whether both columns are as they were written, if they mean what was written."""
    return (
        isinstance(terms, str) and isinstance(rules, str) and terms != "\n"
        and _TERMS.fullmatch(terms) is not None and _RULES.fullmatch(rules) is not None
    )  # fmt: skip


def misspelled(read: Read) -> Iterator[tuple[int, str, int]]:
    """Entries whose searched columns are not as we write them: position, writer, number."""
    after = 0
    sql = f"""SELECT id, writer, seq, terms, rules FROM entries WHERE id > $1 AND (terms <> '' OR rules <> '')
              ORDER BY id LIMIT {_PAGE}"""
    while rows := read(sql, after):
        after = rows[-1][0]
        yield from ((row[0], str(row[1]), row[2]) for row in rows if not is_spelled_right(row[3], row[4]))


def flaws_at(places: Sequence[tuple[int, str, int]], what: str) -> list[SearchFlaw]:
    """What is said of entries that are hidden."""
    shown = [SearchFlaw(writer, seq, what) for _position, writer, seq in places[:_SHOWN]]
    more = [SearchFlaw("", 0, f"more than {_SHOWN} entries: {what}")] if len(places) > _SHOWN else []
    return shown + more


def sqlite_index_flaws(read: Read) -> list[SearchFlaw]:
    """Entries that an index of the SQLite store should have and does not."""
    ((rows, through),) = read("SELECT count(*), coalesce(max(through), 0) FROM indexed")
    ((last,),) = read("SELECT coalesce(max(id), 0) FROM entries")
    if rows != 1 or through > last:
        return [SearchFlaw("", 0, f"the index says that it reaches #{through}, but the last entry is #{last}")]
    found: list[SearchFlaw] = []
    for table, wanted, joined in (
        ("calls", "e.call_id <> ''", "x.call_id = e.call_id AND x.id = e.id"),
        ("requests", f"e.request <> '' AND e.call_id <> '' AND e.{IS_DECISION}",
         "x.request = e.request AND x.call_id = e.call_id"),
        ("words_docsize", "length(e.text || e.terms) > 2", "x.id = e.id"),
    ):  # fmt: skip
        sql = f"""SELECT e.id, e.writer, e.seq FROM entries e WHERE e.id <= $1 AND {wanted}
                  AND NOT EXISTS (SELECT 1 FROM {table} x WHERE {joined}) ORDER BY e.id LIMIT {_SHOWN + 1}"""
        found += flaws_at(read(sql, through), f"it is missing in the index `{table}`")
    return found


def sqlite_reindex(connection: sqlite3.Connection) -> int:
    """All of it anew, in the caller's transaction."""

    def read(sql: str, *values: Any) -> list[tuple[Any, ...]]:
        return connection.execute(sql.replace("$1", "?1"), values).fetchall()

    for position, _writer, _seq in list(misspelled(read)):
        (entry,) = entries_in(read(f"SELECT {SELECTED} FROM entries WHERE id = $1", position))
        row = row_of(entry)
        connection.execute(
            "UPDATE entries SET terms = ?, rules = ? WHERE id = ?", (row[_AT["terms"]], row[_AT["rules"]], position)
        )
    connection.execute("INSERT INTO words (words) VALUES ('delete-all')")
    for table in ("calls", "requests", "indexed"):
        connection.execute(f"DELETE FROM {table}")
    connection.execute("INSERT INTO indexed VALUES (0)")
    connection.execute("REINDEX")
    count = 0
    while done := index_chunk(connection):
        count += done
    return count
