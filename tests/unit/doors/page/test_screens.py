"""Who sees which screen, where a browser comes to, what waits at a tab, and forms whose outcome is shown elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from interpose.doors.http_server.messages import Role
from interpose.doors.page.frame import to, waiting_text
from interpose.doors.page.page_routes import screens_of
from interpose.doors.page.page_visits import first_segment
from interpose.doors.page.screens import tabs_of
from tests.unit.doors.page.browsers import Browsing, browsing, tabs, title

RULES = """\
version: 1
rules:
  - {id: publishing, on: {tools: [exec]}, when: 'args.command.startsWith("publish")', action: ask, message: Really?}
  - {id: never, on: {tools: [exec]}, when: 'args.command == "never"', action: deny, message: Never}
"""
PEOPLE: tuple[Role, ...] = ("auditor", "approver", "operator")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browsing]:
    with browsing(tmp_path_factory.mktemp("page"), RULES) as started:
        started.intercept("never")
        yield started


@pytest.mark.parametrize("role", get_args(Role))
def test_a_tab_is_shown_to_those_whom_its_screen_lets_in(page: Browsing, role: Role) -> None:
    """From the table of screens, and by asking the screens themselves."""
    screens, browser = screens_of(page.visits), page.browser(role)
    tabbed = [one.path for one in screens if one.tab is not None]
    open_now = [path for path in tabbed if browser.get(path).status == 200]
    assert open_now == [path for path, _ in tabs_of(role, screens)]
    for path in open_now:
        assert tabs(browser.text(path)) == open_now


def test_addresses_that_begin_alike_ask_for_the_same_role(page: Browsing) -> None:
    """What stands first in an address says who may follow a link to it."""
    rights: dict[str, set[Role]] = {}
    for screen in screens_of(page.visits):
        if screen.method == "GET":
            rights.setdefault(first_segment(screen.path), set()).add(screen.role)
    assert {name for name, roles in rights.items() if len(roles) > 1} == set()


@pytest.mark.parametrize(("role", "first"), [("auditor", "/"), ("approver", "/inbox"), ("operator", "/")])
def test_a_browser_comes_to_the_first_screen_that_it_may_see(page: Browsing, role: Role, first: str) -> None:
    browser = page.browser(role)
    came = browser.get(browser.sent_to)
    assert (came.headers["location"] if came.status == 303 else browser.sent_to) == first
    assert came.status == (200 if first == "/" else 303)


def test_who_may_see_no_screen_is_told_so_and_can_sign_out(page: Browsing) -> None:
    browser = page.browser("agent")
    came = browser.get("/")
    assert (came.status, tabs(came.body.decode())) == (403, [])
    assert b'action="/leave"' in came.body


@pytest.mark.parametrize(
    ("role", "path", "back"), [("approver", "/rules", "/"), ("auditor", "/inbox/x", "/"), ("operator", "/calls/x", "/")]
)
def test_a_refusal_leads_to_a_screen_that_may_be_seen(page: Browsing, role: Role, path: str, back: str) -> None:
    browser = page.browser(role)
    refused = browser.get(path)
    found = re.search(r'<a href="([^"]+)">Back</a>', refused.body.decode())
    assert (refused.status in (403, 404), found and found[1]) == (True, back)
    came = browser.get(back)
    assert browser.get(came.headers["location"]).status == 200 if came.status == 303 else came.status == 200


def test_links_lead_only_where_their_reader_may_go(page: Browsing) -> None:
    """An auditor is shown which question a call has, an approver of which session it is: neither may open that."""
    id = page.ask("publish links")
    for path in ("/", "/sessions/s"):
        assert f'href="/inbox/{id}"' in page.browser("operator").text(path)
        assert f'href="/inbox/{id}"' not in page.browser("auditor").text(path)
    assert 'href="/sessions/s"' in page.browser("operator").text(f"/inbox/{id}")
    assert 'href="/sessions/s"' not in page.browser("approver").text(f"/inbox/{id}")
    page.browser("approver").send(f"/inbox/{id}/deny", {})


def test_what_waits_stands_at_the_tab_and_in_the_title(page: Browsing) -> None:
    operator, auditor = page.browser("operator"), page.browser("auditor")
    assert title(operator.text("/rules")) == "Rules · Interpose"
    assert re.search(r'<span id="waiting" class="waits" hidden>', operator.text("/rules"))
    ids = [page.ask(f"publish {number}") for number in range(2)]
    shown = operator.text("/rules")
    assert title(shown) == "(2) Rules · Interpose"
    assert re.search(r'<span id="waiting" class="waits"> <b>2</b><span class="spoken"> waiting</span>', shown)
    assert title(auditor.text("/rules")) == "Rules · Interpose", "an auditor can't answer"
    for id in ids:
        operator.send(f"/inbox/{id}/deny", {})
    assert title(operator.text("/inbox")) == "Inbox · Interpose"


@pytest.mark.parametrize(
    ("act", "fields", "says", "state"),
    [
        ("approve", {"scope": "once"}, "You let it run.", "approved"),
        ("edit", {"edited": "1", "a0": "publish edited"}, "You let it run.", "approved"),
        ("deny", {"reason": "not now"}, "You refused it.", "denied"),
        ("defer", {}, "You answer later.", "waiting"),
    ],
)
def test_an_answer_is_shown_after_a_redirect(
    page: Browsing, act: str, fields: dict[str, str], says: str, state: str
) -> None:
    id, browser = page.ask(f"publish {act}"), page.browser("approver")
    answered = browser.send(f"/inbox/{id}/{act}", fields)
    where = answered.headers["location"]
    assert (answered.status, where.partition("?")[0], page.state(id)) == (303, f"/inbox/{id}", state)
    for _ in range(2):  # as often as it is loaded
        assert says in browser.text(where)
    assert says not in page.browser("approver").text(where), "the outcome is of the session that answered"
    if state != "waiting":
        again = browser.send(f"/inbox/{id}/{act}", fields)
        assert again.status == 409, "and what is sent twice answers once"
    else:
        browser.send(f"/inbox/{id}/deny", {})


def test_answers_to_several_are_shown_after_a_redirect(page: Browsing) -> None:
    ids, browser = [page.ask(f"publish batch {number}") for number in range(3)], page.browser("approver")
    answered = browser.send("/inbox/batch", [("answer", "deny"), *(("ids", id) for id in ids)])
    assert (answered.status, answered.headers["location"].partition("?")[0]) == (303, "/inbox")
    told = re.search(r'<div role="status" id="told">(.*?)</div>', browser.text(answered.headers["location"]))
    assert told is not None
    assert [f'href="/inbox/{id}"' in told[1] for id in ids] == [True] * 3
    assert told[1].count("denied") == 3


@pytest.mark.parametrize("key", ["You+let+it+run.", "x", ""])
def test_a_key_that_was_made_up_shows_nothing(page: Browsing, key: str) -> None:
    browser = page.browser("operator")
    browser.send(f"/inbox/{page.ask(f'publish key-{len(key)}')}/deny", {})
    assert 'id="told"' not in browser.text(f"/inbox?told={key}")


@pytest.mark.parametrize(("count", "text"), [(0, "0"), (1, "1"), (50, "50"), (51, "50+"), (None, "")])
def test_a_tab_counts_up_to_what_its_list_shows(count: int | None, text: str) -> None:
    assert waiting_text(count) == text


@pytest.mark.parametrize(
    "address", ["//evil.example", "/\\evil.example", "https://evil.example", "/\t/evil.example", "", "?x", "evil"]
)
def test_a_redirect_leads_to_this_server(address: str) -> None:
    with pytest.raises(ValueError, match="no address of the page"):
        to(address)


@pytest.mark.parametrize(
    ("query", "says", "not_says"),
    [
        ("", "never", "No decision matches"),
        ("?decision=rewrite", "No decision matches the filter: verdict <code>rewrite</code>", "Nothing was decided"),
        ("?tool=no&text=%3Cb%3E", "tool <code>no</code>, text <code>&lt;b&gt;</code>", "Nothing was decided"),
    ],
)
def test_a_filter_without_a_match_says_so(page: Browsing, query: str, says: str, not_says: str) -> None:
    shown = page.browser("auditor").text(f"/{query}")
    assert (says in shown, not_says in shown) == (True, False)
    assert ('<a href="/">Clear the filter</a>' in shown) == bool(query)


def test_rules_that_are_looked_for_in_vain(page: Browsing) -> None:
    shown = page.browser("auditor").text("/rules?days=14&text=nowhere")
    assert "No rule has <code>nowhere</code>" in shown
    assert '<a href="?days=14">Show all rules</a>' in shown


def test_an_empty_ledger_says_so_with_and_without_a_filter(tmp_path: Path) -> None:
    with browsing(tmp_path) as empty:
        browser = empty.browser("operator")
        for path, text in (("/", "Nothing was decided yet."), ("/?tool=x", "Nothing was decided yet."),
                           ("/sessions", "Nothing was decided yet, so there is no session.")):  # fmt: skip
            assert text in browser.text(path)
        empty.intercept("ls")
        assert "No decision matches" in browser.text("/?tool=x")
