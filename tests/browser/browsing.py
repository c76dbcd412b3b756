"""A real browser before a real server: who is signed in, what they see, and what they press."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.e2e.processes import ServerProcess, clean_environment
from tests.e2e.terminals import Terminal, interpose
from tests.support.timing.patience import PATIENCE

PHONE = {"width": 360, "height": 740}
DESK = {"width": 1100, "height": 800}
expect.set_options(timeout=PATIENCE * 1000)
ASKED = "git push --force origin topic"
CHROMIUM = os.environ.get("INTERPOSE_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser") or ""
"""The browser. It is none of playwright's own: those can't be fetched everywhere."""
MISSING = (
    "NOT TRIED: there is no chromium on this machine. Install it (apt-get install chromium), or name one by "
    "INTERPOSE_CHROMIUM"
)


@contextmanager
def opened_browser() -> Iterator[Browser]:
    """The browser of this machine."""
    with sync_playwright() as playwright:
        # Nothing of whoever runs the tests, be it an agent: a browser that one started answers nothing.
        opened = playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--disable-gpu"],
            env=dict(clean_environment(Path(tempfile.mkdtemp(prefix="ip")))),
        )
        try:
            yield opened
        finally:
            opened.close()


def configured(home: Path, proof: str = "token", **groups: str) -> Path:
    """A home whose questions wait in the queue."""
    settings = home / ".config" / "interpose" / "interpose.yaml"
    settings.parent.mkdir(parents=True, mode=0o700, exist_ok=True)
    more = "".join(f"{name}: {value}\n" for name, value in groups.items())
    settings.write_text(f"approvals:\n  ask: queue\n  proof: {proof}\n{more}", encoding="utf-8")
    return home


def address(server: ServerProcess, path: str = "/") -> str:
    return f"http://127.0.0.1:{server.port}{path}"


@contextmanager
def person(browser: Browser, *, phone: bool = True, script: bool = True, dark: bool = False) -> Iterator[Page]:
    """Somebody with a browser of their own. What their pages complain about fails the test."""
    context = browser.new_context(
        viewport=PHONE if phone else DESK,  # type: ignore[arg-type]
        java_script_enabled=script,
        color_scheme="dark" if dark else "light",
        locale="en-GB",
        timezone_id="UTC",
    )
    context.set_default_timeout(PATIENCE * 1000)
    page = context.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda said: problems.append(said.text) if "Content Security Policy" in said.text else None)
    try:
        yield page
    finally:
        context.close()
    assert problems == []


def sign_in(page: Page, server: ServerProcess, token: str = "", path: str = "/") -> None:
    """By a token, as from another machine."""
    page.goto(address(server, path))
    page.get_by_text("Sign in with a token instead").click()
    page.get_by_label("Token").fill(token or server.token)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("navigation", name="Screens")).to_be_visible()
    page.wait_for_load_state()  # its script listens to keys
    if path != "/":
        page.goto(address(server, path))


def pair(page: Page, server: ServerProcess, own: Terminal) -> None:
    """By the code that the page shows, typed in a terminal of one's own."""
    page.goto(address(server))
    code = page.locator("#code").inner_text()
    own.type(" ".join(interpose("open", "--no-browser")) + "\n")
    own.until("Code that your browser shows: ")
    own.type(f"{code}\n")
    own.until("The browser is signed in as")
    expect(page.get_by_role("heading", name="Now")).to_be_visible()
    page.wait_for_load_state()


def own_terminal(server: ServerProcess) -> Terminal:
    return Terminal(clean_environment(server.home), server.home)


def ask(server: ServerProcess, command: str = ASKED, *, session: str = "s", **arguments: Any) -> str:
    """The id of the question about a command."""
    body = {
        "event": "tools/call", "phase": "request",
        "payload": {"name": "Bash", "arguments": {"command": command} | arguments},
        "context": {"sessionId": session, "principal": {"type": "agent", "id": "tester"}},
        "config": {"working_directory": "/home/dev/project"},
    }  # fmt: skip
    said = server.ask("POST", "/api/v1/intercept", body).body
    found: str = said["info"]["approval_id"]
    return found


def record(server: ServerProcess, **wanted: str) -> Any:
    """The newest record that matches."""
    query = "&".join(f"{name}={value}" for name, value in wanted.items())
    return server.ask("GET", f"/api/v1/audit?limit=1&{query}").body["records"][0]


def shown_json(text: str) -> Any:
    return json.loads(text)
