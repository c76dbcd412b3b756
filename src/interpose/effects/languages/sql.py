"""SQL on the command line: what its statements destroy, open, or run.

The text is cut into tokens by the rules of its dialect (quotes, comments and dollar strings are where tricks live), and
each statement is read for the few forms that matter. Text that is no valid SQL is read word by word, and what is found
there is only possible. All of it is linear in the length of the text.
"""

from __future__ import annotations

import re

from msgspec import Struct

from interpose.effects.invocation import Lowering
from interpose.effects.languages.sql_tokens import DIALECTS, LEADERS, SqlToken, tokens_of, words_of
from interpose.effects.values import Certainty

MAX_NESTING = 4
"""How deep SQL inside of SQL is followed."""

REACH = 400
"""How many tokens after DELETE or UPDATE its condition is looked for. One that is further away counts as none."""

_DROPPED = frozenset(
    {
        "AGGREGATE", "ASSEMBLY", "CATALOG", "COLLECTION", "COLUMN", "COLUMNFAMILY", "DATABASE", "DICTIONARY", "DOMAIN",
        "EVENT", "EXTENSION", "EXTERNAL", "FOREIGN", "FUNCTION", "GRAPH", "INDEX", "KEYSPACE", "LOGIN", "MATERIALIZED",
        "MODEL", "OWNED", "PARTITION", "PIPELINE", "POLICY", "PROCEDURE", "PUBLICATION", "RETENTION", "ROLE", "SCHEMA",
        "SEQUENCE", "SERVER", "SERIES", "SHARD", "STAGE", "STREAM", "SUBSCRIPTION", "TABLE", "TABLESPACE", "TASK",
        "TEMPORARY", "TRIGGER", "TYPE", "USER", "VIEW", "WAREHOUSE",
    }
)  # fmt: skip
_WHOLE = frozenset({"CATALOG", "DATABASE", "KEYSPACE", "OWNED", "SCHEMA", "SERVER", "TABLESPACE", "WAREHOUSE"})
_PLAYGROUND = ("test", "tmp", "temp", "dev", "scratch", "sandbox", "local", "demo")
_HARMLESS_DROPS = frozenset(
    {"CONSTRAINT", "DEFAULT", "EXPRESSION", "FOREIGN", "IDENTITY", "INDEX", "KEY", "NOT", "PRIMARY"}
)
_READERS = frozenset(
    {
        "GLOB", "LOAD_FILE", "LO_IMPORT", "PG_LS_DIR", "PG_READ_BINARY_FILE", "PG_READ_FILE", "READFILE", "READ_BLOB",
        "READ_CSV", "READ_CSV_AUTO", "READ_JSON", "READ_JSON_AUTO", "READ_NDJSON", "READ_PARQUET", "READ_TEXT",
    }
)  # fmt: skip
_WRITERS = frozenset({"LO_EXPORT", "WRITEFILE"})
_EXECUTORS = frozenset({"SYS_EVAL", "SYS_EXEC", "XP_CMDSHELL", "EXECUTABLE"})
_SERVER_COMMANDS = frozenset(
    {"ARCHIVE_COMMAND", "RESTORE_COMMAND", "SSL_PASSPHRASE_COMMAND", "ARCHIVE_CLEANUP_COMMAND", "RECOVERY_END_COMMAND"}
)
_PROCEDURES = {"PLPYTHON": "python", "PLPERL": "perl", "PLTCL": "tcl", "PLSH": "bash", "PLR": "r", "PLV8": "javascript",
               "PLRUBY": "ruby", "PLPHP": "php", "PLLUA": "lua", "PLJAVA": "java", "PYTHON": "python"}  # fmt: skip
"""Languages in which a server runs functions, by how their names begin."""
_DYNAMIC = frozenset({"EXEC", "EXECUTE", "IMMEDIATE", "SP_EXECUTESQL", "PREPARE", "DBLINK_EXEC"})
_SUPER = frozenset(
    {"ALL", "CONTROL", "CREATEROLE", "DBA", "IMPERSONATE", "RDS_SUPERUSER", "SUPER", "SUPERUSER", "SYSADMIN"}
)
_HEADS = {
    "SHUTDOWN": "Stops the database server.",
    "RESTORE": "Replaces a database by an older copy.",
    "PURGE": "Deletes logs that are needed to restore the database.",
}
_RISKY = re.compile(
    r"\b(?:alter|attach|copy|create|delete|do|drop|edit|exec|execute|executable|glob|install|sp_\w+|grant|infile|insert|into|load_extension|load_file|lo_export"
    r"|lo_import|pg_\w+|prepare|purge|read\w+|reset|restore|shutdown|sys_e\w+|truncate|update|writefile|xp_\w+|dblink\w*)\b",
    re.IGNORECASE,
)


