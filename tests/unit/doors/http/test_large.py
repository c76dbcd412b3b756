"""Large requests take long. Others are answered meanwhile, whatever it is that takes long, and may be waited for."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from interpose.composition.service.service import Service
from interpose.doors.http import events, incoming, intercept, validate
from interpose.doors.http.incoming import LARGE
from tests.support.servers.servers import Running, running, service_in
from tests.support.timing.patience import PATIENCE

PADDING = "x" * LARGE
CALL = {"event": "tools/call", "phase": "request", "payload": {"name": "Bash", "arguments": {"command": "ls"}}}
RESULT = {**CALL, "phase": "response", "payload": {**CALL["payload"], "result": PADDING}}  # type: ignore[dict-item]
PUSH = {"name": "Bash", "arguments": {"command": "git push --force"}}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with service_in(tmp_path_factory.mktemp("large")) as opened:
        yield opened


@pytest.fixture(scope="module")
def server(service: Service) -> Iterator[Running]:
    with running((*intercept.routes(service), *events.routes(service), *validate.routes(service))) as found:
        yield found


REQUESTS = [
    ("/api/v1/intercept", {**CALL, "padding": PADDING}),
    ("/api/v1/intercept", RESULT),
    ("/api/v1/cli/validate", {"command": "ls", "arguments": [PADDING]}),
    ("/api/v1/action/validate", {"target": "Bash", "parameters": {"command": "ls"}, "padding": PADDING}),
    ("/api/v1/events/tool.before", {"name": "Bash", "arguments": {"command": "ls"}, "padding": PADDING}),
    ("/api/v1/events/message.before", {"text": PADDING}),
    ("/api/v1/events/params.before", {"model": "m", "padding": PADDING}),
]
STEPS = {"it is read": "decode", "its call is made": "call_of", "it is decided": "hosted"}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(
    ("path", "body"), REQUESTS, ids=[f"{path} {number}" for number, (path, _) in enumerate(REQUESTS)]
)
def test_others_are_answered_while(
    server: Running, service: Service, monkeypatch: pytest.MonkeyPatch, path: str, body: dict[str, Any], step: str
) -> None:
    reached, go_on = threading.Event(), threading.Event()
    owner: Any = service if step == "it is decided" else incoming
    name = STEPS[step]
    work = getattr(owner, name)

    def slow(*args: Any, **options: Any) -> Any:
        reached.set()
        assert go_on.wait(PATIENCE)
        return work(*args, **options)

    monkeypatch.setattr(owner, name, slow)
    with ThreadPoolExecutor(1) as other:
        slowly = other.submit(server.post, path, body)
        if step == "its call is made" and path.endswith(("/message.before", "/params.before", "/cli/validate")):
            assert slowly.result(PATIENCE).status == 200, "it has no such step"
            return
        assert reached.wait(PATIENCE)
        monkeypatch.undo()
        try:
            assert server.post("/api/v1/intercept", CALL).json["valid"] is True
            assert not slowly.done()
        finally:
            go_on.set()
        assert slowly.result(PATIENCE).status == 200


def test_a_large_call_waits_for_its_answer(server: Running, service: Service) -> None:
    with ThreadPoolExecutor(1) as other:
        body = {**PUSH, "padding": PADDING, "context": {"sessionId": "waits"}}
        asked = other.submit(server.post, "/api/v1/events/tool.before", body, Prefer="wait=30")
        while not (questions := service.desk.asked()):
            assert not asked.done(), asked.result()
        service.desk.approve(questions[0].id, "ann")
        reply = asked.result(PATIENCE)
    assert (reply.json["decision"], reply.headers["preference-applied"]) == ("allow", "wait=30")


def test_where_too_many_wait_nobody_is_promised_to(
    server: Running, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(service.desk), "crowded", True)
    reply = server.post("/api/v1/events/tool.before", PUSH, Prefer="wait=30")
    assert (reply.json["decision"], reply.headers["preference-applied"]) == ("ask", "wait=0")
