"""The literal curl example of seed 004 without a token: what the caller claims is kept, and counts for nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from interpose.composition.service.service import Service
from interpose.core.config.settings import ServerLimits
from interpose.core.types import Claims, Context
from interpose.doors.http import intercept
from interpose.record.ledger.formats import intercept_entries, maybe_dont_entry
from interpose.record.ledger.record import Record, search
from interpose.record.store.protocols import Query
from tests.seeds.test_seed_004 import CURL, PATH, curl
from tests.support.servers.servers import JSON, TOKENS, Running, running, service_in, trusting


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with service_in(tmp_path / "home") as opened:
        yield opened


@pytest.fixture
def server(service: Service) -> Iterator[Running]:
    limits = ServerLimits(anonymous_per_second=1000)
    trust = replace(trusting(), loopback="anonymous")
    with running(intercept.routes(service), trust=trust, limits=limits) as found:
        yield found


def last(service: Service) -> Record:
    service.ledger.flush()
    return search(service.store, Query(), 1)[0]


def test_the_curl_example_without_a_token_is_recorded_with_what_it_claims(server: Running, service: Service) -> None:
    status, answer = curl(server, CURL)
    assert (status, answer["valid"]) == (200, True)
    record = last(service)
    assert (record.session, record.agent, record.principal, record.claimed) == ("", "", "anonymous", "")
    claims = (record.claimed_session, record.claimed_principal, record.claimed_client)
    assert claims == ("session-abc123", "user:developer@example.com", "developer@example.com")
    (entry,) = intercept_entries(record)
    assert entry["context"] == {
        "sessionId": "",
        "principal": {"type": "user", "id": "anonymous"},
        "claimed_session": "session-abc123",
        "claimed_principal": "user:developer@example.com",
        "claimed_client": "developer@example.com",
    }
    exported = maybe_dont_entry(record)
    assert exported["upstream_request"]["client_id"] == "developer@example.com"
    assert exported["cli"] == {
        "command": "gh", "arguments": ["pr", "create", "--title", "Feature X"], "working_directory": "",
    }  # fmt: skip


def test_the_client_header_is_client_id_with_a_token_too(server: Running, service: Service) -> None:
    headers = JSON | {"Authorization": f"Bearer {TOKENS['agent']}", "X-Maybe-Dont-Client-ID": "hook-7"}
    body = {"event": "tools/call", "phase": "request", "payload": {"name": "Bash", "arguments": {"command": "ls"}}}
    server.ask("POST", PATH, json.dumps(body), headers)
    record = last(service)
    assert maybe_dont_entry(record)["upstream_request"]["client_id"] == "hook-7"
    assert record.principal == "agent"
    assert (record.claimed_session, record.claimed_principal) == (UNSET, UNSET)


def test_claims_touch_no_session_that_they_name(server: Running, service: Service) -> None:
    """The same session, named by a caller with a token and by a stranger: the stranger's call is none of it."""
    known = {"Authorization": f"Bearer {TOKENS['agent']}"}
    body = {
        "event": "tools/call", "phase": "request", "payload": {"name": "Bash", "arguments": {"command": "ls"}},
        "context": {"sessionId": "theirs", "principal": {"id": "agent"}},
    }  # fmt: skip
    server.post(PATH, body, **known)
    server.post(PATH, body)
    service.ledger.flush()
    assert [record.session for record in search(service.store, Query(), 9)] == ["", "theirs"]
    assert len(search(service.store, Query(session="theirs"), 9)) == 1


def test_nothing_can_be_keyed_by_a_claim() -> None:
    one = Context(principal="anonymous", claims=Claims(session="a", principal="ops", client="x"))
    other = Context(principal="anonymous", claims=Claims(session="b"))
    assert (one == other, hash(one) == hash(other), one == Context(principal="anonymous")) == (True, True, True)


def test_a_claim_is_no_place_for_a_secret(server: Running, service: Service) -> None:
    token = "ghp_" + "a1B2" * 9
    body = {
        "event": "tools/call", "phase": "request", "payload": {"name": "Bash", "arguments": {"command": "ls"}},
        "context": {"sessionId": token},
    }  # fmt: skip
    server.post(PATH, body)
    assert token not in str(last(service).claimed_session)


# --- the shape of SEP-1763 -------------------------------------------------------------------------------------------


def request_of(tool: str, arguments: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "name": "interpose", "event": "tools/call", "phase": "request", "config": {}, "timeoutMs": 5000,
        "payload": {"method": "tools/call", "params": {"name": tool, "arguments": arguments}},
        "context": {"timestamp": "2026-01-01T00:00:00Z", "traceId": "t", "principal": {"type": "user", "id": "u1"}},
    } | more  # fmt: skip


def test_the_whole_request_is_judged(server: Running, service: Service) -> None:
    assert server.post(PATH, request_of("Bash", {"command": "ls"})).json["valid"] is True
    refused = server.post(PATH, request_of("Bash", {"command": "rm -rf /"})).json
    assert (refused["valid"], refused["type"], refused["phase"]) == (False, "validation", "request")
    assert last(service).original_name == "Bash"


def test_its_result_is_judged_and_changed_in_its_own_shape(server: Running) -> None:
    token = "ghp_" + "a1B2" * 9
    body = request_of("Read", {"file_path": "/tmp/x"}, phase="response")
    body["payload"]["result"] = {"content": [{"type": "text", "text": token}]}
    answer = server.post(PATH, body).json
    assert answer["type"] == "mutation"
    assert answer["payload"]["method"] == "tools/call"
    assert answer["payload"]["params"] == {"name": "Read", "arguments": {"file_path": "/tmp/x"}}
    assert token not in json.dumps(answer)


@pytest.mark.parametrize(
    ("payload", "code"),
    [
        ({"method": "tools/call", "params": {"arguments": {}}}, "missing_payload_name"),
        ({"method": "tools/call", "params": {"name": " "}}, "missing_payload_name"),
        ({"method": "prompts/get", "params": {"name": "x"}}, "unsupported_event"),
        ({"name": "Read", "params": {"name": "Bash", "arguments": {"command": "rm -rf /"}}}, "invalid_request"),
        ({"arguments": {"command": "ls"}, "params": {"name": "Bash"}}, "invalid_request"),
        ({"method": "tools/call", "params": "x"}, "invalid_request"),
    ],
)
def test_what_is_no_call_is_said(server: Running, payload: Any, code: str) -> None:
    reply = server.post(PATH, request_of("Bash", {}) | {"payload": payload})
    assert (reply.status, reply.json["error"]) == (400, code)
