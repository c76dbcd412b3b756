"""The real Claude Code, guarded by our hook: a person edits its call on a phone, and what they wrote is what runs.

Its model is scripted, as in scripts/agents. Run by scripts/browser, which fetches it.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.browsing import own_terminal, pair, person
from tests.e2e.agents.dialects import ToolUse
from tests.e2e.agents.fetch import FetchError, cache, fetched, name_of
from tests.e2e.agents.home import Home
from tests.e2e.agents.known import AGENTS
from tests.e2e.processes import ServerProcess
from tests.e2e.terminals import Terminal
from tests.e2e.trying_agents import wait_for

CAME, RUNS = "git push --force origin topic", "echo written by a person > ran.txt"
WAITS = "until test -e go; do sleep 0.2; done"


@pytest.mark.heavy
def test_claude_code_runs_what_a_person_wrote(browser: Browser, tmp_path: Path) -> None:
    agent = next(agent for agent in AGENTS if agent.host == "claude-code")
    try:
        parts = {name_of(package): fetched(package, cache()) for package in agent.packages}
    except FetchError as error:
        pytest.skip(f"NOT TRIED: {error}")
    with Home(tmp_path, agent, parts) as home:
        home.configure(20, "version: 1\nrules: []\n", "approvals:\n  ask: queue\n")
        home.install()
        # A hook that does not wait refuses, so the model tries once more when the person has answered.
        home._model.steps = tuple(ToolUse("Bash", {"command": one, "description": "x"}) for one in (CAME, WAITS, CAME))
        environment = {**home.environment, **home._started.environment}
        with (
            ServerProcess(home.home) as server,
            own_terminal(server) as own,
            Terminal(environment, home.project) as agents_own,
            person(browser) as page,
        ):
            pair(page, server, own)
            page.get_by_role("link", name="Inbox").click()
            agents_own.type(f"{shlex.join(home._started.command)}; echo en''ded\n")
            page.get_by_role("link", name="Look and answer").click(timeout=60_000)
            page.get_by_text("Edit and approve").click()
            page.get_by_label("command").fill(RUNS)
            page.get_by_role("button", name="Approve the edited call").click()
            expect(page.get_by_text("You let it run.")).to_be_visible()
            (home.project / "go").touch()
            ran = home.project / "ran.txt"
            wait_for(ran.exists)
            assert ran.read_text() == "written by a person\n"
            records = server.ask("GET", "/api/v1/audit?text=ran.txt&limit=10").body["records"]
            (found,) = [one for one in records if one["arguments"].get("command") == RUNS]
            assert found["original_arguments"]["command"] == CAME, json.dumps(found)
            assert found["approver"]
            page.goto(f"http://127.0.0.1:{server.port}/calls/{found['call_id']}")
            for words in (CAME, RUNS, found["approver"]):
                expect(page.locator("main")).to_contain_text(words)
