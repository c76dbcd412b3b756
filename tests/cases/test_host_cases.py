"""Runs the wire fixtures of hosts: an event as the host writes it, a verdict, and the answer byte for byte.

A file has the host's name, fields that all its events share (`base`), and its cases. A case without a `verdict` is
allowed; `asks: queue` sends questions to our queue; `reads` says what must have been understood. In an answer `$DENIED`
and the like stand for the texts of hosting.py.
"""

from __future__ import annotations

import json
from typing import Any, cast, get_args

import pytest

from interpose.doors.hooks.hosts.all_hosts import HOSTS, speaking
from interpose.doors.hooks.hosts.events import EventError, Host, HostEvent
from interpose.effects.agents.agent import Evidence
from tests.support.noted import noted
from tests.support.servers import hosting

CASES = noted((f"{name}:{case['note']}", (name, case, raw)) for name in HOSTS for case, raw in hosting.events_of(name))


@pytest.mark.parametrize(("name", "case", "raw"), CASES)
def test_the_answer(name: str, case: dict[str, Any], raw: dict[str, Any]) -> None:
    service = hosting.Scripted(ask=case.get("asks", "host"))
    service.verdict = case.get("verdict", "allow")
    reply = hosting.answered(service, HOSTS[name], json.dumps(raw).encode(), event=case.get("hint", ""))
    want = _filled(case["want"], HOSTS[name], case)
    shown: Any = reply.stdout.decode()
    if isinstance(want.get("stdout"), dict):
        shown = json.loads(shown)
    assert {"stdout": shown, "stderr": reply.stderr, "exit": reply.exit_code} == {
        "stdout": want.get("stdout", ""),
        "stderr": want.get("stderr", ""),
        "exit": want.get("exit", 0),
    }, case["note"]


READ = [param for param in CASES if "reads" in cast("dict[str, Any]", param.values[1])]


@pytest.mark.parametrize(("name", "case", "raw"), READ)
def test_what_is_understood(name: str, case: dict[str, Any], raw: dict[str, Any]) -> None:
    event = speaking(raw, HOSTS[name]).read(raw, case.get("hint", ""))
    assert {key: _read(event, key) for key in case["reads"]} == case["reads"], case["note"]


def _read(event: HostEvent, key: str) -> Any:
    call = event.call
    values: dict[str, Any] = {
        "host": event.host, "point": event.point, "session": event.context.session_id, "agent": event.context.agent_id,
        "cwd": event.context.cwd, "source": event.context.source, "tool": call and call.original_name,
        "arguments": call and call.arguments, "key": event.call_key, "result": event.result,
        "failed": event.is_error, "text": event.text,
        "command": event.command and [event.command.name, event.command.arguments],
    }  # fmt: skip
    return values[key]


def _filled(value: Any, host: Host, case: dict[str, Any]) -> Any:
    if isinstance(value, dict):
        return {key: _filled(item, host, case) for key, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, host, case) for item in value]
    if not isinstance(value, str):
        return value
    facts = host.facts
    tool = case.get("tool", "")
    texts = {
        "$DENIED": hosting.DENIED,
        "$QUESTION": hosting.QUESTION,
        "$WAITING": hosting.WAITING,
        "$NOTICE": hosting.NOTICE,
        "$WARNED": hosting.WARNED,
        "$WITHHELD": hosting.WITHHELD,
        "$BROKEN": hosting.BROKEN,
        "$CHANGE": hosting.CHANGE,
        "$UNCHANGED": hosting.unchanged(facts, case.get("changed", "echo safe")),
        "$UNHIDDEN": hosting.unhidden(facts, tool, "scripted:tool.after (hid 1 secret) changed it"),
        "$UNWITHHELD": hosting.unhidden(facts, tool, "Not here. (r1)"),
        "$MESSAGE": hosting.MESSAGE,
    }
    one_line = value.startswith("$1")
    found = texts.get(f"${value[2:]}" if one_line else value, value)
    return " ".join(found.split()) if one_line else found


def test_every_host_has_its_cases() -> None:
    for name in HOSTS:
        content = hosting.fixtures(name)
        assert content["host"] == name
        assert content["cases"], name
        assert all(case["evidence"] in get_args(Evidence) for case in content["cases"])


@pytest.mark.parametrize("name", sorted(HOSTS))
def test_every_event_that_is_installed_has_a_case(name: str) -> None:
    """What a host is told to send is what we have seen it send."""
    seen = set()
    for _, raw in hosting.events_of(name):
        try:
            seen.add(HOSTS[name].read(raw).name)
        except EventError:
            continue
    assert {event.name for event in HOSTS[name].facts.setup.events} <= seen
