"""The page behind a link: looking changes nothing, a form answers once, and everything else is refused in words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from html import unescape
from html.parser import HTMLParser
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from msgspec.structs import replace

from interpose.composition.service.service import Service
from interpose.core.answers import ApproverRole
from interpose.core.config.notifications import NotificationChannel, NotificationSettings
from interpose.core.config.settings import ApprovalSettings, ServerLimits
from interpose.core.types import Context, Finding, HookPoint, ToolCall
from interpose.doors.http import answer_links, intercept
from interpose.doors.http.answer_pages import AnswerForm, question_page
from interpose.doors.http_server.trust import Trust, make_trust
from interpose.people.approvals.questions import Question, ShownEffect
from interpose.people.approvals.seal import new_seal
from interpose.people.notifications.links import AnswerLink, new_link, token_of
from interpose.people.presence import proof as proofs
from interpose.people.presence.passphrase import set_passphrase
from interpose.people.presence.proof import Proof
from tests.support.servers.servers import Reply, Running, running, service_in

RULES = """\
version: 1
rules:
  - id: publishing
    on: {tools: [exec]}
    when: args.command.startsWith("publish")
    action: ask
    message: Really publish?
  - id: deploying
    on: {tools: [exec]}
    when: args.command.startsWith("deploy")
    action: ask
    message: Really deploy?
    approvers: {role: approver, count: 2}
