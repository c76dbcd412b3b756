"""Sessions, rules, the playground and the overview in a real browser: at phone width, without script, and hostile."""

from __future__ import annotations

import http.client
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.browsing import address, ask, configured, person, sign_in
from tests.e2e.processes import ServerProcess
from tests.support.timing.patience import PATIENCE

MARKUP = "<img src=x onerror=\"document.title='PWNED'\"><script>document.title='PWNED'</script>'\"</pre></textarea>"
HIDDEN = "\u202egnp.exe\u200bwidth\U000e0041tag\x1b]0;PWNED\x07"
HOSTILE = f"{MARKUP}{HIDDEN}"
UNSEEN = list("\u202e\u200b\U000e0041\x1b\x07")
GOVERNANCE = "version: 1\nbudgets:\n  - {per: session, calls: 3}\n"
RULES = """\
version: 1
rules:
  - {id: marked, on: {tools: [exec]}, when: 'args.command == "marked"', action: deny, message: "<b>no</b>\\u202e"}
"""


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    """A server that has decided something, for a governed session and a hostile one."""
    with tempfile.TemporaryDirectory(prefix="t", ignore_cleanup_errors=True) as made:
        home = configured(Path(made).resolve())
        own = home / ".config" / "interpose"
        (own / "governance.yaml").write_text(GOVERNANCE, encoding="utf-8")
        (own / "policy").mkdir(mode=0o700, parents=True)
        (own / "policy" / "own.yaml").write_text(RULES, encoding="utf-8")
        for path in (own, own / "policy", own / "governance.yaml", own / "policy" / "own.yaml"):
            path.chmod(0o700 if path.is_dir() else 0o600)
        with ServerProcess(home) as running:
            for command in ("ls -la", "rm -rf /", "marked"):
                tell(running, command, "run-1")
            tell(running, f"echo {HOSTILE}", f"s{MARKUP}{HIDDEN}", HOSTILE)
            yield running


def tell(server: ServerProcess, command: str, session: str, agent: str = "tester") -> Any:
    body = {
        "event": "tools/call", "phase": "request",
        "payload": {"name": "Bash", "arguments": {"command": command}},
        "context": {"sessionId": session, "principal": {"type": "agent", "id": agent}},
        "config": {"working_directory": f"/home/dev/{agent.replace('/', '_')}"},
    }  # fmt: skip
    said = server.ask("POST", "/api/v1/intercept", body)
    assert said.status == 200, said.body
    return said.body


def harmless(page: Page) -> None:
    """Nothing ran, nothing was added, nothing is hidden, and it fits on a phone."""
    page.wait_for_load_state()  # a form was sent: its styles come after its text
    assert "PWNED" not in page.title()
    assert page.locator("img, iframe, object, embed").count() == 0
    assert page.locator("script").count() == page.locator("script[src^='/static/']").count()
    text = page.locator("body").inner_text()
    assert [char for char in UNSEEN if char in text] == []
    fields = page.eval_on_selector_all("input, textarea", "all => all.map(one => one.value).join('')")
    assert [char for char in UNSEEN if char in fields] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_a_session_as_a_timeline(browser: Browser, server: ServerProcess) -> None:
    id = ask(server, "git push --force origin seen", session="run-2")
    with person(browser) as page:
        sign_in(page, server, path="/sessions")
        page.get_by_role("link", name="run-1").click()
        expect(page.locator("#timeline > li")).to_have_count(3)
        expect(page.locator("#timeline > li").first).to_contain_text("marked")
        expect(page.locator("#timeline .deny .badge").first).to_have_text("deny")
        expect(page.locator("svg.line rect")).to_have_count(3)
        expect(page.locator("meter")).to_have_count(1)
        expect(page.locator("main")).to_contain_text("1 of 3 calls per session")
        harmless(page)
        page.goto(address(server, "/sessions/run-2"))
        expect(page.locator("#timeline")).to_contain_text("waiting")
        server.ask("POST", f"/api/v1/approvals/{id}/approve", {})
        expect(page.locator("#timeline")).to_contain_text(re.compile("approved by operator after"))
        tell(server, "echo live", "run-2")
        expect(page.locator("#timeline > li").first).to_contain_text("echo live")


