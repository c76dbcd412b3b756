"""`interpose open`: any server gets a page; a wrong code lets nobody in; everybody can be signed out."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.browsing import ask, configured, own_terminal, pair, person
from tests.e2e.processes import ServerProcess, clean_environment
from tests.e2e.terminals import Terminal, interpose


def test_where_no_server_runs_one_is_started_with_a_page(browser: Browser, tmp_path: Path) -> None:
    configured(tmp_path, proof="terminal", server="{port: 0}")
    address_file = Path(clean_environment(tmp_path)["XDG_RUNTIME_DIR"]) / "interpose" / "hook.addr"
    try:
        with Terminal(clean_environment(tmp_path), tmp_path) as own, person(browser) as page:
            own.type(" ".join(interpose("open", "--no-browser")) + "\n")
            own.until("The page is at ")
            found = re.search(r"http://127\.0\.0\.1:\d+", own.until("Code that your browser shows: "))
            assert found is not None
            page.goto(found[0])
            own.type(f"{page.locator('#code').inner_text().upper()}\n")
            own.until("The browser is signed in as")
            expect(page.get_by_role("heading", name="Now")).to_be_visible()
    finally:
        os.kill(int(address_file.read_text().split()[1]), signal.SIGKILL)


@pytest.mark.heavy
def test_a_wrong_code_lets_nobody_in(tmp_path: Path) -> None:
    with ServerProcess(configured(tmp_path, proof="terminal")) as server, own_terminal(server) as own:
        code, shown = own.run(*interpose("open", "aaaa-aaaa"))
        assert (code, "no browser shows this code" in shown) == (1, True), shown


def test_everybody_can_be_signed_out(browser: Browser, tmp_path: Path) -> None:
    with ServerProcess(configured(tmp_path, proof="terminal")) as server:  # noqa: SIM117 - the others need it
        with own_terminal(server) as own, person(browser) as page:
            pair(page, server, own)
            id = ask(server)
            page.goto(f"http://127.0.0.1:{server.port}/inbox/{id}")
            code, shown = own.run(*interpose("open", "--sign-out"))
            assert (code, "signed out: 1" in shown) == (0, True), shown
            page.get_by_role("button", name="Approve", exact=True).click()
            expect(page.locator("#code")).to_be_visible()
            assert server.ask("GET", f"/api/v1/approvals/{id}").body["state"] == "waiting"