class SqlContext(Struct, frozen=True):
    """Where a statement's effects are said, how surely, and how deep it lies in other SQL."""

    low: Lowering
    via: str
    certainty: Certainty
    nesting: int = 0

    def destroys(self, resource: str, rule: str, reason: str, *, wide: bool = False, recoverable: bool = False) -> None:
        """State that data is lost."""
        self.low.emit(
            "data.destroy",
            resource,
            certainty=self.certainty,
            rule=rule,
            reason=reason,
            wide=wide,
            recoverable=recoverable,
        )


_PASSWORDS = re.compile(
    r"(?i)\bfrom\s+(?:\w+\.)?(?:pg_shadow|pg_authid|mysql\.user|mysql\.global_priv|sys\.sql_logins|dba_users)\b"
)
"""Where databases keep the passwords of their own accounts."""


def lower(code: str, low: Lowering, via: str) -> None:
    """Say what an SQL text would do."""
    _read(code, SqlContext(low, via, "proven"))
    if _PASSWORDS.search(code):
        low.emit("secret.read", "accounts", certainty="possible", rule="database-passwords",
                 reason="Reads the passwords of a database's own accounts")  # fmt: skip


def _read(code: str, reader: SqlContext) -> None:
    if reader.nesting > MAX_NESTING:
        reader.destroys("", "sql-nested", "SQL is nested too deep in SQL to be read.")
        return
    if not _RISKY.search(code):
        return
    statements = tokens_of(code, DIALECTS.get(reader.via, ""))
    if statements is None:
        reader = SqlContext(reader.low, reader.via, "possible", reader.nesting)
        statements = words_of(code)
    for statement in statements:
        _statement(statement, reader)


def _statement(tokens: list[SqlToken], reader: SqlContext) -> None:
    if tokens[0].word == "EXPLAIN" and not any(token.word == "ANALYZE" for token in tokens[1:4]):
        return
    start = 0
    while start < len(tokens) - 1 and tokens[start].word in LEADERS:
        start += 1
    tokens = tokens[start:]
    head = tokens[0].word
    if head in _HEADS:
        reader.destroys(_name(tokens, 1), f"sql-{head.lower()}", _HEADS[head])
    elif head in ("GRANT", "REVOKE"):
        _grant(tokens, reader)
        return
    elif head in ("ALTER", "CREATE", "INSTALL"):
        _define(tokens, reader)
        _server_code(tokens, reader)
        if any(token.word in ("FUNCTION", "PROCEDURE", "TRIGGER", "RULE", "EVENT") for token in tokens[:5]):
            return
    elif head == "DO":
        _server_code(tokens, reader)
        for token in tokens[1:]:
            if token.sort == "string":
                _read(token.text, _inside(reader))
        return
    elif head == "RESET" and _word(tokens, 1) in ("MASTER", "SLAVE", "REPLICA"):
        reader.destroys("logs", "sql-reset", "Deletes logs that are needed to restore the database.")
    for index, token in enumerate(tokens):
        if token.sort == "word":
            _keyword(tokens, index, reader)


def _keyword(tokens: list[SqlToken], index: int, reader: SqlContext) -> None:
    word = tokens[index].word
    before, after = _word(tokens, index - 1), _word(tokens, index + 1)
    match word:
        case "DROP" if after in _DROPPED and tokens[0].word not in ("ALTER", "COMMENT"):
            _drop(tokens, index, reader)
        case "TRUNCATE" if index == 0 or after == "TABLE":
            if after != "(":
                reader.destroys(_name(tokens, index + 1), "sql-truncate", "Empties a table.")
        case "DELETE" if after == "FROM" or (index == 0 and before not in ("ON", "FOR")):
            _rows(tokens, index, "delete", reader)
        case "UPDATE" if before not in ("DO", "FOR", "KEY", "NO", "ON", "OR") and _has(tokens, index, "SET"):
            _rows(tokens, index, "update", reader)
        case "OVERWRITE" if before == "INSERT":
            reader.destroys(_name(tokens, index + 1), "sql-overwrite", "Replaces everything in a table.")
        case _ if word in _DYNAMIC and (index == 0 or word == "DBLINK_EXEC"):
            _dynamic(tokens, index, reader)
        case _:
            _outside(tokens, index, reader)


