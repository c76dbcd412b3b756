"""Hooks over a socket."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from interpose.core.types import Allow, ToolCall
from interpose.doors.http.incoming import LARGE
from interpose.doors.server.hook_routes import routes
from tests.support.hosts.hooked import event_of
from tests.support.servers.servers import running, service_in
from tests.support.timing.patience import PATIENCE


class Dwelling:
    """Takes its time with long commands."""

    def __init__(self) -> None:
        self.begun, self.released = threading.Event(), threading.Event()
        self.in_time: list[bool] = []

    def intercept(self, call: ToolCall) -> Allow:
        if len(call.arguments["command"]) > LARGE:
            self.begun.set()
            self.in_time.append(self.released.wait(10))
        return Allow()


def test_a_large_event_keeps_nobody_waiting(tmp_path: Path) -> None:
    dwelling = Dwelling()
    with service_in(tmp_path) as service:
        registry = service.policies.shared.engine.interceptors
        registry.add(id="dwelling", name="tool.before", interceptor=dwelling)  # type: ignore[attr-defined]  # it is one
        with running(routes(service)) as server, ThreadPoolExecutor(1) as pool:
            large = pool.submit(server.post, "/hook/claude-code", json.loads(event_of(f"echo {'x' * LARGE}")))
            assert dwelling.begun.wait(PATIENCE)
            assert server.post("/hook/claude-code", json.loads(event_of("ls"))).headers["x-interpose-exit"] == "0"
            dwelling.released.set()
            assert large.result().headers["x-interpose-exit"] == "0"
    assert dwelling.in_time == [True]
