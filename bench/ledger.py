"""The ledger: what a record costs, beside row-by-row SQLite and a JSONL file with fsync, and a ledger of many records.

python -m bench.ledger [RECORDS]     how many records the large ledger has (default: a million)

Rates are the best of three runs. What a record costs of a core, all threads together, depends less on what else runs.
Every ledger is verified afterwards, and has as many records as were made; every file beside it as many rows or lines.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from bench.checks import require, require_equal, require_ledger, require_present, require_verified
from bench.command_line import make_parser, run_main
from interpose.composition.build import add_builtin_interceptors, open_ledger
from interpose.core.config.ledger import Level
from interpose.core.registry import create_interceptor_registry
from interpose.core.types import Context, ToolCall, ToolOutcome
from interpose.engine.engine import Engine
from interpose.record.ledger import Ledger, LedgerSettings, search, verify_directory
from interpose.record.ledger.chain import Chain
from interpose.record.ledger.checkpoints import Head, Heads
from interpose.record.store.indexing import CHUNK
from interpose.record.store.protocols import Query, StoredEntry
from interpose.record.store.sqlite import SqliteStore

RECORDS = 1_000_000
FOUND = 50
COMMAND = "git -C /workspace/project status --short && ls -la src"
RESULT = {"exit_code": 0, "stdout": " M src/app.py\ntotal 12\n-rw-r--r-- 1 app.py\n"}


class Sizes(NamedTuple):
    """How often something is measured."""

    single: int
    many: int
    rows: int
    synced: int
    repeats: int


FULL = Sizes(single=5000, many=20_000, rows=2000, synced=300, repeats=3)
SMOKE = Sizes(single=50, many=128, rows=20, synced=4, repeats=1)
SMOKE_RECORDS = 4300
"""Enough that each search finds something."""


class Rate(NamedTuple):
    """How fast records were made."""

    per_second: float
    cpu: float
    """Microseconds of a core for each, all threads together."""


class Clock:
    """Runs from when it is made."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def rate(self, count: int) -> Rate:
        """So many records were made until now."""
        return Rate(count / (time.perf_counter() - self._wall), (time.process_time() - self._cpu) / count * 1e6)


def call() -> ToolCall:
    return ToolCall("exec", {"command": COMMAND}, context=Context(session_id="s1", agent_id="main"))


def engine(ledger: Ledger | None) -> Engine:
    registry = add_builtin_interceptors(create_interceptor_registry())
    return Engine(registry, recorder=None if ledger is None else ledger.recorder)


def p50(action: Callable[[], Any], count: int) -> float:
    """Microseconds."""
    spent = []
    for _ in range(count):
        start = time.perf_counter_ns()
        action()
        spent.append(time.perf_counter_ns() - start)
    return statistics.median(spent) / 1000


