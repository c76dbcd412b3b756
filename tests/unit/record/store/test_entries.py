"""Entries: kept in order, all or none, found by everything that can be asked."""

from __future__ import annotations

from typing import Any

import pytest

from interpose.core.errors import SequenceTakenError, StoreError
from interpose.record.store import open_store
from interpose.record.store.protocols import Query, Store, StoredEntry
from interpose.record.store.rows import MAX_TEXT


def entry(seq: int, writer: str = "w", **fields: Any) -> StoredEntry:
    given: dict[str, Any] = {
        "kind": "decided", "call_id": f"call-{writer}-{seq}", "time_ns": seq * 10, "prev": bytes([seq % 256 - 1 & 255]),
        "hash": bytes([seq % 256]), "body": b'{"seq":%d}' % seq,
    }  # fmt: skip
    return StoredEntry(writer=writer, seq=seq, **(given | fields))


def seqs(found: list[StoredEntry]) -> list[int]:
    return [each.seq for each in found]


def without_position(found: StoredEntry) -> dict[str, Any]:
    return {name: getattr(found, name) for name in StoredEntry.__struct_fields__ if name != "position"}


def test_an_entry_comes_back_as_it_was(store: Store) -> None:
    given = entry(
        1, kind="finished", session="s", agent="a", tool="exec", decision="deny", rule="r", text="Rm -RF Ü",
        effects=("fs.delete", "fs.read"), paths=("/a b", "/ü"), hosts=("example.org",), body=bytes(range(256)),
        request="req-ü", rules=("one", "two of them"),
    )  # fmt: skip
    store.append([given])
    (found,) = store.scan("w", 0, 10)
    assert without_position(found) == without_position(given)
    assert store.head("w") == found


def test_scan_goes_on_where_it_stopped(store: Store) -> None:
    store.append([entry(seq) for seq in range(1, 8)])
    store.append([entry(1, "other")])
    assert seqs(store.scan("w", 0, 3)) == [1, 2, 3]
    assert seqs(store.scan("w", 3, 100)) == [4, 5, 6, 7]
    assert store.scan("nobody", 0, 10) == []
    assert store.head("nobody") is None
    assert store.writers() == ["other", "w"]


def test_a_batch_is_kept_whole_or_not_at_all(store: Store) -> None:
    store.append([entry(1)])
    with pytest.raises(SequenceTakenError):
        store.append([entry(3), entry(2), entry(1)])
    assert seqs(store.scan("w", 0, 10)) == [1]
    store.append([entry(2)], durable=True)
    assert seqs(store.scan("w", 0, 10)) == [1, 2]


def test_an_empty_batch_is_nothing(store: Store) -> None:
    store.append([])
    assert store.writers() == []


STORED = [
    entry(1, session="s1", agent="main", tool="exec", decision="deny", rule="git", text="git push --force origin",
          request="req-1", rules=("shortens",)),
    entry(2, session="s1", agent="sub", tool="write", decision="allow", paths=("/src/a.py",), effects=("fs.write",)),
    entry(3, session="s2", agent="main", tool="exec", decision="ask", rule="net", text="CURL https://x.example/%_\\",
          hosts=("x.example",), effects=("net.upload", "fs.read"), paths=("/src/deep/b.py", "/etc/passwd"),
          request="req-1"),
    entry(4, kind="finished", session="s2", agent="main", call_id="call-w-3", request="req-2", rules=("mask", "net")),
    entry(5, session="s3", text='quo"te\nüber ÄB', paths=("/srcery",), effects=("fs.writer",), hosts=("ax.example",)),
]  # fmt: skip