"""
CHANNELS = {
    "phone": NotificationChannel(kind="desktop", person="bob"),
    "team": NotificationChannel(kind="desktop"),
    "carol": NotificationChannel(kind="desktop", person="carol"),
    "mine": NotificationChannel(kind="desktop", person="ann"),
}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
SESSIONS = count()
NOW = datetime(2026, 1, 31, 8, tzinfo=UTC)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    settings = NotificationSettings(channels=CHANNELS)
    with service_in(tmp_path_factory.mktemp("links"), RULES, notifications=settings) as opened:
        yield opened


@pytest.fixture(scope="module")
def server(service: Service) -> Iterator[Running]:
    trust = make_trust(allowed_hosts=["i.example"], allowed_origins=["https://i.example"])
    limits = ServerLimits(anonymous_per_second=10_000)  # all of these tests come without a token, to one server
    routes = (*answer_links.routes(service), *intercept.routes(service))
    with running(routes, trust=trust, limits=limits) as started:
        yield started


def context(session: str = "") -> Context:
    return Context(session_id=session or f"s{next(SESSIONS)}", agent_id="main", principal="user:ann", cwd="/work")


def ask(service: Service, command: str = "publish", where: Context | None = None, **more: Any) -> str:
    where = where or context()
    call = ToolCall("exec", {"command": command, **more}, context=where)
    verdict = service.run(where).before(call)
    assert verdict.outcome == "ask"
    return verdict.approval


def link_to(service: Service, id: str, channel: str = "phone", **more: Any) -> AnswerLink:
    whose = CHANNELS[channel]
    made = new_link(service.desk.kept(id)[0], channel=channel, person=whose.person, role=whose.role)
    return replace(made, **more)


def path_of(service: Service, link: AnswerLink) -> str:
    return f"/a/{token_of(link, service.desk.seal())}"


def path_to(service: Service, id: str, channel: str = "phone", **more: Any) -> str:
    return path_of(service, link_to(service, id, channel, **more))


def form_in(page: Reply) -> str:
    found = re.search(rb'name="form" value="([^"]+)"', page.body)
    assert found, page.body.decode()
    return unescape(found[1].decode())


def post(server: Running, path: str, headers: dict[str, str] | None = None, **fields: Any) -> Reply:
    return server.ask("POST", path, urlencode(fields), FORM | (headers or {}))


def answer(server: Running, path: str, button: str, **fields: Any) -> Reply:
    """As a person does: look, then press a button."""
    return post(server, path, form=form_in(server.ask("GET", path)), answer=button, **fields)


def state(service: Service, id: str) -> str:
    return service.desk.question(id).state


def heading(page: Reply) -> str:
    found = re.search(rb"<h1>(.*?)</h1>", page.body)
    assert found
    return unescape(found[1].decode())


def test_looking_changes_nothing_however_often(server: Running, service: Service) -> None:
    """Mail programs and chats follow links to make previews of them."""
    id = ask(service)
    path = path_to(service, id)
    before = service.desk.question(id)
    for method in ("GET", "HEAD", "GET", "HEAD"):
        page = server.ask(method, path, headers={"User-Agent": "Slackbot-LinkExpanding 1.0"})
        assert page.status == 200
        assert bool(page.body) == (method == "GET")
    for query in ("?answer=approve", "?answer=deny&form=x"):
        assert server.ask("GET", path + query).status == 200
    assert service.desk.question(id) == before
    assert answer(server, path, "approve").status == 200


def test_a_yes_lets_the_call_run_once(server: Running, service: Service) -> None:
    where = context()
    id = ask(service, "publish one", where)
    page = answer(server, path_to(service, id), "approve", word="only this one")
    assert (page.status, heading(page)) == (200, "Approved")
    question = service.desk.question(id)
    assert question.answer is not None
    assert (question.answer.by, question.answer.word, question.state) == ("bob", "only this one", "approved")
    verdict = service.run(where).before(ToolCall("exec", {"command": "publish one"}, context=where))
    assert verdict.outcome == "allow"


def test_a_no_and_a_later(server: Running, service: Service) -> None:
    id = ask(service)
    page = answer(server, path_to(service, id, "team"), "deny", word="not today")
    assert (page.status, heading(page), state(service, id)) == (200, "Denied", "denied")
    denied = service.desk.question(id).answer
    assert denied is not None
    assert (denied.by, denied.word) == ("link:team", "not today")

    id = ask(service)
    first = path_to(service, id)
    page = answer(server, first, "defer", word="after lunch")
    assert (page.status, heading(page)) == (200, "Later")
    deferred = service.desk.question(id).deferred
    assert deferred is not None
    assert (deferred.by, deferred.comment) == ("bob", "after lunch")
    again = re.search(r'href="(/a/[^"]+)"', page.body.decode())
    assert again
    assert heading(server.ask("GET", first)) == "This link was used"
    assert heading(answer(server, again[1], "deny")) == "Denied"


def test_a_link_counts_once(server: Running, service: Service) -> None:
    id = ask(service)
    path = path_to(service, id)
    form = form_in(server.ask("GET", path))
    assert heading(post(server, path, answer="deny", form=form)) == "Denied"
    for page in (post(server, path, answer="approve", form=form), server.ask("GET", path)):
        assert (page.status, heading(page)) == (410, "This link was used")
    assert state(service, id) == "denied"


def test_of_many_at_once_one_answers(server: Running, service: Service) -> None:
    id = ask(service)
    path = path_to(service, id)
    form = form_in(server.ask("GET", path))
    with ThreadPoolExecutor(6) as pool:
        pages = list(pool.map(lambda _: post(server, path, answer="approve", form=form), range(6)))
    assert sorted(page.status for page in pages)[0] == 200
    assert sum(page.status == 200 for page in pages) == 1, [heading(page) for page in pages]


def test_the_second_of_two_links_is_told_who_was_faster(server: Running, service: Service) -> None:
    id = ask(service)
    first, second = path_to(service, id), path_to(service, id, "carol")
    form = form_in(server.ask("GET", second))
    answer(server, first, "deny")
    for page in (server.ask("GET", second), post(server, second, answer="approve", form=form)):
        assert (page.status, heading(page)) == (409, "It was answered already")
        assert b"denied by bob" in page.body


def test_a_post_without_the_page_answers_nothing(server: Running, service: Service) -> None:
    id = ask(service)
    path, other = path_to(service, id), path_to(service, id)
    foreign = form_in(server.ask("GET", other))
    tried: tuple[dict[str, Any], ...] = ({}, {"form": ""}, {"form": "1.x"}, {"form": foreign})
    for fields in tried:
        for word in ("approve", "deny", "defer"):
            page = post(server, path, answer=word, **fields)
            assert (page.status, b"Nothing was answered" in page.body) == (409, True)
    assert state(service, id) == "waiting"
    assert heading(answer(server, path, "deny")) == "Denied", "the link still counts"


def test_a_page_that_shows_something_else_by_now_answers_nothing(server: Running, service: Service) -> None:
    id = ask(service)
    path = path_to(service, id)
    form = form_in(server.ask("GET", path))
    service.desk.defer(id, "carol", "later")
    page = post(server, path, answer="approve", form=form)
    assert (page.status, b"look at the question as it is now" in page.body) == (409, True)
    assert state(service, id) == "waiting"


def test_a_button_can_only_deny(server: Running, service: Service) -> None:
    """ntfy presses it without a page."""
    id = ask(service)
    path = path_to(service, id, purpose="deny")
    assert b'value="approve"' not in server.ask("GET", path).body
    for word in ("approve", "defer"):
        page = answer(server, path, word)
        assert (page.status, b"can only deny" in page.body) == (403, True)
        assert post(server, path, answer=word).status == 409
    assert state(service, id) == "waiting"
    assert heading(post(server, path, answer="deny")) == "Denied"
    assert state(service, id) == "denied"


def test_links_that_do_not_count(server: Running, service: Service) -> None:
    id = ask(service)
    good = link_to(service, id)
    token = token_of(good, service.desk.seal())
    other = ask(service, "publish another thing")
    refused = {
        "forged": (f"/a/{token_of(good, new_seal())}", 404, "This is no link of ours"),
        "changed": (f"/a/{token[:-1]}{'B' if token[-1] == 'A' else 'A'}", 404, "This is no link of ours"),
        "not even a token": ("/a/%C3%A9", 404, "This is no link of ours"),
        "over": (path_of(service, replace(good, expires=1)), 410, "This link is over"),
        "another call": (path_of(service, replace(good, question=other)), 409, "This is another call"),
        "no question": (path_of(service, replace(good, question="zzzzzzzz")), 404, "There is no such question"),
        "a channel that is gone": (path_of(service, replace(good, channel="gone")), 403, "This link counts no more"),
        "another person's": (path_of(service, replace(good, person="eve")), 403, "This link counts no more"),
        "another role": (path_of(service, replace(good, role="operator")), 403, "This link counts no more"),
    }
    form = form_in(server.ask("GET", f"/a/{token}"))
    for note, (path, status, title) in refused.items():
        for page in (server.ask("GET", path), post(server, path, answer="approve", form=form)):
            assert (page.status, heading(page)) == (status, title), note
            assert b"publish" not in page.body, note
    assert (state(service, id), state(service, other)) == ("waiting", "waiting")


@pytest.mark.parametrize(
    ("note", "body", "headers", "status"),
    [
        ("JSON", b'{"answer": "approve"}', {"Content-Type": "application/json"}, 415),
        ("no kind", b"answer=approve", {}, 415),
        ("a field twice", b"answer=deny&answer=approve", FORM, 400),
        ("other fields", b"answer=approve&scope=session", FORM, 400),
        ("no answer", b"form=x", FORM, 400),
        ("another answer", b"answer=always", FORM, 400),
        ("too long", b"answer=deny&word=" + b"x" * 20_000, FORM, 400),
        ("a word that is too long", b"answer=deny&word=" + b"x" * 1001, FORM, 400),
        ("no UTF-8", b"answer=deny&word=\xff", FORM, 400),
        ("no form", b"answer", FORM, 400),
        ("nothing", b"", FORM, 400),
    ],
)
def test_what_can_not_be_read(
    server: Running, service: Service, note: str, body: bytes, headers: dict[str, str], status: int
) -> None:
    id = ask(service)
    page = server.ask("POST", path_to(service, id), body, headers)
    assert (page.status, heading(page), state(service, id)) == (status, "Nothing was answered", "waiting"), note


def test_other_methods_are_none(server: Running, service: Service) -> None:
    path = path_to(service, ask(service))
    assert {method: server.ask(method, path).status for method in ("PUT", "DELETE", "PATCH")} == {
        "PUT": 405, "DELETE": 405, "PATCH": 405,
    }  # fmt: skip


def test_a_page_can_neither_be_framed_nor_kept_nor_run_anything(server: Running, service: Service) -> None:
    id = ask(service)
    for path in (path_to(service, id), "/a/x"):
        headers = server.ask("GET", path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "form-action 'self'" in policy
        assert "unsafe" not in policy
        assert (headers["x-frame-options"], headers["cache-control"]) == ("DENY", "no-store")
        assert headers["referrer-policy"] == "same-origin"
        assert headers["content-type"] == "text/html; charset=utf-8"
        assert "set-cookie" not in headers


def test_the_style_is_the_one_that_the_policy_names(server: Running) -> None:
    import base64
    import hashlib

    page = server.ask("GET", "/a/x")
    style = re.search(rb"<style>(.*?)</style>", page.body, re.DOTALL)
    assert style
    digest = base64.b64encode(hashlib.sha256(style[1]).digest()).decode()
    assert f"'sha256-{digest}'" in page.headers["content-security-policy"]


class Marks(HTMLParser):
    """All marks of a page, and its text."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.tags, self.text, self.attributes = list[str](), "", list[str]()
        self.feed(page.decode())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]

    def handle_data(self, data: str) -> None:
        self.text += data


