"""The first visit of an approver: what she sees, what tells her that a question waits, and what her answers do."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from interpose.record.ledger.canaries import REFUSED, SESSION
from tests.browser.browsing import address, ask, configured, person, sign_in
from tests.e2e.processes import ServerProcess

TOKENS = {"ann": "approver", "aud": "auditor"}
FINGER = 44
"""CSS pixels that a button has at least in each direction, so that a finger meets it."""
APART = 16
"""CSS pixels between two buttons that do opposite things."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server with a token for each role. Nothing was decided yet."""
    home = configured(tmp_path_factory.mktemp("t").resolve())
    with ServerProcess(home) as running:
        file = home / ".config" / "interpose" / "tokens"
        file.write_text(file.read_text() + "".join(f"{name} {role} {token(name)}\n" for name, role in TOKENS.items()))
        running.ask("POST", "/api/v1/reload")
        yield running


def token(name: str) -> str:
    return name * 12


def tabs(page: Page) -> list[str]:
    return page.get_by_role("navigation", name="Screens").get_by_role("link").all_inner_texts()


def test_everything_is_empty_at_first(browser: Browser, server: ServerProcess) -> None:
    with person(browser) as page:
        sign_in(page, server)
        expect(page.locator("#no-rows")).to_have_text("Nothing was decided yet.")
        page.get_by_text("Filter").click()
        page.get_by_label("tool").fill("nothing")
        page.get_by_role("button", name="Show").click()
        expect(page.locator("#no-rows")).to_have_text("Nothing was decided yet.")
        server.intercept("ls one")
        expect(page.locator("#no-rows")).to_contain_text("No decision matches the filter: tool nothing.")
        page.locator("#no-rows").get_by_role("link", name="Clear the filter").click()
        expect(page.locator("#decisions > li").first).to_contain_text("ls one")
        server.intercept(REFUSED, session=SESSION)
        server.intercept("ls two")
        expect(page.locator("#canaries")).to_contain_text("1 canary of interpose doctor is left out.")
        expect(page.locator("#decisions > li").first).to_contain_text("ls two")
        page.get_by_role("link", name="Show them").click()
        expect(page.locator("#decisions > li").nth(1)).to_contain_text("truncate")


def test_an_approver_lands_on_the_inbox_and_sees_no_tab_that_is_not_hers(
    browser: Browser, server: ServerProcess
) -> None:
    with person(browser) as page:
        sign_in(page, server, token("ann"))
        expect(page).to_have_url(address(server, "/inbox"))
        assert tabs(page) == ["Inbox"]
        expect(page.get_by_text("Nothing waits for you.")).to_be_visible()
        several = page.get_by_text("Answer those that are ticked")
        expect(several).to_be_hidden()
        id = ask(server, "git push --force origin first")
        expect(several).to_be_visible()
        server.ask("POST", f"/api/v1/approvals/{id}/deny", {})
        expect(several).to_be_hidden()
        page.goto(address(server, "/rules"))
        expect(page.get_by_role("heading", name="Not allowed")).to_be_visible()
        page.get_by_role("link", name="Back").click()
        expect(page).to_have_url(address(server, "/inbox"))
    with person(browser) as page:
        sign_in(page, server, token("aud"))
        assert tabs(page) == ["Now", "Sessions", "Rules", "Overview"]


@pytest.mark.parametrize("path", ["/rules", "/inbox", "/rules/playground"])
def test_a_question_is_seen_from_every_screen(browser: Browser, server: ServerProcess, path: str) -> None:
    """By the tab and by the title of a page in the background; live with scripts, at the next look without."""
    name = {"/rules": "Rules", "/inbox": "Inbox", "/rules/playground": "Playground"}[path]
    waits = re.compile(r"^Inbox\s+1\b")
    with person(browser) as live, person(browser, script=False) as plain:
        for page in (live, plain):
            sign_in(page, server, path=path)
            expect(page).to_have_title(f"{name} · Interpose")
            expect(page.locator("#waiting")).to_be_hidden()
        id = ask(server, f"git push --force origin seen-from{path}")
        expect(live).to_have_title(f"(1) {name} · Interpose")
        expect(live.get_by_role("link", name=waits)).to_be_visible()
        plain.reload()
        expect(plain).to_have_title(f"(1) {name} · Interpose")
        expect(plain.get_by_role("link", name=waits)).to_be_visible()
        assert plain.evaluate("document.documentElement.scrollWidth") <= 360
        server.ask("POST", f"/api/v1/approvals/{id}/deny", {})
        expect(live).to_have_title(f"{name} · Interpose")
        expect(live.locator("#waiting")).to_be_hidden()


