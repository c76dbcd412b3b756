"""PostgreSQL is restarted while many writers write: what was acknowledged is there, once and in order."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from interpose.core.errors import SequenceTakenError, StoreError
from interpose.record.ledger import records, recover_all, verify_directory
from interpose.record.store.postgres import PostgresStore
from interpose.record.store.protocols import Grant, StoredEntry
from tests.support.servers.postgres import Server
from tests.support.timing.patience import PATIENCE

WRITERS = 4
BATCHES_AROUND = 20


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server() as started:
        yield started


def batch(writer: str, start: int) -> list[StoredEntry]:
    return [
        StoredEntry(writer=writer, seq=seq, kind="decided", time_ns=seq, prev=b"", hash=b"%d" % seq, body=b"{}")
        for seq in range(start, start + 3)
    ]


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_restarted_under_load(server: Server, mode: str) -> None:
    store = PostgresStore(server.new_database(), timeout=20)
    restarted = threading.Event()
    under_load = threading.Barrier(WRITERS + 1)
    acknowledged: dict[str, int] = {}
    failed: list[StoreError] = []

    def write(writer: str) -> None:
        done = after = 0
        while after < BATCHES_AROUND:
            if done == BATCHES_AROUND:
                under_load.wait()
            after += restarted.is_set()
            try:
                store.append(batch(writer, done * 3 + 1))
            except StoreError as error:
                failed.append(error)
                break
            done += 1
        acknowledged[writer] = done * 3

    threads = [threading.Thread(target=write, args=(f"w{number}",)) for number in range(WRITERS)]
    for thread in threads:
        thread.start()
    under_load.wait()
    server.restart(mode)
    restarted.set()
    for thread in threads:
        thread.join()
    assert not failed
    assert store.writers() == sorted(acknowledged)
    for writer, count in acknowledged.items():
        assert [entry.seq for entry in store.scan(writer, 0, count + 100)] == list(range(1, count + 1))
    store.close()


def test_grants_and_counters_stay_exact_over_a_restart(server: Server) -> None:
    """A use whose answer was lost may be gone, but none is given twice and no budget is exceeded."""
    store = PostgresStore(server.new_database(), timeout=20)
    store.give(Grant(id="g", subject="x", uses=50, created_ns=0))
    under_load = threading.Barrier(9)
    taken: list[int] = []
    spent: list[int] = []

    def use_up() -> None:
        under_load.wait()
        while True:
            try:
                grant, total = store.use("g", now_ns=1), store.spend("c", 1, budget=50)
            except StoreError:
                continue
            if grant is None and total is None:
                return
            taken.extend([grant.uses] if grant else [])
            spent.extend([total] if total else [])

    threads = [threading.Thread(target=use_up) for _ in range(8)]
    for thread in threads:
        thread.start()
    under_load.wait()
    server.restart("immediate")
    for thread in threads:
        thread.join()
    assert len(taken) == len(set(taken))
    assert len(spent) == len(set(spent))
    assert (store.use("g", now_ns=1), store.spent("c")) == (None, 50)
    store.close()


def test_an_answer_that_never_comes_is_an_error_in_time(server: Server) -> None:
    address = server.new_database()
    holding, waiting = PostgresStore(address), PostgresStore(address, timeout=0.3)
    locked, free = threading.Event(), threading.Event()

    async def hold() -> None:
        assert holding._pool is not None
        async with holding._pool.acquire() as connection, connection.transaction():
            await connection.execute("LOCK TABLE entries")
            locked.set()
            while not free.is_set():
                await connection.execute("SELECT pg_sleep(0.01)")

    holder = threading.Thread(target=lambda: holding._wait(hold()))
    holder.start()
    locked.wait()
    with pytest.raises(StoreError, match="in time"):
        waiting.append(batch("w", 1))
    free.set()
    holder.join()
    waiting.append(batch("w", 1))
    assert len(waiting.scan("w", 0, 10)) == 3
    holding.close()
    waiting.close()


class LosesAnswers(PostgresStore):
    """Its connection breaks when everything is done, before the answer is there."""

    async def _attempt(self, work: Callable[[Any], Awaitable[Any]], *, again: bool) -> Any:
        broken = False

        async def broken_once(connection: Any) -> Any:
            nonlocal broken
            result = await work(connection)
            if not broken:
                broken = True
                raise asyncpg.ConnectionDoesNotExistError("broken")
            return result

        return await super()._attempt(broken_once, again=again)


def test_a_lost_answer_is_found_out_for_entries_and_told_for_grants(server: Server) -> None:
    address = server.new_database()
    store, losing = PostgresStore(address), LosesAnswers(address)
    losing.append(batch("w", 1))
    assert [entry.seq for entry in store.scan("w", 0, 10)] == [1, 2, 3]
    with pytest.raises(SequenceTakenError):
        losing.append([StoredEntry(writer="w", seq=1, kind="decided", time_ns=1, prev=b"", hash=b"other", body=b"")])
    store.give(Grant(id="g", subject="x", uses=2, created_ns=0))
    with pytest.raises(StoreError, match="broken"):
        losing.use("g", now_ns=1)
    left = store.use("g", now_ns=1)
    assert left is not None
    assert left.uses == 0
    store.close()
    losing.close()


AGENT = """
import os, sys
from pathlib import Path
from interpose.engine.engine import Engine
from interpose.record.ledger import Ledger
from interpose.core.registry import InterceptorRegistry
from interpose.record.store.postgres import PostgresStore
from interpose.core.types import ToolCall

directory, address, count, killed_at = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
with Ledger(directory, PostgresStore(address, timeout=20), owns_store=True) as ledger:
    engine = Engine(InterceptorRegistry(), recorder=ledger.recorder)
    for number in range(count):
        call = ToolCall("exec", {"command": f"echo {number}"}, call_id=f"{directory.name}-{number}")
        engine.run_tool(call, lambda arguments: "done")
        print(call.call_id, flush=True)
        if number == killed_at:
            os.kill(os.getpid(), 9)
"""


def test_machines_share_it_one_of_them_is_killed_and_the_server_restarts(server: Server, tmp_path: Path) -> None:
    address, count = server.new_database(), 300
    PostgresStore(address).close()
    names = ["one", "two", "three"]
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / name / "key").write_bytes(b"the same key on each machine ..."[:32])
        (tmp_path / name / "key").chmod(0o600)
    agents = [
        subprocess.Popen(
            [sys.executable, "-c", AGENT, str(tmp_path / name), address, str(count), str(150 if name == "two" else -1)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in names
    ]
    printed = [agent.stdout for agent in agents if agent.stdout]
    first = [lines.readline() for lines in printed]
    server.restart("immediate")
    acknowledged = "".join(first + [lines.read() for lines in printed]).split()
    for lines in printed:
        lines.close()
    assert [agent.wait(timeout=PATIENCE) for agent in agents] == [0, -9, 0]
    assert len(acknowledged) == 2 * count + 151

    store = PostgresStore(address)
    recover_all(tmp_path / "two", store)
    kept = {record.call_id: record.outcome for record in records(store.of_calls(acknowledged))}
    assert kept == dict.fromkeys(acknowledged, "success")
    for name in names:
        verified = verify_directory(tmp_path / name, store)
        assert (verified.ok, verified.writers, verified.signed) == (True, 3, True), verified.broken
    store.close()
