"""Inbox: cards, every answer, several at once, two people at once, and a server that comes back."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.browsing import address, ask, configured, person, record, sign_in
from tests.e2e.processes import ServerProcess
from tests.support.timing.patience import PATIENCE

COUNT = re.compile(r"\d+:\d\d left")


def test_a_card_says_what_would_happen_from_facts(browser: Browser, server: ServerProcess) -> None:
    said = "Tidies up, totally safe"
    id = ask(server, "git push --force origin feature/card", description=said)
    with person(browser) as page:
        sign_in(page, server, path=f"/inbox/{id}")
        card = page.get_by_role("article", name=f"Question {id}")
        expect(card).to_contain_text("publishes to origin feature/card (forced)")
        expect(card.locator("mark")).to_have_text("feature/card")
        expect(card).to_contain_text("git push --force-with-lease origin feature/card")
        expect(card.locator("section", has_text="What the agent says")).to_contain_text(said)
        expect(card.locator("section", has_text="What the agent says")).to_contain_text("its own words")
        expect(page.locator(".countdown")).to_have_text(COUNT)
        expect(card).to_contain_text("/home/dev/project")


def test_an_edit_of_a_file_is_shown_as_a_difference(browser: Browser, server: ServerProcess) -> None:
    change = {"file_path": "/home/dev/project/.env", "old_string": "A=1\nB=2", "new_string": "A=1\nB=3"}
    body = {
        "event": "tools/call", "phase": "request", "payload": {"name": "Edit", "arguments": change},
        "context": {"sessionId": "s", "principal": {"type": "agent", "id": "tester"}},
        "config": {"working_directory": "/home/dev/project"},
    }  # fmt: skip
    id = server.ask("POST", "/api/v1/intercept", body).body["info"]["approval_id"]
    with person(browser) as page:
        sign_in(page, server, path=f"/inbox/{id}")
        expect(page.locator(".diff del").filter(has_text="B=2")).to_be_visible()
        expect(page.locator(".diff ins").filter(has_text="B=3")).to_be_visible()
        expect(page.locator(".diff")).to_contain_text(" A=1")


@pytest.mark.parametrize(
    ("scope", "uses", "kept"),
    [("once", "", "once"), ("uses", "2", "uses"), ("session", "", "session"), ("until", "", "until")],
)
def test_a_yes_counts_for_what_was_chosen(
    browser: Browser, server: ServerProcess, scope: str, uses: str, kept: str
) -> None:
    id = ask(server, f"git push --force origin {scope}")
    with person(browser) as page:
        sign_in(page, server, path=f"/inbox/{id}")
        page.locator(f"input[name=scope][value={scope}]").check()
        if uses:
            page.get_by_label("how often").fill(uses)
        page.locator("form.approve").get_by_label("A word to the agent").fill("fine")
        page.get_by_role("button", name="Approve", exact=True).click()
        expect(page.get_by_text("You let it run.")).to_be_visible()
    answer = server.ask("GET", f"/api/v1/approvals/{id}").body["answer"]
    assert (answer["approved"], answer["scope"]["kind"], answer["word"]) == (True, kept, "fine")


def test_a_kind_of_call_is_offered_with_what_it_would_have_let_through(browser: Browser, server: ServerProcess) -> None:
    ask(server, "git push --force origin feature/kind-before")
    id = ask(server, "git push --force origin feature/kind-now")
    with person(browser) as page:
        sign_in(page, server, path=f"/inbox/{id}")
        way = page.locator("label.way", has_text="feature/*")
        expect(way).to_contain_text("of the last")
        way.locator("input").check()
        page.get_by_role("button", name="Approve", exact=True).click()
        expect(page.get_by_text("You let it run.")).to_be_visible()
    answer = server.ask("GET", f"/api/v1/approvals/{id}").body["answer"]
    assert (answer["scope"]["kind"], answer["kind"]) == ("kind", "W1")


def test_a_no_says_why(browser: Browser, server: ServerProcess) -> None:
    id = ask(server, "git push --force origin no")
    with person(browser) as page:
        sign_in(page, server, path=f"/inbox/{id}")
        page.get_by_label("Why not").fill("not on a Friday")
        page.get_by_role("button", name="Deny").click()
        expect(page.get_by_text("You refused it.")).to_be_visible()
        expect(page.locator("#answers")).to_be_empty()
    again = server.intercept("git push --force origin no")
    assert "not on a Friday" in str(again["messages"])


def test_later_keeps_the_question(browser: Browser, server: ServerProcess) -> None:
    id = ask(server, "git push --force origin later")
    with person(browser) as page:
        sign_in(page, server, path=f"/inbox/{id}")
        page.get_by_text("Answer later").first.click()
        page.get_by_role("button", name="Answer later").click()
        expect(page.get_by_text("You answer later.")).to_be_visible()
        expect(page.locator("#state")).to_contain_text("Put off by operator")
    assert server.ask("GET", f"/api/v1/approvals/{id}").body["state"] == "waiting"


def test_an_edit_that_would_be_refused_is_not_taken_and_stays_in_its_field(
    browser: Browser, server: ServerProcess
) -> None:
    id = ask(server, "git push --force origin edit")
    with person(browser) as page:
        sign_in(page, server, path=f"/inbox/{id}")
        page.get_by_text("Edit and approve").click()
        page.get_by_label("command").fill("rm -rf /")
        page.get_by_role("button", name="Approve the edited call").click()
        expect(page.get_by_role("alert")).to_contain_text("would be refused")
        expect(page.get_by_label("command")).to_have_value("rm -rf /")
    assert server.ask("GET", f"/api/v1/approvals/{id}").body["state"] == "waiting"


def test_without_a_script_it_is_all_there(browser: Browser, server: ServerProcess) -> None:
    id = ask(server, "git push --force origin bare")
    with person(browser, script=False) as page:
        sign_in(page, server, path="/inbox")
        page.locator(f"#q-{id}").get_by_role("link", name="Look and answer").click()
        expect(page.locator(".countdown")).to_contain_text("left")
        page.get_by_role("button", name="Approve", exact=True).click()
        expect(page.get_by_text("You let it run.")).to_be_visible()
    assert record(server, text="bare")["approval"] == id


def test_a_batch_is_answered_at_once_and_one_that_differs_refuses_all(browser: Browser, server: ServerProcess) -> None:
    alike = [ask(server, f"git push --force origin batch{number}") for number in range(3)]
    other = ask(server, "git reset --hard HEAD~3")
    with person(browser) as page:
        sign_in(page, server, path="/inbox")

        def tick(ids: list[str]) -> None:
            for id in ids:
                page.locator(f"#q-{id} input[type=checkbox]").check()

        tick([alike[0], other])
        page.get_by_text("Answer those that are ticked").click()
        page.get_by_role("button", name="Approve all").click()
        expect(page.get_by_role("alert")).to_contain_text("are not alike")
        page.goto(address(server, "/inbox"))
        tick(alike)
        page.get_by_text("Answer those that are ticked").click()
        page.get_by_role("button", name="Approve all").click()
        expect(page.locator("#told li")).to_have_count(3)
    states = [server.ask("GET", f"/api/v1/approvals/{id}").body["state"] for id in (*alike, other)]
    assert states == ["approved", "approved", "approved", "waiting"]


def test_two_people_see_each_other_and_the_second_is_told_who_was_faster(
    browser: Browser, server: ServerProcess
) -> None:
    id = ask(server, "git push --force origin two")
    tokens = server.home / ".config" / "interpose" / "tokens"
    if "bob" not in tokens.read_text():
        tokens.write_text(f"{tokens.read_text()}bob approver {'b' * 40}\n")
    server.ask("POST", "/api/v1/reload")
    with person(browser) as ann, person(browser) as bob:
        sign_in(ann, server, path=f"/inbox/{id}")
        sign_in(bob, server, token="b" * 40, path="/inbox")
        bob.locator(f"#q-{id}").get_by_role("link", name="Look and answer").click()
        expect(bob.locator(".onlookers")).to_have_text("Also looking: operator")
        expect(ann.locator(".onlookers")).to_have_text("Also looking: bob")
        ann.get_by_label("Why not").fill("I am typing")
        # Bob's page does not hear of it: he answers a question that was answered a moment ago.
        bob.route("**/live", lambda route: route.abort())
        csrf = bob.locator("form.deny input[name=csrf]").get_attribute("value")
        ann.get_by_role("button", name="Deny").click()
        expect(ann.get_by_text("You refused it.")).to_be_visible()
        late = bob.request.post(
            address(server, f"/inbox/{id}/approve"), form={"csrf": csrf or "", "scope": "once"},
            headers={"Origin": address(server, "").rstrip("/")},
        )  # fmt: skip
        assert (late.status, "operator" in late.text()) == (409, True)
        # And where it does hear, the forms go away by themselves.
        expect(bob.locator("#answers")).to_be_empty(timeout=30_000)
        expect(bob.locator("#state")).to_contain_text("Denied by operator")


def test_a_page_lives_on_when_the_server_comes_back(browser: Browser, tmp_path: Path) -> None:
    home = configured(tmp_path)
    with person(browser) as page:
        with ServerProcess(home) as server:
            first = ask(server, "git push --force origin first")
            sign_in(page, server, path="/inbox")
            expect(page.locator(f"#q-{first}")).to_be_visible()
            port = server.port
            server.signal(signal.SIGTERM)
            assert server.child.wait(PATIENCE) == 0, "a page that is open does not hold the server up"
        expect(page.locator("#lost")).to_contain_text("can't be reached")
        with ServerProcess(home, "--port", str(port)) as server:
            expect(page.locator("#lost")).to_be_hidden()
            second = ask(server, "git push --force origin second")
            expect(page.locator(f"#q-{second}")).to_be_visible()
            page.locator(f"#q-{second}").get_by_role("link", name="Look and answer").click()
            page.get_by_role("button", name="Approve", exact=True).click()
            expect(page.get_by_text("You let it run.")).to_be_visible()