def _outside(tokens: list[SqlToken], index: int, reader: SqlContext) -> None:
    """Where a statement leaves the database: files and programs."""
    word = tokens[index].word
    before, after = _word(tokens, index - 1), _word(tokens, index + 1)
    match word:
        case "PROGRAM" if tokens[0].word in ("COPY", "\\COPY"):
            _run(tokens, index, reader)
        case "EDIT" if after == "(":
            programs = [token.text for token in tokens[index + 1 : index + 8] if token.sort in ("string", "name")]
            if len(programs) > 1:
                reader.low.shell(programs[1], via=f"{reader.via} SQL")
        case "SP_OACREATE" | "SP_EXECUTE_EXTERNAL_SCRIPT" | "SP_ADD_JOBSTEP":
            reader.low.emit("opaque", word.lower(), certainty="possible", rule="sql-shell",
                            reason="Runs a program from SQL.")  # fmt: skip
        case "FILE" if after == "(" and before == "FUNCTION":
            _file(tokens, index, reader, writes=True)
        case "OUTFILE" | "DUMPFILE" if before == "INTO":
            _file(tokens, index, reader, writes=True)
        case "INFILE" | "ATTACH":
            _file(tokens, index, reader, writes=False)
        case "TO" | "FROM" if tokens[0].word == "COPY" and _is_string(tokens, index + 1):
            _file(tokens, index, reader, writes=word == "TO")
        case "LOAD_EXTENSION":
            reader.low.emit(
                "opaque",
                _string(tokens, index),
                certainty="possible",
                rule="sql-load",
                reason="Loads a program library.",
            )
        case _ if word in _READERS and after == "(":
            _file(tokens, index, reader, writes=False)
        case _ if word in _WRITERS and after == "(":
            _file(tokens, index, reader, writes=True)
        case _ if word in _EXECUTORS:
            _run(tokens, index, reader)
        case _:
            pass


def _drop(tokens: list[SqlToken], index: int, reader: SqlContext) -> None:
    kind = _word(tokens, index + 1)
    name = _name(tokens, index + 2)
    if kind == "TEMPORARY":
        return
    whole = kind in _WHOLE and not any(mark in name.lower() for mark in _PLAYGROUND)
    thing = "everything that someone owns" if kind == "OWNED" else f"a {kind.lower()}"
    reader.destroys(name, f"sql-drop-{kind.lower()}", f"Drops {thing}; only a backup brings it back.", wide=whole)


def _rows(tokens: list[SqlToken], index: int, verb: str, reader: SqlContext) -> None:
    depth = tokens[index].depth
    name = _name(tokens, index + (2 if _word(tokens, index + 1) == "FROM" else 1))
    for position in range(index + 1, min(len(tokens), index + REACH)):
        token = tokens[position]
        if token.depth < depth:
            break
        if token.word == "WHERE" and token.depth == depth and not _always(tokens[position + 1 :]):
            # Chosen rows are ordinary work; what they were is still lost.
            reader.destroys(name, f"sql-{verb}", f"Would {verb} chosen rows of a table.", recoverable=True)
            return
    reader.destroys(name, f"sql-{verb}-all", f"Has no condition: it would {verb} every row of the table.")


def _always(condition: list[SqlToken]) -> bool:
    """Whether a condition holds for every row: `1=1`, `true`, `'a'='a'`."""
    match [token.text.lower() for token in condition[:4] if token.text not in "()"]:
        case ["true" | "1"] | ["true" | "1", "or", *_]:
            return True
        case [left, "=", right, *rest]:
            return left == right and (not rest or rest[0] == "or")
        case _:
            return False


def _grant(tokens: list[SqlToken], reader: SqlContext) -> None:
    if tokens[0].word == "REVOKE":
        return
    wide = any(token.word in _SUPER for token in tokens[1:4]) or any(
        token.word == "OPTION" and _word(tokens, index - 1) in ("GRANT", "ADMIN") for index, token in enumerate(tokens)
    )
    if wide:
        reader.low.emit(
            "privilege",
            " ".join(token.text for token in tokens),
            certainty=reader.certainty,
            rule="sql-grant-all",
            grants=True,
            reason="Gives someone every right on the data.",
        )


def _define(tokens: list[SqlToken], reader: SqlContext) -> None:
    kind = _word(tokens, 1)
    name = _name(tokens, 2)
    if kind in ("USER", "ROLE", "LOGIN") and any(token.word in _SUPER for token in tokens[2:]):
        reader.low.emit(
            "privilege", name, rule="sql-superuser", grants=True, reason="Makes someone the master of the database."
        )
    elif (
        tokens[0].word == "ALTER"
        and kind in ("USER", "LOGIN")
        and any(t.word in ("PASSWORD", "IDENTIFIED") for t in tokens)
    ):
        reader.low.emit("privilege", name, rule="sql-password", grants=True, reason="Changes how someone logs in.")
    elif tokens[0].word == "ALTER":
        for index, token in enumerate(tokens):
            if token.word == "DROP" and _word(tokens, index + 1) not in _HARMLESS_DROPS:
                reader.destroys(name, "sql-drop-column", "Drops a part of a table with its data.")
                return
    elif [token.word for token in tokens[1:4]] == ["OR", "REPLACE", "TABLE"]:
        reader.destroys(_name(tokens, 4), "sql-replace-table", "Replaces a table and everything in it.")