def test_a_session_is_halted_and_goes_on(browser: Browser, server: ServerProcess) -> None:
    tell(server, "ls", "run-3")
    with person(browser, script=False) as page:
        sign_in(page, server, path="/sessions/run-3")
        page.get_by_text("Halt this session").click()
        page.get_by_label("Why; the agent is told").fill(f"it deletes too much {MARKUP}")
        page.get_by_role("button", name="Halt it").click()
        expect(page.get_by_role("alert")).to_contain_text("it deletes too much <img")
        harmless(page)
        assert tell(server, "touch x", "run-3")["valid"] is False
        page.get_by_label("Why it may go on").fill("it was me")
        page.get_by_role("button", name="Let it go on").click()
        expect(page.get_by_text("Halt this session")).to_be_visible()
        expect(page.locator("#timeline")).to_contain_text("governance/lift")


def test_a_token_alone_lets_no_session_go_on(browser: Browser) -> None:
    """An agent could read it: what needs a person's proof on the command line needs it on the page."""
    with tempfile.TemporaryDirectory(prefix="t", ignore_cleanup_errors=True) as made:
        home = configured(Path(made).resolve(), proof="terminal")
        (home / ".config" / "interpose" / "governance.yaml").write_text(GOVERNANCE, encoding="utf-8")
        with ServerProcess(home) as strict, person(browser) as page:
            tell(strict, "ls", "run-1")
            sign_in(page, strict, path="/sessions/run-1")
            page.get_by_text("Halt this session").click()
            page.get_by_label("Why; the agent is told").fill("enough")
            page.get_by_role("button", name="Halt it").click()
            page.get_by_role("button", name="Let it go on").click()
            expect(page.locator("[data-error=not_proven]")).to_be_visible()
            assert strict.ask("GET", "/api/v1/sessions/run-1").body["governed"]["state"] == "halted"


def test_what_rules_did(browser: Browser, server: ServerProcess) -> None:
    with person(browser) as page:
        sign_in(page, server, path="/rules")
        row = page.locator("#rules tr", has=page.get_by_role("link", name="marked", exact=True))
        expect(row).to_contain_text("own.yaml:3")
        expect(row.locator("svg.bars rect.deny")).to_have_count(1)
        expect(row).to_contain_text("<b>no</b>\\u202e")
        expect(page.locator("#plot-rules canvas")).to_have_count(1)
        harmless(page)
        page.get_by_label("Rules with this").fill("hidden-text")
        page.get_by_role("button", name="Show").click()
        expect(page.locator("#rules tbody tr")).to_have_count(1)
        page.get_by_role("link", name="31 days").click()
        expect(page.get_by_role("link", name="31 days")).to_have_attribute("aria-current", "true")


def test_the_playground_answers_as_you_type(browser: Browser, server: ServerProcess) -> None:
    with person(browser) as page:
        sign_in(page, server, path="/rules/playground")
        said = page.locator("#played [data-decision]")
        expect(said.first).to_have_attribute("data-decision", "ask")
        expect(page.locator("#examples .passed")).to_have_count(2)
        call, rules = page.locator("textarea[name=call]"), page.locator("textarea[name=rules]")
        call.fill("echo deploy")
        expect(said.first).to_have_attribute("data-decision", "allow")
        call.fill("rm -rf /")
        expect(said.last).to_have_attribute("data-decision", "deny")
        assert page.url.endswith("/rules/playground"), "nothing was sent but in the background"
        rules.fill(rules.input_value().replace("no_match: [echo deploy]", "no_match: [deploy it]"))
        expect(page.locator("#examples .failed")).to_contain_text("it does")
        rules.fill("version: 1\nrules: [{id: x, when: 'nope(', action: deny}]")
        expect(page.get_by_role("alert")).to_contain_text("These are no rules yet")
        message = MARKUP.replace('"', "'")
        rules.fill(f"version: 1\nrules: [{{id: y, when: 'true', action: deny, message: \"{message}\"}}]")
        expect(said.first).to_have_attribute("data-decision", "deny")
        expect(page.locator("#played")).to_contain_text("<script>")
        harmless(page)
        page.locator("input[name=tool]").fill(MARKUP)
        call.fill("[]")
        expect(page.locator("#played")).to_contain_text("no JSON object")
        harmless(page)
    assert server.ask("GET", "/api/v1/audit?text=echo%20deploy").body["records"] == [], "nothing of it is recorded"


