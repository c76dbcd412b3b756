"""Requests as calls of the one flow: what is let through, what is refused, and what the ledger says of both."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from interpose.composition.service.service import Service
from interpose.core.config.gateway import GatewayDecisions
from interpose.core.formats.value_sizes import is_large
from interpose.core.tool_descriptions import forget_descriptions
from interpose.doors.mcp.gate.contract import AnswerNow, Asked, Fail, Forward, Gated
from interpose.doors.mcp.gate.gate import REFUSED, McpGate
from tests.support.hosts.gating import call, client, forwarded, recorded, said, settings, watched
from tests.support.servers.servers import service_in

OK = {"content": [{"type": "text", "text": "done"}], "isError": False}


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with service_in(tmp_path) as made:
        yield made


def before(service: Service, asked: Asked) -> Gated:
    return asyncio.run(McpGate(service).before(asked))


def asked_for(method: str, name: str, **params: Any) -> Asked:
    named = {"uri": name} if method == "resources/read" else {"name": name}
    return Asked(server="shop", method=method, name=name, params=named | params, client=client())


REQUESTS: list[tuple[str, Asked, str, str]] = [
    ("a tool", call({"q": "x"}), "mcp__shop__go", ""),
    ("a tool without arguments", call(None), "mcp__shop__go", ""),
    ("a tool whose name has capitals", call({}, name="Go"), "mcp__shop__go", ""),
    ("a prompt", asked_for("prompts/get", "review", arguments={"code": "1"}), "mcp__shop__prompts/get", ""),
    ("a resource of the server's own kind", asked_for("resources/read", "memo://x"), "mcp__shop__resources/read", ""),
    ("a page", asked_for("resources/read", "https://example.com/a"), "mcp__shop__resources/fetch", ""),
    ("a command in a tool that nobody knows", call({"command": "rm -rf /"}), "mcp__shop__go", "delete-system"),
    ("a shell behind a server", call({"command": "rm -rf /"}, name="bash"), "mcp__shop__bash", "delete-system"),
    ("a wrapper is the call that it carries", call({"name": "bash", "arguments": {"command": "rm -rf /"}},
     name="call_tool"), "mcp__shop__bash", "delete-system"),
    ("SQL", call({"sql": "DROP DATABASE shop"}, name="query"), "mcp__shop__query", "sql-drop-database"),
]  # fmt: skip


@pytest.mark.parametrize(("note", "asked", "tool", "rule"), REQUESTS)
def test_a_request_is_a_call(note: str, asked: Asked, tool: str, rule: str, service: Service) -> None:
    gated = before(service, asked)
    (record,) = recorded(service)
    assert (record.tool, record.source) == (tool, "mcp")
    if rule:
        assert isinstance(gated, AnswerNow)
        assert record.rule == rule
        assert f"({rule})" in said(gated) or "A person must agree" in said(gated)
    else:
        assert forwarded(gated).params is None


FILES = [
    ("a key as a file address", "file:///home/ann/.ssh/id_rsa"),
    ("in capitals", "FILE:///home/ann/.ssh/id_rsa"),
    ("with one slash", "file:/home/ann/.ssh/id_rsa"),
    ("percent encoded", "file:///home/ann/%2essh/id_rsa"),
    ("with a host", "file://localhost/home/ann/.ssh/id_rsa"),
    ("a bare path", "/etc/shadow"),
    ("a scheme of the server's own", "docs:///home/ann/.ssh/id_rsa"),
    ("the cloud's metadata", "http://169.254.169.254/latest/meta-data/"),
]


@pytest.mark.parametrize(("note", "uri"), FILES)
def test_a_resource_is_judged_by_what_it_names(note: str, uri: str, service: Service) -> None:
    gated = before(service, asked_for("resources/read", uri))
    assert isinstance(gated, Fail)
    assert gated.code == REFUSED
    assert "interpose approvals approve" in gated.message


def test_what_a_tool_says_of_its_arguments_counts(service: Service) -> None:
    """The name of neither the tool nor the argument tells: only its schema does."""
    forget_descriptions()
    definition = {"name": "go", "inputSchema": {"properties": {"x": {"description": "Shell command to run"}}}}
    gated = before(service, call({"x": "rm -rf /"}, definition=definition))
    assert "delete-system" in said(gated)
    forget_descriptions()


SCHEMA = {"type": "object", "properties": {"do": {"type": "string"}}, "required": ["do"]}


def test_go_and_its_outcome_are_one_record(service: Service) -> None:
    gate, asked = McpGate(service), call({"q": "x"})

    async def main() -> None:
        gated = forwarded(await gate.before(asked))
        assert await gate.after(asked, gated.ticket, OK) is OK  # what nobody changed is passed on as it came

    asyncio.run(main())
    (record,) = recorded(service)
    assert (record.decision, record.outcome, record.tool) == ("allow", "success", "mcp__shop__go")
    assert "undecided" not in str(record.findings)


def test_a_refusal_says_the_rule_and_the_safer_way(service: Service) -> None:
    watched(service)
    text = said(before(service, call({"do": "deny"})))
    assert text == "Interpose refused this (no-this): Not this.\nSafer: that"
    (record,) = recorded(service)
    assert (record.decision, record.rule, record.outcome) == ("deny", "no-this", "denied")


def test_a_modern_client_hears_that_a_refusal_is_complete(service: Service) -> None:
    watched(service)
    gated = before(service, call({"do": "deny"}, by=client(era="modern")))
    assert isinstance(gated, AnswerNow)
    assert gated.result["resultType"] == "complete"


def test_a_rewritten_call_is_sent_as_it_was_judged(service: Service) -> None:
    watched(service)
    gate, asked = McpGate(service), call({"do": "rewrite"}, definition={"name": "go", "inputSchema": SCHEMA})

    async def main() -> Forward:
        gated = forwarded(await gate.before(asked))
        await gate.after(asked, gated.ticket, OK)
        return gated

    assert asyncio.run(main()).params == {"name": "go", "arguments": {"do": "safe"}}
    (record,) = recorded(service)
    assert (record.decision, record.rewritten, record.arguments, record.outcome) == (
        "rewrite", True, {"do": "safe"}, "success",
    )  # fmt: skip
    assert "other-arguments" not in str(record.after)


def test_a_rewritten_call_that_is_carried_stays_carried(service: Service) -> None:
    watched(service)
    gate, asked = McpGate(service), call({"name": "go", "arguments": {"do": "rewrite"}, "k": 1}, name="call_tool")

    async def main() -> Forward:
        gated = forwarded(await gate.before(asked))
        await gate.after(asked, gated.ticket, OK)
        return gated

    params = asyncio.run(main()).params
    assert params is not None
    assert params["arguments"] == {"name": "go", "arguments": {"do": "safe"}, "k": 1}
    (record,) = recorded(service)
    assert "other-arguments" not in str(record.after)


def test_a_rewrite_that_the_tool_does_not_take_is_refused(service: Service) -> None:
    watched(service)
    definition = {"name": "go", "inputSchema": SCHEMA}
    text = said(before(service, call({"do": "break"}, definition=definition)))
    assert "Not run as it is" in text
    assert "$.do" in text
    (record,) = recorded(service)
    assert record.outcome == "denied"


def test_arguments_that_are_no_object_are_an_error(service: Service) -> None:
    gated = before(service, call(["x"]))
    assert isinstance(gated, Fail)
    assert gated.code == -32602
    assert '"arguments" must be an object' in gated.message


def test_a_large_call_is_decided_all_the_same(service: Service) -> None:
    watched(service)
    assert "no-this" in said(before(service, call({"do": "deny", "text": "x" * 10_000})))
    forwarded(before(service, call({"do": "", "text": "x" * 10_000})))


def test_a_server_error_is_recorded_and_without_secrets(service: Service) -> None:
    gate, asked = McpGate(service), call({"q": "x"})

    async def main() -> str:
        gated = forwarded(await gate.before(asked))
        return await gate.failed(asked, gated.ticket, -32000, "password=hunter2-Xk92mQ is wrong")

    text = asyncio.run(main())
    assert "hunter2" not in text
    assert "is wrong" in text
    (record,) = recorded(service)
    assert (record.outcome, "hunter2" in str(record.result)) == ("error", False)


RULES = """
version: 1
rules:
  - {id: never, on: {tools: ["mcp__shop__delete_*"]}, action: deny, when: "true", message: Nothing is deleted here.}
  - {id: of-nobody, on: {tools: ["mcp__shop__pay"]}, action: deny, when: "agent.role != 'cashier'"}
  - {id: sometimes, on: {tools: ["mcp__shop__go"]}, action: deny, when: "has(args.q) && args.q == 'x'"}
  - {id: at-night, on: {tools: ["mcp__shop__go"]}, action: deny, when: "now.getHours() < 24 && has(args.night)"}
  - {id: watching, on: {tools: ["mcp__shop__look"]}, action: deny, when: "true", mode: watch}
  - {id: asking, on: {tools: ["mcp__shop__ask"]}, action: ask, when: "true"}
