"""The same commands get the same decision through the library, over HTTP and through the hook of every host."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import yaml

from interpose import Engine, create_interceptor_registry
from interpose.build import add_builtin_interceptors, add_policy
from interpose.config.model import Config
from interpose.opencalls import OpenCalls
from interpose.service import Service
from interpose.surfaces.hooks.answer import answer
from interpose.surfaces.hooks.hosts import HOSTS
from interpose.surfaces.http import intercept
from interpose.surfaces.http.messages import Caller, Peer, Request
from interpose.types import Context, ToolCall
from tests import hosting

CWD = "/workspace/project"
CASES = 300


def _commands() -> list[str]:
    """Commands of the case files, evenly taken from all families."""
    files = sorted((Path(__file__).parent / "shell").glob("*.yaml"))
    rows = [row for path in files for row in yaml.safe_load(path.read_text(encoding="utf-8"))]
    commands = [row["command"] for row in rows if row["command"].strip()]
    return commands[:: max(1, len(commands) // CASES)][:CASES]


@pytest.fixture(scope="module")
def service() -> Service:
    registry = add_builtin_interceptors(create_interceptor_registry())
    add_policy(registry)
    engine = Engine(registry)
    made = SimpleNamespace(
        config=Config(),
        calls=OpenCalls(),
        policies=SimpleNamespace(engine=lambda _context: engine),
        run=lambda context, wait=0.0: engine.run(context, confirm=hosting.Queue()),
    )
    return cast("Service", made)


@pytest.fixture(scope="module")
def decided(service: Service) -> dict[str, str]:
    """What the library says."""
    engine = service.policies.engine(Context())
    context = Context(cwd=CWD)
    return {
        command: engine.decide(ToolCall("Bash", {"command": command}, context=context)).outcome
        for command in _commands()
    }


def test_there_are_enough_of_every_kind(decided: dict[str, str]) -> None:
    words = list(decided.values())
    assert len(words) >= CASES * 0.95
    assert min(words.count(word) for word in ("allow", "ask", "deny")) > CASES // 20


@pytest.mark.parametrize("name", sorted(HOSTS))
def test_hooks_say_the_same(name: str, service: Service, decided: dict[str, str]) -> None:
    host = HOSTS[name]

    async def said(command: str) -> str:
        event = json.dumps(hosting.shell_event(name, command, CWD)).encode()
        reply = await answer(service, host, event)
        return "ask" if hosting.asks(reply) else "deny" if hosting.refuses(host, reply) else "allow"

    async def all_said() -> dict[str, str]:
        return {command: await said(command) for command in decided}

    expected = dict(decided)
    if not host.facts.asks:
        expected = {command: "deny" if word == "ask" else word for command, word in decided.items()}
    assert asyncio.run(all_said()) == expected


def test_http_says_the_same(service: Service, decided: dict[str, str]) -> None:
    handle = intercept.handler(service)

    async def valid(command: str) -> bool:
        body: dict[str, Any] = {
            "event": "tools/call", "phase": "request", "config": {"working_directory": CWD},
            "payload": {"name": "Bash", "arguments": {"command": command}},
        }  # fmt: skip
        request = Request(
            "POST", intercept.PATH, peer=Peer(kind="tcp", loopback=True), caller=Caller("agent"), request_id="r",
            headers={"content-type": "application/json"}, body=json.dumps(body).encode(),
        )  # fmt: skip
        answered: bool = json.loads((await handle(request)).body)["valid"]
        return answered

    async def all_valid() -> dict[str, bool]:
        return {command: await valid(command) for command in decided}

    assert asyncio.run(all_valid()) == {command: word == "allow" for command, word in decided.items()}
