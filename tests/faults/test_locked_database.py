"""Another process holds the database's lock: who asks is refused in time, others go on, and a stop is a stop."""

from __future__ import annotations

import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import monotonic
from typing import Any

from tests.e2e.processes import Reply, ServerProcess
from tests.support.timing.patience import PATIENCE

ASKS = "rm -rf /opt/x{n}"
TOGETHER = 12
BUSY = 5.0
"""Seconds that one statement waits for the lock. One after the other, so many calls would take a minute."""

_HOLD = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=60)
connection.execute("BEGIN EXCLUSIVE")
print("held", flush=True)
sys.stdin.read()
"""


def _asked(server: ServerProcess, command: str) -> tuple[Reply, float]:
    payload: dict[str, Any] = {"name": "exec", "arguments": {"command": command}}
    start = monotonic()
    reply = server.ask("POST", "/api/v1/intercept", {"event": "tools/call", "phase": "request", "payload": payload})
    return reply, monotonic() - start


def test_a_database_that_another_process_holds(tmp_path: Path) -> None:
    with ServerProcess(tmp_path / "home") as server:
        assert _asked(server, "ls")[0].body["valid"] is True
        database = next((tmp_path / "home").rglob("ledger.db"))
        with subprocess.Popen(
            [sys.executable, "-c", _HOLD, str(database)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as holder:
            assert holder.stdout is not None
            assert holder.stdout.readline() == b"held\n"
            with ThreadPoolExecutor(TOGETHER) as pool:
                waiting = [pool.submit(_asked, server, ASKS.format(n=n)) for n in range(TOGETHER)]
                for future in waiting:
                    reply, seconds = future.result(PATIENCE)
                    assert reply.body["valid"] is False
                    assert seconds < 5 * BUSY
            with ThreadPoolExecutor(4) as pool:
                late = [pool.submit(_asked, server, ASKS.format(n=n)) for n in range(100, 104)]
                start = monotonic()
                server.child.send_signal(signal.SIGTERM)
                server.child.wait(PATIENCE)
                assert monotonic() - start < 10 + 10 + BUSY
                for future in late:
                    assert future.exception(PATIENCE) is not None or future.result()[0].body["valid"] is False
            holder.kill()
