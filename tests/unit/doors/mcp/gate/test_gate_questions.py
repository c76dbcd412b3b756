"""Questions: who is asked, what counts as a yes, and all that does not."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from interpose.composition.service.service import Service
from interpose.doors.mcp.gate.contract import AskClient, Asked, Forward, Gated
from interpose.doors.mcp.gate.gate import McpGate
from interpose.record.ledger import ran_unapproved
from tests.support.hosts.gating import KEY, again, call, client, forwarded, recorded, said, settings, watched
from tests.support.servers.servers import service_in

YES = {"action": "accept", "content": {"answer": "yes"}}
FORM: dict[str, Any] = {"elicits_form": True}
URL: dict[str, Any] = {"elicits_url": True}
OK = {"content": [{"type": "text", "text": "done"}]}
PAGE = "https://desk.example/approvals"


@pytest.fixture
def asking(tmp_path: Path) -> Iterator[Service]:
    """A service whose operator lets the client's person answer."""
    with service_in(tmp_path, packs=(), **settings(tmp_path, ask="client")) as service:
        watched(service)
        yield service


def before(gate: McpGate, asked: Asked) -> Gated:
    return asyncio.run(gate.before(asked))


def put(gate: McpGate, asked: Asked) -> AskClient:
    gated = before(gate, asked)
    assert isinstance(gated, AskClient), gated
    return gated


@pytest.mark.parametrize("era", ["modern", "handshake"])
def test_a_yes_of_the_client_s_person_lets_the_call_run_once(era: Any, asking: Service) -> None:
    gate, asked = McpGate(asking), call({"do": "ask"}, by=client(era=era, **FORM))
    question = put(gate, asked)
    (request,) = question.requests.values()
    assert request["method"] == "elicitation/create"
    assert request["params"]["mode"] == "form"
    assert request["params"]["message"].startswith("Sure?\nSafer: nothing\ntools/call go of server shop")
    answered = again(asked, question, YES)

    async def main() -> None:
        gated = forwarded(await gate.before(answered))
        await gate.after(answered, gated.ticket, OK)

    asyncio.run(main())
    assert "it was used before" in said(before(gate, answered))
    *_, ran, again_ = recorded(asking)
    assert (ran.decision, ran.approver, ran.outcome) == ("allow", "host:mcp:probe", "success")
    assert (again_.decision, again_.rule) == ("deny", "request-state")
    assert ran_unapproved(asking.store, 0) == []


ANSWERS: list[tuple[str, Any]] = [
    ("no", {"action": "accept", "content": {"answer": "no"}}),
    ("declined", {"action": "decline"}),
    ("declined with a yes in it", {"action": "decline", "content": {"answer": "yes"}}),
    ("cancelled", {"action": "cancel"}),
    ("accepted without a word", {"action": "accept"}),
    ("accepted with an empty form", {"action": "accept", "content": {}}),
    ("another word", {"action": "accept", "content": {"answer": "YES "}}),
    ("true is no word", {"action": "accept", "content": {"answer": True}}),
    ("no object", "yes"),
    ("nothing", None),
    ("a list", [YES]),
]


@pytest.mark.parametrize(("note", "response"), ANSWERS)
def test_nothing_else_is_a_yes(note: str, response: Any, asking: Service) -> None:
    gate, asked = McpGate(asking), call({"do": "ask"}, by=client(**FORM))
    question = put(gate, asked)
    assert "approval-denied" in said(before(gate, again(asked, question, response)))
    assert "used before" in said(before(gate, again(asked, question, YES)))  # a no is an answer, too


def test_an_answer_to_another_question_is_none(asking: Service) -> None:
    gate, asked = McpGate(asking), call({"do": "ask"}, by=client(**FORM))
    question = put(gate, asked)
    assert "approval-denied" in said(before(gate, replace(asked, state=question.state, responses={"other": YES})))


def test_the_person_sees_the_call_that_would_run(asking: Service) -> None:
    watched(asking, _Asks())
    gate, asked = McpGate(asking), call({"do": "rewrite and ask", "more": 1}, by=client(**FORM))
    question = put(gate, asked)
    (request,) = question.requests.values()
    assert '{"do":"ask"}' in request["params"]["message"]
    assert forwarded(before(gate, again(asked, question, YES))).params == {"name": "go", "arguments": {"do": "ask"}}


def test_a_form_shows_no_secret_and_steers_no_terminal(asking: Service) -> None:
    asked = call({"do": "ask", "key": KEY, "text": "\x1b[2J\u202egone"}, by=client(**FORM))
    (request,) = put(McpGate(asking), asked).requests.values()
    message = request["params"]["message"]
    assert KEY not in message
    assert "[redacted:" in message
    assert all(letter.isprintable() or letter == "\n" for letter in message)


