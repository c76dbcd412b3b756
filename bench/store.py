"""A store of a million records: how fast it is written, and how long searches take.

python -m bench.store [records] [path or postgresql:// address]

What a search finds must match it, and be as many as there are or as were asked for. The store must be empty before.
"""

from __future__ import annotations

import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from bench.checks import require, require_equal, require_present
from bench.command_line import make_parser, run_main
from interpose.record.store import open_store
from interpose.record.store.protocols import Query, Store, StoredEntry

RECORDS, SMOKE_RECORDS = 1_000_000, 1000
BATCH = 500
REPEATS = 7
LIMIT = 50
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
    start = time.perf_counter()
    store.append(batch)
    spent += time.perf_counter() - start
    last = require_present(store.head("bench"), "the store has no entries")
    require_equal("the last entry", last.seq, 2 * records)
    return 2 * records / spent


class Search(NamedTuple):
    """A search, what is true of each entry that it finds, and how many there are; None is some, but not how many."""

    query: Query
    matches: Callable[[StoredEntry], bool]
    count: int | None


def searches(some: StoredEntry, records: int) -> dict[str, Search]:
    """Of each kind. `some` is a record in the middle."""
    numbers = range(records)
    rare, path = some.text.split()[4], some.paths[0]
    directory, part = "/src/" + path.split("/")[2], f"{rare[2:5]} "
    of_results = sum(number % 100 == 1 for number in numbers)
    of_few = sum(number % 100 != 1 and number % 100_000 == 2 for number in numbers)

    def any_entry(_entry: StoredEntry) -> bool:
        return True

    return {
        "session": Search(Query(session=some.session), lambda entry: entry.session == some.session, 100),
        "rule": Search(Query(rule="rule-7"), lambda entry: entry.rule == "rule-7", None),
        "rule of results": Search(Query(rule="secret-redaction"), any_entry, of_results),
        "rule of few results": Search(Query(rule="rare"), any_entry, of_few),
        "request": Search(Query(request=some.request), lambda entry: entry.request == some.request, 1),
        "agent": Search(Query(agent="agent-3"), lambda entry: entry.agent == "agent-3", (records + 3) // 7),
        "call": Search(Query(call_id=some.call_id), lambda entry: entry.call_id == some.call_id, 1),
        "text, in few": Search(Query(text=rare), lambda entry: rare in entry.text, None),
        "text, in all": Search(Query(text="git commit"), lambda entry: "git commit" in entry.text, records),
        "text, in none": Search(Query(text="commit of nothing at all"), any_entry, 0),
        "text, part of words": Search(Query(text=part), lambda entry: part in entry.text, None),
        "effect": Search(Query(effect="fs.write"), lambda entry: "fs.write" in entry.effects, records),
        "path": Search(Query(path=path), lambda entry: path in entry.paths, None),
        "directory": Search(Query(path=directory), lambda entry: entry.paths[0].startswith(f"{directory}/"), None),
        "text and rule": Search(
            Query(text=rare[:4], rule="rule-7"), lambda entry: rare[:4] in entry.text and entry.rule == "rule-7", None
        ),
    }


def search(store: Store, records: int) -> None:
    """Milliseconds of each kind of search, the first time and the median."""
    some = store.query(Query(kinds=("decided",), session=f"session-{records // 200}"), 1)[0]
    for name, (query, matches, count) in searches(some, records).items():
        decisions = replace(query, kinds=("decided",))
        times = []
        for _ in range(REPEATS):
            start = time.perf_counter()
            found = store.query(decisions, LIMIT)
            times.append((time.perf_counter() - start) * 1e3)
        print(f"{name:20} {len(found):3} found   first {times[0]:7.1f} ms   p50 {statistics.median(times):7.1f} ms")
        require(all(map(matches, found)), f"the search for {name} found something else")
        if count is not None:
            require_equal(f"found by {name}", len(found), min(LIMIT, count))
        elif name != "text and rule":  # there may be none
            require(bool(found), f"the search for {name} found nothing")


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("records", type=int, nargs="?", default=RECORDS)
    parser.add_argument("where", nargs="?", default="", metavar="PATH or postgresql:// address")
    options = parser.parse_args()
    records = SMOKE_RECORDS if options.smoke else options.records
    with tempfile.TemporaryDirectory() as directory:
        store = open_store(options.where or Path(directory) / "ledger.db")
        try:
            require_equal("entries before", len(store.query(Query(), 1)), 0)
            print(f"append, {BATCH} at once: {fill(store, records):,.0f} entries/s")
            start = time.perf_counter()
            while store.query(Query(), 1) and getattr(store, "backlog", int)() >= 256:
                time.sleep(0.1)
            print(f"indexed {time.perf_counter() - start:.1f} s later; {store.size() / 1e6:,.0f} MB")
            search(store, records)
        finally:
            store.close()


if __name__ == "__main__":
    run_main(main)