HOSTILE = (
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "</pre></main><form action=//evil>",
    "\u202egnp.exe", "\x1b[2J\x1b]0;x\x07", "a\u2066b\u2069", "&lt;b&gt;", "x\u200by", "</title><svg onload=1>",
)  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_what_the_agent_chose_is_text_alone(text: str) -> None:
    """The page itself: most of these are refused before anybody is asked."""

    def page(chosen: str) -> Marks:
        effect = ShownEffect("net.upload", chosen, "proven", f"connects to {chosen}")
        found = Finding(interceptor=chosen, said="ask", reason=chosen, rule=chosen)
        question = Question(
            id="kj4m2qxr", asked=NOW, expires=NOW, message=chosen, point=HookPoint.TOOL_BEFORE, tool=chosen,
            said=chosen, arguments={"command": chosen, "description": chosen, chosen: chosen}, effects=(effect,),
            session=chosen, agent=chosen, role=chosen, principal=chosen, cwd=chosen, source=chosen, instead=chosen,
            findings=(found,), original_arguments={"command": f"{chosen} before"},
        )  # fmt: skip
        form = AnswerForm(field=chosen, instead=chosen)
        return Marks(question_page(question, form, NOW, who=chosen, said=chosen).body)

    marks, harmless = page(text), page("x")
    assert [tag for tag in marks.tags if tag != "bdi"] == [tag for tag in harmless.tags if tag != "bdi"]
    assert marks.attributes == harmless.attributes
    assert all(char.isprintable() or char == "\n" for char in marks.text)
    assert "What the agent says of it, in its own words" in marks.text


