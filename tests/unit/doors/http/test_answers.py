"""All that people can say to a question, over a real socket: edits, kinds, words, batches, votes, later, pauses."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from interpose.composition.service.service import Service
from interpose.core.driving import drive
from interpose.core.types import Context, ToolCall, Verdict
from interpose.doors.http import approvals, intercept
from interpose.doors.http_server.tokens import Tokens, read_tokens
from interpose.doors.http_server.trust import Trust
from interpose.engine.flow.hosted import Abilities
from tests.support.servers.servers import Reply, Running, running, service_in
from tests.support.timing.patience import PATIENCE

RULES = """\
version: 1
rules:
  - {id: publishing, on: {tools: [exec]}, when: 'args.command.contains("publish")', action: ask, message: Really?}
  - {id: pushing, on: {tools: [exec]}, when: 'effects.exists(e, e.kind == "vcs.publish")', action: ask, message: Push?}
  - {id: main, on: {tools: [exec]}, when: 'args.command.contains("main")', action: ask, message: That is main}
  - {id: never, on: {tools: [exec]}, when: 'args.command.contains("never")', action: deny, message: Never}
  - id: deploying
    on: {tools: [exec]}
    when: args.command.startsWith("deploy")
    action: ask
    message: Deploy?
    approvers: {role: approver, count: 2, escalate: {after: 10m, to: operator}}
