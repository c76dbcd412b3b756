"""Whatever a field holds, it is shown as text: no markup, nothing that runs, nothing that hides or turns other text."""

from __future__ import annotations

import json
from typing import Any

from playwright.sync_api import Browser, Page

from tests.browser.browsing import address, person, sign_in
from tests.e2e.processes import ServerProcess

MARKUP = "<img src=x onerror=\"document.title='PWNED'\"><script>document.title='PWNED'</script>'\"</pre></textarea>"
BIDI = "\u202egnp.exe\u2066 zero\u200bwidth \U000e0041tag"
TERMINAL = "\x1b[2J\x1b]0;PWNED\x07\x9b31m"
HOSTILE = f"{MARKUP}{BIDI}{TERMINAL}"
UNSEEN = list("\u202e\u2066\u200b\U000e0041\x1b\x07\x9b")


def put(server: ServerProcess, command: str) -> str:
    """A call that is hostile in every field that an agent chooses. The id of its question, if one is asked."""
    body: dict[str, Any] = {
        "event": "tools/call", "phase": "request",
        "payload": {
            "name": "Bash",
            "arguments": {
                "command": command, "description": HOSTILE, HOSTILE: HOSTILE,
                "list": [HOSTILE, {HOSTILE: HOSTILE}],
            },
        },
        "context": {
            "sessionId": f"s{MARKUP}{BIDI}", "principal": {"type": "agent", "id": f"a{MARKUP}"}, "traceId": MARKUP[:60],
        },
        "config": {"working_directory": f"/home/dev/{MARKUP.replace('/', '_')}{BIDI}"},
    }  # fmt: skip
    said = server.ask("POST", "/api/v1/intercept", body)
    assert said.status == 200, said.body
    found: str = said.body["info"].get("approval_id", "")
    return found


def harmless(page: Page) -> None:
    """Nothing ran, nothing was added, and what can't be seen is spelled out."""
    page.wait_for_load_state()  # a form was sent: its styles come after its text
    assert "PWNED" not in page.title()
    assert page.locator("img, iframe, object, embed").count() == 0
    assert page.locator("script").count() == page.locator("script[src^='/static/']").count()
    text = page.locator("body").inner_text()
    assert [char for char in UNSEEN if char in text] == []
    fields = page.eval_on_selector_all("input, textarea", "all => all.map(one => one.value).join('')")
    assert [char for char in UNSEEN if char in fields] == []


def test_a_hostile_call_is_text_on_every_screen(browser: Browser, server: ServerProcess) -> None:
    id = put(server, f"git push --force origin topic # {MARKUP}")
    assert put(server, f"git push --force origin topic # {HOSTILE}") == "", "what hides in a command is refused"
    with person(browser) as page:
        sign_in(page, server)
        harmless(page)
        assert "\\u202e" in page.locator("#decisions").inner_text()
        page.locator("#decisions a.what").first.click()
        harmless(page)
        assert "onerror" in page.locator("article").inner_text(), "it is shown, as text"
        page.goto(address(server, "/inbox"))
        harmless(page)
        page.goto(address(server, f"/inbox/{id}"))
        harmless(page)
        assert "\\u202e" in page.locator("blockquote").inner_text()
        assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_what_nobody_touched_comes_back_as_it_was(browser: Browser, server: ServerProcess) -> None:
    """Fields of an edit hold every letter, also those that can't be seen, and lines as they were."""
    kept = {
        "nested": [1, {"x": "\u202e"}],
        "lines": "\n a\n\tb\n",
        "unseen": f"{TERMINAL}",
        "carriage": "a\r\nb",
        "no": None,
    }
    body = {
        "event": "tools/call", "phase": "request",
        "payload": {"name": "Bash", "arguments": {"command": "git push --force origin kept"} | kept},
        "context": {"sessionId": "kept", "principal": {"type": "agent", "id": "tester"}},
        "config": {"working_directory": "/home/dev/project"},
    }  # fmt: skip
    id = server.ask("POST", "/api/v1/intercept", body).body["info"]["approval_id"]
    with person(browser) as page:
        sign_in(page, server, path=f"/inbox/{id}")
        page.get_by_text("Edit and approve").click()
        page.get_by_label("command").fill("git push --force-with-lease origin kept")
        page.get_by_role("button", name="Approve the edited call").click()
        page.get_by_text("You let it run.").wait_for()
    answer = server.ask("GET", f"/api/v1/approvals/{id}").body["answer"]
    assert answer["arguments"] == {"command": "git push --force-with-lease origin kept"} | kept, json.dumps(answer)


def test_a_hostile_query_is_text(browser: Browser, server: ServerProcess) -> None:
    with person(browser) as page:
        sign_in(page, server)
        page.goto(
            address(server, "/?text=%3Cscript%3Edocument.title%3D%27PWNED%27%3C%2Fscript%3E%22%27&agent=%E2%80%AEx")
        )
        harmless(page)
        page.goto(address(server, "/calls/%3Cscript%3Ealert(1)%3C%2Fscript%3E"))
        harmless(page)
        page.goto(address(server, "/enter?next=//evil.example/"))
        assert page.url == address(server, "/")
