"""The official SDK's client over HTTP, and servers of every transport, as processes.

Every kind of server in both eras: `tests/unit/doors/mcp/test_sdk_clients.py`, in one process.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import MCPError

from tests.e2e.mcp_over_http import SDK, TOKENS, client, gateway, process, server, written
from tests.support.peers.issuers import Issuer
from tests.support.peers.mcp_http import listening
from tests.support.peers.sdk_peers import ERAS, said, use_toy
from tests.support.timing.patience import PATIENCE


def behind(stack: ExitStack, home: Path, kind: str) -> dict[str, Any]:
    """A server of this kind, as the configuration names it."""
    if kind == "both":
        return {"command": sys.executable, "args": [SDK, kind]}
    _, port = stack.enter_context(server(home, kind))
    if kind == "sse":
        return {"url": f"http://127.0.0.1:{port}/sse", "transport": "sse"}
    return {"url": f"http://127.0.0.1:{port}/mcp"}


@pytest.mark.parametrize(("era", "kind"), [("modern", "both"), ("handshake", "http-both"), ("modern", "sse")])
def test_a_client_over_http_before_a_server_of_every_transport(tmp_path: Path, era: str, kind: str) -> None:
    async def main(port: int) -> None:
        async with client(port, era) as one:
            await use_toy(one, era, "toy__")

    with ExitStack() as stack:
        toy = behind(stack, tmp_path / "server", kind)
        _, port = stack.enter_context(gateway(tmp_path / "home", {"toy": toy}))
        asyncio.run(main(port))


def test_a_server_over_http_that_dies_is_found_again_and_harms_no_other(tmp_path: Path) -> None:
    async def main(port: int, stack: ExitStack, dying: Any, at: int) -> None:
        async with client(port, "modern") as one:
            assert said(await one.call_tool("toy__add", {"a": 1, "b": 2})) == "3"
            dying.kill()
            dying.wait()
            with pytest.raises(MCPError, match="toy"):
                await one.call_tool("toy__add", {"a": 1, "b": 2})
            assert said(await one.call_tool("good__add", {"a": 3, "b": 4})) == "7"
            stack.enter_context(process([sys.executable, SDK, "http-both", str(at)], tmp_path / "again", "again"))
            async with asyncio.timeout(30):
                while True:
                    try:
                        assert said(await one.call_tool("toy__add", {"a": 1, "b": 2})) == "3"
                        return
                    except MCPError:
                        await asyncio.sleep(0.1)

    with ExitStack() as stack:
        dying, at = stack.enter_context(server(tmp_path / "server", "http-both"))
        servers = {
            "toy": {"url": f"http://127.0.0.1:{at}/mcp"},
            "good": {"command": sys.executable, "args": [SDK, "both"]},
        }
        _, port = stack.enter_context(gateway(tmp_path / "home", servers))
        asyncio.run(main(port, stack, dying, at))


def test_the_decision_server_has_the_gateway_where_it_is_wanted(tmp_path: Path) -> None:
    home = tmp_path / "home"
    toy = {"command": sys.executable, "args": [SDK, "both"]}
    oauth = {"issuer": "http://127.0.0.1:9", "resource": "https://gateway.example/mcp"}
    written(home, {"gateway": {"servers": {"toy": toy}, "http": {"serve": True}, "oauth": oauth}})

    async def main(port: int) -> None:
        for era in ERAS:
            async with client(port, era) as one:
                assert said(await one.call_tool("toy__add", {"a": 1, "b": 2})) == "3"
                denied = await one.call_tool("toy__run_command", {"command": "rm -rf /"})
                assert denied.is_error

    with process([sys.executable, "-m", "interpose", "serve", "--port", "0"], home, "serve") as (_, port):
        asyncio.run(main(port))
        for path in ("/.well-known/oauth-protected-resource", "/api/v1/openapi.json"):
            assert httpx2.get(f"http://127.0.0.1:{port}{path}").status_code == 200


def test_a_token_that_is_taken_back_counts_no_more(tmp_path: Path) -> None:
    home = tmp_path / "home"
    toy = {"command": sys.executable, "args": [SDK, "both"]}

    def status(port: int, who: str) -> int:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}})
        headers = {"Authorization": f"Bearer {TOKENS[who]}", "Accept": "application/json, text/event-stream"}
        url = f"http://127.0.0.1:{port}/mcp"
        return httpx2.post(url, content=body, headers=headers | {"Content-Type": "application/json"}).status_code

    with gateway(home, {"toy": toy}) as (_, port):
        assert [status(port, who) for who in ("ada", "bob")] == [200, 200]
        file = home / ".config" / "interpose" / "tokens"
        file.write_text(f"ada agent {TOKENS['ada']}\n", encoding="ascii")
        end = time.monotonic() + PATIENCE
        while status(port, "bob") != 401 and time.monotonic() < end:
            time.sleep(0.05)
        assert [status(port, who) for who in ("ada", "bob")] == [200, 401]


def test_an_issuer_s_token_opens_the_gateway(tmp_path: Path) -> None:
    """A client without a token is told where to get one, gets one, and is who the token says."""
    resource = "https://gateway.example/mcp"

    async def main() -> None:
        async with listening(Issuer()) as issuer:
            assert isinstance(issuer, Issuer)
            oauth = {"issuer": issuer.issuer, "resource": resource, "scopes": ["mcp:use"]}
            toy = {"command": sys.executable, "args": [SDK, "both"]}
            opened = gateway(tmp_path / "home", {"toy": toy}, {"gateway": {"oauth": oauth}})
            _, port = await asyncio.to_thread(opened.__enter__)
            try:
                async with httpx2.AsyncClient() as http:
                    refused = await http.post(f"http://127.0.0.1:{port}/mcp", content=b"{}")
                    assert refused.status_code == 401
                    where = "https://gateway.example/.well-known/oauth-protected-resource/mcp"
                    assert refused.headers["www-authenticate"] == f'Bearer resource_metadata="{where}"'
                    described = await http.get(f"http://127.0.0.1:{port}/.well-known/oauth-protected-resource/mcp")
                    assert described.json()["authorization_servers"] == [issuer.issuer]
                    assert described.json()["resource"] == resource
                    opens = {"Authorization": f"Bearer {issuer.token()}"}
                    while (await http.post(f"http://127.0.0.1:{port}/mcp", headers=opens)).status_code == 503:
                        await asyncio.sleep(0.05)  # the issuer's keys are being read
                for era in ERAS:
                    async with client(port, era, issuer.token()) as one:
                        assert said(await one.call_tool("toy__add", {"a": 1, "b": 2})) == "3"
            finally:
                await asyncio.to_thread(opened.__exit__, None, None, None)

    asyncio.run(main())