def test_the_agents_own_words_are_marked_as_such(server: Running, service: Service) -> None:
    id = ask(service, description="<b>only a look</b>")
    text = Marks(server.ask("GET", path_to(service, id)).body).text
    assert "What the agent says of it, in its own words<b>only a look</b>" in text


def test_a_browser_comes_from_a_chat_and_no_other_page_answers(server: Running, service: Service) -> None:
    path = path_to(service, ask(service))
    follows = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    page = server.ask("GET", path, headers=follows)
    assert page.status == 200
    for other in (
        follows | {"Sec-Fetch-Dest": "iframe"},
        follows | {"Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"},
        follows | {"Origin": "https://evil.example"},
    ):
        assert server.ask("GET", path, headers=other).status == 403, other
    form = form_in(page)
    for origin in ("https://evil.example", "null"):
        for site in ("cross-site", "same-site"):
            refused = post(server, path, {"Origin": origin, "Sec-Fetch-Site": site}, answer="deny", form=form)
            assert (refused.status, refused.json["error"]) == (403, "forbidden_origin")
    assert server.ask("GET", "/api/v1/intercept", headers=follows).status == 403, "only links are linked to"
    own = {"Origin": server.url, "Sec-Fetch-Site": "same-origin"}
    assert post(server, path, own, answer="deny", form=form).status == 200


def test_behind_a_proxy_it_is_our_own_origin(server: Running, service: Service) -> None:
    path = path_to(service, ask(service))
    through = {"Host": "i.example", "Origin": "https://i.example", "Sec-Fetch-Site": "same-origin"}
    form = form_in(server.ask("GET", path, headers={"Host": "i.example"}))
    assert post(server, path, through, answer="deny", form=form).status == 200


@pytest.fixture
def proven(service: Service, tmp_path: Path) -> Iterator[Any]:
    """Lets a test choose the proof, and gives the codes that were shown."""
    answering = service.answering
    assert answering is not None
    before, codes = answering.proof, list[str]()

    def choose(kind: str) -> list[str]:
        file = tmp_path / "passphrase"
        set_passphrase(file, "open sesame")
        settings = ApprovalSettings(proof=kind, passphrase_file=str(file))  # type: ignore[arg-type]
        answering.proof = Proof(settings, before.agents, show=lambda _question, code: codes.append(code))
        return codes

    yield choose
    answering.proof = before


