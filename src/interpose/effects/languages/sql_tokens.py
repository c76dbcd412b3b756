"""SQL text as tokens: cut by the rules of its dialect, or word by word where it follows none."""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct

from interpose.effects.invocation import UNKNOWN

DIALECTS = {
    "psql": "postgres", "pgcli": "postgres", "cockroach": "postgres", "mysql": "mysql", "mariadb": "mysql",
    "mycli": "mysql", "sqlite3": "sqlite", "litecli": "sqlite", "duckdb": "duckdb", "sqlcmd": "tsql",
    "mssql-cli": "tsql", "bq": "bigquery", "snow": "snowflake", "snowsql": "snowflake",
    "clickhouse-client": "clickhouse", "trino": "trino", "hive": "hive", "beeline": "hive", "spark-sql": "spark",
    "sqlplus": "oracle",
}  # fmt: skip

MAX_LENGTH = 32_768
"""Longer text is read word by word, so that an answer never takes long."""

LEADERS = frozenset({"ANALYZE", "AS", "BEGIN", "DECLARE", "ELSE", "EXPLAIN", "LOOP", "PERFORM", "THEN", "VERBOSE"})
"""Words before a statement that do not change what it is."""

_CRUDE = re.compile(r"'[^']*'|\w+|[^\s\w]")
_VERSIONED_COMMENT = re.compile(r"/\*!\d*")

TokenSort = Literal["word", "string", "name", "sign"]


class SqlToken(Struct, frozen=True):
    """A piece of a statement. `word` is its text in capitals if it can be a keyword, else empty."""

    text: str
    word: str
    sort: TokenSort
    depth: int


def tokens_of(code: str, dialect: str, *, rest: bool = False) -> list[list[SqlToken]] | None:
    """The statements of a text by the rules of its dialect, or None if it is none or too long. `rest`: see below."""
    if len(code) > MAX_LENGTH:
        return None
    from sqlglot import TokenType
    from sqlglot.dialects.dialect import Dialect
    from sqlglot.errors import SqlglotError

    if "/*!" in code:
        # MySQL runs what stands in such a comment.
        code = _VERSIONED_COMMENT.sub(" ", code).replace("*/", " ")
    code = code.replace(UNKNOWN, "unknown_value")
    try:
        language = Dialect.get_or_raise(dialect or None)
        found = language.tokenize(code)
    except (SqlglotError, ValueError, IndexError):
        return None
    statements: list[list[SqlToken]] = [[]]
    depth = 0
    handed_over = False
    for token in found:
        if token.token_type is TokenType.SEMICOLON:
            statements.append([])
            depth = 0
            continue
        if token.token_type in (TokenType.L_PAREN, TokenType.R_PAREN):
            depth += 1 if token.token_type is TokenType.L_PAREN else -1
        if token.token_type.name.endswith("STRING"):
            if handed_over and all(part.word in LEADERS for part in statements[-1][:-1]):
                # The tokenizer hands the rest of a statement that it does not know over as one text.
                statements[-1] += [part for inner in tokens_of(token.text, dialect, rest=True) or () for part in inner]
            else:
                statements[-1].append(SqlToken(token.text, "", "string", depth))
        elif token.token_type is TokenType.IDENTIFIER:
            statements[-1].append(SqlToken(token.text, "", "name", depth))
        else:
            for part in token.text.split():
                sort: TokenSort = "word" if part[0].isalnum() or part[0] in "_#@" else "sign"
                statements[-1].append(SqlToken(part, part.upper(), sort, depth))
        handed_over = token.token_type in language.tokenizer_class.COMMANDS and not rest
    return [statement for statement in statements if statement]


def words_of(code: str) -> list[list[SqlToken]]:
    """The statements of a text that is no valid SQL, word by word."""
    statements: list[list[SqlToken]] = [[]]
    for part in _CRUDE.findall(code):
        if part == ";":
            statements.append([])
        elif part[0] == "'" and len(part) > 1:
            statements[-1].append(SqlToken(part[1:-1], "", "string", 0))
        else:
            statements[-1].append(SqlToken(part, part.upper(), "word" if part[0].isalnum() else "sign", 0))
    return [statement for statement in statements if statement]
