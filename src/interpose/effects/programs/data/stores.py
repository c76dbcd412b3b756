"""Stores that speak no SQL: the clients of Redis and MongoDB."""

from __future__ import annotations

import re

from interpose.effects.frozen_values import words
from interpose.effects.handler_table import command
from interpose.effects.invocation import Invocation, Lowering, Word
from interpose.effects.programs.data.databases import run_script_file
from interpose.effects.programs.shared.options import parse

_REDIS_VALUES = words(
    "-a -d -h -i -n -p -r -s -t -u --eval --rdb --functions-rdb --cacert --cert --key --pass --user --sni"
)
_REDIS_DESTROY = {
    "FLUSHALL": "Empties every database of this server.",
    "FLUSHDB": "Empties a whole database.",
    "SHUTDOWN": "Stops the server, perhaps without saving.",
    "SWAPDB": "Exchanges two databases under their users.",
    "REPLICAOF": "Replaces the data by that of another server.",
    "SLAVEOF": "Replaces the data by that of another server.",
    "DEBUG": "Can crash the server.",
    "FUNCTION FLUSH": "Removes every function.",
    "FUNCTION DELETE": "Removes functions.",
    "CLUSTER RESET": "Takes the server out of its cluster.",
    "CLUSTER FORGET": "Takes a server out of the cluster.",
    "CLUSTER FLUSHSLOTS": "Forgets where the data lies.",
    "ACL DELUSER": "Removes a user.",
    "XGROUP DESTROY": "Removes a consumer group.",
    "CONFIG REWRITE": "Writes the changed settings into the server's file.",
    "MODULE LOAD": "Loads a program library into the server.",
    "MODULE LOADEX": "Loads a program library into the server.",
    "MODULE UNLOAD": "Takes a library out of the running server.",
    "ACL SETUSER": "Changes who may do what on this server.",
    "ACL LOAD": "Changes who may do what on this server.",
    "SCRIPT FLUSH": "Removes every script.",
    "FUNCTION RESTORE": "Replaces the functions of the server.",
    "FAILOVER": "Makes another server the main one.",
    "CLUSTER FAILOVER": "Makes another server the main one.",
    "CLIENT KILL": "Closes the connections of others.",
    "MIGRATE": "Moves keys to another server.",
    "CONFIG SET": "Changes the running server; `dir` and `dbfilename` let it write any file.",
}
_MONGO_DESTROY = re.compile(
    r"\.(?P<verb>dropDatabase|dropAllUsers|dropAllRoles|dropUser|dropIndexes|drop|shutdownServer|removeShard)\s*\("
    r"|\.(?P<rows>deleteMany|remove|updateMany|findAndModify)\s*\(\s*(?:\{\s*\}\s*)?[),]"
    r"|\b[\"']?(?P<run>dropDatabase|drop|dropIndexes|shutdown|dropAllUsersFromDatabase|dropUser|fsync|replSetStepDown)[\"']?\s*:"
)
_NODE = ("require", "import", "process", "eval", "Function", "fs.", "os.")
_PROGRAMS = ("runProgram", "runNonMongoProgram", "run(", "removeFile", "startMongoProgram", "_startMongoProgram")
"""Where a script of the old shell starts a program or deletes a file."""
"""Where a script of the MongoDB shell leaves the database."""


@command("redis-cli", "valkey-cli", "keydb-cli", "iredis")
def redis(inv: Invocation, low: Lowering) -> None:
    opts = parse(inv.args, values=_REDIS_VALUES, stop=True, bundle=False)
    if opts.operands:
        _redis_command(opts.operands, low)
        for path in opts.values("--eval"):
            low.run_file(path, via=inv.name, language="lua")
    elif opts.values("--eval"):
        for path in opts.values("--eval"):
            low.run_file(path, via=inv.name, language="lua")
    elif inv.stdin is not None and inv.stdin.text is not None:
        for line in inv.stdin.text.splitlines():
            _redis_command(tuple(Word(part) for part in line.split()), low)


@command("FLUSHALL", "FLUSHDB", "flushall", "flushdb")
def bare_redis(inv: Invocation, low: Lowering) -> None:
    _redis_command((inv.argv0, *inv.args), low)


@command("mongosh", "mongo")
def mongo(inv: Invocation, low: Lowering) -> None:
    opts = parse(
        inv.args, values=("--eval", "--host", "--port", "--username", "-u", "-p", "--password", "-f", "--file")
    )
    texts = [word.text for word in opts.values("--eval")]
    if inv.stdin is not None and inv.stdin.text is not None:
        texts.append(inv.stdin.text)
    for text in texts:
        if any(door in text for door in _NODE):
            low.code("javascript", text, via=inv.name)
        if any(door in text for door in _PROGRAMS):
            low.code("jvm-script", text, via=inv.name)
        for match in _MONGO_DESTROY.finditer(text):
            what = match["verb"] or match["rows"] or match["run"]
            low.emit(
                "data.destroy",
                opts.word(0),
                rule=f"mongo-{what.lower()}",
                reason="Deletes every document of a collection."
                if match["rows"]
                else f"`{what}` removes data for ever.",
                wide=what == "dropDatabase",
            )
    for file in (*opts.values("-f", "--file"), *(word for word in opts.operands if word.text.endswith(".js"))):
        run_script_file(file, inv.name, low, language="javascript")


def _redis_command(operands: tuple[Word, ...], low: Lowering) -> None:
    if not operands:
        return
    first = operands[0].text.upper()
    pair = f"{first} {operands[1].text.upper()}" if len(operands) > 1 else first
    name = first if first in _REDIS_DESTROY else pair
    if name in _REDIS_DESTROY:
        low.emit(
            "data.destroy",
            name,
            at=operands[0],
            rule=f"redis-{name.lower().replace(' ', '-')}",
            reason=_REDIS_DESTROY[name],
            wide=name == "FLUSHALL",
        )
    elif first in ("DEL", "UNLINK", "HDEL") and any(not word.known or word.glob for word in operands[1:]):
        low.emit(
            "data.destroy", first, certainty="possible", rule="redis-del", reason="Deletes keys that are not known."
        )
    elif first in ("EVAL", "EVAL_RO", "FCALL") and any(
        name in word.text.lower() for word in operands[1:2] for name in ("flushall", "flushdb")
    ):
        low.emit("data.destroy", first, rule="redis-eval", reason="The script empties the database.")
    elif first in ("EVAL", "EVAL_RO"):
        for word in operands[1:2]:
            lowered = word.text.lower()
            if "'keys'" in lowered.replace('"', "'") and ("'del'" in lowered or "'unlink'" in lowered):
                low.emit("data.destroy", first, rule="redis-eval", reason="The script deletes every key that it finds.")
            low.code("lua", word, via="redis EVAL")
