"""The server does what the API document says: schemathesis asks it, from a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from interpose.core.types import Context, ToolCall
from interpose.doors.http import all_routes
from interpose.doors.http.openapi import PATH
from tests.support.servers.servers import TOKENS, running, service_in, trusting

ROOT = Path(__file__).parents[2]
HOOKS = "tests.support.servers.schemathesis_hooks"


def test_schemathesis_finds_nothing(tmp_path: Path) -> None:
    """Every operation with data that fits the document and data that doesn't, and every check there is."""
    # A stream of events begins with one and then stays open: to wait for a second would take ten seconds each time.
    (tmp_path / "schemathesis.toml").write_text("max-stream-events = 1\n", encoding="utf-8")
    with service_in(tmp_path / "service") as service:
        context = Context(session_id="s1")
        service.run(context).before(ToolCall("exec", {"command": "ls"}, context=context))
        routes = all_routes.routes(service, version="1.2.3")
        with running(routes, trust=trusting()) as server:
            done = subprocess.run(
                [
                    sys.executable, "-m", "schemathesis.cli", "run", f"{server.url}{PATH}", "--no-color",
                    "-H", f"Authorization: Bearer {TOKENS['operator']}", "--phases", "examples,coverage,fuzzing",
                    "--checks", "all", "--mode", "all", "--max-examples", "8", "--generation-deterministic",
                    "--workers", "1",
                ],
                cwd=tmp_path, capture_output=True, text=True, check=False,
                env=os.environ | {"PYTHONPATH": str(ROOT), "SCHEMATHESIS_HOOKS": HOOKS},
            )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr
    assert f"Tested: {len(routes) - 1}" in done.stdout, "all but the document itself"
