"""The gate when things break: no call is let through that nobody decided about, and no result that nobody looked at."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from interpose.composition.service.service import Service
from interpose.core.errors import StoreError
from interpose.core.types import Allow
from interpose.doors.mcp.gate.contract import AnswerNow, Asked, Forward, Gated
from interpose.doors.mcp.gate.gate import McpGate
from tests.faults.test_hooks import _end_server, _servers
from tests.support.hosts.gating import KEY, again, call, client, forwarded, recorded, said, settings, watched
from tests.support.hosts.hooked import Hooks
from tests.support.servers.servers import service_in

RESULT = {"content": [{"type": "text", "text": f"classified {KEY}"}]}


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with service_in(tmp_path, packs=()) as made:
        yield made


def before(service: Service, asked: Asked | None = None) -> Gated:
    return asyncio.run(McpGate(service).before(asked or call({"q": "x"})))


def through(service: Service, watching: Any, **options: Any) -> Any:
    """The result of a call that was let through before somebody watched results."""
    gate, asked = McpGate(service), call({"q": "x"})

    async def main() -> Any:
        gated = forwarded(await gate.before(asked))
        watched(service, watching, name="tool.after", **options)
        return await gate.after(asked, gated.ticket, RESULT)

    return asyncio.run(main())


class Raises:
    def __init__(self, error: BaseException) -> None:
        self._error = error

    def intercept(self, _payload: Any) -> Any:
        raise self._error


class Hangs:
    """Hangs until the test is over."""

    def __init__(self) -> None:
        self.over = threading.Event()

    def intercept(self, _payload: Any) -> Any:
        self.over.wait(20)
        return Allow()


class HangsAwaiting:
    async def intercept(self, _payload: Any) -> Any:
        await asyncio.sleep(20)
        return Allow()


class Garbage:
    def intercept(self, _payload: Any) -> Any:
        return "sure"


ERRORS: list[tuple[str, BaseException]] = [
    ("an error", ValueError("broken")),
    ("an error without a word", RuntimeError()),
    ("the end of the process", SystemExit(0)),
    ("an interrupt", KeyboardInterrupt()),
    ("no memory", MemoryError()),
    ("too deep", RecursionError()),
]


@pytest.mark.parametrize(("note", "error"), ERRORS)
def test_an_interceptor_that_raises_refuses(note: str, error: BaseException, service: Service) -> None:
    watched(service, Raises(error))
    assert isinstance(before(service), AnswerNow)


@pytest.mark.parametrize(("note", "error"), ERRORS)
def test_a_result_that_an_interceptor_fails_on_is_withheld(note: str, error: BaseException, service: Service) -> None:
    given = through(service, Raises(error))
    assert given["isError"] is True
    assert "classified" not in json.dumps(given)


def test_an_interceptor_that_hangs_refuses(service: Service) -> None:
    hanging = Hangs()
    watched(service, hanging, timeout=0.05)
    assert "interceptor-error" in said(before(service))
    hanging.over.set()


def test_one_that_hangs_awaiting_holds_up_nobody(service: Service) -> None:
    registry: Any = service.policies.shared.engine.interceptors
    registry.declare_tools(["mcp__slow__go"])
    watched(service, HangsAwaiting(), timeout=0.05, tool_matcher="^mcp__slow__go$")
    gate = McpGate(service)

    async def main() -> tuple[Gated, Gated]:
        slow = asyncio.create_task(gate.before(call({}, server="slow")))
        fast = await gate.before(call({}))
        return fast, await slow

    fast, slow = asyncio.run(main())
    assert isinstance(fast, Forward)
    assert "interceptor-error" in said(slow)


def test_an_interceptor_that_hangs_on_a_result_withholds_it(service: Service) -> None:
    given = through(service, HangsAwaiting(), timeout=0.05)
    assert "classified" not in json.dumps(given)


def test_an_interceptor_that_answers_garbage_refuses(service: Service) -> None:
    watched(service, Garbage())
    assert isinstance(before(service), AnswerNow)


def test_no_record_no_call(service: Service) -> None:
    forwarded(before(service))
    service.ledger.close()
    assert "audit_unavailable" in said(before(service))


def test_a_result_is_looked_at_though_it_can_t_be_recorded(service: Service) -> None:
    gate, asked = McpGate(service), call({"q": "x"})

    async def main() -> Any:
        gated = forwarded(await gate.before(asked))
        await asyncio.to_thread(service.ledger.close)
        return await gate.after(asked, gated.ticket, RESULT)

    given = asyncio.run(main())
    assert KEY not in json.dumps(given)


def _broken(*_args: Any, **_more: Any) -> Any:
    raise StoreError("the disk is gone")


def test_a_yes_that_can_t_be_spent_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with service_in(tmp_path, packs=(), **settings(tmp_path, ask="client")) as service:
        watched(service)
        gate, asked = McpGate(service), call({"do": "ask"}, by=client(elicits_form=True))
        put: Any = asyncio.run(gate.before(asked))
        answered = again(asked, put, {"action": "accept", "content": {"answer": "yes"}})
        with monkeypatch.context() as broken:
            broken.setattr(service.store, "spend", _broken)
            assert "the disk is gone" in said(asyncio.run(gate.before(answered)))
        forwarded(asyncio.run(gate.before(answered)))


def test_a_service_that_breaks_refuses_and_withholds(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it is: the gate itself never raises."""
    gate, asked = McpGate(service), call({"q": "x"})
    monkeypatch.setattr(service, "hosted", _broken)

    async def main() -> tuple[Gated, Any, str]:
        return await gate.before(asked), await gate.after(asked, None, RESULT), await gate.failed(asked, None, 1, KEY)

    gated, result, error = asyncio.run(main())
    assert "Interpose could not decide: the disk is gone" in said(gated)
    assert "classified" not in json.dumps(result)
    assert KEY not in error


