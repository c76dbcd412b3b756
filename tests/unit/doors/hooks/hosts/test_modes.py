"""A question goes to a host's own prompt only in a mode in which the host is known to ask a person."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from interpose.doors.hooks.hosts.all_hosts import HOSTS
from tests.support.servers.hosting import Scripted, answered, asks, events_of, refuses

ASKING: dict[str, tuple[str, ...]] = {
    "claude-code": ("default", "acceptEdits", "plan"),
    "qwen-code": ("default", "plan", "auto-edit", "auto", "yolo"),
    "droid": ("default",),
}
"""Of the hosts that name their modes. A row that grows needs a run of the agent in that mode."""

IN_EVERY_MODE = ("copilot", "openclaw")

WORDS: tuple[Any, ...] = (
    "default", "manual", "acceptEdits", "plan", "auto_edit", "auto-edit", "auto", "yolo", "dontAsk",
    "bypassPermissions", "auto-low", "auto-medium", "auto-high", "never-heard-of", "Default", " default", "default ",
    "", "*", None, True, 1,
    ["default"], {"mode": "default"}, "$ABSENT",
)  # fmt: skip


def _asked_about(host: str, mode: Any) -> bytes:
    """The event with which a host asks about a call, in a mode."""
    raw = next(
        raw
        for case, raw in events_of(host)
        if case.get("verdict") == "deny" and HOSTS[host].read(raw).point == "tool.before"
    )
    event = {**raw, "permission_mode": mode}
    if mode == "$ABSENT":
        del event["permission_mode"]
    return json.dumps(event).encode()


@pytest.mark.parametrize("word", WORDS, ids=map(str, WORDS))
@pytest.mark.parametrize("name", sorted(HOSTS))
def test_who_is_asked_in_a_mode(name: str, word: Any) -> None:
    service = Scripted()
    service.verdict = "ask"
    reply = answered(service, HOSTS[name], _asked_about(name, word))
    known = name in IN_EVERY_MODE or (isinstance(word, str) and word in ASKING.get(name, ()))
    assert asks(reply) is known
    assert refuses(HOSTS[name], reply) is not known


def test_the_mode_is_the_hosts_word_and_no_argument_of_the_call() -> None:
    service = Scripted()
    service.verdict = "ask"
    event = json.loads(_asked_about("claude-code", "bypassPermissions"))
    event["tool_input"] |= {"permission_mode": "default", "mode": "default"}
    assert refuses(HOSTS["claude-code"], answered(service, HOSTS["claude-code"], json.dumps(event).encode()))


def test_a_host_that_declares_no_modes_asks_nobody() -> None:
    facts = HOSTS["claude-code"].facts
    event = HOSTS["claude-code"].read(json.loads(_asked_about("claude-code", "default")))
    assert facts.can_ask(event)
    assert not replace(facts, asks_in=()).can_ask(event)
    assert not replace(facts, asks=()).can_ask(event)
    assert not replace(facts, mode_field="").can_ask(event)