def test_an_auditor_hears_of_no_question(browser: Browser, server: ServerProcess) -> None:
    with person(browser) as page:
        sign_in(page, server, token("aud"))
        id = ask(server, "git push --force origin auditor")
        expect(page.locator("#decisions > li").first).to_contain_text("auditor")
        expect(page).to_have_title("Now · Interpose")
        expect(page.locator("#decisions").get_by_role("link", name="answer")).to_have_count(0)
        server.ask("POST", f"/api/v1/approvals/{id}/deny", {})


@pytest.mark.parametrize("script", [True, False])
def test_an_answer_is_sent_once_however_often_the_page_is_loaded(
    browser: Browser, server: ServerProcess, script: bool
) -> None:
    id = ask(server, f"git push --force origin once-{script}")
    with person(browser, script=script) as page:
        sign_in(page, server, token("ann"), path=f"/inbox/{id}")
        posts: list[str] = []
        page.on("request", lambda request: posts.append(request.url) if request.method == "POST" else None)
        page.get_by_label("Why not").fill("not on a Friday")
        page.get_by_role("button", name="Deny").click()
        told = page.locator("#told")
        expect(told).to_contain_text("You refused it.")
        for _ in range(2):
            page.reload()
            expect(told).to_contain_text("You refused it.")
        assert len(posts) == 1
        page.get_by_role("link", name="Next question").click()
        expect(page.get_by_text("Nothing waits for you.")).to_be_visible()
        page.go_back()
        expect(told).to_contain_text("You refused it.")
        assert len(posts) == 1


def test_buttons_of_opposite_answers_are_apart(browser: Browser, server: ServerProcess) -> None:
    ids = [ask(server, f"git push --force origin apart{number}") for number in range(2)]
    with person(browser) as page:
        sign_in(page, server, token("ann"))
        page.get_by_text("Answer those that are ticked").click()
        require_apart(page.locator("#approve-all"), page.locator("#deny-all"))
        page.set_viewport_size({"width": 1280, "height": 800})
        require_apart(page.locator("#approve-all"), page.locator("#deny-all"))
        page.set_viewport_size({"width": 360, "height": 740})
        page.goto(address(server, f"/inbox/{ids[0]}"))
        require_apart(page.locator("#approve"), page.locator("#deny"))
    for id in ids:
        server.ask("POST", f"/api/v1/approvals/{id}/deny", {})


def require_apart(one: Locator, other: Locator) -> None:
    boxes = [place.bounding_box() for place in (one, other)]
    (a, b) = [box for box in boxes if box is not None]
    assert min(a["height"], b["height"], a["width"], b["width"]) >= FINGER
    across = max(a["x"], b["x"]) - min(a["x"] + a["width"], b["x"] + b["width"])
    down = max(a["y"], b["y"]) - min(a["y"] + a["height"], b["y"] + b["height"])
    assert max(across, down) >= APART


def test_who_strays_finds_the_way_back(browser: Browser, server: ServerProcess) -> None:
    with person(browser) as page:
        sign_in(page, server, token("ann"))
        for path, title in (("/nothing", "Not found"), ("/inbox/x/approve", "Not possible here")):
            page.goto(address(server, path))
            expect(page.get_by_role("heading", name=title)).to_be_visible()
            assert page.evaluate("document.documentElement.scrollWidth") <= 360
            page.get_by_role("link", name="Go to the page of Interpose").click()
            expect(page).to_have_url(address(server, "/inbox"))
