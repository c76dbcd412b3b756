"""The official SDK's client before our gateway, and its servers behind it: both eras, every transport, in one process.

`tests/e2e/test_gateway.py` and `test_gateway_http.py` do the same with processes, once for each transport.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from interpose.composition.service.service import Service
from interpose.core.config.gateway_servers import GatewayServer
from tests.support.ledgers import all_records
from tests.support.peers.sdk_peers import ERAS, StreamedServer, behind, http_client, stdio_client, use_both, use_toy
from tests.support.servers.servers import service_in

STDIO = ("old", "both")
KINDS = (*STDIO, "http-old", "http-both", "sse")


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with service_in(tmp_path) as made:
        yield made


@pytest.fixture(autouse=True)
def _programs_run_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interpose.doors.mcp.opening.ChildLink", StreamedServer)


@pytest.mark.parametrize("server", STDIO)
@pytest.mark.parametrize("era", ERAS)
def test_a_wrapped_server_is_the_server_with_rules_before_it(service: Service, era: str, server: str) -> None:
    async def main() -> None:
        async with (
            behind(server) as toy,
            stdio_client(service, {"toy": toy}, era, transparent=True) as one,
        ):
            await use_toy(one, era)
            assert (await one.read_resource("toy://item/7")).contents

    asyncio.run(main())


@pytest.mark.parametrize("era", ERAS)
def test_a_gateway_before_servers_of_both_eras(service: Service, era: str) -> None:
    async def main() -> None:
        async with behind("old") as old, behind("both") as new:
            servers = {"old": old, "new": new, "absent": GatewayServer(command="there-is-no-such-program")}
            async with stdio_client(service, servers, era, transparent=False) as one:
                await use_both(one)

    asyncio.run(main())
    service.ledger.flush()
    assert {"mcp__old__add", "mcp__new__run_command"} <= {record.tool for record in all_records(service.ledger.store)}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("era", ERAS)
def test_a_client_over_http_before_a_server_of_every_kind(service: Service, era: str, kind: str) -> None:
    async def main() -> None:
        async with behind(kind) as toy, http_client(service, {"toy": toy}, era) as one:
            await use_toy(one, era, "toy__")

    asyncio.run(main())
