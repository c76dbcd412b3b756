"""10,000 decisions pass a page that is open: neither the page nor the server grows by them. Run by scripts/browser."""

from __future__ import annotations

import http.client
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.browsing import configured, person, sign_in
from tests.e2e.processes import JSON, ServerProcess
from tests.support.timing.patience import PATIENCE

WARMING_UP, STREAM = 20_000, 10_000
"""Decisions before anybody looks, after which a server without a page grows no more; and those that a page sees."""
SENDERS = 4
ROWS = 100
MEMORY = 16 << 20
"""Bytes by which the server may grow meanwhile: the allocator has its own ways."""
NODES = 400
"""Nodes by which the page may: rows have more or fewer effects and facts."""


def decide(server: ServerProcess, first: int, count: int) -> None:
    """So many decisions, one connection for each sender."""

    def send(share: range) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
        headers = JSON | {"Authorization": f"Bearer {server.token}"}
        for number in share:
            # The same two hundred over and over: what the engine remembers of each call is not what this is about.
            command = f"ls part-{number % 200}" if number % 10 else f"rm -rf /srv/{number % 200}"
            body = {
                "event": "tools/call", "phase": "request",
                "payload": {"name": "Bash", "arguments": {"command": command}},
                "context": {"sessionId": f"s{number % 50}", "principal": {"type": "agent", "id": "tester"}},
                "config": {"working_directory": "/home/dev/project"},
            }  # fmt: skip
            connection.request("POST", "/api/v1/intercept", json.dumps(body), headers)
            connection.getresponse().read()
        connection.close()

    with ThreadPoolExecutor(SENDERS) as pool:
        list(pool.map(send, [range(first + at, first + count, SENDERS) for at in range(SENDERS)]))
    server.intercept(f"ls last-{first + count}")


def memory(server: ServerProcess) -> int:
    """Bytes that the server has in memory."""
    lines = Path(f"/proc/{server.child.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))


def nodes(page: Page) -> int:
    return int(page.evaluate("document.getElementsByTagName('*').length"))


@pytest.mark.heavy
def test_ten_thousand_decisions_leave_no_trace_in_memory(browser: Browser, tmp_path: Path) -> None:
    with ServerProcess(configured(tmp_path)) as server, person(browser) as page:
        decide(server, 0, WARMING_UP)
        sign_in(page, server)
        rows = page.locator("#decisions > li")
        expect(rows).to_have_count(ROWS)
        before, nodes_before = memory(server), nodes(page)
        decide(server, WARMING_UP, STREAM)
        expect(page.locator("#decisions")).to_contain_text(f"last-{WARMING_UP + STREAM}", timeout=30_000)
        expect(rows).to_have_count(ROWS)
        after, nodes_after = memory(server), nodes(page)
        figures = f"server {before >> 20} MB, then {after >> 20} MB; page {nodes_before} nodes, then {nodes_after}"
        print(figures)  # noqa: T201 - what was measured
        assert after - before < MEMORY
        assert nodes_after - nodes_before < NODES
