"""Real servers for tests: a service in a directory of its own, and its routes on a loopback port.

The server runs on a thread with an event loop of its own, so tests stay ordinary functions that talk over a socket.
"""

from __future__ import annotations

import asyncio
import hashlib
import http.client
import json
import threading
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from interpose.composition.build import open_service
from interpose.composition.service.service import Service
from interpose.core.config.settings import ApprovalSettings, Config, ServerLimits
from interpose.doors.http_server.listener import Address, Listener, Tcp
from interpose.doors.http_server.listener_state import Observe
from interpose.doors.http_server.messages import RefusalPage, Role, Route
from interpose.doors.http_server.tokens import Token, Tokens
from interpose.doors.http_server.trust import Trust
from tests.support.timing.patience import PATIENCE

T = TypeVar("T")

JSON = {"Content-Type": "application/json"}
TOKENS: dict[Role, str] = {role: f"{role}-{'x' * 32}" for role in ("agent", "auditor", "approver", "operator")}


def trusting() -> Trust:
    """Trust in one token of each role, and in whoever is on this machine: strangers have tests of their own."""
    return Trust(
        loopback="open",
        tokens=Tokens(
            tuple(Token(role, role, hashlib.sha256(token.encode()).digest(), token) for role, token in TOKENS.items())
        ),
    )


def bearer(role: Role) -> dict[str, str]:
    """The header that shows the token of a role."""
    return {"Authorization": f"Bearer {TOKENS[role]}"}


def answered_by_token(directory: Path, **more: Any) -> ApprovalSettings:
    """Approvals whose files lie inside a directory, and that a token is enough for."""
    own = {"proof": "token", "key": str(directory / "approvals.key"), "directory": str(directory / "approvals")}
    return ApprovalSettings(**own | more)


def config_in(directory: Path, **groups: Any) -> Config:
    """The default configuration with everything that is written inside a directory."""
    base = Config()
    given: dict[str, Any] = {
        "ledger": replace(base.ledger, directory=str(directory / "ledger")),
        "policy": replace(base.policy, directory=str(directory / "policy")),
        "server": replace(base.server, socket="", tokens_file=str(directory / "tokens")),
        "approvals": answered_by_token(directory),
    }
    return replace(base, **given | groups)


@contextmanager
def service_in(
    directory: Path, rules: str = "", *, packs: Sequence[str] = ("baseline",), **groups: Any
) -> Iterator[Service]:
    """A service with these rules as its user's, beside those of the packs."""
    config = config_in(directory, **groups)
    place = Path(config.policy.directory)
    place.mkdir(parents=True)
    (place / "packs.yaml").write_text(f"version: 1\npacks: [{', '.join(packs)}]\n", encoding="utf-8")
    if rules:
        (place / "rules.yaml").write_text(rules, encoding="utf-8")
    with open_service(config, follow=False, serving=True) as service:
        yield service


class Reply(Struct, frozen=True):
    """What a server said. Names of headers are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Running:
    """A server that listens."""

    def __init__(self, url: str, listener: Listener) -> None:
        self.url, self.listener = url, listener
        self.host, _, port = url.removeprefix("http://").rpartition(":")
        self.port = int(port)

    def ask(
        self, method: str, path: str, body: bytes | str | None = None, headers: Mapping[str, str] | None = None
    ) -> Reply:
        """One request on a connection of its own."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=PATIENCE)
        try:
            connection.request(method, path, body, dict(headers or {}))
            answer = connection.getresponse()
            named = {name.lower(): value for name, value in answer.getheaders()}
            return Reply(answer.status, named, answer.read())
        finally:
            connection.close()

    def post(self, path: str, value: Any, **headers: str) -> Reply:
        """A value as JSON. Headers are given as names with underscores."""
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        return self.ask("POST", path, json.dumps(value), JSON | named)


@contextmanager
def running(
    routes: Sequence[Route],
    *,
    trust: Trust | None = None,
    limits: ServerLimits | None = None,
    observe: Observe | None = None,
    more: Sequence[Address] = (),
    refusal_page: RefusalPage | None = None,
) -> Iterator[Running]:
    """These routes on a free loopback port, and elsewhere."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="server under test", daemon=True)
    thread.start()

    def perform(work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, loop).result(PATIENCE)

    trust = trust or Trust(loopback="open")
    listener = Listener(routes, [Tcp("127.0.0.1"), *more], trust, limits, observe=observe, refusal_page=refusal_page)
    try:
        perform(listener.start())
        try:
            yield Running(listener.addresses[0], listener)
        finally:
            perform(listener.stop())
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(PATIENCE)
        loop.close()
