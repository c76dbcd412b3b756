"""A store of a million records: how fast it is written, and how long searches take.

python -m bench.store [records] [path or postgresql:// address]
"""

from __future__ import annotations

import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import replace

from interpose.store import open_store
from interpose.store.protocols import Query, Store, StoredEntry

BATCH = 500
REPEATS = 7
SYLLABLES = [first + second for first in "bdfgklmnprst" for second in ("a", "e", "i", "o", "u", "an", "er", "ol")]


def entries(records: int) -> Iterator[StoredEntry]:
    """A decision and an outcome each: 50 rules, a session for each 100 calls, commands of a few words.

    Each has a request of its own. A rule rewrites one result in a hundred.
    """
    chosen = random.Random(6)
    words = ["".join(chosen.choices(SYLLABLES, k=3)) for _ in range(5000)]
    for number in range(records):
        call_id = f"{chosen.getrandbits(128):032x}"
        path = f"/src/{chosen.choice(words)}/{chosen.choice(words)}.py"
        request = f"{chosen.getrandbits(128):032x}"
        rule = f"rule-{chosen.randrange(50)}" if number % 10 == 0 else ""
        yield StoredEntry(
            writer="bench", seq=2 * number + 1, kind="decided", call_id=call_id, time_ns=number * 1000, prev=b"p" * 32,
            hash=b"h" * 32, body=b"x" * 600, session=f"session-{number // 100}", agent=f"agent-{number % 7}",
            tool=("exec", "read", "write")[number % 3], decision="deny" if rule else "allow", rule=rule,
            text=f"git commit -m '{' '.join(chosen.choices(words, k=5))}' {path}", effects=("fs.write",), paths=(path,),
            request=request,
        )  # fmt: skip
        yield StoredEntry(
            writer="bench", seq=2 * number + 2, kind="finished", call_id=call_id, time_ns=number * 1000 + 500,
            prev=b"p" * 32, hash=b"h" * 32, body=b"y" * 250, request=request,
            rules=("secret-redaction",) if number % 100 == 1 else ("rare",) if number % 100_000 == 2 else (),
        )  # fmt: skip


def fill(store: Store, records: int) -> float:
    """Entries a second."""
    batch: list[StoredEntry] = []
    spent = 0.0
    for entry in entries(records):
        batch.append(entry)
        if len(batch) == BATCH:
            start = time.perf_counter()
            store.append(batch)
            spent += time.perf_counter() - start
            batch.clear()
    store.append(batch)
    return 2 * records / spent


def search(store: Store, records: int) -> None:
    """Milliseconds of each kind of search, the first time and the median."""
    some = store.query(Query(kinds=("decided",), session=f"session-{records // 200}"), 1)[0]
    rare = some.text.split()[4]
    queries = {
        "session": Query(session=some.session),
        "rule": Query(rule="rule-7"),
        "rule of results": Query(rule="secret-redaction"),
        "rule of few results": Query(rule="rare"),
        "request": Query(request=some.request),
        "agent": Query(agent="agent-3"),
        "call": Query(call_id=some.call_id),
        "text, in few": Query(text=rare),
        "text, in all": Query(text="git commit"),
        "text, in none": Query(text="commit of nothing at all"),
        "text, part of words": Query(text=f"{rare[2:5]} "),
        "effect": Query(effect="fs.write"),
        "path": Query(path=some.paths[0]),
        "directory": Query(path="/src/" + some.paths[0].split("/")[2]),
        "text and rule": Query(text=rare[:4], rule="rule-7"),
    }
    for name, query in queries.items():
        decisions = replace(query, kinds=("decided",))
        times = []
        for _ in range(REPEATS):
            start = time.perf_counter()
            found = store.query(decisions, 50)
            times.append((time.perf_counter() - start) * 1e3)
        print(f"{name:20} {len(found):3} found   first {times[0]:7.1f} ms   p50 {statistics.median(times):7.1f} ms")


def main() -> None:
    records = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as directory:
        store = open_store(sys.argv[2] if len(sys.argv) > 2 else Path(directory) / "ledger.db")
        print(f"append, {BATCH} at once: {fill(store, records):,.0f} entries/s")
        start = time.perf_counter()
        while store.query(Query(), 1) and getattr(store, "backlog", int)() >= 256:
            time.sleep(0.1)
        print(f"indexed {time.perf_counter() - start:.1f} s later; {store.size() / 1e6:,.0f} MB")
        search(store, records)
        store.close()


if __name__ == "__main__":
    main()