"""
TOOLS = [{"name": name} for name in ("delete_all", "go", "look", "ask", "hidden", "Delete_Some", "pay")]


def test_tools_that_are_always_refused_are_hidden(tmp_path: Path) -> None:
    with service_in(tmp_path, RULES, **settings(tmp_path, hide=("shop__hid*",))) as service:
        shown = McpGate(service).hide(client().context, "shop", TOOLS)
        assert [tool["name"] for tool in shown] == ["go", "look", "ask"]
        cashier = client(GatewayDecisions(role="cashier")).context
        assert {"name": "pay"} in McpGate(service).hide(cashier, "shop", TOOLS)
        for name in ("delete_all", "hidden"):
            assert said(before(service, call({}, name=name)))
        assert [(record.tool, record.decision) for record in recorded(service)] == [
            ("mcp__shop__delete_all", "deny"), ("mcp__shop__hidden", "deny"),
        ]  # fmt: skip


def test_only_what_is_shown_is_there(tmp_path: Path) -> None:
    with service_in(tmp_path, **settings(tmp_path, show=("shop__g*", "files__*"))) as service:
        gate = McpGate(service)
        assert [tool["name"] for tool in gate.hide(client().context, "shop", TOOLS)] == ["go"]
        assert len(gate.hide(client().context, "files", TOOLS)) == len(TOOLS)
        assert "gateway.show" in said(before(service, call({}, name="look")))


SIZES: list[tuple[str, Any, bool]] = [
    ("a short text", "x" * 100, False),
    ("a long text", "x" * 5000, True),
    ("many numbers", [1] * 600, True),
    ("few numbers", [1] * 50, False),
    ("deep inside", {"a": [{"b": "x" * 5000}]}, True),
    ("many keys", {str(number): 0 for number in range(600)}, True),
]


@pytest.mark.parametrize(("note", "value", "large"), SIZES)
def test_sizes(note: str, value: Any, large: bool) -> None:
    assert is_large(value) is large


# --- a server that asks something back -------------------------------------------------------------------------------

ASKS_BACK = {"resultType": "input_required", "inputRequests": {"q": {"method": "elicitation/create"}}}


def going_on(service: Service, arguments: Any, answers: Any) -> tuple[Gated, list[Any]]:
    """A call whose server asked something back, and what becomes of the answers."""
    gate, asked = McpGate(service), call(arguments)

    async def main() -> Gated:
        gated = forwarded(await gate.before(asked))
        await gate.after(asked, gated.ticket, ASKS_BACK)
        params = {**asked.params, "inputResponses": answers, "requestState": "theirs"}
        again = await gate.before(replace(asked, params=params, continues=gated.ticket))
        if isinstance(again, Forward):
            assert again.ticket == gated.ticket
            await gate.after(asked, again.ticket, OK)
        return again

    return asyncio.run(main()), recorded(service)


def test_answers_to_a_server_go_on_with_their_call(service: Service) -> None:
    watched(service)
    answers = {"q": {"action": "accept", "content": {"name": "Ann"}}}
    gated, records = going_on(service, {"do": "rewrite"}, answers)
    assert forwarded(gated).params == {
        "name": "go", "arguments": {"do": "safe"}, "inputResponses": answers, "requestState": "theirs",
    }  # fmt: skip
    (record,) = records
    assert (record.decision, record.outcome) == ("rewrite", "success")


def test_what_was_agreed_to_is_not_asked_again(service: Service) -> None:
    watched(service)
    gate, asked = McpGate(service), call({"do": "ask"})

    async def main() -> Gated:
        await gate.before(asked)
        service.desk.approve(service.desk.asked()[0].id, "ann")
        gated = forwarded(await gate.before(asked))
        params = {**asked.params, "inputResponses": {"q": {"action": "accept"}}}
        return await gate.before(replace(asked, params=params, continues=gated.ticket))

    forwarded(asyncio.run(main()))
    assert service.desk.asked() == []


def test_answers_are_judged(service: Service) -> None:
    """The question of a server is a way for words to the tool that its arguments did not have."""
    answers = {"q": {"action": "accept", "content": {"command": "rm -rf /"}}}
    gated, records = going_on(service, {"q": "x"}, answers)
    assert "delete-system" in said(gated)
    assert [record.decision for record in records] == ["allow", "deny"]


def test_answers_that_somebody_must_agree_to_are_asked_about(service: Service) -> None:
    answers = {"q": {"action": "accept", "content": {"command": "git push --force origin x"}}}
    gated, _ = going_on(service, {"q": "x"}, answers)
    assert "The question waits as" in said(gated)
    (question,) = service.desk.asked()
    service.desk.approve(question.id, "ann")
    forwarded(going_on(service, {"q": "x"}, answers)[0])


def test_a_ticket_of_another_call_continues_nothing(service: Service) -> None:
    watched(service)
    gate = McpGate(service)

    async def main() -> Gated:
        gated = forwarded(await gate.before(call({"q": "x"})))
        other = forwarded(await gate.before(replace(call({"q": "y"}, name="other"), continues=gated.ticket)))
        assert other.ticket != gated.ticket
        return await gate.before(replace(call({"do": "deny"}, name="other"), continues=gated.ticket))

    assert "no-this" in said(asyncio.run(main()))
