"""Who asks with a browser is refused with a page that leads back; the API says the same in JSON as ever."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from interpose.doors.http_server.listener_state import Answered
from interpose.doors.http_server.messages import wants_page
from tests.support.servers.servers import Reply
from tests.unit.doors.page.browsers import AS_BROWSER, Browsing, browsing

PROGRAM = {"Accept": "*/*"}
REFUSALS = [
    ("GET", "/nothing", 404, "not_found"),
    ("GET", "/static/nothing", 404, "not_found"),
    ("GET", "/inbox/x/approve", 405, "method_not_allowed"),
    ("PUT", "/inbox", 405, "method_not_allowed"),
    ("GET", "/live", 401, "unauthorized"),
]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browsing]:
    with browsing(tmp_path_factory.mktemp("page")) as started:
        yield started


def refused(page: Browsing, method: str, path: str, headers: dict[str, str]) -> Reply:
    return page.server.ask(method, path, None, headers)


@pytest.mark.parametrize(("method", "path", "status", "code"), REFUSALS)
def test_a_browser_gets_a_page_and_a_program_json(
    page: Browsing, method: str, path: str, status: int, code: str
) -> None:
    shown, told = refused(page, method, path, AS_BROWSER), refused(page, method, path, PROGRAM)
    assert (shown.status, shown.headers["content-type"]) == (status, "text/html; charset=utf-8")
    assert f'data-error="{code}"' in shown.body.decode()
    assert '<a href="/">' in shown.body.decode(), "a way back"
    assert "default-src 'none'" in shown.headers["content-security-policy"]
    assert (told.status, told.headers["content-type"], told.json["error"]) == (status, "application/json", code)
    assert shown.headers.get("allow") == told.headers.get("allow")


@pytest.mark.parametrize(
    ("note", "headers"),
    [
        ("another name for this machine", {"Host": "evil.example"}),
        ("a page of another site", {"Origin": "https://evil.example"}),
    ],
)
def test_who_is_not_let_in_gets_a_page_too(page: Browsing, note: str, headers: dict[str, str]) -> None:
    shown, told = refused(page, "GET", "/", AS_BROWSER | headers), refused(page, "GET", "/", PROGRAM | headers)
    assert (shown.status, told.status) == (403, 403)
    assert "<h1>Not allowed</h1>" in shown.body.decode()
    assert told.json["error"].startswith("forbidden_")


@pytest.mark.parametrize("path", ["/api/v1/nothing", "/api/v1/approvals", "/api/v1/intercept", "//api/v1/nothing"])
def test_the_api_answers_in_json_whatever_is_accepted(page: Browsing, path: str) -> None:
    shown, told = refused(page, "GET", path, AS_BROWSER), refused(page, "GET", path, PROGRAM)
    assert shown.status == told.status >= 400
    assert json.loads(shown.body)["error"] == json.loads(told.body)["error"]


def test_a_body_that_is_not_read_is_refused_with_a_page_too(page: Browsing) -> None:
    shown = page.server.ask(
        "POST", "/nothing", "a=b", AS_BROWSER | {"Content-Type": "application/x-www-form-urlencoded"}
    )
    assert (shown.status, b"<h1>Not found</h1>" in shown.body) == (404, True)


@pytest.mark.parametrize(
    ("accept", "wanted"),
    [
        ("text/html", True),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", True),
        ("application/json, Text/HTML;q=0.9", True),
        ("application/json;q=0.9,text/html;q=0", False),
        ("*/*", False),
        ("text/*", False),
        ("application/json", False),
        ("text/event-stream", False),
        ("", False),
    ],
)
def test_who_names_html_wants_a_page(accept: str, wanted: bool) -> None:
    assert wants_page({"accept": accept}) is wanted
    assert wants_page({}) is False


def test_the_log_has_the_reason_of_a_page(tmp_path: Path) -> None:
    seen: list[Answered] = []
    with browsing(tmp_path, observe=seen.append) as started:
        for headers in (AS_BROWSER, PROGRAM):
            refused(started, "GET", "/nothing", headers)
    assert seen[0].problem == seen[1].problem
    assert json.loads(seen[0].problem)["error"] == "not_found"
