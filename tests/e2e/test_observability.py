"""A server process as its operator sees it: its log, and its spans at a collector."""

from __future__ import annotations

import json
import signal
from pathlib import Path

from tests.e2e.processes import ServerProcess
from tests.support.peers.collectors import Collector
from tests.support.timing.patience import PATIENCE

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


def test_a_server_tells_what_it_does(tmp_path: Path) -> None:
    with Collector().running() as collector:
        collector.open.set()
        settings = {"INTERPOSE_LOGGING_FORMAT": "json", "INTERPOSE_TELEMETRY_TRACES_ENDPOINT": collector.url}
        with ServerProcess(tmp_path, **settings) as server:
            server.intercept("rm -rf /", traceparent=f"00-{TRACE}-{SPAN}-01")
            (span,) = collector.spans()
            assert (span.trace_id.hex(), span.parent_span_id.hex()) == (TRACE, SPAN)
            server.ask("GET", "/nothing", headers={"X-Request-ID": "mine"})
            server.signal(signal.SIGHUP)
            server.ask("POST", "/api/v1/reload")
            server.signal(signal.SIGTERM)
            assert server.child.wait(PATIENCE) == 0
    told = [json.loads(line) for line in (tmp_path / "stderr").read_text().splitlines()]
    assert told[0]["message"] == "started"
    assert told[-1]["message"] == "stopped"
    (refused,) = [line for line in told if line["message"] == "refused"]
    assert (refused["request_id"], refused["code"]) == ("mine", "not_found")
    assert [line for line in told if line["message"].startswith("reload: policy")]


def test_telemetry_that_can_not_be_reached_does_not_stop_a_server(tmp_path: Path) -> None:
    settings = {
        "INTERPOSE_TELEMETRY_TRACES_ENDPOINT": "http://127.0.0.1:9",
        "INTERPOSE_TELEMETRY_METRICS_ENDPOINT": "http://127.0.0.1:9",
    }
    with ServerProcess(tmp_path, **settings) as server:
        assert server.intercept("ls")["valid"] is True
        server.signal(signal.SIGTERM)
        assert server.child.wait(PATIENCE) == 0