def test_on_this_machine_a_link_alone_does_not_approve(server: Running, service: Service, proven: Any) -> None:
    """An agent here could read the notification, open the page and press the button."""
    proven("terminal")
    id = ask(service)
    path = path_to(service, id)
    page = server.ask("GET", path)
    assert b'value="approve"' not in page.body
    assert f"interpose approvals approve {id}" in page.body.decode()
    refused = post(server, path, answer="approve", form=form_in(page))
    assert (refused.status, state(service, id)) == (403, "waiting")
    assert f"interpose approvals approve {id}" in refused.body.decode()
    assert heading(answer(server, path, "deny")) == "Denied"


@pytest.mark.parametrize("button", ["deny", "defer"])
def test_denying_and_deferring_need_no_proof(server: Running, service: Service, proven: Any, button: str) -> None:
    proven("terminal")
    id = ask(service)
    page = answer(server, path_to(service, id), button)
    assert (page.status, heading(page)) == (200, {"deny": "Denied", "defer": "Later"}[button])


def test_from_another_machine_the_link_counts(
    server: Running, service: Service, proven: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    proven("terminal")
    monkeypatch.setattr(proofs, "is_own_address", lambda _address: False)
    id = ask(service)
    assert heading(answer(server, path_to(service, id), "approve")) == "Approved"


def test_a_passphrase_is_needed_wherever_it_is_wanted(
    server: Running, service: Service, proven: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    proven("passphrase")
    monkeypatch.setattr(proofs, "is_own_address", lambda _address: False)
    id = ask(service)
    path = path_to(service, id)
    assert b'type="password"' in server.ask("GET", path).body
    for fields, why in (({}, b"needs the operator"), ({"passphrase": "mellon"}, b"passphrase is wrong")):
        page = answer(server, path, "approve", **fields)
        assert (page.status, why in page.body, state(service, id)) == (403, True, "waiting")
        assert b"mellon" not in page.body, "what was typed is not shown"
    assert heading(answer(server, path, "approve", passphrase="open sesame")) == "Approved"


def test_a_code_is_shown_when_somebody_wants_to_approve(server: Running, service: Service, proven: Any) -> None:
    codes = proven("code")
    id = ask(service)
    path = path_to(service, id)
    server.ask("GET", path)
    assert codes == [], "looking shows none"
    page = answer(server, path, "approve")
    assert (page.status, len(codes), state(service, id)) == (403, 1, "waiting")
    assert codes[0].encode() not in page.body
    assert heading(answer(server, path, "approve", code=codes[0])) == "Approved"


def test_votes_count_by_the_person_that_a_link_was_sent_to(server: Running, service: Service) -> None:
    id = ask(service, "deploy")
    page = answer(server, path_to(service, id), "approve")
    assert (page.status, heading(page), state(service, id)) == (200, "You agreed", "waiting")
    twice = answer(server, path_to(service, id), "approve")
    assert (twice.status, b"bob has agreed already" in twice.body) == (403, True)
    done = answer(server, path_to(service, id, "carol"), "approve")
    assert (done.status, heading(done)) == (200, "Approved")
    assert service.desk.question(id).answer.by == "bob, carol"  # type: ignore[union-attr]


@pytest.mark.parametrize(("channel", "why"), [("mine", "ann asked for this"), ("team", "this link names none")])
def test_never_the_one_who_asked_and_nobody_without_a_name(
    server: Running, service: Service, channel: str, why: str
) -> None:
    id = ask(service, "deploy it")
    path = path_to(service, id, channel)
    page = answer(server, path, "approve")
    assert (page.status, why in page.body.decode(), state(service, id)) == (403, True, "waiting")
    assert heading(answer(server, path, "deny")) == "Denied", "a no needs no votes, and the link was not used up"


def test_without_a_token_nobody_needs_one(service: Service) -> None:
    """`server.loopback: closed` closes the API. A link is what a person has."""
    with running(answer_links.routes(service), trust=Trust(loopback="closed")) as closed:
        assert closed.ask("GET", path_to(service, ask(service))).status == 200


def test_roles_of_links() -> None:
    roles: tuple[ApproverRole, ...] = ("approver", "operator")
    assert {NotificationChannel(kind="desktop", role=role).role for role in roles} == set(roles)
