"""Sessions stay under the rules that they were seen under: after a restart, among many, and when the store is away."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from interpose.composition.service import session_rules
from interpose.composition.service.session_rules import COPIES, FRESH_SECONDS, SessionRules
from interpose.core.errors import StoreError
from interpose.core.types import Context
from interpose.record.store import open_store
from tests.support.servers.hosting import Memory
from tests.support.servers.servers import service_in

A, B = "/a/.interpose/policy.yaml", "/b/.interpose/policy.yaml"
DENY = "version: 1\nrules:\n  - {id: nothing, when: 'true', action: deny, message: no}\n"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Any]:
    store = open_store(tmp_path / "s.db")
    yield store
    store.close()


def test_rules_are_only_added(store: Any) -> None:
    rules = SessionRules(store)
    assert rules.seen("s", ()) == ()
    assert rules.seen("s", (A,)) == (A,)
    assert rules.seen("s", (B,)) == (A, B)
    assert rules.seen("s", ()) == (A, B)
    assert rules.seen("other", ()) == ()


def test_a_restart_lets_no_session_out(store: Any) -> None:
    SessionRules(store).seen("s", (A,))
    assert SessionRules(store).seen("s", ()) == (A,)


def test_many_sessions_push_none_out(monkeypatch: pytest.MonkeyPatch, store: Any) -> None:
    monkeypatch.setattr(session_rules, "COPIES", 5)
    rules = SessionRules(store)
    rules.seen("first", (A,))
    for number in range(20):
        rules.seen(f"s{number}", (B,))
    assert rules.seen("first", ()) == (A,)


def test_without_a_store_no_more_are_taken_than_can_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_rules, "COPIES", 3)
    rules = SessionRules()
    for number in range(3):
        rules.seen(f"s{number}", (A,))
    with pytest.raises(StoreError, match="more than 3 sessions"):
        rules.seen("s3", (A,))
    assert rules.seen("s0", ()) == (A,)
    assert rules.seen("s4", ()) == ()
    assert COPIES >= 10_000


def test_servers_that_share_a_store_learn_of_each_other() -> None:
    now, shared = [100.0], Memory()
    one, other = (SessionRules(shared, clock=lambda: now[0]) for _ in range(2))
    assert other.seen("s", ()) == ()
    one.seen("s", (A,))
    now[0] += FRESH_SECONDS
    assert other.seen("s", ()) == (A,)


def test_a_store_that_hangs_is_an_error_and_not_asked_again_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_rules, "STORE_SECONDS", 0.05)
    let_go, asked = threading.Event(), []

    class Hanging(Memory):
        def load_session(self, session: str) -> Any:
            asked.append(session)
            let_go.wait(10)

    now = [100.0]
    rules = SessionRules(Hanging(), clock=lambda: now[0])
    try:
        with pytest.raises(StoreError, match="did not answer within"):
            rules.seen("s", ())
        with pytest.raises(StoreError, match="a moment ago"):
            rules.seen("s", ())
        assert asked == ["s" if not asked else asked[0]]
    finally:
        let_go.set()


def test_what_can_not_be_read_is_no_empty_set(store: Any) -> None:
    store.save_session("rules:s", b"{broken", version=0, now_ns=1)
    with pytest.raises(StoreError, match="can't be read"):
        SessionRules(store).seen("s", ())


def test_a_service_holds_a_session_whose_rules_it_can_not_tell(tmp_path: Path) -> None:
    with service_in(tmp_path) as service:
        service.store.save_session("rules:s", b"{broken", version=0, now_ns=1)
        held = service.policies.engine(Context(session_id="s"))
        assert held is not service.policies.shared.engine
        assert service.policies.engine(Context(session_id="t")) is service.policies.shared.engine


def test_a_service_that_starts_again_knows_its_sessions(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / ".interpose").mkdir(parents=True)
    (project / ".interpose" / "policy.yaml").write_text(DENY)
    from interpose.composition.build import open_service

    with service_in(tmp_path / "home") as service:
        config = service.config
        service.run(Context(session_id="s", cwd=str(project)))
    with open_service(config, follow=False) as again:
        assert again.policies.engine(Context(session_id="s", cwd="/")) is not again.policies.shared.engine
