"""An async interceptor that blocks instead of awaiting: it is refused at its deadline, and nobody else waits for it."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from interpose.core.types import Allow, ToolCall
from interpose.doors.http.intercept import routes
from tests.support.servers.servers import running, service_in
from tests.support.timing.patience import PATIENCE

PATH = "/api/v1/intercept"


class Blocking:
    """Blocks its event loop at some commands, until it is released."""

    def __init__(self, *, busy: bool) -> None:
        self.begun, self.released, self._busy = threading.Event(), threading.Event(), busy

    async def intercept(self, call: ToolCall) -> Allow:
        if call.arguments["command"] == "block":
            self.begun.set()
            if self._busy:
                while not self.released.is_set():
                    pass
            else:
                self.released.wait(30)
        return Allow()


def _body(command: str) -> dict[str, object]:
    payload = {"name": "exec", "arguments": {"command": command}}
    return {"event": "tools/call", "phase": "request", "payload": payload}


@pytest.mark.parametrize("busy", [False, True], ids=["sleeps", "turns in a circle"])
def test_an_async_interceptor_that_blocks_is_left_at_its_deadline(tmp_path: Path, busy: bool) -> None:
    blocking = Blocking(busy=busy)
    with service_in(tmp_path) as service:
        registry = service.policies.shared.engine.interceptors
        registry.add(id="blocking", name="tool.before", interceptor=blocking, timeout=1.0)  # type: ignore[attr-defined]
        with running(routes(service)) as server, ThreadPoolExecutor(1) as pool:
            try:
                held = pool.submit(server.post, PATH, _body("block"))
                assert blocking.begun.wait(PATIENCE)
                # The deadline is still to come when others are answered: the server's own loop is free.
                other = server.post(PATH, _body("ls"))
                assert other.status == 200
                said = held.result(PATIENCE).json
                assert said["valid"] is False
                assert "within 1 s" in str(said)
                assert server.post(PATH, _body("ls -l")).json["valid"] is True
            finally:
                blocking.released.set()
