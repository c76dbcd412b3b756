"""A browser without a screen: it has the cookie of a session, sends forms as browsers do, and reads what it gets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from interpose.composition.service.service import Service
from interpose.doors.http import approvals, intercept
from interpose.doors.http_server.listener_state import Observe
from interpose.doors.http_server.messages import Role
from interpose.doors.page import page_routes
from interpose.doors.page.page_visits import Visits
from interpose.doors.page.refusal_page import refusal_page
from tests.support.servers.servers import TOKENS, Reply, Running, bearer, running, service_in, trusting

AS_BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


class Browsing:
    """A page that runs, and its service."""

    def __init__(self, service: Service, visits: Visits, server: Running) -> None:
        self.service, self.visits, self.server = service, visits, server

    def intercept(self, command: str, **context: str) -> Any:
        """What is decided about a command."""
        body = {
            "event": "tools/call", "phase": "request", "payload": {"name": "Bash", "arguments": {"command": command}},
            "context": {"sessionId": "s", "principal": {"type": "agent", "id": "tester"}} | context,
            "config": {"working_directory": "/home/dev/project"},
        }  # fmt: skip
        return self.server.post("/api/v1/intercept", body).json

    def ask(self, command: str) -> str:
        """The id of the question about a command."""
        return str(self.intercept(command)["info"]["approval_id"])

    def state(self, id: str) -> str:
        """How a question stands."""
        return str(self.server.ask("GET", f"/api/v1/approvals/{id}", None, bearer("operator")).json["state"])

    def browser(self, role: Role) -> Browser:
        """One that is signed in with a role's token."""
        return Browser(self.server, role)


class Browser:
    """It keeps its cookie, and follows no redirect by itself."""

    def __init__(self, server: Running, role: Role) -> None:
        self._server, self._cookie = server, ""
        entered = self.send("/enter", {"token": TOKENS[role]})
        assert entered.status == 303, entered.body
        self.sent_to = entered.headers["location"]
        self._cookie = entered.headers["set-cookie"].partition(";")[0]

    def get(self, path: str) -> Reply:
        return self._server.ask("GET", path, None, {"Cookie": self._cookie} | AS_BROWSER)

    def text(self, path: str) -> str:
        """A page that is there."""
        got = self.get(path)
        assert got.status == 200, (path, got.status, got.body)
        return got.body.decode()

    def send(self, path: str, fields: Mapping[str, str] | Sequence[tuple[str, str]]) -> Reply:
        """A form of our own page."""
        named = list(fields.items()) if isinstance(fields, Mapping) else list(fields)
        if self._cookie:
            named.append(("csrf", self.csrf()))
        headers = FORM | AS_BROWSER | {"Cookie": self._cookie, "Origin": self._server.url}
        return self._server.ask("POST", path, urlencode(named), headers)

    def csrf(self) -> str:
        found = re.search(rb'name="csrf" value="([^"]+)"', self._any_page())
        assert found is not None
        return found[1].decode()

    def _any_page(self) -> bytes:
        start = self.get("/")
        return self.get(start.headers["location"]).body if start.status == 303 else start.body


@contextmanager
def browsing(directory: Path, rules: str = "", observe: Observe | None = None, **groups: Any) -> Iterator[Browsing]:
    """The page over a service of its own, beside the API that asks its questions."""
    with service_in(directory, rules, **groups) as service:
        trust = trusting()
        visits = Visits(service, lambda: trust.tokens)
        served = (*page_routes.routes(visits), *intercept.routes(service), *approvals.routes(service))
        with running(served, trust=trust, refusal_page=refusal_page, observe=observe) as server:
            yield Browsing(service, visits, server)


def title(page: str) -> str:
    """What a browser shows at its tab."""
    found = re.search(r"<title>(.*?)</title>", page)
    assert found is not None
    return found[1]


def tabs(page: str) -> list[str]:
    """The addresses of the tabs."""
    found = re.search(r'<nav aria-label="Screens">(.*?)</nav>', page)
    assert found is not None
    return re.findall(r'href="([^"]+)"', found[1])