QUERIES = [
    ("everything, the newest first", Query(), [5, 4, 3, 2, 1]),
    ("a session", Query(session="s1"), [2, 1]),
    ("half a name of a session is another session", Query(session="s"), []),
    ("an agent", Query(agent="main"), [4, 3, 1]),
    ("a tool", Query(tool="exec"), [3, 1]),
    ("a decision", Query(decision="allow"), [2]),
    ("a rule", Query(rule="net"), [3]),
    ("a rule that changed a result, of entries", Query(rule="mask"), []),
    ("a rule that changed a result, of decisions", Query(kinds=("decided",), rule="mask"), [3]),
    ("a rule that decided and changed the result", Query(kinds=("decided",), rule="net"), [3]),
    ("a rule that rewrote what another decided", Query(kinds=("decided",), rule="shortens"), [1]),
    ("half a name of a rule that changed a result", Query(kinds=("decided",), rule="mas"), []),
    ("all names of rules that changed a result", Query(kinds=("decided",), rule="mask\nnet"), []),
    ("a rule that changed a result, in a session", Query(kinds=("decided",), rule="mask", session="s2"), [3]),
    ("a rule that changed a result, in another", Query(kinds=("decided",), rule="mask", session="s1"), []),
    ("a rule that changed a result, and text", Query(kinds=("decided",), rule="mask", text="curl"), [3]),
    ("a request of two calls", Query(request="req-1"), [4, 3, 1]),
    ("a request that brought a result", Query(request="req-2"), [4, 3]),
    ("decisions of it", Query(kinds=("decided",), request="req-2"), [3]),
    ("a request and text", Query(kinds=("decided",), request="req-1", text="push"), [1]),
    ("a request and a rule of another call", Query(kinds=("decided",), request="req-2", rule="git"), []),
    ("a request and a rule that changed the result", Query(kinds=("decided",), request="req-2", rule="mask"), [3]),
    ("half a request", Query(request="req-"), []),
    ("a kind", Query(kinds=("finished",)), [4]),
    ("two kinds", Query(kinds=("finished", "decided"), session="s2"), [4, 3]),
    ("a kind that nobody wrote", Query(kinds=("checkpoint", "retention")), []),
    ("a call", Query(call_id="call-w-3"), [4, 3]),
    ("an effect, not one that begins like it", Query(effect="fs.write"), [2]),
    ("a second effect", Query(effect="fs.read"), [3]),
    ("a path", Query(path="/etc/passwd"), [3]),
    ("a directory, not one that begins like it", Query(path="/src"), [3, 2]),
    ("a directory with its slash", Query(path="/src/"), [3, 2]),
    ("the root", Query(path="/"), [5, 3, 2]),
    ("a host, not one that ends like it", Query(host="x.example"), [3]),
    ("text", Query(text="push"), [1]),
    ("text in other letters", Query(text="Curl HTTPS"), [3]),
    ("text of two letters", Query(text="GI"), [1]),
    ("text across words", Query(text="h --fo"), [1]),
    ("text with the wildcards of SQL", Query(text="%_\\"), [3]),
    ("a wildcard is no wildcard", Query(text="g%t"), []),
    ("a quote", Query(text='o"te'), [5]),
    ("over a line end", Query(text='te\nüb'), [5]),
    ("words of the query language are words", Query(text="push AND force"), []),
    ("letters beyond ASCII as they are", Query(text="über ÄB"), [5]),
    ("text that only an effect has", Query(text="fs.write"), []),
    ("text in a session", Query(text="git", session="s1"), [1]),
    ("text in another session", Query(text="git", session="s2"), []),
    ("from a time", Query(since_ns=40), [5, 4]),
    ("until a time, which is excluded", Query(until_ns=20), [1]),
    ("several at once", Query(agent="main", tool="exec", decision="ask", host="x.example", text="curl"), [3]),
    ("no such thing", Query(rule="nope"), []),
]  # fmt: skip


def test_queries_find_what_they_ask_for(store: Store) -> None:
    store.append(STORED)
    for note, query, wanted in QUERIES:
        assert seqs(store.query(query, 100)) == wanted, note
        assert seqs(store.query(query, 100, oldest_first=True)) == wanted[::-1], note


PAGED = [
    Query(), Query(text="number"), Query(session="s"), Query(effect="fs.read"), Query(request="r"),
    Query(kinds=("decided",), rule="sometimes"),
]  # fmt: skip


@pytest.mark.parametrize("query", PAGED)
@pytest.mark.parametrize("oldest_first", [False, True])
def test_pages_join_without_gap_or_repetition(store: Store, query: Query, oldest_first: bool) -> None:
    store.append([
        entry(n, session="s", text=f"number {n}", effects=("fs.read",), request="r",
              rule="sometimes" if n % 3 else "other", rules=() if n % 3 else ("sometimes",))
        for n in range(1, 601)
    ])  # fmt: skip
    found: list[int] = []
    after = None
    while page := store.query(query, 97, after, oldest_first=oldest_first):
        found += seqs(page)
        after = page[-1].position
    assert found == (list(range(1, 601)) if oldest_first else list(range(600, 0, -1)))


def test_the_entries_of_calls(store: Store) -> None:
    store.append([*STORED, entry(1, "other", call_id="call-w-3")])
    assert [(e.writer, e.seq) for e in store.of_calls(["call-w-3", "call-w-1", "nope"])] == [
        ("w", 1), ("w", 3), ("w", 4), ("other", 1),
    ]  # fmt: skip
    assert store.of_calls([]) == []


def test_dropped_entries_are_gone_from_everywhere(store: Store) -> None:
    store.append([
        entry(n, session="s", text=f"number {n}", paths=("/p",), request=f"r{n}", rules=("r",)) for n in range(1, 701)
    ])  # fmt: skip
    store.append([entry(1, "other", text="number 1")])
    assert store.drop("w", 500) == 500
    assert store.drop("w", 500) == 0
    assert seqs(store.scan("w", 0, 3)) == [501, 502, 503]
    assert len(store.query(Query(text="number"), 1000)) == 201
    assert len(store.query(Query(path="/p"), 1000)) == 200
    assert store.of_calls(["call-w-7"]) == []
    assert [seqs(store.query(Query(request=f"r{n}"), 10)) for n in (500, 501)] == [[], [501]]
    assert len(store.query(Query(kinds=("decided",), rule="r"), 1000)) == 200
    store.append([entry(701)])
    assert store.size() > 0