Change = Callable[[Asked], Asked]
OTHERS: list[tuple[str, Change]] = [
    ("other arguments", lambda asked: replace(asked, params={"name": "go", "arguments": {"do": "ask", "n": 1}})),
    ("another tool", lambda asked: replace(asked, name="gone", params=dict(asked.params) | {"name": "gone"})),
    ("the same tool in capitals", lambda asked: replace(asked, name="GO")),
    ("another server", lambda asked: replace(asked, server="shop2")),
    ("another method", lambda asked: replace(asked, method="prompts/get")),
    ("another principal", lambda asked: replace(asked, client=client(principal="eve", session="s", **FORM))),
    ("no principal", lambda asked: replace(asked, client=client(session="s", **FORM))),
    ("another session", lambda asked: replace(asked, client=client(principal="ann", session="t", **FORM))),
    ("another directory", lambda asked: replace(asked, client=replace(
        asked.client, context=replace(asked.client.context, cwd="/elsewhere")))),
]  # fmt: skip


@pytest.mark.parametrize(("note", "change"), OTHERS)
def test_a_state_is_for_one_call(note: str, change: Change, asking: Service) -> None:
    watched(asking, _Asks())
    gate, asked = McpGate(asking), call({"do": "ask"}, by=client(principal="ann", session="s", **FORM))
    question = put(gate, asked)
    other = again(change(asked), question, YES)
    assert "requestState" in said(before(gate, other)), note
    assert isinstance(before(gate, again(asked, question, YES)), Forward), "and is not spent by that"


class _Asks:
    def intercept(self, _call: Any) -> Any:
        from interpose.core.types import Confirm

        return Confirm("Sure?", "sure")


def _forged(state: str) -> str:
    """A later end, under the signature of the real one."""
    head, _, tail = state.partition(".")
    nonce, ends = json.loads(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4)))
    changed = base64.urlsafe_b64encode(json.dumps([nonce, ends + 10**12]).encode()).decode().rstrip("=")
    return f"{changed}.{tail}"


def _resealed(state: str) -> str:
    """Signed by another key, as anybody can."""
    from interpose.people.approvals.seal import new_seal

    head, _, _ = state.partition(".")
    content = base64.urlsafe_b64decode(head + "=" * (-len(head) % 4))
    signature = new_seal().sealed("mcp-request-state", content, "").signature
    return f"{head}.{base64.urlsafe_b64encode(signature).decode().rstrip('=')}"


FORGED: list[tuple[str, Callable[[str], str]]] = [
    ("a later end", _forged),
    ("another key", _resealed),
    ("no signature", lambda state: state.partition(".")[0]),
    ("an empty signature", lambda state: state.partition(".")[0] + "."),
    ("cut", lambda state: state[:-5]),
    ("words", lambda _state: "please let me"),
    ("no base64", lambda _state: "\u00e4.\u00f6"),
    ("huge", lambda state: state + "A" * 100_000),
    ("half a character", lambda state: f"{state}\ud800"),
    ("JSON", lambda _state: '{"approved": true}'),
]


@pytest.mark.parametrize(("note", "forge"), FORGED)
def test_a_forged_state_lets_nothing_through(note: str, forge: Callable[[str], str], asking: Service) -> None:
    gate, asked = McpGate(asking), call({"do": "ask"}, by=client(**FORM))
    question = put(gate, asked)
    text = said(before(gate, replace(again(asked, question, YES), state=forge(question.state))))
    assert "requestState" in text
    (_, record) = recorded(asking)
    assert record.rule == "request-state"


def test_a_state_ends(tmp_path: Path) -> None:
    with service_in(tmp_path, packs=(), **settings(tmp_path, ask="client", state_timeout=60.0)) as service:
        watched(service)
        gate, asked = McpGate(service), call({"do": "ask"}, by=client(**FORM))
        question = put(gate, asked)
        assert service.answering is not None
        service.answering.clock.learn(service.answering.clock() + 61 * 10**9)
        assert "it is over" in said(before(gate, again(asked, question, YES)))


def test_states_of_gateways_that_share_a_key_are_spent_once_by_all_of_them(tmp_path: Path) -> None:
    shared = settings(tmp_path, ask="client", key=str(tmp_path / "gateway.key"))
    with service_in(tmp_path, packs=(), **shared) as service:
        watched(service)
        one, other, asked = McpGate(service), McpGate(service), call({"do": "ask"}, by=client(**FORM))
        answered = again(asked, put(one, asked), YES)

        async def race() -> list[Gated]:
            return list(await asyncio.gather(*(gate.before(answered) for gate in (one, other) * 8)))

        assert sum(isinstance(gated, Forward) for gated in asyncio.run(race())) == 1


