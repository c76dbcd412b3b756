"""The deadline decides, also about an answer that comes late because nothing else could run meanwhile."""

from __future__ import annotations

import asyncio
import ctypes
import time
from typing import Any

import pytest

from interpose import Engine, ToolCall, create_interceptor_registry

LS = ToolCall("exec", {"command": "ls"})
LONG, DEADLINE = 0.4, 0.1


def keep_the_lock(_input: Any, _output: Any) -> None:
    """As a pattern that native `re` tries for long: no other thread runs until it is through."""
    ctypes.PyDLL(None).usleep(int(LONG * 1e6))


async def block_the_loop(_input: Any, _output: Any) -> None:
    time.sleep(LONG)


def outcome(how: str, handler: Any, on_error: Any) -> tuple[str, str]:
    registry = create_interceptor_registry()
    registry.add(id="late", name="tool.before", handler=handler, timeout=DEADLINE, on_error=on_error)
    engine = Engine(registry)
    verdict = engine.decide(LS) if how == "blocking" else asyncio.run(engine.adecide(LS))
    return verdict.outcome, verdict.findings[0].reason if verdict.findings else ""


@pytest.mark.parametrize("how", ["blocking", "awaiting"])
@pytest.mark.parametrize("handler", [keep_the_lock, block_the_loop])
@pytest.mark.parametrize(("on_error", "want"), [("deny", "deny"), ("allow", "allow")])
def test_an_answer_after_the_deadline_does_not_count(how: str, handler: Any, on_error: str, want: str) -> None:
    said, reason = outcome(how, handler, on_error)
    assert (said, "no answer within 0.1 s" in reason) == (want, True), reason
