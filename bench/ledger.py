"""The ledger: what a record costs, beside row-by-row SQLite and a JSONL file with fsync, and a ledger of many records.

python -m bench.ledger [RECORDS]     how many records the large ledger has (default: a million)

Rates are the best of three runs. What a record costs of a core, all threads together, depends less on what else runs.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from interpose.build import add_builtin_interceptors, open_ledger
from interpose.engine import Engine
from interpose.ledger import Ledger, LedgerSettings, search, verify_directory
from interpose.ledger.chain import Chain
from interpose.ledger.settings import Level
from interpose.registry import create_interceptor_registry
from interpose.store.indexing import CHUNK
from interpose.store.protocols import Query, StoredEntry
from interpose.store.sqlite import SqliteStore
from interpose.types import Context, ToolCall, ToolOutcome

SINGLE = 5000
MANY = 20_000
REPEATS = 3
COMMAND = "git -C /workspace/project status --short && ls -la src"
RESULT = {"exit_code": 0, "stdout": " M src/app.py\ntotal 12\n-rw-r--r-- 1 app.py\n"}


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


def added_to_a_decision() -> None:
    """The decision's record alone: what an agent waits for before its tool runs."""
    with tempfile.TemporaryDirectory() as place, open_ledger(Path(place)) as ledger:
        verdict = engine(None).decide(call())

        def recorded() -> None:
            ticket = ledger.recorder.decided(verdict)
            assert ticket is not None
            ticket.wait()

        p50(recorded, 500)
        print(f"added to a decision, written       {p50(recorded, SINGLE):9.1f} us p50")


def rate(level: Level, callers: int, count: int) -> float:
    """Whole records a second, of callers that share an event loop, until the store has all of them."""
    with (
        tempfile.TemporaryDirectory() as place,
        open_ledger(Path(place), LedgerSettings(level=level, deadline=30)) as ledger,
    ):
        running = engine(ledger)

        async def one() -> None:
            for _ in range(count // callers):
                await running.arun_tool(call(), lambda _arguments: RESULT)

        async def everybody() -> None:
            await asyncio.gather(*[one() for _ in range(callers)])

        start = time.perf_counter()
        asyncio.run(everybody())
        assert ledger.flush(60)
        return count // callers * callers / (time.perf_counter() - start)


def thread_rate(callers: int, count: int) -> float:
    """The same of callers that are threads."""
    with tempfile.TemporaryDirectory() as place, open_ledger(Path(place)) as ledger:
        running = engine(ledger)

        def one() -> None:
            for _ in range(count // callers):
                running.run_tool(call(), lambda _arguments: RESULT)

        threads = [threading.Thread(target=one) for _ in range(callers)]
        start = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert ledger.flush(60)
        return count // callers * callers / (time.perf_counter() - start)


def drafts_rate(count: int) -> float:
    """Entries made and written in batches, without an engine: what the journal itself can do."""
    with tempfile.TemporaryDirectory() as place, open_ledger(Path(place)) as ledger:
        verdict = engine(None).decide(call())
        outcome = ToolOutcome(verdict.payload, RESULT)
        recorder = ledger.recorder
        start = time.perf_counter()
        for _ in range(count):
            recorder.decided(verdict)
            last = recorder.finished(verdict, outcome)
        assert last is not None
        last.wait()
        assert ledger.flush(60)
        return count / (time.perf_counter() - start)


def sqlite_rate(synchronous: str, count: int) -> float:
    """Two rows for each record, each its own transaction, with the same content and no chain."""
    with tempfile.TemporaryDirectory() as place:
        connection = sqlite3.connect(Path(place) / "rows.db", isolation_level=None)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute(f"PRAGMA synchronous={synchronous}")
        connection.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, session TEXT, tool TEXT, body BLOB)")
        bodies = _bodies()
        start = time.perf_counter()
        for _ in range(count):
            for body in bodies:
                connection.execute("INSERT INTO rows (session, tool, body) VALUES ('s1', 'exec', ?)", (body,))
        spent = time.perf_counter() - start
        connection.close()
        return count / spent


def jsonl_rate(count: int) -> float:
    """Two lines for each record, each synced."""
    with tempfile.TemporaryDirectory() as place:
        handle = os.open(Path(place) / "log.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        bodies = [body + b"\n" for body in _bodies()]
        start = time.perf_counter()
        for _ in range(count):
            for body in bodies:
                os.write(handle, body)
                os.fsync(handle)
        spent = time.perf_counter() - start
        os.close(handle)
        return count / spent


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
        store = SqliteStore(directory / "ledger.db")
        _fill(store, decided, finished, count)
        start = time.perf_counter()
        while store.backlog() >= CHUNK:
            time.sleep(0.1)
        print(f"filled; the index of words was ready {time.perf_counter() - start:.0f} s later")
        for name, query in (
            ("by session", Query(session="session-500")), ("by rule", Query(rule="rule-77")),
            ("by text", Query(text="needle-4242")), ("by agent, newest", Query(agent="agent-3")),
        ):  # fmt: skip
            found = len(search(store, query, 50))
            spent = p50(lambda query=query: search(store, query, 50), 20)  # type: ignore[misc]  # a default binds it
            print(f"search {name:28} {spent / 1000:9.1f} ms p50, {found} found")
        start, used = time.perf_counter(), time.process_time()
        verification = verify_directory(directory, store)
        spent, used = time.perf_counter() - start, time.process_time() - used
        speed = f"{count / spent:,.0f} records/s, {used / count * 1e6:.1f} us of a core each"
        print(f"verify: ok={verification.ok}, {verification.entries} entries, {speed}")
        store.close()


def _fill(store: SqliteStore, decided: Any, finished: Any, count: int) -> None:
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
        text = f"{decided.text} file-{number} " + (f"needle-{number}" if number % 1000 == 242 else "")
        batch.append(chain.add(replace(decided, rule=rule, text=text, time_ns=number * 1000, **who)))
        batch.append(chain.add(replace(finished, time_ns=number * 1000 + 500, **who)))
        if len(batch) >= 5000:
            store.append(batch)
            batch = []
    store.append(batch)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    print(f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores; a record is a decision and its outcome")
    added_to_a_decision()
    for name, measure, records in (
        ("written, recorder alone", drafts_rate, MANY),
        ("written, 64 callers of one loop", partial(rate, "written", 64), MANY),
        ("written, 8 threads", partial(thread_rate, 8), MANY),
        ("durable, 64 callers of one loop", partial(rate, "durable", 64), MANY),
        ("SQLite row by row, NORMAL", partial(sqlite_rate, "NORMAL"), 2000),
        ("SQLite row by row, FULL", partial(sqlite_rate, "FULL"), 300),
        ("JSONL with fsync", jsonl_rate, 300),
    ):
        start = time.process_time()
        rates = [measure(records) for _ in range(REPEATS)]
        cost = (time.process_time() - start) / REPEATS / records * 1e6
        print(f"{name:34} {max(rates):9,.0f} records/s {cost:9.0f} us of a core each", flush=True)
    large(count)


if __name__ == "__main__":
    main()
