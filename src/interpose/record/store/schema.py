"""The tables, as numbered steps. A step that was released is never changed: what comes later is a new step."""

from __future__ import annotations

from typing import Final

_STATE: Final = (
    """CREATE TABLE sessions (
        session TEXT PRIMARY KEY, version BIGINT NOT NULL, updated_ns BIGINT NOT NULL, body BYTEA NOT NULL)""",
    "CREATE INDEX sessions_updated ON sessions (updated_ns)",
    """CREATE TABLE approvals (
        id TEXT PRIMARY KEY, session TEXT NOT NULL, created_ns BIGINT NOT NULL, expires_ns BIGINT NOT NULL,
        body BYTEA NOT NULL, answer TEXT NOT NULL, approver TEXT NOT NULL, answered_ns BIGINT NOT NULL)""",
    "CREATE INDEX approvals_waiting ON approvals (created_ns) WHERE answer = ''",
    """CREATE TABLE grants (
        id TEXT PRIMARY KEY, subject TEXT NOT NULL, uses BIGINT NOT NULL CHECK (uses >= 0),
        expires_ns BIGINT NOT NULL, created_ns BIGINT NOT NULL, body BYTEA NOT NULL)""",
    "CREATE INDEX grants_subject ON grants (subject, expires_ns) WHERE uses > 0",
    "CREATE TABLE counters (counter TEXT PRIMARY KEY, spent BIGINT NOT NULL CHECK (spent >= 0))",
    "CREATE TABLE pins (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
)

_STILL_OPEN: Final = ("CREATE INDEX approvals_open ON approvals (expires_ns, session) WHERE answer = ''",)
"""What nobody answered stays without an answer when it is over: those that are not must be found among many."""

_ENTRIES: Final = """CREATE TABLE entries (
    id {identity}, writer TEXT NOT NULL, seq BIGINT NOT NULL, kind TEXT NOT NULL, call_id TEXT NOT NULL,
    time_ns BIGINT NOT NULL, prev BYTEA NOT NULL, hash BYTEA NOT NULL, session TEXT NOT NULL, agent TEXT NOT NULL,
    tool TEXT NOT NULL, decision TEXT NOT NULL, rule TEXT NOT NULL, text TEXT NOT NULL, terms TEXT NOT NULL,
    body BYTEA NOT NULL, UNIQUE (writer, seq))"""

IS_NOTE: Final = "kind NOT IN ('decided', 'finished')"
"""Checkpoints and the like: few, and wanted all at once."""

IS_DECISION: Final = "kind = 'decided'"
"""What people look for: a record is found by its decision, and what else belongs to it by its call."""

_COLUMN_INDEXES: Final = (
    *(
        f"CREATE INDEX entries_{column} ON entries ({column}, id) WHERE {IS_DECISION} AND {column} <> ''"
        for column in ("session", "agent", "tool", "decision", "rule")
    ),
    f"CREATE INDEX entries_time ON entries (time_ns) WHERE {IS_DECISION}",
    f"CREATE INDEX entries_notes ON entries (kind, id) WHERE {IS_NOTE}",
)

_REQUESTS: Final = (
    "ALTER TABLE entries ADD COLUMN request TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE entries ADD COLUMN rules TEXT NOT NULL DEFAULT ''",
)
"""In which request an entry came about, and all rules that changed what it is about. Few entries have such."""

_REFUSALS: Final = (
    "CREATE TABLE refusals (place TEXT PRIMARY KEY, at_ns BIGINT NOT NULL, body BYTEA NOT NULL)",
    "CREATE INDEX refusals_time ON refusals (at_ns)",
)
"""Refused calls by the host's own names for them: whichever server hears of a result knows of its refusal."""

SQLITE: Final[tuple[tuple[str, ...], ...]] = (
    (
        _ENTRIES.format(identity="INTEGER PRIMARY KEY AUTOINCREMENT"),
        *_COLUMN_INDEXES,
        # Written after the entries themselves, up to `indexed.through`: an answer must not wait for an index.
        "CREATE VIRTUAL TABLE words USING fts5(letters, content='', detail=none, tokenize='trigram')",
        "CREATE TABLE calls (call_id TEXT NOT NULL, id INTEGER NOT NULL, PRIMARY KEY (call_id, id)) WITHOUT ROWID",
        "CREATE TABLE indexed (through INTEGER NOT NULL)",
        "INSERT INTO indexed VALUES (0)",
        *_STATE,
    ),
    _STILL_OPEN,
    (
        *_REQUESTS,
        # As `calls`, and written when those are: the ids come in no order, and an index of such is slow to write.
        """CREATE TABLE requests (
            request TEXT NOT NULL, call_id TEXT NOT NULL, PRIMARY KEY (request, call_id)) WITHOUT ROWID""",
        "CREATE INDEX entries_rules ON entries (call_id, rules) WHERE rules <> ''",
    ),
    _REFUSALS,
)

POSTGRES: Final[tuple[tuple[str, ...], ...]] = (
    (
        _ENTRIES.format(identity="BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"),
        *_COLUMN_INDEXES,
        "CREATE INDEX entries_call ON entries (call_id, id) WHERE call_id <> ''",
        # Digests of three letters each, made by us: pg_trgm is an extension that not every server has or permits.
        "ALTER TABLE entries ADD COLUMN grams INTEGER[] NOT NULL",
        "CREATE INDEX entries_grams ON entries USING gin (grams)",
        *_STATE,
    ),
    _STILL_OPEN,
    (
        *_REQUESTS,
        "CREATE INDEX entries_request ON entries (request, call_id) WHERE request <> ''",
        # Not of the rules themselves: what an index of PostgreSQL holds must not be long.
        "CREATE INDEX entries_rules ON entries (id) WHERE rules <> ''",
    ),
    _REFUSALS,
)
