"""How entries are read, as far as both stores do it alike."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from typing import Any, get_args

from msgspec import Struct
from msgspec.structs import replace

from interpose.core.types import Outcome
from interpose.record.store.protocols import Query, RuleTally, SessionTally, StoredEntry, Tally
from interpose.record.store.rows import SELECTED, RuledBy, conditions, entries_in, storable, unlined
from interpose.record.store.state import SharedState


class EntryReader(SharedState):
    """Reads a writer's entries."""

    def scan(self, writer: str, after_seq: int, limit: int) -> list[StoredEntry]:
        """A writer's entries past a number, in order."""
        sql = f"SELECT {SELECTED} FROM entries WHERE writer = $1 AND seq > $2 ORDER BY seq LIMIT $3"
        return entries_in(self.read(sql, storable(writer), after_seq, limit))

    def head(self, writer: str) -> StoredEntry | None:
        """A writer's last entry."""
        sql = f"SELECT {SELECTED} FROM entries WHERE writer = $1 ORDER BY seq DESC LIMIT 1"
        rows = self.read(sql, storable(writer))
        return entries_in(rows)[0] if rows else None

    def writers(self) -> list[str]:
        """Everybody who has entries here, by name."""
        # One step of the index a name: DISTINCT would read all of it.
        sql = """WITH RECURSIVE names(name) AS (
                   SELECT min(writer) FROM entries UNION ALL
                   SELECT (SELECT min(writer) FROM entries WHERE writer > name) FROM names WHERE name IS NOT NULL)
                 SELECT name FROM names WHERE name IS NOT NULL"""
        return sorted(str(name) for (name,) in self.read(sql))

    def query(
        self, query: Query, limit: int, after: int | None = None, *, oldest_first: bool = False
    ) -> list[StoredEntry]:
        """Matching entries, the newest first. `after` is the position of the last one of the page before."""
        if not query.rule or query.kinds != ("decided",):
            return self.matching(query, "entry", limit, after, oldest_first)
        # Two lists, each in the order of its index: one condition for both had to sort all that a rule ever decided.
        decided = self.matching(query, "entry", limit, after, oldest_first)
        changed = self.matching(query, "call", limit, after, oldest_first)
        if not changed:
            return decided
        found = {entry.position: entry for entry in (*decided, *changed)}
        return [found[position] for position in sorted(found, reverse=not oldest_first)][:limit]

    def tallies(self, query: Query, width_ns: int) -> list[Tally]:
        """Matching decisions, counted by stretches of time of this width."""
        found, values = conditions(replace(query, kinds=("decided",)), self, "either")
        sql = f"""SELECT time_ns / ${len(values) + 1} AS stretch, decision, rule, agent, tool, count(*) FROM entries
                  WHERE {" AND ".join(found)} GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5"""
        return [Tally(stretch * width_ns, *rest) for stretch, *rest in self.read(sql, *values, width_ns)]

    def rule_tallies(self, since_ns: int, width_ns: int, limit: int) -> list[RuleTally]:
        """What rules said since then, counted by stretches of time of this width."""
        decided = """SELECT time_ns / $1 AS stretch, rule, decision AS said, count(*) AS times FROM entries
                     WHERE kind = 'decided' AND rule <> '' AND time_ns >= $2 GROUP BY 1, 2, 3
                     ORDER BY times DESC, 1, 2, 3 LIMIT $3"""
        changed = """SELECT time_ns / $1 AS stretch, rules, kind, count(*) AS times FROM entries
                     WHERE rules <> '' AND time_ns >= $2 GROUP BY 1, 2, 3 ORDER BY times DESC, 1, 2, 3 LIMIT $3"""
        counted: Counter[tuple[int, str, str]] = Counter()
        for stretch, rule, said, times in self.read(decided, width_ns, since_ns, limit):
            counted[stretch, rule, said] += times
        for stretch, rules, kind, times in self.read(changed, width_ns, since_ns, limit):
            for rule in unlined(rules):
                counted[stretch, rule, "rewrite" if kind == "decided" else "result"] += times
        largest = sorted(counted.items(), key=lambda one: (-one[1], one[0]))[:limit]
        return [RuleTally(stretch * width_ns, rule, said, times) for (stretch, rule, said), times in largest]

    def decision_tallies(self, since_ns: int, width_ns: int, limit: int) -> list[Tally]:
        """Decisions since then, counted by stretches of time alone."""
        sql = """SELECT time_ns / $1 AS stretch, decision, count(*) FROM entries
                 WHERE kind = 'decided' AND time_ns >= $2 GROUP BY 1, 2 ORDER BY 1 DESC, 2 LIMIT $3"""
        rows = self.read(sql, width_ns, since_ns, limit)
        return [Tally(stretch * width_ns, decision, "", "", "", count) for stretch, decision, count in rows]

    def sample(self, since_ns: int, until_ns: int, limit: int) -> list[StoredEntry]:
        """Some decisions of a time, its first ones."""
        sql = f"""SELECT {SELECTED} FROM entries WHERE kind = 'decided' AND time_ns >= $1 AND time_ns < $2
                  ORDER BY time_ns LIMIT $3"""
        return entries_in(self.read(sql, since_ns, until_ns, limit))

    def session_tallies(self, *, since_ns: int = 0, limit: int = 100, session: str = "") -> list[SessionTally]:
        """Recorded decisions since then, counted by session, the last active first; of one session if it is named."""
        words = ", ".join(f"count(CASE WHEN decision = '{word}' THEN 1 END)" for word in get_args(Outcome))
        found, values = conditions(Query(kinds=("decided",), session=session, since_ns=since_ns), self)
        sql = f"""SELECT session, max(agent), min(time_ns), max(time_ns), count(*), {words} FROM entries
                  WHERE {" AND ".join(found)} AND session <> '' GROUP BY session
                  ORDER BY 4 DESC, 1 LIMIT ${len(values) + 1}"""
        return [SessionTally(*row) for row in self.read(sql, *values, limit)]

    @abstractmethod
    def matching(
        self, query: Query, ruled_by: RuledBy, limit: int, after: int | None, oldest_first: bool
    ) -> list[StoredEntry]:
        """Entries that match, where the rule of the query stands in one place."""

    @abstractmethod
    def contains(self, column: str, number: int) -> str:
        """The condition that a column contains the text of a parameter."""

    @abstractmethod
    def in_request(self, number: int) -> str:
        """The condition that an entry is one of a call of which some entry came about in the request of a parameter."""

    @abstractmethod
    def in_rules(self, number: int) -> str:
        """The condition that an entry is one of a call of which some entry has the line of a parameter in its rules."""

    def entries(self, statement: tuple[str, list[Any]]) -> list[StoredEntry]:
        """The entries that a statement finds."""
        sql, values = statement
        return entries_in(self.read(sql, *values))


class Select(Struct, frozen=True):
    """A SELECT of entries in the making."""

    conditions: list[str]
    values: list[Any]
    after: int | None
    oldest_first: bool

    def where(self, condition: str, value: Any) -> Select:
        """The same with one more condition, which has `{}` where its value belongs."""
        values = [*self.values, value]
        return replace(self, conditions=[*self.conditions, condition.format(f"${len(values)}")], values=values)

    def statement(self, source: str, position: str, limit: int) -> tuple[str, list[Any]]:
        """The statement and its values."""
        if self.after is not None:
            sign = ">" if self.oldest_first else "<"
            return (
                replace(self, after=None)
                .where(f"{position} {sign} {{}}", self.after)
                .statement(source, position, limit)
            )
        where = f"WHERE {' AND '.join(self.conditions)}" if self.conditions else ""
        direction = "ASC" if self.oldest_first else "DESC"
        values = [*self.values, limit]
        return f"SELECT {SELECTED} FROM {source} {where} ORDER BY {position} {direction} LIMIT ${len(values)}", values