def added_to_a_decision(count: int) -> None:
    """The decision's record alone: what an agent waits for before its tool runs."""
    with tempfile.TemporaryDirectory() as place:
        with open_ledger(Path(place)) as ledger:
            verdict = engine(None).decide(call())

            def recorded() -> None:
                ticket = ledger.recorder.decided(verdict)
                require_present(ticket, "the ledger took no record of a decision").wait()

            p50(recorded, count // 10)
            print(f"added to a decision, written       {p50(recorded, count):9.1f} us p50")
        require_ledger(Path(place), {"allow": count // 10 + count}, finished=0)


def rate(level: Level, callers: int, count: int) -> Rate:
    """Whole records a second, of callers that share an event loop, until the store has all of them."""
    made = count // callers * callers
    with tempfile.TemporaryDirectory() as place:
        with open_ledger(Path(place), LedgerSettings(level=level, deadline=30)) as ledger:
            running = engine(ledger)

            async def one() -> None:
                for _ in range(made // callers):
                    require_equal(
                        "the tool's result", await running.arun_tool(call(), lambda _arguments: RESULT), RESULT
                    )

            async def everybody() -> None:
                await asyncio.gather(*[one() for _ in range(callers)])

            clock = Clock()
            asyncio.run(everybody())
            require(ledger.flush(60), "the ledger did not write its records within 60 s")
            found = clock.rate(made)
        require_ledger(Path(place), {"allow": made})
    return found


def thread_rate(callers: int, count: int) -> Rate:
    """The same of callers that are threads."""
    made = count // callers * callers
    with tempfile.TemporaryDirectory() as place:
        with open_ledger(Path(place)) as ledger:
            running = engine(ledger)

            def one() -> None:
                for _ in range(made // callers):
                    running.run_tool(call(), lambda _arguments: RESULT)

            threads = [threading.Thread(target=one) for _ in range(callers)]
            clock = Clock()
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            require(ledger.flush(60), "the ledger did not write its records within 60 s")
            found = clock.rate(made)
        require_ledger(Path(place), {"allow": made})  # also of a thread that failed
    return found


def drafts_rate(count: int) -> Rate:
    """Entries made and written in batches, without an engine: what the journal itself can do."""
    with tempfile.TemporaryDirectory() as place:
        with open_ledger(Path(place)) as ledger:
            verdict = engine(None).decide(call())
            outcome = ToolOutcome(verdict.payload, RESULT)
            recorder = ledger.recorder
            clock = Clock()
            for _ in range(count):
                recorder.decided(verdict)
                last = recorder.finished(verdict, outcome)
            require_present(last, "the ledger took no record of an outcome").wait()
            require(ledger.flush(60), "the ledger did not write its records within 60 s")
            found = clock.rate(count)
        require_ledger(Path(place), {"allow": count})
    return found


def sqlite_rate(synchronous: str, count: int) -> Rate:
    """Two rows for each record, each its own transaction, with the same content and no chain."""
    with tempfile.TemporaryDirectory() as place:
        connection = sqlite3.connect(Path(place) / "rows.db", isolation_level=None)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute(f"PRAGMA synchronous={synchronous}")
        connection.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, session TEXT, tool TEXT, body BLOB)")
        bodies = _bodies()
        clock = Clock()
        for _ in range(count):
            for body in bodies:
                connection.execute("INSERT INTO rows (session, tool, body) VALUES ('s1', 'exec', ?)", (body,))
        found = clock.rate(count)
        require_equal("rows in SQLite", connection.execute("SELECT count(*) FROM rows").fetchone()[0], 2 * count)
        connection.close()
        return found


def jsonl_rate(count: int) -> Rate:
    """Two lines for each record, each synced."""
    with tempfile.TemporaryDirectory() as place:
        handle = os.open(Path(place) / "log.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        bodies = [body + b"\n" for body in _bodies()]
        clock = Clock()
        for _ in range(count):
            for body in bodies:
                os.write(handle, body)
                os.fsync(handle)
        found = clock.rate(count)
        os.close(handle)
        require_equal("lines of JSONL", Path(place, "log.jsonl").read_bytes().count(b"\n"), 2 * count)
        return found


def _bodies() -> tuple[bytes, bytes]:
    with tempfile.TemporaryDirectory() as place, open_ledger(Path(place)) as ledger:
        verdict = engine(None).decide(call())
        bodies = ledger.recorder.bodies
        return bodies.decided(verdict).body, bodies.finished(ToolOutcome(verdict.payload, RESULT)).body


def large(count: int) -> None:
    """A ledger of many records: how long a question takes, and how fast it verifies."""
    with tempfile.TemporaryDirectory() as place:
        directory = Path(place)
        with open_ledger(directory) as ledger:
            bodies = ledger.recorder.bodies
            decided = bodies.decided(engine(None).decide(call()))
            finished = bodies.finished(ToolOutcome(call(), RESULT))
            signing = Heads(directory, ledger.keys.checkpoints)
        store = SqliteStore(directory / "ledger.db")
        try:
            signing.keep(_fill(store, decided, finished, count))
            _search(store, count)
            _verify(directory, store, count)
        finally:
            store.close()


def _search(store: SqliteStore, count: int) -> None:
    start = time.perf_counter()
    while store.backlog() >= CHUNK:
        time.sleep(0.1)
    print(f"filled; the index of words was ready {time.perf_counter() - start:.0f} s later")
    for name, query, wanted in (
        ("by session", Query(session="session-500"), lambda number: number % 5000 == 500),
        ("by rule", Query(rule="rule-77"), lambda number: number % 5000 == 77),
        ("by text", Query(text="needle-4242"), lambda number: "needle-4242" in _needle(number)),
        ("by agent, newest", Query(agent="agent-3"), lambda number: number % 20 == 3),
    ):
        found = len(search(store, query, FOUND))
        require_equal(f"found {name}", found, min(FOUND, sum(map(wanted, range(count)))))
        spent = p50(lambda query=query: search(store, query, FOUND), 20)  # type: ignore[misc]  # a default binds it
        print(f"search {name:28} {spent / 1000:9.1f} ms p50, {found} found")


def _verify(directory: Path, store: SqliteStore, count: int) -> None:
    start, used = time.perf_counter(), time.process_time()
    verification = verify_directory(directory, store)
    spent, used = time.perf_counter() - start, time.process_time() - used
    speed = f"{count / spent:,.0f} records/s, {used / count * 1e6:.1f} us of a core each"
    print(f"verify: ok={verification.ok}, {verification.entries} entries, {speed}")
    require_verified(verification)
    require_equal("verified entries", verification.entries, 2 * count)


def _needle(number: int) -> str:
    return f"needle-{number}" if number % 1000 == 242 else ""


def _fill(store: SqliteStore, decided: Any, finished: Any, count: int) -> Head:
    """Put a chain of many records into a store. Its writer is not the ledger, so its last head must be kept for it."""
    from msgspec.structs import replace

    chain = Chain("bench")
    batch: list[StoredEntry] = []
    for number in range(count):
        who: dict[str, Any] = {
            "call_id": f"call-{number}",
            "session": f"session-{number % 5000}",
            "agent": f"agent-{number % 20}",
        }
        rule = f"rule-{number % 5000}" if number % 10 == 7 else ""
        text = f"{decided.text} file-{number} {_needle(number)}"
        batch.append(chain.add(replace(decided, rule=rule, text=text, time_ns=number * 1000, **who)))
        batch.append(chain.add(replace(finished, time_ns=number * 1000 + 500, **who)))
        if len(batch) >= 5000:
            store.append(batch)
            batch = []
    store.append(batch)
    return Head(chain.writer, chain.seq, chain.head.hex())


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("records", type=int, nargs="?", default=RECORDS)
    options = parser.parse_args()
    sizes, records = (SMOKE, SMOKE_RECORDS) if options.smoke else (FULL, options.records)
    print(f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores; a record is a decision and its outcome")
    added_to_a_decision(sizes.single)
    for name, measure, count in (
        ("written, recorder alone", drafts_rate, sizes.many),
        ("written, 64 callers of one loop", partial(rate, "written", 64), sizes.many),
        ("written, 8 threads", partial(thread_rate, 8), sizes.many),
        ("durable, 64 callers of one loop", partial(rate, "durable", 64), sizes.many),
        ("SQLite row by row, NORMAL", partial(sqlite_rate, "NORMAL"), sizes.rows),
        ("SQLite row by row, FULL", partial(sqlite_rate, "FULL"), sizes.synced),
        ("JSONL with fsync", jsonl_rate, sizes.synced),
    ):
        measured = [measure(count) for _ in range(sizes.repeats)]
        best, cost = max(one.per_second for one in measured), statistics.mean(one.cpu for one in measured)
        print(f"{name:34} {best:9,.0f} records/s {cost:9.0f} us of a core each", flush=True)
    large(records)


if __name__ == "__main__":
    run_main(main)