HOSTILE = [
    "nul\0nul",
    "half \ud800 pair",
    "'; DROP TABLE entries; --",
    "$1 ?1 %s {}",
    "line\nend",
    "x" * 100_000,
    "\u202e",
]


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_hostile_text_is_kept_and_found(store: Store, text: str) -> None:
    found_by = {"session": text, "text": text, "rule": text, "call_id": text, "request": text}
    store.append([entry(1, paths=(text,), hosts=(text,), rules=(text, "r"), **found_by)])
    wanted = text[:MAX_TEXT]
    for query in (
        Query(session=text), Query(text=wanted), Query(rule=text), Query(path=text), Query(host=text),
        Query(request=text), Query(kinds=("decided",), rule="r"), Query(kinds=("decided",), rule=text, request=text),
    ):  # fmt: skip
        assert seqs(store.query(query, 10)) == [1]
    assert seqs(store.of_calls([text])) == [1]


def test_numbers_too_large_are_refused_clearly(store: Store) -> None:
    with pytest.raises(StoreError):
        store.append([entry(1 << 63)])
    assert store.writers() == []


def test_reading_only(place: str) -> None:
    with pytest.raises(StoreError):
        open_store(place, read_only=True)
    writing = open_store(place)
    writing.append(STORED)
    reading = open_store(place, read_only=True)
    assert seqs(reading.query(Query(text="push"), 10)) == [1]
    with pytest.raises(StoreError):
        reading.append([entry(9)])
    with pytest.raises(StoreError):
        reading.spend("name", 1, budget=9)
    reading.close()
    writing.close()
    writing.close()
    for closed in (reading, writing):
        with pytest.raises(StoreError):
            closed.writers()
    with pytest.raises(StoreError):
        writing.append([entry(9)])


def test_decisions_are_counted_by_what_they_have_in_common(store: Store) -> None:
    store.append(STORED)
    store.append([entry(6, agent="main", tool="exec", decision="deny", rule="git", time_ns=25)])
    counted = [
        (t.start_ns, t.decision, t.rule, t.agent, t.tool, t.count) for t in store.tallies(Query(agent="main"), 20)
    ]
    assert counted == [(0, "deny", "git", "main", "exec", 1), (20, "ask", "net", "main", "exec", 1),
                       (20, "deny", "git", "main", "exec", 1)]  # fmt: skip
    assert [t.count for t in store.tallies(Query(decision="deny"), 1000)] == [2]
    assert store.tallies(Query(rule="nope"), 1000) == []
    assert [(t.rule, t.count) for t in store.tallies(Query(rule="mask"), 1000)] == [("net", 1)]
    assert [(t.rule, t.count) for t in store.tallies(Query(rule="net"), 1000)] == [("net", 1)]
    assert sum(t.count for t in store.tallies(Query(request="req-1"), 1000)) == 2


def test_notes_are_found_among_decisions(store: Store) -> None:
    store.append([entry(n, kind="checkpoint" if n % 10 == 0 else "decided") for n in range(1, 31)])
    assert seqs(store.query(Query(kinds=("checkpoint", "repair")), 10)) == [30, 20, 10]
    assert len(store.query(Query(kinds=("checkpoint", "decided")), 100)) == 30


def test_figures_of_rules_and_stretches_are_bounded(store: Store) -> None:
    store.append(
        [
            entry(1, decision="deny", rule="git", time_ns=5),
            entry(2, decision="deny", rule="git", time_ns=15),
            entry(3, decision="ask", rule="net", time_ns=15, rules=("mask", "trim")),
            entry(4, kind="finished", time_ns=16, rules=("mask",)),
            entry(5, decision="allow", time_ns=25),
        ]
    )
    counted = {(t.start_ns, t.rule, t.said): t.count for t in store.rule_tallies(0, 10, 100)}
    assert counted == {
        (0, "git", "deny"): 1, (10, "git", "deny"): 1, (10, "net", "ask"): 1, (10, "mask", "rewrite"): 1,
        (10, "trim", "rewrite"): 1, (10, "mask", "result"): 1,
    }  # fmt: skip
    assert [t.start_ns for t in store.rule_tallies(10, 1000, 100) if t.rule == "git"] == [0]
    assert [(t.rule, t.count) for t in store.rule_tallies(0, 1000, 1)] == [("git", 2)]
    assert [(t.start_ns, t.decision, t.count) for t in store.decision_tallies(0, 10, 100)] == [
        (20, "allow", 1), (10, "ask", 1), (10, "deny", 1), (0, "deny", 1),
    ]  # fmt: skip
    assert [t.start_ns for t in store.decision_tallies(0, 10, 1)] == [20]
    assert [found.time_ns for found in store.sample(5, 25, 10)] == [5, 15, 15], "no results, and the end is not in it"
    assert [found.time_ns for found in store.sample(0, 100, 1)] == [5]
