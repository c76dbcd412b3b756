"""Commands of database clients that are no SQL: `\\!`, `.shell`, `system`, `host`, and their like."""

from __future__ import annotations

import re

from interpose.effects.invocation import Lowering, Stream, Word

_DOTS = frozenset({"sqlite3", "sqlite", "duckdb", "litecli", "sqlite-utils"})
_BACKSLASHES = frozenset({"psql", "pgcli", "mysql", "mariadb", "mycli", "usql", "vsql", "ysqlsh", "mysqlsh", "sqsh"})
_SHELL_WORDS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("mysql", "mariadb", "mycli", "mysqlsh"), ("system", "pager", "\\!", "nopager")),
    "sqlplus": ("host", "ho", "!", "$"), "sql": ("host", "!"), "sqlcl": ("host", "!"),
    "sqlcmd": (":!!", "!!"), "mssql-cli": (":!!", "!!"),
    **dict.fromkeys(("hive", "spark-sql"), ("!",)),
    **dict.fromkeys(("beeline", "sqlline", "phoenix-sqlline"), ("!sh", "!shell")),
    "impala-shell": ("shell", "!"), "snowsql": ("!system", "!sys"), "bteq": (".os", "os"), "db2": ("!",),
    "isql": ("!!", "shell"), "clickhouse-client": ("!",), "trino": (),
}  # fmt: skip
"""For each client the words at the start of a statement behind which a command stands."""
_FILE_WORDS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("mysql", "mariadb", "mycli"), ("source",)), "sqlplus": ("@@", "@", "start"), "sqlcmd": (":r",),
    "cqlsh": ("SOURCE", "source"), "snowsql": ("!source", "!load"), "beeline": ("!run", "!script"), "hive": ("source",),
    "impala-shell": ("source",),
}  # fmt: skip
"""The same for scripts."""
_WRITE_WORDS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("mysql", "mariadb", "mycli"), ("tee",)), "sqlplus": ("spool", "save"), "sqlcmd": (":out",
    ":error"),
    "snowsql": ("!spool",),
}  # fmt: skip
_SQLITE = (".archive", ".backup", ".clone", ".excel", ".import", ".load", ".log", ".once", ".output", ".read",
           ".restore", ".save", ".shell", ".system", ".trace", ".www")  # fmt: skip
_BACKTICKS = re.compile(r"`([^`]{1,2000})`")


def statements(code: Word | Stream, tool: str, low: Lowering) -> None:
    """Run the client's own commands in a text; what else is in it is SQL."""
    text = code.text
    if text is None:
        low.code("sql", code, via=tool)
        return
    sql = []
    for line in text.split("\n"):
        if tool in _DOTS and line.lstrip().startswith("."):
            _dot_command(line.strip(), low)
        elif "\\" in line and tool in _BACKSLASHES:
            sql.append(_backslash(line, tool, low))
        elif tool in _SHELL_WORDS:
            sql.append(";".join(piece for piece in line.split(";") if not _client_word(piece.strip(), tool, low)))
        else:
            sql.append(line)
    rest = "\n".join(sql)
    if rest.strip(" ;\n"):
        kept = Word(rest, code.span, taints=code.taints) if isinstance(code, Word) else Stream(rest, code.taints)
        low.code("sql", kept, via=tool)


def _client_word(piece: str, tool: str, low: Lowering) -> bool:
    """Whether a statement is a command of the client; if so, state what it does."""
    lowered = piece.lower()
    for word in _SHELL_WORDS[tool]:
        if lowered.startswith(word) and (
            not word[-1].isalnum() or lowered[len(word) : len(word) + 1] in (" ", "\t", "")
        ):
            low.shell(piece[len(word) :].strip(), via=f"{tool} {word}")
            return True
    for words, runs in ((_FILE_WORDS.get(tool, ()), True), (_WRITE_WORDS.get(tool, ()), False)):
        for word in words:
            if piece.startswith(word) and (not word[-1].isalnum() or piece[len(word) : len(word) + 1] == " "):
                path = piece[len(word) :].strip()
                if path.startswith(("http://", "https://")):
                    low.emit("code.remote", path)
                elif runs:
                    low.run_file(path, via=tool, language="sql")
                else:
                    low.write(path)
                return True
    return False


def _backslash(line: str, tool: str, low: Lowering) -> str:
    """Run the client's own command in a line; what stands before it is SQL."""
    sql, _, rest = line.partition("\\")
    name, argument = (rest[:1], rest[1:]) if rest[:1] == "!" else rest.partition(" ")[::2]
    argument = argument.strip()
    if tool not in ("mysql", "mariadb", "mycli") and name not in ("copy", "!"):
        for command in _BACKTICKS.findall(argument):
            low.shell(command, via=f"{tool} \\{name}")
    match name:
        case "!" | "system":
            low.shell(argument, via=f"{tool} \\!")
        case "P" if tool in ("mysql", "mariadb", "mycli"):
            low.shell(argument, via=f"{tool} pager")
        case "setenv" if argument.split(None, 1)[:1] in (["PAGER"], ["PSQL_PAGER"], ["EDITOR"], ["PSQL_EDITOR"]):
            low.shell(argument.partition(" ")[2].strip("'\" "), via=f"{tool} \\setenv")
        case "i" | "ir" | "include" | "include_relative" | "." | "source":
            low.run_file(argument, via=tool, language="sql")
        case "o" | "g" | "w" | "out" | "T" | "gx" | "write" | "go" if argument.startswith("|"):
            low.shell(argument[1:], via=f"{tool} \\{name}")
        case "o" | "g" | "w" | "out" | "T" | "gx" | "write" if argument:
            low.write(argument)
        case "copy":
            low.code("sql", f"COPY {argument}", via=tool)
        case "lo_import":
            low.read(argument.split(None, 1)[0] if argument else "")
        case "lo_export":
            low.write(argument.split()[-1] if argument else "")
        case _ if sql.strip() or len(name) > 2:
            return line if name not in ("set", "echo", "setenv", "prompt", "warn", "qecho") else sql
        case _:
            pass
    return sql


def _dot_command(line: str, low: Lowering) -> None:
    """A command of sqlite's shell. It takes any beginning of a name that is long enough."""
    given, _, argument = line.partition(" ")
    full = [name for name in _SQLITE if name.startswith(given.lower())] if len(given) > 2 else []
    name = given if given in _SQLITE or not full else full[0]
    argument = argument.strip()
    words = argument.split(" ")
    while words and words[0].startswith("-"):
        words.pop(0)
    bare = " ".join(words).strip("'\" ")
    match name:
        case ".shell" | ".system" | ".sh":
            low.shell(argument, via="sqlite3 .shell")
        case ".output" | ".once" | ".excel" | ".read" | ".import" | ".log" | ".trace" if bare.startswith("|"):
            # Of what `.import` reads only the first part is the command; the table's name behind it changes nothing.
            low.shell(bare[1:].partition("'" if "'" in argument else '"')[0], via=f"sqlite3 {name}")
        case ".output" | ".once" | ".save" | ".backup" | ".log" | ".clone" | ".trace" if bare:
            low.write(bare.split()[-1])
        case ".read" if argument:
            low.run_file(bare, via="sqlite3", language="sql")
        case ".import" if bare:
            low.read(bare.split()[0])
        case ".load":
            low.emit("opaque", argument, certainty="possible", rule="sql-load", reason="Loads a program library.")
        case ".restore":
            low.emit("data.destroy", argument, rule="sqlite-restore", reason="Replaces the database by a copy.")
        case _:
            pass
