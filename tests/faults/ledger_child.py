"""A process that records calls as fast as it can and says which are acknowledged, until somebody kills it.

    python -m tests.faults.ledger_child <directory> <level> [buffered | torn] [postgresql://...]

`buffered` is the broken variant: a journal that keeps what it is given in a buffer of its own. `torn` kills itself when
a write is almost done.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path

from interpose.core.config.ledger import Level
from interpose.engine.engine import Engine
from interpose.record.ledger import Ledger, LedgerSettings
from interpose.record.ledger.folder import AppendFile, Folder
from interpose.record.store import open_store
from tests.support.ledgers import guarded, run

THREADS = 4
_BUFFER = 64 * 1024
_WRITES = 50
"""As many writes are whole, and the next one is torn."""


class Buffered(AppendFile):
    """Acknowledges what only this process knows."""

    _held = b""

    def append(self, data: bytes) -> None:
        self._held += data
        if len(self._held) >= _BUFFER:
            super().append(self._held)
            self._held = b""

    def tampered(self, size: int, start: bytes, *, torn: bool = False) -> str:
        return ""  # it does not look, either


class BufferedFolder(Folder):
    def create(self, name: str) -> AppendFile:
        return Buffered(self.path / name)


class Torn(AppendFile):
    """The process ends within a write."""

    _writes = 0

    def append(self, data: bytes) -> None:
        self._writes += 1
        if self._writes > _WRITES:
            super().append(data[:-3])
            os.kill(os.getpid(), signal.SIGKILL)
        super().append(data)


class TornFolder(Folder):
    def create(self, name: str) -> AppendFile:
        return Torn(self.path / name)


FOLDERS = {"": Folder, "buffered": BufferedFolder, "torn": TornFolder}


def record_for_ever(engine: Engine, number: int) -> None:
    count = 0
    while True:
        count += 1
        call_id = f"{os.getpid()}-{number}-{count}"
        if run(engine, f"echo {count}", call_id=call_id) == "done":
            os.write(1, f"{call_id}\n".encode())


def main(directory: Path, level: Level, kind: str, url: str) -> None:
    ledger = Ledger(
        directory,
        open_store(url or directory / "ledger.db"),
        LedgerSettings(level=level, checkpoint_every=100),
        journals=FOLDERS[kind],
        segment_bytes=256 * 1024,
    )
    engine = Engine(guarded(), recorder=ledger.recorder)
    for number in range(THREADS):
        threading.Thread(target=record_for_ever, args=(engine, number)).start()


if __name__ == "__main__":
    options = sys.argv[3:]
    main(
        Path(sys.argv[1]),
        "durable" if sys.argv[2] == "durable" else "written",
        next((option for option in options if option in FOLDERS), ""),
        next((option for option in options if "://" in option), ""),
    )
