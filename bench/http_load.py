"""Requests over HTTP: single ones, whose answers are looked at, and many at once by `wrk`, none of which may fail."""

from __future__ import annotations

import http.client
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

from bench.checks import CheckFailedError, require, require_equal, require_present
from bench.processes import LAST_CORE, pin


class Figures(NamedTuple):
    """What wrk saw."""

    rate: float
    p50_ms: float
    p99_ms: float
    requests: int


def post(port: int, path: str, body: str) -> Any:
    """The JSON of an answer, which must be one of success."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("POST", path, body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        said = answer.read()
    finally:
        connection.close()
    require_equal(f"the status of {path}", answer.status, 200)
    return json.loads(said)


def require_wrk() -> None:
    """wrk is there."""
    require(shutil.which("wrk") is not None, "wrk is missing. Install it: it is Debian's package of that name")


def load(port: int, path: str, script: Path, seconds: int, connections: int) -> Figures:
    """Put a server under load by wrk, which has the last core to itself."""
    address = f"http://127.0.0.1:{port}{path}"
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", "-s", str(script), address]
    done = subprocess.run(pin(command, LAST_CORE), capture_output=True, text=True, check=False)
    require(done.returncode == 0, f"wrk ended with {done.returncode}: {done.stderr.strip()}")
    return read_figures(done.stdout, address)


def read_figures(told: str, address: str) -> Figures:
    """What wrk told about a load without errors."""
    failed = re.search(r"Non-2xx.*|Socket errors.*", told)
    if failed is not None:
        raise CheckFailedError(f"{address}: {failed[0]}")
    rate, requests = (_found(rf"{pattern}", told) for pattern in (r"Requests/sec:\s+([\d.]+)", r"(\d+) requests in"))
    return Figures(float(rate[1]), _milliseconds(told, "50%"), _milliseconds(told, "99%"), int(requests[1]))


def _milliseconds(told: str, share: str) -> float:
    found = _found(rf"{share}\s+([\d.]+)(us|ms|s)", told)
    return float(found[1]) * {"us": 0.001, "ms": 1.0, "s": 1000.0}[found[2]]


def _found(pattern: str, told: str) -> re.Match[str]:
    return require_present(re.search(pattern, told), f"wrk told nothing that matches {pattern}: {told!r}")
