"""The examples of the page about the API are sent to a server, and get the answers that stand there."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from interpose.doors.http import events, intercept, session_events, validate
from tests.support.servers.servers import bearer, running, service_in, trusting

PAGE = Path(__file__).parents[4] / "docs" / "http-api.md"
EXAMPLE = re.compile(r"^```json POST (\S+)\n(.*?)^```\n\n^```json answer\n(.*?)^```", re.MULTILINE | re.DOTALL)
RULES = """\
version: 1
rules:
  - id: dry-run
    on: {tools: [exec]}
    when: args.command == "deploy"
    action: transform
    rewrite: {command: '"deploy --dry-run"'}
"""
VARYING = frozenset({"request_id", "server_version", "policy", "approval_id", "durationMs", "duration_ms"})


def steady(value: Any) -> Any:
    """A value without what differs from call to call."""
    if isinstance(value, dict):
        return {name: "" if name in VARYING and item else steady(item) for name, item in value.items()}
    if isinstance(value, list):
        return [steady(item) for item in value]
    return re.sub(r"\[redacted:([\w-]+):\w+\]", r"[redacted:\1]", value) if isinstance(value, str) else value


def timeless(value: Any) -> str:
    """With the order of its keys."""
    plain = steady(value)
    for holder in ("durationMs", "duration_ms"):
        if holder in plain:
            plain[holder] = 0
    return json.dumps(plain, indent=1)


def test_every_example_gets_its_answer(tmp_path: Path) -> None:
    examples = EXAMPLE.findall(PAGE.read_text(encoding="utf-8"))
    assert examples
    with service_in(tmp_path, RULES) as service:
        found = (*intercept.routes(service), *validate.routes(service), *events.routes(service))
        with running((*found, *session_events.routes(service)), trust=trusting()) as server:
            for path, body, answer in examples:
                token = bearer("agent") if "/sessions/" in path else {}
                reply = server.post(path, json.loads(body), **token)
                assert reply.status == 200, body
                assert timeless(reply.json) == timeless(json.loads(answer)), body


def test_every_code_is_on_the_page() -> None:
    page = PAGE.read_text(encoding="utf-8")
    tables = (intercept.CODES, validate.CLI_CODES, validate.ACTION_CODES, events.CODES)
    for _, code in (pair for table in tables for pair in table):
        assert f"`{code}`" in page