ODD_REQUESTS: list[tuple[str, dict[str, Any]]] = [
    ("no name", {"name": ""}),
    ("a name of another kind", {"name": "\x00\ud800"}),
    ("a huge name", {"name": "x" * 100_000}),
    ("a method that nobody knows", {"method": "tools/destroy"}),
    ("a server without a name", {"server": ""}),
    ("deep arguments", {"arguments": "deep"}),
]


@pytest.mark.parametrize(("note", "odd"), ODD_REQUESTS)
def test_odd_requests_raise_nothing(note: str, odd: dict[str, Any], service: Service) -> None:
    deep: Any = {}
    for _ in range(400):
        deep = {"a": deep}
    given = {"server": "shop", "method": "tools/call", "name": "go", "arguments": {"q": "x"}} | odd
    arguments = deep if given.pop("arguments") == "deep" else {"q": "x"}
    params = {"name": given["name"], "arguments": arguments}
    gated = before(service, Asked(params=params, client=client(), **given))
    assert isinstance(gated, Forward) is (note not in ("a method that nobody knows", "deep arguments"))


GATEWAY = """
import asyncio, sys
sys.path.insert(0, sys.argv[1])
from interpose.composition.build import open_service
from interpose.core.config.load import load
from interpose.doors.mcp.gate.gate import McpGate
from tests.support.hosts.gating import call, said
with open_service(load().config, follow=False) as service:
    print(said(asyncio.run(McpGate(service).before(call({"command": "git push --force origin x"})))))
"""


def test_a_gateway_that_nobody_serves_starts_a_server_for_its_question(tmp_path: Path) -> None:
    hooks = Hooks(tmp_path, settings="hooks: {idle_timeout: 20}")
    try:
        assert not _servers(hooks)
        root = str(Path(__file__).parents[2])
        done = subprocess.run(
            [sys.executable, "-c", GATEWAY, root], env=hooks.environment, capture_output=True, text=True, check=True
        )
        assert "The question waits as" in done.stdout
        assert len(_servers(hooks)) == 1
    finally:
        _end_server(hooks)


def test_records_of_what_broke_are_there(service: Service) -> None:
    watched(service, Raises(ValueError("broken")))
    before(service)
    (record,) = recorded(service)
    assert (record.decision, record.rule) == ("deny", "interceptor-error")