def test_the_playground_without_script(browser: Browser, server: ServerProcess) -> None:
    with person(browser, script=False) as page:
        sign_in(page, server, path="/rules/playground")
        page.locator("textarea[name=call]").fill(f"deploy now # {HOSTILE}")
        page.get_by_role("button", name="Try it").click()
        expect(page.locator("#played [data-decision]").first).to_have_attribute("data-decision", "ask")
        expect(page.get_by_text("Letters that are not seen were spelled out here.")).to_be_visible()
        harmless(page)


def test_a_recorded_call_in_the_playground(browser: Browser, server: ServerProcess) -> None:
    hostile = next(
        one for one in server.ask("GET", "/api/v1/audit?limit=1000").body["records"] if "onerror" in one["session"]
    )
    with person(browser) as page:
        sign_in(page, server, path=f"/calls/{hostile['call_id']}")
        page.get_by_role("link", name="Try rules out on it").click()
        expect(page.locator("textarea[name=call]")).to_have_value(re.compile("^echo <img"))
        harmless(page)


def test_the_overview(browser: Browser, server: ServerProcess) -> None:
    with person(browser) as page:
        sign_in(page, server, path="/overview")
        expect(page.locator("#tiles")).to_contain_text("calls")
        expect(page.locator("#plot-decisions canvas")).to_have_count(1)
        expect(page.locator("#plot-latency canvas")).to_have_count(1)
        expect(page.locator("#standing")).to_contain_text("is well")
        expect(page.locator("#standing")).to_contain_text("No agent has hooks of ours")
        harmless(page)
        page.locator("#figure-decisions summary").click()
        expect(page.locator("#figure-decisions tbody tr")).not_to_have_count(0)
        page.get_by_role("link", name="last hour").click()
        expect(page.locator("#plot-decisions canvas")).to_have_count(1)
    with person(browser, script=False, dark=True) as page:
        sign_in(page, server, path="/overview?since=%3Cscript%3E")
        expect(page.locator("#tiles")).to_contain_text("refused")
        page.locator("#figure-decisions summary").click()
        expect(page.locator("#figure-decisions tbody td").first).to_be_visible()


def test_hostile_names_are_text(browser: Browser, server: ServerProcess) -> None:
    with person(browser) as page:
        sign_in(page, server, path="/sessions")
        expect(page.locator("#sessions")).to_contain_text("s<img")
        harmless(page)
        # Governance has a name of its own for a session whose id is no plain text: the other one has its calls.
        page.get_by_role("link", name=re.compile("^s<img")).click()
        expect(page.locator("#timeline > li")).to_have_count(1)
        expect(page.locator("#timeline")).to_contain_text("u202e")
        harmless(page)
        for path in (f"/sessions/{quote(HOSTILE, safe='')}", f"/rules?text={quote(HOSTILE)}&days={quote(HOSTILE)}",
                     f"/rules/playground?pack={quote(HOSTILE)}&call={quote(HOSTILE)}"):  # fmt: skip
            page.goto(address(server, path))
            harmless(page)


@pytest.mark.parametrize("path", ["/sessions", "/sessions/run-1", "/rules", "/rules/playground", "/overview"])
def test_who_may_look(server: ServerProcess, path: str) -> None:
    """A token in a header signs nobody in, and nobody is shown anything."""
    assert answered(server, "GET", path, "", {"Authorization": f"Bearer {server.token}"}) == 303


def test_a_form_of_somebody_else_is_refused(browser: Browser, server: ServerProcess) -> None:
    tell(server, "ls", "run-4")
    with person(browser, script=False) as page:
        sign_in(page, server, path="/sessions/run-4")
        cookie = {one["name"]: one["value"] for one in page.context.cookies()}
    form = {
        "Content-Type": "application/x-www-form-urlencoded", "Origin": address(server).rstrip("/"),
        "Cookie": "; ".join(f"{name}={value}" for name, value in cookie.items()),
    }  # fmt: skip
    for path, body in (("/sessions/run-4/halt", "reason=x"), ("/rules/playground", "rules=&tool=exec&call=ls")):
        assert answered(server, "POST", path, body, form) == 403, path
    assert tell(server, "ls", "run-4")["valid"] is True


def answered(server: ServerProcess, method: str, path: str, body: str, headers: dict[str, str]) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    try:
        connection.request(method, path, body, headers)
        return connection.getresponse().status
    finally:
        connection.close()
