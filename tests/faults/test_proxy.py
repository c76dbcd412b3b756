"""The proxy when things break: no call reaches an agent that nobody decided about, and no result a model that nobody
looked at."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from interpose.composition.service.service import Service
from interpose.core.config.proxy import ProxySettings
from interpose.doors.proxy import proxy_gate
from tests.faults.test_gate import ERRORS, Garbage, Hangs, HangsAwaiting, Raises
from tests.support.hosts.gating import KEY, watched
from tests.support.peers.model_site import ProxySite, site
from tests.support.peers.model_streams import DIALECTS, datas, sent
from tests.support.servers.servers import service_in
from tests.support.timing.patience import PATIENCE

MARK = "classified"
CALL = {"type": "tool_use", "id": "t", "name": "go", "input": {"mark": MARK}}
REQUEST = {
    "messages": [
        {"role": "assistant", "content": [CALL]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": f"{MARK} {KEY}"}]},
    ]
}


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with service_in(tmp_path, packs=()) as made:
        yield made


@pytest.fixture
def there(service: Service) -> Iterator[ProxySite]:
    with site(service) as made:
        yield made


def refused(there: ProxySite, call: Any = CALL) -> str:
    """The text in the place of a call, which must be the same in a stream and in a whole answer."""
    there.answers({"content": [call], "stop_reason": "tool_use"})
    whole = there.post("/v1/messages", {})
    assert MARK not in whole.body.decode()
    assert whole.json["stop_reason"] == "end_turn"
    (block,) = whole.json["content"]
    events = [
        {"type": "content_block_start", "index": 0, "content_block": call},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
    ]
    there.says(*(sent(DIALECTS["anthropic"], event) for event in events))
    streamed = there.post("/v1/messages", {}).body
    assert MARK not in streamed.decode()
    assert [event["type"] for event in datas(streamed)][-1] == "message_delta"
    assert datas(streamed)[-1]["delta"]["stop_reason"] == "end_turn"
    assert block["type"] == "text"
    return str(block["text"])


def withheld(there: ProxySite) -> str:
    """What the model got in the place of a result."""
    there.answers({"content": []})
    there.post("/v1/messages", REQUEST)
    (got,) = there.model.asked[-1].json["messages"][-1]["content"]
    assert MARK not in json.dumps(got)
    return str(got["content"])


@pytest.mark.parametrize(("note", "error"), ERRORS)
def test_an_interceptor_that_raises_refuses(
    note: str, error: BaseException, there: ProxySite, service: Service
) -> None:
    watched(service, Raises(error))
    assert refused(there).startswith("go was not called. Interpose")


@pytest.mark.parametrize(("note", "error"), ERRORS)
def test_a_result_that_an_interceptor_fails_on_is_withheld(
    note: str, error: BaseException, there: ProxySite, service: Service
) -> None:
    watched(service, Raises(error), name="tool.after")
    assert withheld(there).startswith("Interpose withheld this result")


def test_an_interceptor_that_hangs_refuses(there: ProxySite, service: Service) -> None:
    hanging = Hangs()
    watched(service, hanging, timeout=0.05)
    assert "interceptor-error" in refused(there)
    hanging.over.set()


def test_an_interceptor_that_hangs_without_a_limit_refuses(
    there: ProxySite, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proxy_gate, "DECIDES_IN", 0.1)
    watched(service, HangsAwaiting())
    assert "could not decide" in refused(there)


def test_a_large_call_with_one_that_hangs_refuses(
    there: ProxySite, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proxy_gate, "DECIDES_IN", 0.1)
    hanging = Hangs()
    watched(service, hanging)
    try:
        assert "could not decide" in refused(there, {**CALL, "input": {"mark": MARK, "pad": "x" * 10_000}})
    finally:
        hanging.over.set()


def test_an_interceptor_that_hangs_on_a_result_withholds_it(there: ProxySite, service: Service) -> None:
    watched(service, HangsAwaiting(), name="tool.after", timeout=0.05)
    assert "interceptor-error" in withheld(there)


def test_an_interceptor_that_answers_garbage_refuses(there: ProxySite, service: Service) -> None:
    watched(service, Garbage())
    assert refused(there)


def test_no_record_no_call(there: ProxySite, service: Service) -> None:
    there.answers({"content": [CALL]})
    assert MARK in there.post("/v1/messages", {}).body.decode()
    service.ledger.close()
    assert "audit_unavailable" in refused(there)


def test_a_result_is_looked_at_though_it_can_t_be_recorded(there: ProxySite, service: Service) -> None:
    service.ledger.close()
    there.answers({"content": []})
    there.post("/v1/messages", REQUEST)
    assert KEY not in there.model.asked[-1].body.decode()


def test_an_engine_that_is_gone_refuses(there: ProxySite, service: Service) -> None:
    def gone(_context: Any) -> Any:
        raise RuntimeError("the engine is gone")

    service.policies = type("Gone", (), {"engine": staticmethod(gone), "stop": lambda _self: None})()
    assert "the engine is gone" in refused(there)
    assert "could not be looked at" in withheld(there)


def test_a_gate_that_breaks_ends_the_answer(
    there: ProxySite, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*_words: Any) -> Any:
        raise MemoryError("no room")

    monkeypatch.setattr(proxy_gate.ProxyGate, "rulings", broken)
    there.answers({"content": [CALL]})
    got = there.post("/v1/messages", {})
    assert (got.status, got.json["type"], MARK in got.body.decode()) == (500, "error", False)
    there.says(
        sent(DIALECTS["anthropic"], {"type": "content_block_start", "index": 0, "content_block": CALL}),
        sent(DIALECTS["anthropic"], {"type": "content_block_stop", "index": 0}),
    )
    got = there.post("/v1/messages", {})
    assert (datas(got.body)[-1]["type"], MARK in got.body.decode()) == ("error", False)
    caplog.clear()


def test_nobody_can_be_asked_without_a_server(tmp_path: Path) -> None:
    """As the command line opens it: it has no key, and its questions go to the server, which is not there."""
    from interpose.composition.build import open_service
    from tests.support.hosts.gating import ByWord
    from tests.support.servers.servers import config_in

    with open_service(config_in(tmp_path), follow=False) as service:
        watched(service, ByWord())
        with site(service, ProxySettings(wait=5)) as there:
            there.answers({"content": [{**CALL, "input": {"do": "ask"}}]})
            (block,) = there.post("/v1/messages", {}).json["content"]
    assert "Nobody can be asked now" in block["text"]


def test_a_client_that_goes_while_a_person_is_asked_leaves_nothing_behind(service: Service) -> None:
    from tests.support.hosts.gating import ByWord

    watched(service, ByWord())
    asked = threading.Event()

    class Notices:
        async def confirm(self, _request: Any) -> Any:
            asked.set()
            import asyncio

            try:
                await asyncio.sleep(30)
            finally:
                ended.set()

    ended = threading.Event()
    desk: Any = service.desk
    desk.waiting = lambda _seconds, **_can: Notices()
    with site(service, ProxySettings(wait=20)) as there:
        there.answers({"content": [{**CALL, "input": {"do": "ask"}}]})
        there.raw(
            "POST /model/v1/messages HTTP/1.1", "Content-Length: 2", body=b"{}", until=lambda _got: asked.wait(20)
        )
        assert ended.wait(PATIENCE)