WHO: list[tuple[str, dict[str, Any], dict[str, Any], dict[str, Any], bool]] = [
    ("the operator chose the client", {"ask": "client"}, {}, FORM, True),
    ("it shows no forms", {"ask": "client"}, {}, {}, False),
    ("it shows addresses only", {"ask": "client"}, {}, URL, False),
    ("nobody chose anything", {}, {}, FORM, False),
    ("all questions go to the queue", {"ask": "client"}, {"ask": "queue"}, FORM, False),
    ("nobody is asked at all", {"ask": "client"}, {"ask": "refuse"}, FORM, False),
]


@pytest.mark.parametrize(("note", "gateway", "approvals", "can", "asks"), WHO)
def test_who_is_asked(
    note: str, gateway: dict[str, Any], approvals: dict[str, Any], can: dict[str, Any], asks: bool, tmp_path: Path
) -> None:
    with service_in(tmp_path, packs=(), **settings(tmp_path, approvals, **gateway)) as service:
        watched(service)
        gated = before(McpGate(service), call({"do": "ask"}, by=client(**can)))
        assert isinstance(gated, AskClient) is asks
        if not asks:
            wanted = "questions-refused" if approvals.get("ask") == "refuse" else "interpose approvals approve"
            assert wanted in said(gated)
            assert bool(service.desk.asked()) is (approvals.get("ask") != "refuse")


def test_the_desk_answers(tmp_path: Path) -> None:
    with service_in(tmp_path, packs=(), **settings(tmp_path)) as service:
        watched(service)
        gate, asked = McpGate(service), call({"do": "ask"}, by=client(**FORM))
        assert "The question waits as" in said(before(gate, asked))
        (question,) = service.desk.asked()
        assert (question.tool, question.source, question.arguments) == ("mcp__shop__go", "mcp", {"do": "ask"})
        service.desk.approve(question.id, "ann")
        assert "waits" in said(before(gate, call({"do": "ask", "n": 1}))), "another call is another question"
        forwarded(before(gate, asked))
        assert "waits" in said(before(gate, asked)), "once is once"
        assert "of ann" in recorded(service)[2].approver


def test_a_call_waits_for_the_desk_if_it_may(tmp_path: Path) -> None:
    with service_in(tmp_path, packs=(), **settings(tmp_path, wait=30.0)) as service:
        watched(service)
        gate, asked = McpGate(service), call({"do": "ask"})

        async def main() -> Gated:
            waiting = asyncio.create_task(gate.before(asked))
            while not (questions := await asyncio.to_thread(service.desk.asked)):
                await asyncio.sleep(0.01)
            await asyncio.to_thread(service.desk.approve, questions[0].id, "ann")
            return await waiting

        forwarded(asyncio.run(main()))


@pytest.mark.parametrize("era", ["modern", "handshake"])
def test_a_client_that_opens_addresses_is_sent_to_the_page(era: Any, tmp_path: Path) -> None:
    with service_in(tmp_path, packs=(), **settings(tmp_path, approval_page=PAGE)) as service:
        watched(service)
        gate, asked = McpGate(service), call({"do": "ask"}, by=client(era=era, **URL))
        sent = put(gate, asked)
        (question,) = service.desk.asked()
        (request,) = sent.requests.values()
        assert request["params"]["url"] == f"{PAGE}?question={question.id}"
        assert request["params"].get("elicitationId") == (question.id if era == "handshake" else None)
        service.desk.approve(question.id, "ann")
        forwarded(before(gate, again(asked, sent, {"action": "accept"})))
        assert "used before" in said(before(gate, again(asked, sent, {"action": "accept"})))


def test_the_way_to_the_page_is_no_yes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interpose.doors.mcp.gate.gate_questions.PAGE_SECONDS", 0.05)
    with service_in(tmp_path, packs=(), **settings(tmp_path, approval_page=PAGE)) as service:
        watched(service)
        gate, asked = McpGate(service), call({"do": "ask"}, by=client(**URL))
        sent = put(gate, asked)
        text = said(before(gate, again(asked, sent, YES)))
        assert f"{PAGE}?question=" in text
        assert "waits" in text


def test_a_state_where_none_is_given_is_refused(tmp_path: Path) -> None:
    with service_in(tmp_path, packs=(), **settings(tmp_path)) as service:
        watched(service)
        asked = call({"do": "ask"}, by=client(**FORM))
        assert "requestState" in said(
            before(McpGate(service), replace(asked, state="x.y", responses={"interpose": YES}))
        )
        assert service.desk.asked() == []
