"""The real OpenCode with prompts of its own: who answered at Interpose need not answer there again.

OpenCode runs as a server, as it does for its screens and its desktop, and nobody is at its prompts.
"""

from __future__ import annotations

import http.client
import json
import shlex
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from tests.e2e import terminals
from tests.e2e.agents.behaviours import POLICY, Seen
from tests.e2e.agents.home import Home
from tests.e2e.agents.known import Agent
from tests.e2e.agents.waits import QUEUE, WAIT, Person, command

PLAIN = "touch plain.marker"
UNWANTED = "touch unwanted.marker"
_SECONDS = 150.0
_MODEL = {"providerID": "fake", "modelID": "fake"}


def prompts(agent: Agent, parts: Mapping[str, Path], place: Path) -> dict[str, Seen]:
    """What becomes of its own prompts: one after a question of ours, and two that are only its own."""
    with Home(place / "opencode-prompts", agent, parts) as home:
        home.configure(20, POLICY, QUEUE, wait=WAIT)
        home.install()
        home.write(".config/opencode/opencode.json", _asking(home))
        answers = {PLAIN: ("approve",), UNWANTED: ("deny",)}
        with Person(home, answers) as person, OpenCodeServer(home) as server:
            results = server.run([agent.run(command("approved")), agent.run(PLAIN), agent.run(UNWANTED)])
        ran = {word: (home.project / f"{word}.marker").exists() for word in ("approved", "plain", "unwanted")}
        told = f"{results} {person.shown}"[-3000:]
    return {
        "its own prompt, after a yes to ours": Seen("answered")
        if ran["approved"] and person.answered.count("approved") == 1
        else Seen(f"NOT ANSWERED: {told}", good=False),
        "its own prompt, approved in our queue": Seen("runs") if ran["plain"] else Seen(f"STANDS: {told}", good=False),
        "its own prompt, denied in our queue": Seen("refused")
        if not ran["unwanted"] and UNWANTED in person.answered and len(results) == 3
        else Seen(f"NOT REFUSED: {told}", good=False),
    }


def _asking(home: Home) -> dict[str, Any]:
    settings: dict[str, Any] = json.loads((home.home / ".config/opencode/opencode.json").read_text())
    return settings | {"permission": {"*": "allow", "bash": "ask"}}


class OpenCodeServer:
    """OpenCode without a screen, in a terminal of its own."""

    def __init__(self, home: Home) -> None:
        self._home = home
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port: int = free.getsockname()[1]

    def __enter__(self) -> Self:
        home = self._home
        self._terminal = terminals.Terminal({**home.environment, **home.started.environment}, home.project)
        self._terminal.__enter__()
        words = (home.started.command[0], "serve", "--port", str(self._port), "--hostname", "127.0.0.1")
        self._terminal.type(f"{shlex.join(words)}\n")
        self._terminal.until("listening on", _SECONDS)
        return self

    def __exit__(self, *_error: object) -> None:
        self._terminal.type("\x03")
        self._terminal.__exit__()

    def run(self, steps: list[Any]) -> tuple[str, ...]:
        """What the model was shown of these wishes, when it has had them all."""
        self.say(self.session(), "Do it.", steps)
        return self._home.results

    def session(self) -> str:
        """A new session."""
        return str(self._post("/session", {})["id"])

    def say(self, session: str, text: str, steps: Sequence[Any] = ()) -> Any:
        """A message of its person; back when the agent has done what the model wanted."""
        self._home.wish(steps)
        return self._post(f"/session/{session}/message", {"model": _MODEL, "parts": [{"type": "text", "text": text}]})

    def compact(self, session: str) -> None:
        """Sum up what was said so far."""
        self._post(f"/session/{session}/summarize", _MODEL)

    def _post(self, path: str, body: Any) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=_SECONDS)
        try:
            connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
            return json.loads(connection.getresponse().read() or b"{}")
        finally:
            connection.close()
