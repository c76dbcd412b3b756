"""Now and Call: live, filtered, paused, by keyboard, in the dark, without a script; and who may see what."""

from __future__ import annotations

import re

from playwright.sync_api import Browser, Page, Route, expect

from tests.browser.browsing import address, ask, person, record, sign_in
from tests.e2e.processes import ServerProcess


def rows(page: Page, text: str) -> int:
    return page.locator("#decisions > li", has_text=text).count()


def test_decisions_come_by_themselves_are_filtered_and_paused(browser: Browser, server: ServerProcess) -> None:
    with person(browser) as page, person(browser) as other:
        sign_in(page, server)
        sign_in(other, server)
        server.intercept("ls live-one")
        expect(page.locator("#decisions > li").first).to_contain_text("ls live-one")
        page.get_by_role("button", name="Stop live updates").click()
        server.intercept("ls live-two")
        expect(other.locator("#decisions > li").first).to_contain_text("ls live-two")
        assert rows(page, "live-two") == 0
        page.get_by_role("button", name="Resume live updates").click()
        expect(page.locator("#decisions > li").first).to_contain_text("ls live-two")

        server.intercept("rm -rf /")
        page.get_by_text("Filter").click()
        page.get_by_label("verdict").select_option("deny")
        page.get_by_role("button", name="Show").click()
        first = page.locator("#decisions > li").first
        for words in ("deny", "rm -rf /", "tester", "project", "deletes"):
            expect(first).to_contain_text(words)
        assert rows(page, "live-") == 0
        server.intercept("ls live-three")
        server.intercept("rm -rf /usr")
        expect(first).to_contain_text("rm -rf /usr")
        assert rows(page, "live-") == 0, "what comes live is filtered, too"


def test_what_is_decided_before_the_page_listens_is_shown(browser: Browser, server: ServerProcess) -> None:
    def decide_first(route: Route) -> None:
        server.intercept("ls between")
        route.continue_()

    with person(browser) as page:
        page.route("**/live", decide_first, times=1)
        sign_in(page, server)
        expect(page.locator("#decisions > li").first).to_contain_text("ls between")


def test_a_call_shows_everything_about_it(browser: Browser, server: ServerProcess) -> None:
    ask(server, "git push --force origin whole-call", session="whole")
    found = record(server, text="whole-call")
    with person(browser) as page:
        sign_in(page, server, path=f"/calls/{found['call_id']}")
        shown = page.locator("#call")
        for words in (
            "It waits for an answer.", "publishes to origin whole-call", "git-push-force", "nothing", "whole",
            found["call_id"], found["arguments_digest"], f"{found['seq']} of writer", "chain up to here", "holds",
            "next checkpoint",
        ):  # fmt: skip
            expect(shown).to_contain_text(words)
        assert page.locator("table.chain tr").count() > 3, "those that spoke, and those that did not"
        expect(shown.get_by_role("link", name=found["approval"])).to_have_attribute(
            "href", f"/inbox/{found['approval']}"
        )
        expect(shown.get_by_role("link", name="whole")).to_have_attribute("href", "/sessions/whole")
        # What comes of it is seen without a reload.
        server.ask("POST", f"/api/v1/approvals/{found['approval']}/approve", {})
        server.intercept("git push --force origin whole-call", session="whole")
        page.goto(address(server, "/?text=whole-call"))
        expect(page.locator("#decisions > li").first).to_contain_text("allow")
        page.goto(address(server, "/calls/nothing-of-this-name"))
        expect(page.get_by_role("alert")).to_contain_text("There is no call")


def test_all_of_it_by_keyboard(browser: Browser, server: ServerProcess) -> None:
    id = ask(server, "git push --force origin keyboard")
    with person(browser, phone=False) as page:
        sign_in(page, server)
        page.keyboard.press("Tab")
        expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
        page.keyboard.press("j")
        expect(page.locator("#decisions a.what").first).to_be_focused()
        page.keyboard.press("j")
        page.keyboard.press("k")
        expect(page.locator("#decisions a.what").first).to_be_focused()
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none", "what has the focus is seen"
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile("/calls/"))
        page.goto(address(server, f"/inbox/{id}"))
        page.locator("#deny").focus()
        page.keyboard.press("Enter")
        expect(page.get_by_text("You refused it.")).to_be_visible()


def test_light_and_dark_are_both_readable(browser: Browser, server: ServerProcess) -> None:
    server.intercept("rm -rf /")
    seen = {}
    for dark in (False, True):
        with person(browser, dark=dark) as page:
            sign_in(page, server)
            seen[dark] = contrasts(page)
            assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert min(*seen[False], *seen[True]) >= 4.5
    assert seen[False] != seen[True]


def contrasts(page: Page) -> list[float]:
    """How much each kind of text stands out from the ground, as WCAG counts it."""
    found: list[float] = page.evaluate(
        """() => {
          const light = (color) => {
            const parts = color.match(/[\\d.]+/g).slice(0, 3).map((part) => part / 255);
            const [r, g, b] = parts.map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
          };
          const ground = light(getComputedStyle(document.body).backgroundColor);
          return [...document.querySelectorAll("main h1, .badge, small, .what code, main button, .rule")].map((one) => {
            const own = getComputedStyle(one);
            const under = own.backgroundColor === "rgba(0, 0, 0, 0)" ? ground : light(own.backgroundColor);
            const [a, b] = [light(own.color), under].sort((x, y) => y - x);
            return (a + 0.05) / (b + 0.05);
          });
        }"""
    )
    return found


def test_a_pause_is_begun_seen_and_ended(browser: Browser, server: ServerProcess) -> None:
    with person(browser) as page:
        sign_in(page, server, path="/inbox")
        page.get_by_text("Pause questions").first.click()
        page.get_by_label("Why").fill("moving files")
        page.get_by_role("button", name="Pause questions").click()
        expect(page.locator(".paused")).to_contain_text("moving files")
        (held,) = server.ask("GET", "/api/v1/pause").body["pauses"]
        assert (held["by"], held["reason"]) == ("operator", "moving files")
        page.get_by_role("button", name="End it").click()
        expect(page.locator(".paused")).to_have_count(0)
    assert server.ask("GET", "/api/v1/pause").body["pauses"] == []