"""
NAMES = {"agent": "agent", "ann": "approver", "bob": "approver", "olga": "operator", "audit": "auditor"}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with service_in(tmp_path_factory.mktemp("answers"), RULES, packs=()) as opened:
        yield opened


def tokens_in(directory: Path) -> Tokens:
    file = directory / "tokens"
    file.write_text("".join(f"{name} {role} {token(name)}\n" for name, role in NAMES.items()), encoding="ascii")
    file.chmod(0o600)
    return read_tokens(file)


def token(name: str) -> str:
    return f"{name:x<40}"


@pytest.fixture(scope="module")
def server(service: Service, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    trust = Trust(tokens=tokens_in(tmp_path_factory.mktemp("tokens")))
    with running((*approvals.routes(service), *intercept.routes(service)), trust=trust) as started:
        yield started


def say(server: Running, method: str, path: str, value: Any = None, who: str = "ann") -> Reply:
    body = None if value is None else json.dumps(value)
    kind = {"Content-Type": "application/json"} if body is not None else {}
    return server.ask(method, f"/api/v1/{path}", body, {"Authorization": f"Bearer {token(who)}"} | kind)


def here(session: str) -> Context:
    return Context(session_id=session, agent_id="main", principal="user:dora", cwd="/work", source="hook:x")


def before(service: Service, command: str, session: str = "s1") -> Verdict[ToolCall]:
    context = here(session)
    return service.run(context).before(ToolCall("Bash", {"command": command}, context=context))


def plain(service: Service, command: str) -> str:
    """The question of a host that neither rewrites nor has a place for words."""
    context = here("plain")
    hosted = service.hosted(context, Abilities())
    return drive(hosted.before(ToolCall("Bash", {"command": command}, context=context))).verdict.approval


def asked(service: Service, command: str, session: str = "s1") -> str:
    verdict = before(service, command, session)
    assert verdict.outcome == "ask", verdict
    return verdict.approval


def test_edit_and_approve(server: Running, service: Service) -> None:
    body = {"arguments": {"command": "publish --dry-run"}, "comment": "look first"}
    id = asked(service, "publish --force")
    done = say(server, "POST", f"approvals/{id}/approve", body)
    assert (done.status, done.json["state"], done.json["notes"]) == (200, "approved", []), done.json
    other = plain(service, "publish --force")
    assert say(server, "POST", f"approvals/{other}/approve", body).json["notes"] == [
        "this agent's host has no place for a word beside a result: yours is in the record only",
        "this agent's host runs calls as they came: the agent is shown the edited call, and may make it",
    ]
    shown = say(server, "GET", f"approvals/{id}").json
    assert shown["diff"].splitlines()[-2:] == ["-publish --force", "+publish --dry-run"]
    verdict = before(service, "publish --force")
    assert (verdict.outcome, verdict.payload.arguments["command"]) == ("rewrite", "publish --dry-run")
    service.ledger.flush()
    from interpose.record.ledger import named

    (record,) = named(service.store, verdict.payload.call_id, 1)
    assert (record.arguments, record.original_arguments) == (
        {"command": "publish --dry-run"},
        {"command": "publish --force"},
    )
    assert (record.approver, record.word) == (f"grant:{id} of ann", "look first")
    assert [one.reason for one in record.findings if one.rule == "edited"] == ["ann edited this call and agreed to it"]


@pytest.mark.parametrize(
    ("note", "body", "status", "code", "text"),
    [
        ("what would be refused", {"arguments": {"command": "never"}}, 400, "invalid_edit", "refused (never): Never"),
        ("the same", {"arguments": {"command": "publish it"}}, 400, "invalid_edit", "nothing was changed"),
        ("for a session", {"arguments": {"command": "x"}, "scope": "session"}, 400, "invalid_scope", "approved once"),
        ("no arguments", {"arguments": ["x"]}, 400, "invalid_request", "arguments"),
        ("no such kind", {"scope": "kind", "kind": "W7"}, 400, "invalid_scope", "there are: none"),
        ("no kind", {"scope": "kind"}, 400, "invalid_scope", "needs one of the widenings"),
    ],
    ids=lambda value: value if isinstance(value, str) and " " in value else "",
)
def test_answers_that_are_none(
    server: Running, service: Service, note: str, body: dict[str, Any], status: int, code: str, text: str
) -> None:
    id = asked(service, "publish it", f"wrong {note}")
    refused = say(server, "POST", f"approvals/{id}/approve", body)
    assert (refused.status, refused.json["error"]) == (status, code), refused.json
    assert text in refused.json["message"]
    assert service.desk.question(id).state == "waiting"


def test_whoever_edits_hears_of_other_questions(server: Running, service: Service) -> None:
    id = asked(service, "publish topic", "others")
    done = say(server, "POST", f"approvals/{id}/approve", {"arguments": {"command": "publish main"}})
    assert any("asked about by others, too (main)" in note for note in done.json["notes"])
    assert before(service, "publish topic", "others").outcome == "ask"


def test_a_kind_and_what_it_would_have_let_through(server: Running, service: Service) -> None:
    session = "kinds"
    for branch in ("feature/a", "feature/b", "feature/b", "topic"):
        before(service, f"git push origin {branch}", session)
    id = asked(service, "git push origin feature/c", session)
    service.ledger.flush()
    (offer,) = say(server, "GET", f"approvals/{id}").json["widenings"]
    assert (offer["id"], offer["text"]) == ("W1", "the same command for other branches: publish to origin, feature/*")
    past = offer["would_have_let_through"]
    assert (past["count"], past["of"]) == (3, 4), "of those that were asked about by the same rule"
    assert past["examples"] == ["git push origin feature/b", "git push origin feature/a"]
    body = {"scope": "kind", "kind": "W1", "uses": 2}
    assert say(server, "POST", f"approvals/{id}/approve", body).json["answer"]["scope"]["uses"] == 2
    assert before(service, "git push origin feature/d", session).approver == f"grant:{id} of ann"
    again = asked(service, "git push origin topic", session)
    why = say(server, "GET", f"approvals/{again}").json["asks_again"]
    assert (why["question"], why["differs"][0]["what"]) == (id, "kind")


def test_what_a_person_sees(server: Running, service: Service) -> None:
    context = here("seen")
    call = ToolCall("Bash", {"command": "git push origin feature/q", "description": "harmless"}, context=context)
    id = service.run(context).before(call).approval
    shown = say(server, "GET", f"approvals/{id}").json
    assert [(one["kind"], one["text"]) for one in shown["effects"]] == [
        ("vcs.publish", "publishes to origin feature/q")
    ]
    assert (shown["description"], shown["said"], shown["tool"]) == ("harmless", "Bash", "exec")
    assert say(server, "POST", f"approvals/{id}/look", {}, "bob").json["looked_at_by"] == ["bob"]
    assert say(server, "GET", f"approvals/{id}").json["looked_at_by"] == ["bob"]
    assert say(server, "POST", "approvals/zzzzzzzz/look", {}).status == 404


def test_a_batch_is_answered_at_once_each_for_its_own_call(server: Running, service: Service) -> None:
    ids = [asked(service, f"publish {number}", "batch") for number in range(3)]
    service.desk.deny(ids[1], "bob")
    done = say(server, "POST", "approvals/batch", {"ids": [*ids, ids[0]], "answer": "approve"})
    assert [(one["id"], one.get("error", "")) for one in done.json["answers"]] == [
        (ids[0], ""), (ids[1], "already_answered"), (ids[2], ""),
    ]  # fmt: skip
    assert before(service, "publish 0", "batch").approver == f"grant:{ids[0]} of ann"
    assert before(service, "publish 3", "batch").outcome == "ask"
    more = [asked(service, f"publish more {number}", "batch") for number in range(2)]
    said = say(server, "POST", "approvals/batch", {"ids": more, "answer": "deny", "reason": "no", "comment": "later"})
    assert [one["question"]["state"] for one in said.json["answers"]] == ["denied", "denied"]
    assert before(service, "publish more 1", "batch").reason.endswith("no\nann says: later")


@pytest.mark.parametrize(
    ("other", "session", "what"),
    [
        ("git push origin feature/x", "unlike", "other rules ask"),
        ("publish main", "unlike", "other rules ask"),
        ("publish > /tmp/x", "unlike", "other effects"),
    ],
)
def test_what_is_not_alike_is_not_answered_at_once(
    server: Running, service: Service, other: str, session: str, what: str
) -> None:
    ids = [asked(service, "publish a", session), asked(service, other, session)]
    refused = say(server, "POST", "approvals/batch", {"ids": ids, "answer": "approve"})
    assert (refused.status, refused.json["error"]) == (409, "not_alike")
    assert what in refused.json["message"]
    assert all(service.desk.question(id).state == "waiting" for id in ids)


@pytest.mark.parametrize("changed", [{"source": "hook:y"}, {"claimed": "somebody"}, {"role": "boss"}], ids=str)
def test_questions_of_two_agents_are_not_alike(server: Running, service: Service, changed: dict[str, str]) -> None:
    """Two hosts that name no agent are two agents all the same."""
    first = asked(service, "publish as one", "two")
    context = replace(here("two"), **changed)
    call = ToolCall("Bash", {"command": f"publish as {changed}"}, context=context)
    other = service.run(context).before(call).approval
    refused = say(server, "POST", "approvals/batch", {"ids": [first, other], "answer": "approve"})
    assert (refused.status, refused.json["error"]) == (409, "not_alike")
    assert "another agent" in refused.json["message"]


def test_batches_of_nothing_and_of_too_much(server: Running) -> None:
    for ids in ([], ["x"] * 101):
        assert say(server, "POST", "approvals/batch", {"ids": ids, "answer": "deny"}).status == 400
    assert say(server, "POST", "approvals/batch", {"ids": ["zzzzzzzz"], "answer": "deny"}).status == 404


def test_four_eyes(server: Running, service: Service) -> None:
    id = asked(service, "deploy")
    first = say(server, "POST", f"approvals/{id}/approve", {}, "ann").json
    assert (first["state"], first["notes"]) == ("waiting", ["your vote counts; 1 more of the role approver must agree"])
    shown = say(server, "GET", f"approvals/{id}").json
    assert [(vote["by"], vote["role"]) for vote in shown["votes"]] == [("ann", "approver")]
    assert shown["missing"] == [{"role": "approver", "count": 1}]
    assert [one["to"] for one in shown["escalates"]] == ["operator"]
    twice = say(server, "POST", f"approvals/{id}/approve", {}, "ann")
    assert (twice.status, twice.json["error"]) == (403, "not_an_approver")
    assert say(server, "POST", f"approvals/{id}/approve", {}, "olga").json["answer"]["by"] == "ann, olga"
    assert before(service, "deploy").approver == f"grant:{id} of ann, olga"


def test_later(server: Running, service: Service) -> None:
    id = asked(service, "publish later", "later")
    done = say(server, "POST", f"approvals/{id}/defer", {"comment": "tomorrow"}).json
    assert (done["state"], done["deferred"]["by"]) == ("waiting", "ann")
    assert done["notes"][0].startswith("the agent is told to go on with other work")
    call = {
        "event": "tools/call", "phase": "request", "context": {"sessionId": "later-http"},
        "payload": {"name": "exec", "arguments": {"command": "publish over http"}},
    }  # fmt: skip
    waiting = say(server, "POST", "intercept", call, "agent").json["info"]
    say(server, "POST", f"approvals/{waiting['approval_id']}/defer", {"comment": "tomorrow"})
    told = say(server, "POST", "intercept", call, "agent").json["info"]
    assert (told["decision"], told["word"].endswith("ann says: tomorrow")) == ("ask", True)
    say(server, "POST", f"approvals/{waiting['approval_id']}/approve", {"comment": "now"})
    told = say(server, "POST", "intercept", call, "agent").json["info"]
    assert (told["decision"], told["word"]) == ("allow", "now")


def test_who_pauses(server: Running, service: Service) -> None:
    body = {"minutes": 10, "reason": "moving"}
    for who, status, code in (("ann", 403, "forbidden"), ("agent", 403, "forbidden"), ("audit", 403, "forbidden")):
        refused = say(server, "POST", "pause", body, who)
        assert (refused.status, refused.json["error"]) == (status, code), who
    for minutes in (0, 481, -5):
        assert say(server, "POST", "pause", {"minutes": minutes}, "olga").status == 400
    pause = say(server, "POST", "pause", body, "olga").json
    assert (pause["by"], pause["reason"], pause["agent"]) == ("olga", "moving", "")
    assert [one["id"] for one in say(server, "GET", "pause").json["pauses"]] == [pause["id"]]
    let = before(service, "publish while paused", "paused")
    assert (let.outcome, let.approver) == ("allow", f"pause:{pause['id']} of olga")
    assert before(service, "never publish", "paused").outcome == "deny"
    assert before(service, "deploy again", "paused").outcome == "ask", "certain people must agree"
    assert "paused" in service.paused()
    assert say(server, "DELETE", f"pause/{pause['id']}").json == {"id": pause["id"], "ended": True}
    assert say(server, "DELETE", f"pause/{pause['id']}").status == 404
    assert before(service, "publish after the pause", "paused").outcome == "ask"
    service.ledger.flush()
    from interpose.record.ledger import search
    from interpose.record.store.protocols import Query

    kept: list[Any] = list(search(service.store, Query(tool="pause"), 10))
    assert [(one.principal, one.arguments["act"], one.arguments["reason"]) for one in kept] == [
        ("ann", "end", "moving"), ("olga", "begin", "moving"),
    ]  # fmt: skip


class Events:
    """A stream of events, read one by one."""

    def __init__(self, server: Running, who: str = "ann") -> None:
        self._connection = http.client.HTTPConnection(server.host, server.port, timeout=PATIENCE)
        self._connection.request("GET", "/api/v1/approvals/events", headers={"Authorization": f"Bearer {token(who)}"})
        self._response = self._connection.getresponse()
        assert self._response.status == 200
        assert self._response.headers["content-type"] == "text/event-stream"

    def next(self, wanted: str, id: str) -> dict[str, Any]:
        """The next event of this name about this question."""
        while True:
            lines: dict[str, str] = {}
            while line := self._response.readline().decode().rstrip("\n"):
                name, _, text = line.partition(": ")
                lines[name] = text
            told: dict[str, Any] = json.loads(lines.get("data", "{}"))
            if told.get("event") == wanted and (told["id"] == id or not id):
                assert lines["event"] == wanted
                return told

    def close(self) -> None:
        self._connection.close()


def test_what_happens_is_told_as_it_happens(server: Running, service: Service) -> None:
    waiting = asked(service, "publish before", "events")
    events = Events(server)
    try:
        assert waiting in events.next("waiting", "")["ids"]
        id = asked(service, "publish something", "events")
        assert events.next("opened", id)["question"]["arguments"] == {"command": "publish something"}
        say(server, "POST", f"approvals/{id}/look", {}, "bob")
        assert events.next("looked-at", id)["looked_at_by"] == ["bob"]
        say(server, "POST", f"approvals/{id}/defer", {})
        assert events.next("deferred", id)["question"]["deferred"]["by"] == "ann"
        say(server, "POST", f"approvals/{id}/deny", {})
        assert events.next("answered", id)["question"]["state"] == "denied"
        two = asked(service, "deploy with events", "events")
        events.next("opened", two)
        say(server, "POST", f"approvals/{two}/approve", {}, "bob")
        assert events.next("voted", two)["question"]["state"] == "waiting"
    finally:
        events.close()


def test_only_those_who_answer_may_watch(server: Running) -> None:
    for who in ("agent", "audit"):
        assert say(server, "GET", "approvals/events", who=who).status == 403


ROLES = [
    ("POST", "approvals/batch", {"ids": ["zzzzzzzz"], "answer": "deny"}, {"ann", "bob", "olga"}),
    ("POST", "approvals/zzzzzzzz/defer", {}, {"ann", "bob", "olga"}),
    ("POST", "approvals/zzzzzzzz/look", {}, {"ann", "bob", "olga"}),
    ("GET", "pause", None, {"ann", "bob", "olga"}),
    ("DELETE", "pause/zzzzzzzz", None, {"ann", "bob", "olga"}),
]


@pytest.mark.parametrize(("method", "path", "body", "may"), ROLES)
def test_who_may(server: Running, method: str, path: str, body: Any, may: set[str]) -> None:
    for name in NAMES:
        refused = say(server, method, path, body, name).status in (401, 403)
        assert refused == (name not in may), name
