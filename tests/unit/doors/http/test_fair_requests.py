"""Six huge requests of one caller keep no other caller's large one waiting."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from interpose.core.types import Allow, ToolCall
from interpose.doors.http.incoming import HUGE, LARGE
from interpose.doors.http.intercept import routes
from tests.support.servers.servers import running, service_in
from tests.support.timing.patience import PATIENCE

PATH = "/api/v1/intercept"


class Dwelling:
    """Takes its time with huge arguments."""

    def __init__(self) -> None:
        self.begun, self.released = threading.Event(), threading.Event()

    def intercept(self, call: ToolCall) -> Allow:
        if len(call.arguments["content"]) > HUGE:
            self.begun.set()
            assert self.released.wait(60)
        return Allow()


def _body(size: int) -> dict[str, object]:
    payload = {"name": "write", "arguments": {"path": "a.txt", "content": "x" * size}}
    return {"event": "tools/call", "phase": "request", "payload": payload}


def test_huge_requests_keep_no_large_one_waiting(tmp_path: Path) -> None:
    dwelling = Dwelling()
    with service_in(tmp_path) as service:
        registry = service.policies.shared.engine.interceptors
        registry.add(id="dwelling", name="tool.before", interceptor=dwelling)  # type: ignore[attr-defined]  # it is one
        with running(routes(service)) as server, ThreadPoolExecutor(6) as pool:
            huge = [pool.submit(server.post, PATH, _body(2 * HUGE)) for _ in range(6)]
            try:
                assert dwelling.begun.wait(PATIENCE)
                assert server.post(PATH, _body(2 * LARGE)).json["valid"] is True
                assert not any(one.done() for one in huge)
            finally:
                dwelling.released.set()
            assert all(one.result(PATIENCE).json["valid"] is True for one in huge)
