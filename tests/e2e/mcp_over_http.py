"""The gateway over HTTP as a process, servers behind it, and the official SDK's client before it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from tests.e2e.processes import clean_environment
from tests.support.peers.sdk_peers import MODES, say_red
from tests.support.timing.patience import PATIENCE

HERE = Path(__file__).parent / "mcp_servers"
SDK = str(HERE / "sdk_server.py")
TOKENS = {"ada": "ada-" + "a" * 40, "bob": "bob-" + "b" * 40}


@contextmanager
def process(
    command: list[str], home: Path, name: str, **variables: str
) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A program that says its port. Ends with the test."""
    home.mkdir(parents=True, exist_ok=True)
    with (home / f"{name}.stderr").open("wb") as log:
        child = subprocess.Popen(
            command, cwd=home, env=clean_environment(home) | variables, stdout=subprocess.PIPE, stderr=log
        )
        try:
            assert child.stdout is not None
            for line in child.stdout:
                if found := re.search(rb"127\.0\.0\.1:(\d+)|^(\d+)$", line.strip()):
                    yield child, int(found[1] or found[2])
                    break
            else:
                raise AssertionError(f"{name} did not start: {(home / f'{name}.stderr').read_text()}")
        finally:
            child.kill()
            child.wait(PATIENCE)
            if child.stdout is not None:
                child.stdout.close()


def server(home: Path, kind: str) -> Any:
    """An SDK server over HTTP: its process and its port."""
    return process([sys.executable, SDK, kind], home, kind)


@contextmanager
def gateway(home: Path, servers: Mapping[str, Any], more: Mapping[str, Any] | None = None, **variables: str) -> Any:
    """`interpose mcp gateway --http` before these servers: its process and its port."""
    given = dict(more or {})
    given["gateway"] = {"servers": servers} | given.get("gateway", {})
    written(home, given)
    command = [sys.executable, "-m", "interpose", "gateway", "--http", "--port", "0"]
    with process(command, home, "gateway", **variables) as found:
        yield found


def written(home: Path, given: Mapping[str, Any]) -> None:
    """A configuration, and the tokens of Ada and Bob."""
    file = home / ".config" / "interpose" / "interpose.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(given), encoding="utf-8")
    file.chmod(0o600)
    tokens = file.with_name("tokens")
    tokens.write_text("".join(f"{name} agent {token}\n" for name, token in TOKENS.items()), encoding="ascii")
    tokens.chmod(0o600)


@asynccontextmanager
async def client(port: int, era: str, token: str = TOKENS["ada"], **options: Any) -> AsyncIterator[Client]:
    """The official SDK's client."""
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE) as http:
        transport = streamable_http_client(f"http://127.0.0.1:{port}/mcp", http_client=http)
        async with Client(transport, mode=MODES[era], elicitation_callback=say_red, **options) as one:
            yield one
