"""The webhook: signed, tried again, dropped rather than waited for."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import msgspec
import pytest

from interpose.core.types import HookPoint
from interpose.people.approvals.questions import Question
from interpose.people.approvals.webhook import WAITING_LIMIT, Webhook, signature
from tests.support.timing.patience import PATIENCE

NOW = datetime(2026, 1, 31, 8, tzinfo=UTC)


def question(id: str) -> Question:
    return Question(
        id=id, asked=NOW, expires=NOW, message="?", point=HookPoint.TOOL_BEFORE, tool="exec", arguments={"command": "x"}
    )


class Receiver:
    """What came in, and what is answered to it: the statuses in turn, the last one from then on."""

    def __init__(self, *statuses: int) -> None:
        self.statuses, self.came = list(statuses), queue.Queue[tuple[str, dict[str, str], bytes]]()
        self.gate = threading.Event()
        self.gate.set()
        self.url = ""


@contextmanager
def receiving(*statuses: int) -> Iterator[Receiver]:
    receiver = Receiver(*statuses)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.gate.wait(20)
            receiver.came.put((self.path, {name.lower(): value for name, value in self.headers.items()}, body))
            status = receiver.statuses.pop(0) if len(receiver.statuses) > 1 else receiver.statuses[0]
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    receiver.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield receiver
    finally:
        receiver.gate.set()
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_question_is_told_and_signed() -> None:
    with receiving(204) as receiver:
        tell = Webhook(f"{receiver.url}/in?x=1", headers={"Authorization": "Bearer t"}, secret="s3")
        tell(question("q1"))
        path, headers, body = receiver.came.get(timeout=PATIENCE)
    assert path == "/in?x=1"
    assert headers["authorization"] == "Bearer t"
    assert headers["content-type"] == "application/json"
    assert headers["x-interpose-signature"] == "sha256=" + signature(b"s3", headers["x-interpose-timestamp"], body)
    told = msgspec.json.decode(body)
    assert (told["event"], told["question"]["id"]) == ("approval.asked", "q1")
    assert told["question"]["arguments"] == {"command": "x"}


def test_the_signature_is_the_one_that_others_compute() -> None:
    """As `printf '1.{}' | openssl dgst -sha256 -hmac key` says."""
    known = "1ba6b8171186efc613e8bcc0cbdab2748f24984d7c5a84faa2637afa0e40d224"
    assert signature(b"key", "1", b"{}") == known


@pytest.mark.parametrize(
    ("note", "statuses", "attempts"),
    [
        ("taken at once", (200,), 1),
        ("a server that comes back", (503, 500, 200), 3),
        ("too many requests", (429, 200), 2),
        ("given up in the end", (500,), 4),
        ("refused is refused", (403,), 1),
        ("not sent elsewhere", (302,), 1),
    ],
)
def test_attempts(note: str, statuses: tuple[int, ...], attempts: int, caplog: pytest.LogCaptureFixture) -> None:
    with receiving(*statuses) as receiver:
        tell = Webhook(receiver.url, pauses=(0, 0, 0))
        tell(question("q1"))
        while (worker := tell._thread) is not None:
            worker.join(PATIENCE)
        assert receiver.came.qsize() == attempts, note
        assert "x-interpose-signature" not in receiver.came.get()[1]
    assert bool(caplog.records) == (receiver.statuses[-1] not in (200,))


def test_an_address_that_nobody_has(caplog: pytest.LogCaptureFixture) -> None:
    tell = Webhook("http://127.0.0.1:9/", pauses=(0,))
    tell(question("q7"))
    while (worker := tell._thread) is not None:
        worker.join(PATIENCE)
    assert "nobody was told of question q7" in caplog.text


def test_a_receiver_that_hangs_is_not_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    with receiving(200) as receiver:
        receiver.gate.clear()
        tell = Webhook(receiver.url)
        for number in range(WAITING_LIMIT + 10):
            tell(question(f"q{number}"))
        assert "questions wait to be told" in caplog.text
        receiver.gate.set()
        assert msgspec.json.decode(receiver.came.get(timeout=PATIENCE)[2])["question"]["id"] == "q0"
        while (worker := tell._thread) is not None:
            worker.join(PATIENCE)
        assert WAITING_LIMIT - 1 <= receiver.came.qsize() <= WAITING_LIMIT
