"""Refusals in the store: found by every process, by the name of their own call alone, and not for ever."""

from __future__ import annotations

import logging
from contextlib import closing

import pytest
from msgspec.structs import replace

from interpose import Context
from interpose.composition.service.kept_refusals import KEPT_NS, KeptRefusals
from interpose.core.errors import StoreError
from interpose.engine.flow.refused_calls import RefusedCall, place_of_refusal
from interpose.record.store import open_store
from interpose.record.store.protocols import Store

HOOK = Context(session_id="s", source="hook:claude-code", cwd="/w")
REFUSED = RefusedCall(call_id="c1", tool="Write", reason="no", rule="r", instead="read", evidence="line 3")


def test_another_process_finds_a_refusal(place: str) -> None:
    with closing(open_store(place)) as one:
        KeptRefusals(one).keep(HOOK, "toolu_1", REFUSED)
    with closing(open_store(place)) as other:
        found = KeptRefusals(other).find(HOOK, "toolu_1")
        assert found is not None
        assert replace(found, at_ns=0) == REFUSED


@pytest.mark.parametrize(
    ("note", "context", "key"),
    [
        ("another call", HOOK, "toolu_2"),
        ("another session", Context(session_id="t", source="hook:claude-code", cwd="/w"), "toolu_1"),
        ("another principal", Context(session_id="s", source="hook:claude-code", cwd="/w", principal="p"), "toolu_1"),
        ("another surface", Context(session_id="s", source="intercept", cwd="/w"), "toolu_1"),
    ],
)
def test_a_refusal_is_that_of_one_call(store: Store, note: str, context: Context, key: str) -> None:
    kept = KeptRefusals(store)
    kept.keep(HOOK, "toolu_1", REFUSED)
    assert kept.find(context, key) is None, note
    assert kept.find(HOOK, "toolu_1") is not None


def test_a_directory_tells_apart_those_without_a_session() -> None:
    one, other = Context(source="intercept", cwd="/a"), Context(source="intercept", cwd="/b")
    assert place_of_refusal(one, "1") != place_of_refusal(other, "1")
    assert place_of_refusal(HOOK, "1") == place_of_refusal(Context(session_id="s", source=HOOK.source, cwd="/b"), "1")
    assert place_of_refusal(Context(session_id="\ud800"), "\udfff"), "halves of characters are names, too"


def test_the_store_keeps_so_many_and_not_for_ever(store: Store) -> None:
    now = [KEPT_NS]
    kept = KeptRefusals(store, lambda: now[0], most=5)
    for number in range(300):
        now[0] += 1
        kept.keep(HOOK, f"k{number}", REFUSED)
    left = [number for number in range(300) if kept.find(HOOK, f"k{number}") is not None]
    assert left, "the newest stay"
    assert left == list(range(left[0], 300))
    assert len(left) < 300, "the oldest have made room"
    assert store.forget_refusals(0, 5) == len(left) - 5
    assert store.forget_refusals(now[0] - 1, 5) == 3, "what is too old goes, however few there are"


def test_a_store_that_takes_nothing_leaves_it_to_this_process(caplog: pytest.LogCaptureFixture) -> None:
    class Broken:
        def keep_refusal(self, place: str, body: bytes, *, now_ns: int) -> None:
            raise StoreError("gone")

        def refusal(self, place: str) -> bytes | None:
            raise StoreError("gone")

        def forget_refusals(self, before_ns: int, most: int) -> int:
            raise StoreError("gone")

    kept = KeptRefusals(Broken())
    with caplog.at_level(logging.WARNING):
        kept.keep(HOOK, "toolu_1", REFUSED)
    assert "only this process knows" in caplog.text
    assert kept.find(HOOK, "toolu_1") is not None
    with pytest.raises(StoreError):
        kept.find(HOOK, "toolu_2")


def test_what_somebody_else_wrote_there_is_an_error(store: Store) -> None:
    store.keep_refusal(place_of_refusal(HOOK, "toolu_1"), b"{", now_ns=1)
    with pytest.raises(StoreError, match="can't be read"):
        KeptRefusals(store).find(HOOK, "toolu_1")
