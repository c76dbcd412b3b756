"""What `interpose doctor` tried out is left out everywhere, and what only looks like it is not."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from interpose.record.ledger.canaries import ALLOWED, REFUSED, SESSION
from tests.unit.doors.page.browsers import Browsing, browsing

RULES = """\
version: 1
rules:
  - {id: never, on: {tools: [exec]}, when: 'args.command == "never"', action: deny, message: Never}
"""


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browsing]:
    with browsing(tmp_path_factory.mktemp("canaries"), RULES) as started:
        started.intercept("ls own")
        for command in (REFUSED, ALLOWED):
            started.intercept(command, sessionId=SESSION)
        yield started


@pytest.mark.parametrize(
    ("path", "sign"),
    [
        ("/", "truncate -s"),
        ("/sessions", f">{SESSION}<"),
        ("/overview", "<b>3</b>calls"),
        ("/rules", 'href="/?rule=write-vital"'),
    ],
)
def test_they_are_left_out_and_shown_on_request(tried: Browsing, path: str, sign: str) -> None:
    browser = tried.browser("operator")
    without = browser.text(path)
    assert "2 canaries of <code>interpose doctor</code> are left out" in without
    link = re.search(r'<a href="(\?[^"]*)">Show them</a>', without)
    assert link is not None
    shown = browser.text(path + link[1])
    assert (sign in without, sign in shown) == (False, True)
    assert "Leave them out" in shown


def test_who_names_their_session_sees_them(tried: Browsing) -> None:
    browser = tried.browser("auditor")
    assert "truncate -s" in browser.text(f"/?session={SESSION}")
    assert "truncate -s" in browser.text(f"/sessions/{SESSION}")


def test_what_an_agent_does_under_that_name_is_shown(tried: Browsing) -> None:
    tried.intercept("never", sessionId=SESSION)
    browser = tried.browser("auditor")
    assert ("never" in browser.text("/"), "truncate -s" in browser.text("/")) == (True, False)
    assert f">{SESSION}<" in browser.text("/sessions")
    assert "<b>2</b>calls" in browser.text("/overview"), "its call and the other one"
    assert "<b>1</b>refused" in browser.text("/overview")
