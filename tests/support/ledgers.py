"""Ledgers for tests: a store in memory whose entries can be tampered with, and storage that fails in every way."""

from __future__ import annotations

import errno
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from interpose.core.errors import SequenceTakenError, StoreError
from interpose.core.registry import InterceptorRegistry, create_interceptor_registry
from interpose.core.types import Allow, Context, Deny, ToolCall
from interpose.engine.engine import Engine
from interpose.record.ledger.folder import AppendFile, Folder
from interpose.record.ledger.record import Record, search
from interpose.record.store.protocols import EntryStore, Query, SearchFlaw, StoredEntry, Tally


class ListStore:
    """Entries of all writers in lists that a test may rearrange."""

    is_shared = False

    def __init__(self) -> None:
        self.chains: dict[str, list[StoredEntry]] = {}
        self.away = self.harmed = ""
        self._count = 0

    def append(self, entries: Sequence[StoredEntry], *, durable: bool = False) -> None:
        if self.away:
            raise StoreError(self.away)
        for entry in entries:
            chain = self.chains.setdefault(entry.writer, [])
            if chain and chain[-1].seq >= entry.seq:
                raise SequenceTakenError(f"{entry.writer} {entry.seq}")
            self._count += 1
            chain.append(replace(entry, position=self._count))

    def scan(self, writer: str, after_seq: int, limit: int) -> list[StoredEntry]:
        chain = self.chains.get(writer, [])
        # Tampered chains are handed out as they are: the page starts behind the last that was seen.
        start = (
            0 if not after_seq else next((at + 1 for at, one in enumerate(chain) if one.seq == after_seq), len(chain))
        )
        return chain[start : start + limit]

    def head(self, writer: str) -> StoredEntry | None:
        chain = self.chains.get(writer)
        return chain[-1] if chain else None

    def writers(self) -> list[str]:
        return sorted(writer for writer, chain in self.chains.items() if chain)

    def query(
        self, query: Query, limit: int, after: int | None = None, *, oldest_first: bool = False
    ) -> list[StoredEntry]:
        if after is not None:
            return []
        found = [one for chain in self.chains.values() for one in chain if not query.kinds or one.kind in query.kinds]
        return found[::-1]

    def of_calls(self, call_ids: Sequence[str]) -> list[StoredEntry]:
        return [one for chain in self.chains.values() for one in chain if one.call_id in set(call_ids)]

    def tallies(self, query: Query, width_ns: int) -> list[Tally]:
        return []

    def drop(self, writer: str, through_seq: int) -> int:
        chain = self.chains[writer]
        self.chains[writer] = [one for one in chain if one.seq > through_seq]
        return len(chain) - len(self.chains[writer])

    def size(self) -> int:
        return sum(len(one.body) for chain in self.chains.values() for one in chain)

    def search_flaws(self) -> list[SearchFlaw]:
        return []

    def reindex(self) -> int:
        return 0

    def tampered(self) -> str:
        return self.harmed

    def reopen(self) -> None:
        self.harmed = ""

    def close(self) -> None:
        pass


class Faulty:
    """How storage behaves right now. Shared by all files that a test's folders make."""

    def __init__(self) -> None:
        self.error: int = 0
        self.partial = False
        self.gate = threading.Event()
        self.gate.set()
        self.hanging = threading.Event()

    def folder(self, path: Path) -> Folder:
        return _FaultyFolder(path, self)

    def pass_through(self) -> None:
        if not self.gate.is_set():
            self.hanging.set()
            self.gate.wait(30)
        if self.error:
            raise OSError(self.error, errno.errorcode[self.error])


class _FaultyFolder(Folder):
    def __init__(self, path: Path, faulty: Faulty) -> None:
        super().__init__(path)
        self._faulty = faulty

    def create(self, name: str) -> AppendFile:
        self._faulty.pass_through()
        return _FaultyFile(self.path / name, self._faulty)


class _FaultyFile(AppendFile):
    def __init__(self, path: Path, faulty: Faulty) -> None:
        super().__init__(path)
        self._faulty = faulty

    def append(self, data: bytes) -> None:
        if self._faulty.partial:
            super().append(data[: len(data) // 2])
        self._faulty.pass_through()
        super().append(data)

    def sync(self) -> None:
        self._faulty.pass_through()
        super().sync()


class NoRm:
    """Refuses one command."""

    def intercept(self, call: ToolCall) -> Allow | Deny:
        command = str(call.arguments.get("command", ""))
        return Deny("no removal", rule="no-rm") if command.startswith("rm ") else Allow()


def guarded() -> InterceptorRegistry:
    registry = create_interceptor_registry()
    registry.add(id="no-rm", name="tool.before", interceptor=NoRm())
    return registry


def shell_call(command: str, **fields: Any) -> ToolCall:
    return ToolCall("exec", {"command": command}, context=Context(session_id="s1", agent_id="main"), **fields)


def run(engine: Engine, command: str, result: Any = "done", **fields: Any) -> Any:
    return engine.run_tool(shell_call(command, **fields), lambda _arguments: result)


def all_records(store: EntryStore) -> list[Record]:
    return search(store, Query(), 1_000_000)