def _server_code(tokens: list[SqlToken], reader: SqlContext) -> None:
    """Functions in a language that can do anything, libraries, and settings that are commands of the server."""
    words = [token.word for token in tokens]
    strings = [token.text for token in tokens if token.sort == "string"]
    if words[:2] == ["ALTER", "SYSTEM"]:
        for name in _SERVER_COMMANDS.intersection(token.text.upper() for token in tokens):
            for text in strings[:1]:
                reader.low.shell(text, via=f"{reader.via} {name.lower()}")
        if any(token.text.lower().endswith("preload_libraries") for token in tokens):
            _loads(strings, reader)
        return
    if "SONAME" in words or words[:2] == ["INSTALL", "PLUGIN"]:
        _loads(strings, reader)
        return
    if "LANGUAGE" not in words[:-1] or words[:2] == ["CREATE", "EXTENSION"]:
        return
    language = tokens[words.index("LANGUAGE") + 1].text.upper()
    if language == "C":
        _loads(strings, reader)
        return
    known = next((name for start, name in _PROCEDURES.items() if language.startswith(start)), "")
    if known:
        for text in strings:
            if known == "bash":
                reader.low.shell(text, via=f"{reader.via} SQL")
            else:
                reader.low.code(known, text, via=f"{reader.via} SQL")


def _loads(strings: list[str], reader: SqlContext) -> None:
    reader.low.emit("opaque", strings[0] if strings else "", certainty="possible", rule="sql-load",
                    reason="Loads a program library.")  # fmt: skip


def _dynamic(tokens: list[SqlToken], index: int, reader: SqlContext) -> None:
    """SQL that is put together from pieces: known pieces are read, unknown ones are a doubt."""
    pieces = tokens[index + 1 : index + REACH]
    literal = "".join(token.text for token in pieces if token.sort == "string")
    glued = any(token.text in ("||", "+") or token.word in ("CONCAT", "FORMAT") for token in pieces)
    _read(literal, _inside(reader))
    if glued and any(token.sort == "name" or _is_variable(token) for token in pieces):
        reader.low.emit(
            "data.destroy",
            "",
            certainty="possible",
            rule="sql-dynamic",
            reason="Runs SQL that is put together at run time.",
        )


def _is_variable(token: SqlToken) -> bool:
    return token.sort == "word" and token.word not in ("CONCAT", "FORMAT", "USING", "FROM", "INTO", "N", "IMMEDIATE")


def _inside(reader: SqlContext) -> SqlContext:
    return SqlContext(reader.low, reader.via, reader.certainty, reader.nesting + 1)


def _run(tokens: list[SqlToken], index: int, reader: SqlContext) -> None:
    code = _string(tokens, index)
    if code:
        reader.low.shell(code, via=f"{reader.via} SQL")
    else:
        reader.low.emit("opaque", reader.via, certainty="possible", rule="sql-shell", reason="Runs a program from SQL.")


def _file(tokens: list[SqlToken], index: int, reader: SqlContext, *, writes: bool) -> None:
    path = _string(tokens, index)
    if not path or path.startswith(("http://", "https://", "s3://")):
        return
    if path.strip().startswith("|") or path.strip().endswith("|"):
        reader.low.shell(path.strip("| "), via=f"{reader.via} SQL")
        return
    if writes:
        reader.low.write(path)
    else:
        reader.low.read(path)


def _string(tokens: list[SqlToken], index: int) -> str:
    return next((token.text for token in tokens[index + 1 : index + 6] if token.sort == "string"), "")


def _is_string(tokens: list[SqlToken], index: int) -> bool:
    return index < len(tokens) and tokens[index].sort == "string"


def _has(tokens: list[SqlToken], index: int, word: str) -> bool:
    return any(token.word == word and token.depth == tokens[index].depth for token in tokens[index + 1 : index + 40])


def _word(tokens: list[SqlToken], index: int) -> str:
    return tokens[index].word if 0 <= index < len(tokens) else ""


def _name(tokens: list[SqlToken], index: int) -> str:
    """The name that starts at `index`, after words such as IF EXISTS."""
    while index < len(tokens) and tokens[index].word in (
        "IF",
        "EXISTS",
        "NOT",
        "ONLY",
        "TABLE",
        "BY",
        "FROM",
        "CONCURRENTLY",
    ):
        index += 1
    parts: list[str] = []
    for token in tokens[index : index + 5]:
        if parts and token.text != "." and parts[-1] != ".":
            break
        parts.append(token.text)
    return "".join(parts)
