"""Heads that are kept elsewhere: what is cut off here together with its head is still known there."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from interpose.composition.build import open_ledger
from interpose.core.config.ledger import AnchorSettings
from interpose.engine.engine import Engine
from interpose.record.ledger import LedgerSettings, places_of, verify_directory
from interpose.record.store import open_store
from tests.support.hosts.hooked import until
from tests.support.ledgers import guarded, run


class _Keeper(BaseHTTPRequestHandler):
    """Another server: the last line that was posted is given back."""

    kept = b""

    def do_POST(self) -> None:
        type(self).kept = self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(b"")

    def do_GET(self) -> None:
        self._answer(type(self).kept)

    def _answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: object) -> None:
        pass


@contextmanager
def _file(tmp_path: Path) -> Iterator[AnchorSettings]:
    yield AnchorSettings(file=str(tmp_path / "anchor"), every=0.1)


@contextmanager
def _git(tmp_path: Path) -> Iterator[AnchorSettings]:
    subprocess.run(["git", "init", "-q", str(tmp_path / "repository")], check=True)
    yield AnchorSettings(git=str(tmp_path / "repository"), every=0.1)


@contextmanager
def _git_remote(tmp_path: Path) -> Iterator[AnchorSettings]:
    subprocess.run(["git", "init", "-q", "--bare", str(tmp_path / "far")], check=True)
    subprocess.run(["git", "init", "-q", str(tmp_path / "repository")], check=True)
    yield AnchorSettings(git=str(tmp_path / "repository"), git_remote=str(tmp_path / "far"), every=0.1)


@contextmanager
def _server(_tmp_path: Path) -> Iterator[AnchorSettings]:
    _Keeper.kept = b""
    with HTTPServer(("127.0.0.1", 0), _Keeper) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield AnchorSettings(url=f"http://127.0.0.1:{server.server_port}/heads", every=0.1)
        server.shutdown()
        thread.join()


WAYS = [("a file", _file), ("a git ref", _git), ("a git ref that is pushed", _git_remote), ("a server", _server)]


@pytest.mark.parametrize(("note", "way"), WAYS, ids=[case[0] for case in WAYS])
def test_what_was_cut_off_with_its_head_is_known_elsewhere(
    note: str, way: Callable[[Path], AbstractContextManager[AnchorSettings]], tmp_path: Path
) -> None:
    directory = tmp_path / "ledger"
    with way(tmp_path) as settings:
        places = places_of(settings)
        with open_ledger(directory, LedgerSettings(anchor=settings)) as ledger:
            engine = Engine(guarded(), recorder=ledger.recorder)
            for number in range(5):
                run(engine, f"echo {number}")
            assert ledger.flush()
            (place,) = places
            until(lambda: bool(place.lines()))
            assert ledger.status().anchor_problem == "", note
        store = open_store(directory / "ledger.db", read_only=True)
        assert verify_directory(directory, store, places).ok, note
        store.close()
        database = sqlite3.connect(directory / "ledger.db")
        database.execute("DELETE FROM entries")
        database.commit()
        database.close()
        shutil.rmtree(directory / "heads")
        shutil.rmtree(directory / "journals")
        store = open_store(directory / "ledger.db", read_only=True)
        assert verify_directory(directory, store).ok, "nothing here says that there was something"
        found = verify_directory(directory, store, places)
        assert not found.ok, note
        assert "a signed head knows entry" in found.broken[0].why
        store.close()


def test_an_anchor_that_fails_holds_nobody_up_and_is_said(tmp_path: Path) -> None:
    settings = AnchorSettings(file=str(tmp_path / "gone" / "anchor"), every=0.05)
    with open_ledger(tmp_path / "ledger", LedgerSettings(anchor=settings)) as ledger:
        assert run(Engine(guarded(), recorder=ledger.recorder), "echo 1") == "done"
        ledger.flush()
        until(lambda: "gone" in ledger.status().anchor_problem)
        assert run(Engine(guarded(), recorder=ledger.recorder), "echo 2") == "done"
        (tmp_path / "gone").mkdir()
        until(lambda: not ledger.status().anchor_problem)
        places = places_of(settings)
        assert verify_directory(tmp_path / "ledger", ledger.store, places).ok


def test_an_anchor_of_another_ledger_is_not_believed(tmp_path: Path) -> None:
    settings = AnchorSettings(file=str(tmp_path / "anchor"), every=0.05)
    for name in ("one", "two"):
        with open_ledger(tmp_path / name, LedgerSettings(anchor=settings)) as ledger:
            run(Engine(guarded(), recorder=ledger.recorder), "echo 1")
            ledger.flush()
            until((tmp_path / "anchor").exists)
            found = verify_directory(tmp_path / name, ledger.store, places_of(settings))
            assert found.ok == (name == "one"), found
