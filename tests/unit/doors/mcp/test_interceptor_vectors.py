"""All vectors of the interceptor protocol over both transports, in this process: `tests/e2e/test_interceptor_server.py`
plays one server's on each transport as a process."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from interpose.composition.service.service import Service
from interpose.doors.mcp.interceptors.interceptor_methods import InterceptorMethods
from interpose.doors.mcp.interceptors.interceptor_serving import serve_http, serve_stdio
from interpose.rules.interceptor_protocol.offering import checked_offers
from tests.support.peers.interceptor_plugin import offered
from tests.support.peers.interceptor_vectors import PUBLISHED, Vector, run_step, vectors
from tests.support.servers.servers import service_in
from tests.support.timing.patience import PATIENCE

VECTORS = list(vectors())
Send = Callable[[bytes], bytes]
"""One frame to the server, and the frame that comes back."""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with service_in(tmp_path_factory.mktemp("service")) as opened:
        yield opened


def test_the_published_vectors_are_all_there() -> None:
    if not PUBLISHED.exists():
        pytest.skip("only where the published vectors are")
    assert sum(vector.get("kind") in ("protocol", "behavior") for vector in VECTORS) == 24


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["id"])
def test_vector(service: Service, transport: str, vector: Vector) -> None:
    methods = InterceptorMethods(tuple(checked_offers(offered(vector["interceptors"]))), version="1")

    def play(send: Send) -> None:
        ids = count(1)

        def ask(method: str, params: dict[str, Any]) -> Mapping[str, Any]:
            id = next(ids)
            answer = json.loads(
                send(json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode())
            )
            assert (answer["id"], answer["jsonrpc"]) == (id, "2.0")
            result: Mapping[str, Any] = answer.get("result", {"error": answer.get("error")})
            return result

        for step in vector["steps"]:
            run_step(ask, step)

    asyncio.run(_over_stdio(methods, play) if transport == "stdio" else _over_http(service, methods, play))


async def _over_stdio(methods: InterceptorMethods, play: Callable[[Send], None]) -> None:
    there, here = os.pipe(), os.pipe()

    def client() -> None:
        with os.fdopen(there[1], "wb", 0) as asks, os.fdopen(here[0], "rb") as answers:

            def send(line: bytes) -> bytes:
                asks.write(line + b"\n")
                return answers.readline()

            play(send)

    playing = asyncio.ensure_future(asyncio.to_thread(client))
    await serve_stdio(methods, there[0], here[1])  # ends when the client closes its side
    await playing


async def _over_http(service: Service, methods: InterceptorMethods, play: Callable[[Send], None]) -> None:
    address = asyncio.get_running_loop().create_future()
    serving = asyncio.ensure_future(serve_http(service, methods, "127.0.0.1", 0, address.set_result))
    await asyncio.wait([serving, address], return_when=asyncio.FIRST_COMPLETED)
    assert address.done(), serving
    url = urlsplit(address.result())
    lines = Path(service.config.server.tokens_file).read_text(encoding="utf-8").splitlines()
    token = next(line.split()[2] for line in lines if not line.startswith("#"))

    def send(line: bytes) -> bytes:
        connection = http.client.HTTPConnection(str(url.hostname), url.port, timeout=PATIENCE)
        try:
            headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
            connection.request("POST", url.path, line, headers)
            return connection.getresponse().read()
        finally:
            connection.close()

    try:
        await asyncio.to_thread(play, send)
    finally:
        serving.cancel()
        await asyncio.wait([serving])
