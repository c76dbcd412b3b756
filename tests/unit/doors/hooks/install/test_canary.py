"""Canaries: every host can say them, they are judged as they must be, and every answer is understood."""

from __future__ import annotations

import json

import pytest

from interpose.composition.build import add_builtin_interceptors
from interpose.core.registry import create_interceptor_registry
from interpose.doors.hooks.hosts.all_hosts import HOSTS, speaking
from interpose.doors.hooks.hosts.events import Reply, noticed
from interpose.doors.hooks.install.canary import canary, understood
from interpose.engine.engine import Engine
from interpose.record.ledger.canaries import ALLOWED, REFUSED, SESSION


@pytest.mark.parametrize("name", HOSTS)
def test_a_canary_is_a_call_of_its_host(name: str) -> None:
    host = HOSTS[name]
    engine = Engine(add_builtin_interceptors(create_interceptor_registry()))
    for command, outcome in ((REFUSED, "deny"), (ALLOWED, "allow")):
        raw = json.loads(canary(host, command))
        assert speaking(raw, host) is host
        event = host.read(raw)
        assert (event.point, event.context.session_id) == ("tool.before", SESSION)
        assert engine.decide(event.tool).outcome == outcome


@pytest.mark.parametrize("name", HOSTS)
def test_what_an_answer_means(name: str) -> None:
    host = HOSTS[name]
    body = canary(host, REFUSED)
    event = host.read(json.loads(body))
    assert understood(host, body, host.allow(event)) == ("allowed", "")
    waits = noticed(host.facts, host.deny(event, "not that"), "answer it elsewhere")
    for reply in (host.deny(event, "not that"), host.broken("not that"), waits):
        answer, said = understood(host, body, reply)
        assert (answer, said) == ("refused", "not that")


@pytest.mark.parametrize("reply", [
    Reply(b"", "Traceback", 1), Reply(b"", "not found", 127), Reply(b"{", "", 0), Reply(b"[]", "", 0),
    Reply(b'{"decision": "maybe", "permission": "deny?"}', "", 0), Reply(b"no", "", 0), Reply(b"", "", -9),
])  # fmt: skip
@pytest.mark.parametrize("name", HOSTS)
def test_what_no_host_would_understand_is_neither(name: str, reply: Reply) -> None:
    assert understood(HOSTS[name], canary(HOSTS[name], REFUSED), reply)[0] == "unclear"
