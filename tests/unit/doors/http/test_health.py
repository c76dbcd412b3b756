"""Does it live, and could it decide?"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from interpose.composition.service.service import Service
from interpose.core.errors import StoreError
from interpose.doors.http import health
from interpose.record.ledger.writer import WriterStatus
from tests.support.servers.servers import Running, bearer, running, service_in, trusting

SECRET = "postgresql://host/away"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with service_in(tmp_path) as made:
        yield made


@pytest.fixture
def server(service: Service, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    monkeypatch.setattr(health, "LOOK_AGAIN", 0.0)
    with running(health.routes(service), trust=trusting()) as made:
        yield made


def test_all_is_well(server: Running) -> None:
    assert server.ask("GET", "/healthz").json == {"status": "ok"}
    told = server.ask("GET", "/readyz")
    assert (told.status, told.json["status"]) == (200, "ready")
    assert told.json["checks"] == {name: {"ok": True} for name in ("ledger", "store", "policy")}


def away(*_args: object) -> int:
    raise StoreError(SECRET)


def test_a_store_that_is_away(service: Service, server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service.store, "spent", away)
    told = server.ask("GET", "/readyz")
    assert (told.status, told.json["error"], told.json["message"]) == (503, "not_ready", "not ready: store")
    assert told.json["checks"]["store"] == {"ok": False}
    assert SECRET.encode() not in told.body, "anybody may ask"
    told = server.ask("GET", "/readyz", headers=bearer("auditor"))
    assert told.json["checks"]["store"] == {"ok": False, "problem": SECRET}
    assert server.ask("GET", "/healthz").status == 200
    monkeypatch.undo()


def test_it_is_ready_again(service: Service, server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(service.store, "spent", away)
        assert server.ask("GET", "/readyz").status == 503
    assert server.ask("GET", "/readyz").status == 200


def test_a_ledger_that_can_not_write(service: Service, server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service.ledger.writer, "flush", lambda: False)
    monkeypatch.setattr(service.ledger.writer, "status", lambda: WriterStatus(0, 0, 0, "no space left"))
    told = server.ask("GET", "/readyz", headers=bearer("operator"))
    assert (told.status, told.json["message"]) == (503, "not ready: ledger")
    assert told.json["checks"]["ledger"]["problem"] == "no space left"


def test_a_store_that_hangs_is_asked_once(service: Service, server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    gate, asked = threading.Event(), []

    def hang(_counter: str) -> int:
        asked.append(1)
        gate.wait(30)
        return 0

    monkeypatch.setattr(service.store, "spent", hang)
    monkeypatch.setattr(health, "ANSWER_WITHIN", 0.05)
    try:
        for _ in range(20):
            told = server.ask("GET", "/readyz", headers=bearer("operator"))
            assert told.status == 503
            assert told.json["checks"]["store"]["problem"] == "no answer within 0.05 s"
        assert len(asked) == 1
    finally:
        gate.set()


def test_an_answer_holds_for_a_while(service: Service, server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "LOOK_AGAIN", 3600.0)
    asked: list[str] = []

    def spent(counter: str) -> int:
        asked.append(counter)
        return 0

    monkeypatch.setattr(service.store, "spent", spent)
    for _ in range(20):
        assert server.ask("GET", "/readyz").status == 200
    assert len(asked) == 1


def test_broken_rules_are_told_but_decide_nothing(service: Service, server: Running) -> None:
    rules = Path(service.config.policy.directory) / "rules.yaml"
    rules.write_text("version: 1\nrules: [broken", encoding="utf-8")
    service.reload()
    told = server.ask("GET", "/readyz", headers=bearer("operator"))
    assert told.status == 200
    assert "rules.yaml" in told.json["checks"]["policy"]["problem"]
    assert server.ask("GET", "/readyz").json["checks"]["policy"] == {"ok": True}
