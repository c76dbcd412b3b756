"""A model that says what it is told to: one call of a tool after the other, then a text.

It listens on loopback, speaks the wire formats of all agents that we run, and keeps the results of tools that agents
send back: what a model would have seen.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import monotonic
from typing import Any, Self
from urllib.parse import urlsplit

from tests.e2e.agents.dialects import DIALECTS, Dialect, ToolUse, Turn

LAST_WORD = "done"


class FakeModel:
    """Serves while it is entered. `results` has one text for each step that came back, `seconds` the time it took.

    `asked` counts the steps that it took.
    """

    def __init__(self, steps: Sequence[ToolUse] = ()) -> None:
        self.steps = tuple(steps)
        self.sub_agents: dict[str, tuple[Turn, ...]] = {}
        """What sub-agents do, by a text that stands in what they are told before all else."""
        self.sub_results: dict[str, list[str]] = {}
        self.results: list[str] = []
        self.seconds: list[float] = []
        self._asked = monotonic()
        self.asked = 0
        self.requests: list[tuple[str, Any]] = []
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def turn(self, dialect: Dialect, body: Any) -> bytes:
        """What it says next: the step after those whose results are there. Requests without tools get a text."""
        results = list(dialect.results(body))
        if (sub_agent := self._sub_agent(body)) is not None:
            self.sub_results[sub_agent] = results
            steps, at = self.sub_agents[sub_agent], len(results)
            return b"".join(dialect.stream(steps[at] if at < len(steps) else LAST_WORD, f"{sub_agent}-{at}"))
        with self._lock:
            if len(results) > len(self.results):
                self.results = results
                self.seconds.append(monotonic() - self._asked)
            self._asked = monotonic()
        at = len(results)
        says = self.steps[at] if body.get("tools") and at < len(self.steps) else LAST_WORD
        if isinstance(says, ToolUse):
            self.asked = max(self.asked, at + 1)
        return b"".join(dialect.stream(says, str(at)))

    def _sub_agent(self, body: Any) -> str | None:
        messages = body.get("messages") or []
        told = json.dumps([body.get("system"), body.get("instructions"), messages[:1]])
        return next((text for text in self.sub_agents if text in told), None)


def _handler(model: FakeModel) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            path = urlsplit(self.path).path
            body = json.loads(self._body() or b"{}")
            model.requests.append((path, body))
            dialect = next((one for one in DIALECTS if path.endswith(one.path)), None)
            if dialect is None:
                return self._answer(b"{}", "application/json")
            return self._answer(model.turn(dialect, body), "text/event-stream")

        def do_GET(self) -> None:
            model.requests.append((self.path, None))
            listed = {"object": "list", "data": [{"id": "fake", "object": "model"}]}
            self._answer(json.dumps(listed).encode(), "application/json")

        def do_HEAD(self) -> None:
            self._answer(b"", "application/json")

        def log_message(self, *_words: object) -> None:
            pass

        def _body(self) -> bytes:
            if "chunked" not in self.headers.get("Transfer-Encoding", ""):
                return self.rfile.read(int(self.headers.get("Content-Length", 0)))
            parts = []
            while size := int(self.rfile.readline(), 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(parts)

        def _answer(self, body: bytes, kind: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    return Handler
