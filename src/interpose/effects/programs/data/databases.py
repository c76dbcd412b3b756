"""Database clients: where their SQL stands on the command line, and the commands that are no SQL."""

from __future__ import annotations

import re

from msgspec import Struct

from interpose.effects.frozen_values import words
from interpose.effects.handler_table import command
from interpose.effects.invocation import UNKNOWN, Invocation, Lowering, Word
from interpose.effects.programs.data.client_commands import statements
from interpose.effects.programs.shared.options import parse
from interpose.effects.programs.shared.verbs import general, only_talks

_UNTRUSTED = frozenset({"remote", "decoded"})
_CONNECTION = words("--dbname --host --password --port --user --username -U -d -h -p -u")
_NAMED_HARM = re.compile(
    r"(?:^|[_\-./])(?:drop|truncate|wipe|destroy|purge|nuke|erase|reset|delete_all)", re.IGNORECASE
)

_OUTSIDE = re.compile(
    r"\b(?:attach|readfile|writefile|edit|load_extension|copy|read_\w+|glob|export|import|load)\b", re.I
)
"""Where a database that is only in memory reaches out of it."""


class DatabaseClient(Struct, frozen=True):
    """How one client is told what to run. `operand`: from this operand on, operands are SQL."""

    code: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    values: frozenset[str] = _CONNECTION
    operand: int | None = None
    bundle: bool = True


_POSTGRES = DatabaseClient(
    ("-c", "--command"),
    ("-f", "--file"),
    _CONNECTION | words("--log-file --output --pset --set --table-attr --variable -F -L -P -R -T -o -v"),
)
_MYSQL = DatabaseClient(
    ("-e", "--execute", "--init-command", "--init-command-add"),
    (),
    # `-p` takes its password attached or not at all.
    (_CONNECTION | words("--database --defaults-extra-file --defaults-file --socket -D -P -S")) - {"-p", "--password"},
)
_SQLITE = DatabaseClient(
    ("-cmd", "--cmd", "-c", "-s"),
    ("-init", "--init", "-f"),
    words("-separator -newline -nullvalue -lookaside -mmap -maxsize -pagecache -heap -vfs -storage_version"),
    operand=1,
    bundle=False,
)
CLIENTS: dict[str, DatabaseClient] = {
    "psql": _POSTGRES,
    "pgcli": _POSTGRES,
    "vsql": _POSTGRES,
    "mysql": _MYSQL,
    "mariadb": _MYSQL,
    "mycli": _MYSQL,
    "sqlite3": _SQLITE,
    "sqlite": _SQLITE,
    "duckdb": _SQLITE,
    "litecli": DatabaseClient(("-e", "--execute"), ()),
    "cqlsh": DatabaseClient(("-e", "--execute"), ("-f", "--file"), words("-u -p -k --keyspace --username --password")),
    "sqlcmd": DatabaseClient(
        ("-Q", "-q", "--query", "-t", "--text"), ("-i",), words("-S -U -P -d -o -v -h -s -w -l --database"), 1
    ),
    "mssql-cli": DatabaseClient(("-Q", "-q"), ("-i",), words("-S -U -P -d -o")),
    **dict.fromkeys(
        ("clickhouse-client", "clickhouse-local"),
        DatabaseClient(("-q", "--query"), ("--queries-file",), _CONNECTION | words("--database --format -m"), 0),
    ),
    "influx": DatabaseClient(
        ("-execute", "--execute"), (), words("-host -port -database -username -password"), None, False
    ),
    "bteq": DatabaseClient(),
    "sqsh": DatabaseClient(("-C",), ("-i",), words("-S -U -P -D")),
    "sqlline": DatabaseClient(("-e",), ("-f",), words("-u -n -p -d")),
    "sqlcl": DatabaseClient(),
    "trino": DatabaseClient(("--execute",), ("-f", "--file"), words("--catalog --schema --server --user")),
    "presto": DatabaseClient(("--execute",), ("-f", "--file"), words("--catalog --schema --server --user")),
    "hive": DatabaseClient(("-e",), ("-f", "-i"), words("--database --hiveconf")),
    "beeline": DatabaseClient(("-e",), ("-f", "-i"), words("-n -p -u")),
    "impala-shell": DatabaseClient(("-q", "--query"), ("-f", "--query_file"), words("-i -d")),
    "spark-sql": DatabaseClient(("-e",), ("-f", "-i"), words("--conf --database --master")),
    "snowsql": DatabaseClient(("-q", "--query"), ("-f", "--filename"), words("-a -d -r -s -u -w")),
    "usql": DatabaseClient(("-c", "--command"), ("-f", "--file"), words("-o -v")),
    "sqlplus": DatabaseClient(),
    "isql": DatabaseClient(),
    "ysqlsh": _POSTGRES,
}


