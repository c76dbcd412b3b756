"""The whole way of a question: a hook asks, a person pairs a phone, edits and approves, and the edited call runs."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.browser.agents_at_terminals import HookedAgent
from tests.browser.browsing import configured, own_terminal, pair, person
from tests.e2e.processes import ServerProcess
from tests.support.hosts.hooked import Hooks, event_of

MODE = {"permission_mode": "bypassPermissions"}
"""Nobody sits before this agent: in other modes Claude Code asks its own person about a changed call, too."""
CAME, RUNS = "git push --force origin topic", "git push --force-with-lease origin topic"


def test_a_person_edits_and_approves_on_a_phone_and_the_edited_call_runs(browser: Browser, tmp_path: Path) -> None:
    home = configured(tmp_path, proof="terminal")
    with (
        ServerProcess(home) as server,
        own_terminal(server) as own,
        person(browser) as page,
        HookedAgent(Hooks(home)) as agent,
    ):
        pair(page, server, own)
        page.get_by_role("link", name="Inbox").click()
        expect(page.get_by_text("Nothing waits for you.")).to_be_visible()

        asked = agent.begin(event_of(CAME, **MODE))

        # The card comes by itself.
        card = page.get_by_role("article")
        expect(card).to_contain_text("publishes to origin topic (forced)")
        card.get_by_role("link", name="Look and answer").click()
        expect(page.locator("pre.code mark")).to_have_text("topic")
        page.get_by_text("Edit and approve").click()
        page.get_by_label("command").fill(RUNS)
        page.locator("details.edit").get_by_label("A word to the agent").fill("with a lease")
        page.get_by_role("button", name="Approve the edited call").click()
        expect(page.get_by_role("status").filter(has_text="You let it run.")).to_be_visible()
        expect(page.locator(".diff")).to_contain_text(RUNS)

        # A hook that waits has its answer now; one that does not was refused, and the agent makes the call again.
        ran, made = agent.answer(asked), "t1"
        if ran["permissionDecision"] != "allow":
            ran, made = agent.says(event_of(CAME, tool_use_id="t2", **MODE)), "t2"
        assert (ran["permissionDecision"], ran["updatedInput"]) == ("allow", {"command": RUNS})
        after = {
            "hook_event_name": "PostToolUse",
            "tool_input": {"command": RUNS},
            "tool_response": {"stdout": "pushed"},
        }
        agent.says(event_of(RUNS, tool_use_id=made, **MODE, **after))

        # The record shows all of it, and so does the screen of the call.
        page.get_by_role("link", name="Now").click()
        page.locator("li.allow a.what, li.rewrite a.what").first.click()
        expect(page.get_by_role("heading", name="Call", exact=True)).to_be_visible()
        shown = page.locator("main")
        for words in (RUNS, CAME, "with a lease", "pushed", "holds", "git-push-force"):
            expect(shown).to_contain_text(words)
        assert server.home.owner() in shown.inner_text(), "who approved"
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
