"""Clients of databases that take their orders in their own way: MySQL Shell, ClickHouse, DB2, Neo4j, and others."""

from __future__ import annotations

import re

from interpose.effects.frozen_values import words
from interpose.effects.handler_table import command
from interpose.effects.invocation import Invocation, Lowering, Stream, Word
from interpose.effects.programs.data.client_commands import statements
from interpose.effects.programs.data.databases import run_script_file
from interpose.effects.programs.shared.options import parse
from interpose.effects.programs.shared.tool_acts import Act, ToolActs, each, register
from interpose.effects.programs.shared.verbs import general

_STRING = re.compile(r"""["'`](\s*(?:drop|delete|truncate|alter|update|grant)\b[^"'`]{1,2000})["'`]""", re.IGNORECASE)
_MOST_STRINGS = 8
_CYPHER = re.compile(r"\b(?:detach\s+delete|delete\s+\w|drop\s+(?:database|index|constraint|user|role|alias)|apoc\.load"
                     r"|apoc\.export|load\s+csv)\b", re.IGNORECASE)  # fmt: skip
_SURREAL = re.compile(
    r"\bremove\s+(?:namespace|database|table|user|access|index)\b|\bdelete\s+\w+\s*;?\s*$", re.IGNORECASE
)
_ARANGO = re.compile(r"\._(?:drop\w*|truncate|remove\w*)\s*\(|\.(?:drop|truncate)\s*\(")
_LOST = Act("data.destroy", "destroy-data", "Removes data that only a backup brings back.")
_STOP = Act("system", "service-stop", "Stops a database that others may rely on.")
_FLUSH = Act("data.destroy", "cache-flush", "Empties a whole cache.")

register(
    __name__,
    {
        "neo4j-admin": ToolActs(verbs=each(_LOST, "load restore unbind copy"), reach=3),
        "memcflush": ToolActs(default=_FLUSH, bare=_FLUSH), "memrm": ToolActs(default=_FLUSH),
        "memcrm": ToolActs(default=_FLUSH),
        "mongod": ToolActs(options=each(_LOST, "--repair"), bundle=False),
        "rethinkdb": ToolActs(verbs=each(_LOST, "restore"), options=each(_LOST, "--force")),
        "litestream": ToolActs(verbs=each(_LOST, "restore")),
    },
)  # fmt: skip


@command("pg_ctl", "pg_ctlcluster")
def postgres_server(inv: Invocation, low: Lowering) -> None:
    """Starting and stopping is everyday work; ending it without saving is not."""
    opts = parse(inv.args, values=words("-D --pgdata -l --log -m --mode -o --options -t --timeout"))
    mode = opts.value("-m", "--mode")
    verbs = [word.text for word in opts.operands]
    if "kill" in verbs or "promote" in verbs or (mode is not None and mode.text.startswith("i")):
        low.emit(_STOP.kind, " ".join(verbs), rule=_STOP.rule, reason=_STOP.reason)


@command("mysqlsh")
def mysql_shell(inv: Invocation, low: Lowering) -> None:
    """Its code is SQL, JavaScript or Python; the last option that says so counts."""
    opts = parse(inv.args, values=words("-e --execute -f --file -u --user -h --host -P --port -D --schema --uri -p"))
    language = "javascript"
    for name, _ in opts.given:
        if name in ("--sql", "--sqlc", "--sqlx"):
            language = "sql"
        elif name in ("--py", "--python"):
            language = "python"
        elif name in ("--js", "--javascript"):
            language = "javascript"
    codes: list[Word | Stream] = list(opts.values("-e", "--execute"))
    if not codes and inv.stdin is not None:
        codes.append(inv.stdin)
    for code in codes:
        if language == "sql" or (code.text or "").lstrip().startswith("\\"):
            statements(code, "mysqlsh", low)
        else:
            low.code(language, code, via=inv.name)
            for text in _STRING.findall(code.text or "")[:_MOST_STRINGS]:
                low.code("sql", text, via=inv.name)
    for file in opts.values("-f", "--file"):
        run_script_file(file, inv.name, low, language=language)


@command("clickhouse", "ch")
def clickhouse(inv: Invocation, low: Lowering) -> None:
    """One program under many names: `clickhouse client` is `clickhouse-client`."""
    verb = inv.args[0].text if inv.args else ""
    if verb in ("client", "local"):
        low.run((Word(f"clickhouse-{verb}", inv.argv0.span), *inv.args[1:]), via=inv.name)
    else:
        general(inv, low)


@command("db2")
def db2(inv: Invocation, low: Lowering) -> None:
    opts = parse(inv.args, values=("-f", "-z", "-r"))
    for file in opts.values("-f"):
        run_script_file(file, inv.name, low)
    text = " ".join(word.text for word in opts.operands)
    if text:
        statements(Word(text, inv.span), "db2", low)
    elif inv.stdin is not None and not opts.values("-f"):
        statements(inv.stdin, "db2", low)


@command("dolt", "sqlite-utils", "doltgres")
def with_queries(inv: Invocation, low: Lowering) -> None:
    """`dolt sql -q SQL`, `sqlite-utils query FILE SQL`; other verbs are judged by their name."""
    general(inv, low)
    opts = parse(inv.args, values=("-q", "--query", "--csv", "--attach"), bundle=False)
    for text in opts.values("-q", "--query"):
        low.code("sql", text, via=inv.name)
    if opts.word(0) in ("query", "sql", "memory"):
        for text in opts.operands[2 if opts.word(0) == "query" else 1 :]:
            low.code("sql", text, via=inv.name)
    elif inv.name == "sqlite-utils" and opts.word(0).endswith((".db", ".sqlite", ".sqlite3")):
        for text in opts.operands[1:]:
            low.code("sql", text, via=inv.name)
    elif opts.word(0) == "reset" and opts.has("--hard"):
        low.emit("vcs.discard", "uncommitted changes", wide=True, rule="dolt-reset-hard")


@command("cypher-shell", "surreal", "arangosh", "arangoimport", "cbq", "gsql")
def graph_shell(inv: Invocation, low: Lowering) -> None:
    """Languages of their own: only what deletes, drops or leaves the database is looked for."""
    pattern = {"cypher-shell": _CYPHER, "surreal": _SURREAL}.get(inv.name, _ARANGO)
    opts = parse(inv.args,
    values=words("-u -p -a -d --username --password --address --database --javascript.execute-string"
                                        " -f --file --conn --ns --db --user --pass --server.endpoint -q --script"),
                 bundle=False)  # fmt: skip
    texts = [*opts.values("--javascript.execute-string", "-q", "--script"), *opts.operands]
    text = "\n".join(word.text for word in texts)
    if inv.stdin is not None and inv.stdin.text:
        text += "\n" + inv.stdin.text
    found = pattern.search(text)
    if found is not None:
        low.emit(
            "data.destroy", found[0], rule=f"{inv.name}-delete", reason="Deletes or drops what is in the database."
        )
    if inv.name == "arangosh":
        low.code("javascript", text, via=inv.name)
    elif inv.name in ("cbq", "gsql"):
        low.code("sql", text, via=inv.name)
    for file in opts.values("-f", "--file"):
        run_script_file(file, inv.name, low)
