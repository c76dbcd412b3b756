"""Mixed calls of many threads while storage and store come and go. For tests and scripts/mix-ledger."""

from __future__ import annotations

import errno
import random
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path
from typing import Any

from msgspec import Struct

from interpose.engine import Engine
from interpose.ledger import Ledger, LedgerSettings, verify_directory
from interpose.store.sqlite import SqliteStore
from interpose.types import ToolCall
from tests.ledgers import Faulty, all_records, guarded, shell_call

THREADS = 8


class Mixed(Struct, frozen=True):
    """`answers` and `records` count what callers were told and what the ledger says, by outcome."""

    calls: int
    answers: dict[str, int]
    records: dict[str, int]
    missing: int
    verified: bool


def _failing(_arguments: dict[str, Any]) -> Any:
    raise ValueError("the tool failed")


def _call(chance: random.Random, call_id: str) -> tuple[ToolCall, Any]:
    kind = chance.randrange(4)
    command = "rm -rf /" if kind == 0 else f"echo {call_id}"
    return shell_call(command, call_id=call_id), _failing if kind == 1 else lambda _arguments: {"exit_code": 0}


def _word(answer: Any) -> str:
    status = answer.get("status")
    return "denied" if status == "blocked" else "error" if status == "error" else "success"


def mixed(directory: Path, calls: int) -> Mixed:
    """Make this many calls, with a fault every few hundred."""
    faulty, answers, lock = Faulty(), Counter[str](), threading.Lock()
    store = SqliteStore(directory / "ledger.db")

    def work(engine: Engine, thread: int) -> None:
        chance = random.Random(thread)
        for number in range(calls // THREADS):
            if number % 50 == 49 and thread == 0:
                faulty.error = chance.choice((0, 0, errno.ENOSPC, errno.EIO))
                faulty.partial = bool(faulty.error) and chance.random() < 0.5
            call, tool = _call(chance, f"{thread}-{number}")
            word = _word(engine.run_tool(call, tool))
            with lock:
                answers[word] += 1

    settings = LedgerSettings(checkpoint_every=200, deadline=30)
    with Ledger(directory, store, settings, journals=faulty.folder, segment_bytes=1 << 20) as ledger:
        engine = Engine(guarded(), recorder=ledger.recorder)
        threads = [threading.Thread(target=work, args=(engine, thread)) for thread in range(THREADS)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        faulty.error, faulty.partial = 0, False
        assert ledger.flush(120)
        found = all_records(store)
        made = {f"{thread}-{number}" for thread in range(THREADS) for number in range(calls // THREADS)}
        assert len(found) == len({record.call_id for record in found}), "a call has two records"
        missing = len(made - {record.call_id for record in found})
        outcomes = Counter[str](record.outcome for record in found)
        result = Mixed(len(made), dict(answers), dict(outcomes), missing, verify_directory(directory, store).ok)
    store.close()
    return result


def main() -> None:
    """As many calls as the first argument says."""
    with tempfile.TemporaryDirectory() as place:
        result = mixed(Path(place), int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
    sys.stdout.write(f"{result}\n")
    sys.exit(bool(result.missing or result.answers != result.records or not result.verified))


if __name__ == "__main__":
    main()
