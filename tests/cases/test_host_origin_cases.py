"""Which Host and Origin a server on a loopback port lets in, over a real socket."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from interpose.doors.http_server.messages import Request, Response, Route, json_response
from interpose.doors.http_server.trust import make_trust
from tests.support.case_files import read_cases
from tests.support.peers.wire import Wire
from tests.support.servers.servers import Running, running

CASES = read_cases(Path(__file__).parent / "http" / "host_origin.yaml")


async def _welcome(_request: Request) -> Response:
    return json_response({"error": "ok"})


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    trust = make_trust(
        allowed_hosts=["agents.example", "edge.example:8443"],
        allowed_origins=["https://board.example", "http://localhost:3000"],
    )
    with running([Route("GET", "/open", _welcome, "open", "")], trust=trust) as found:
        yield found


def test_no_note_stands_twice() -> None:
    assert len({case["note"] for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", [pytest.param(case, id=case["note"]) for case in CASES])
def test_host_and_origin(server: Running, case: dict[str, Any]) -> None:
    hosts = case.get("host", [])
    lines = [f"GET {case.get('target', '/open')} HTTP/1.1"]
    lines += [f"Host: {host}" for host in ([hosts] if isinstance(hosts, str) else hosts)]
    lines += [f"Origin: {case['origin']}"] if "origin" in case else []
    lines += [f"Sec-Fetch-Site: {case['site']}"] if "site" in case else []
    text = "\r\n".join([*lines, "", ""]).replace("PORT", str(server.port))
    with Wire.to(server.port) as wire:
        wire.send(text.encode("utf-8"))
        answer = wire.answer()
    assert answer.json["error"] == case["want"]
    assert answer.status == {"ok": 200, "bad_request": 400, "not_found": 404}.get(case["want"], 403)
