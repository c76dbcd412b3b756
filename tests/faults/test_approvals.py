"""Processes that share a desk are killed, and the store is restarted: a yes is used once, and never lost half-way."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from interpose.core.answers import Approved, Pending
from interpose.core.types import Context, PermissionRequest, ToolCall
from interpose.people.approvals.desk import Desk
from interpose.people.approvals.scopes import scope
from interpose.people.approvals.seal import open_seal
from interpose.record.store import open_store
from interpose.record.store.protocols import Store
from tests.support.servers.postgres import Server
from tests.support.timing.patience import PATIENCE

KEY = b"shared"
USES = 120


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server() as started:
        yield started


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "ledger.db")
    started: Server = request.getfixturevalue("server")
    return started.new_database()


@pytest.fixture
def store(place: str) -> Iterator[Store]:
    opened = open_store(place)
    yield opened
    opened.close()


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    return tmp_path / "approvals.key"


def ask(desk: Desk, seconds: float = 0.0) -> Any:
    call = ToolCall("exec", {"command": "publish"}, context=Context(session_id="s"))
    return asyncio.run(desk.waiting(seconds).confirm(PermissionRequest("?", call)))


def child(place: str, key_file: Path, code: str) -> subprocess.Popen[str]:
    """Another process at the same desk."""
    start = f"""
import asyncio, os, signal, sys
from pathlib import Path
from interpose.people.approvals.desk import Desk
from interpose.people.approvals.seal import open_seal
from interpose.record.store import open_store, postgres, sqlite
from interpose.core.answers import Approved
from interpose.core.types import Context, PermissionRequest, ToolCall

store = open_store({place!r})
desk = Desk(store, timeout=300, key={KEY!r}, seal=open_seal(Path({str(key_file)!r})))
request = PermissionRequest("?", ToolCall("exec", {{"command": "publish"}}, context=Context(session_id="s")))

def ask(seconds=0.0):
    return asyncio.run(desk.waiting(seconds).confirm(request))
"""
    return subprocess.Popen([sys.executable, "-c", start + code], stdout=subprocess.PIPE, text=True)


TAKING = """
taken = 0
while isinstance(ask(), Approved):
    taken += 1
    print("took", flush=True)
    if taken == {killed_at}:
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_processes_use_up_a_grant_while_one_of_them_is_killed(place: str, store: Store, key_file: Path) -> None:
    desk = Desk(store, timeout=300, key=KEY, seal=open_seal(key_file))
    pending = ask(desk)
    assert isinstance(pending, Pending)
    desk.approve(pending.approval, "ann", scope("uses", uses=USES))
    killed = child(place, key_file, TAKING.format(killed_at=15))
    assert killed.stdout is not None
    assert killed.stdout.readline() == "took\n"
    children = [killed, *(child(place, key_file, TAKING.format(killed_at=-1)) for _ in range(2))]
    with ThreadPoolExecutor(8) as pool:
        start = threading.Barrier(8)

        def take(_number: int) -> int:
            start.wait()
            return sum(isinstance(ask(desk), Approved) for _ in range(5))

        here = sum(pool.map(take, range(8)))
    printed = [process.communicate(timeout=PATIENCE)[0].count("took") for process in children]
    assert [process.returncode for process in children] == [-9, 0, 0]
    assert 1 + here + sum(printed) == USES
    assert desk.grants() == []


ANSWERING = """
calls = 0

def counted(real):
    def call(*args):
        global calls
        calls += 1
        if calls == {killed_at}:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*args)
    return call

question = desk.asked()[0].id
sqlite._numbered, postgres._rows = counted(sqlite._numbered), counted(postgres._rows)
desk.approve(question, "ann")
print("approved", flush=True)
"""


@pytest.mark.parametrize("killed_at", [2, 3, 4, 5])
def test_an_approver_that_is_killed_has_said_yes_or_nothing(
    place: str, store: Store, key_file: Path, killed_at: int
) -> None:
    """Statements of an approval: the question is read, answered, granted, and read again."""
    desk = Desk(store, timeout=300, key=KEY, seal=open_seal(key_file))
    id = ask(desk).approval
    approver = child(place, key_file, ANSWERING.format(killed_at=killed_at))
    printed, _ = approver.communicate(timeout=PATIENCE)
    assert (approver.returncode, "approved" in printed) == ((0, True) if killed_at == 5 else (-9, False))
    if killed_at < 4:
        assert (desk.question(id).state, desk.grants()) == ("waiting", [])
        desk.approve(id, "bob")
    assert desk.question(id).state == "approved"
    assert ask(desk) == Approved(f"grant:{id} of {'bob' if killed_at < 4 else 'ann'}")
    assert isinstance(ask(desk), Pending)


def test_who_waits_is_killed_and_who_asks_again_gets_the_yes(place: str, store: Store, key_file: Path) -> None:
    desk = Desk(store, timeout=300, key=KEY, seal=open_seal(key_file))
    waiting = child(place, key_file, 'print("waiting", flush=True)\nask(60)\n')
    assert waiting.stdout is not None
    assert waiting.stdout.readline() == "waiting\n"
    id = ask(desk).approval
    waiting.kill()
    waiting.communicate(timeout=PATIENCE)
    desk.approve(id, "ann")
    assert ask(desk) == Approved(f"grant:{id} of ann")
    assert isinstance(ask(desk), Pending)


def test_the_store_restarts_while_somebody_waits(server: Server, key_file: Path) -> None:
    store = open_store(server.new_database())
    desk = Desk(store, timeout=300, key=KEY, seal=open_seal(key_file))
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(ask, desk, 40)
        pause = threading.Event()
        while not desk._waiters._waiting:
            pause.wait(0.01)
        server.restart("immediate")
        desk.approve(desk.asked()[0].id, "ann")
        assert waiting.result(50) == Approved("ann")
    store.close()