@command(*CLIENTS)
def client(inv: Invocation, low: Lowering) -> None:
    tool = CLIENTS[inv.name]
    opts = parse(inv.args, values=tool.values | {*tool.code, *tool.files}, bundle=tool.bundle)
    if opts.has("--help", "--version", "-V", "-version", "-help") or opts.has("-readonly", "--readonly", "--sandbox"):
        return
    texts = list(opts.values(*tool.code))
    if tool.operand is not None:
        texts += opts.operands[tool.operand :]
    for text in texts:
        if opts.word(0) != ":memory:" or text.text.lstrip()[:1] == "." or _OUTSIDE.search(text.text):
            statements(text, inv.name, low)
    for file in opts.values(*tool.files):
        run_script_file(file, inv.name, low)
    # The path of a database that is opened is a file that may change.
    if tool is _SQLITE and opts.operands and opts.word(0) != ":memory:":
        low.read(opts.operands[0])
    for target in opts.values("-o", "--output", "-L", "--log-file") if tool is _POSTGRES else ():
        if target.text.startswith("|"):
            low.shell(Word(target.text[1:], target.span, taints=target.taints), via=f"{inv.name} -o")
        else:
            low.write(target)
    for pager in opts.values("--pager") if tool is _MYSQL else ():
        low.shell(pager, via=f"{inv.name} --pager")
    if inv.name == "influx":
        general(inv, low)
    if not texts and inv.stdin is not None and (inv.stdin.text is not None or inv.stdin.taints & _UNTRUSTED):
        statements(inv.stdin, inv.name, low)


@command("snow")
def snow(inv: Invocation, low: Lowering) -> None:
    opts = parse(inv.args, values=("-q", "--query", "-f", "--filename", "-c", "--connection"))
    for text in opts.values("-q", "--query"):
        low.code("sql", text, via="snow")
    for file in opts.values("-f", "--filename"):
        run_script_file(file, "snow", low)
    general(inv, low)


_SHELLS: dict[str, tuple[str, tuple[str, ...], str]] = {
    "cockroach": ("sql", ("-e", "--execute"), "psql"),
    "heroku": ("pg:psql", ("-c", "--command"), "psql"),
    "turso": ("shell", (), "sqlite3"),
    "wrangler": ("execute", ("--command",), "sqlite3"),
}
"""Tools of the admin table that also take SQL: the word after which it stands, its options, and its dialect."""


@command(*_SHELLS)
def with_shell(inv: Invocation, low: Lowering) -> None:
    marker, options, dialect = _SHELLS[inv.name]
    opts = parse(inv.args, values={*options, "--file", "--url", "--host"}, bundle=False)
    places = [index for index, word in enumerate(opts.operands) if word.text == marker]
    if not places:
        general(inv, low)
        return
    # After the marker comes the database, then perhaps SQL.
    for text in (*opts.values(*options), *opts.operands[places[0] + 2 :]):
        statements(text, dialect, low)
    for file in opts.values("--file"):
        run_script_file(file, inv.name, low)


@command("DROP", "drop", "TRUNCATE", "DELETE", "delete", "GRANT", "grant", "ALTER", "alter", "UPDATE", "Drop", "Delete")
def bare_sql(inv: Invocation, low: Lowering) -> None:
    """SQL at the shell's prompt: no such program exists, so the text is meant for a database."""
    low.code(
        "sql", " ".join((inv.name, *(word.text.replace(UNKNOWN, "unknown_value") for word in inv.args))), via="sql"
    )


@command("dropdb", "dropuser", "pg_dropcluster", "mysqladmin", "mariadb-admin", "pg_resetwal")
def administer(inv: Invocation, low: Lowering) -> None:
    if only_talks(inv.args):
        return
    opts = parse(inv.args, values=_CONNECTION | {"-D", "--pgdata", "--maintenance-db", "-S", "--socket"})
    if inv.name in ("mysqladmin", "mariadb-admin"):
        if opts.word(0) in ("drop", "flush-logs", "password", "shutdown"):
            low.emit(
                "data.destroy",
                opts.word(1),
                rule=f"mysqladmin-{opts.word(0)}",
                reason="Drops or stops a whole database.",
            )
        return
    low.emit(
        "data.destroy",
        " ".join(word.text for word in opts.operands),
        rule=inv.name,
        reason=_ADMIN_REASONS[inv.name],
        recoverable=inv.name == "dropdb" and "test" in opts.word(0).lower().replace("-", "_").split("_"),
    )


_ADMIN_REASONS = {
    "dropdb": "Drops a whole database.",
    "dropuser": "Removes a database user.",
    "pg_dropcluster": "Removes a database server with all its data.",
    "pg_resetwal": "Discards the log that a crashed database needs to recover.",
}


@command("pg_restore", "mongorestore", "mongoimport", "mysqlimport", "mariadb-import")
def restore(inv: Invocation, low: Lowering) -> None:
    opts = parse(
        inv.args, values=_CONNECTION | {"-f", "--file", "--db", "-j", "--jobs"}, bundle=inv.name == "pg_restore"
    )
    if only_talks(inv.args):
        return
    if opts.has("--clean", "-c", "--drop", "--delete", "-D", "--replace") and (
        inv.name != "pg_restore" or not opts.has("-D")
    ):
        low.emit(
            "data.destroy",
            " ".join(word.text for word in opts.operands),
            rule=f"{inv.name}-clean",
            reason="Drops what is there before it loads the copy.",
        )


@command("pg_dump", "pg_dumpall", "mysqldump", "mariadb-dump", "mongodump", "mongoexport")
def dump(inv: Invocation, low: Lowering) -> None:
    opts = parse(inv.args, values=_CONNECTION | {"-f", "--file", "-r", "--result-file", "-o", "--out"})
    for target in opts.values("-f", "--file", "-r", "--result-file", "-o", "--out"):
        low.write(target)


def run_script_file(file: Word, tool: str, low: Lowering, language: str = "sql") -> None:
    """A script of the project; its name may say that it destroys."""
    low.run_file(file, via=tool, language=language)
    if _NAMED_HARM.search(file.text):
        low.emit(
            "data.destroy",
            file.text,
            certainty="possible",
            at=file,
            rule="sql-script-name",
            reason="The name of this script says that it destroys data.",
        )
