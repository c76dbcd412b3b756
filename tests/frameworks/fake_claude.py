"""A model on loopback that speaks Anthropic's Messages, for what only talks to a server: several calls in a turn."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

Block = dict[str, Any]
"""A part of an answer: `{"type": "text", "text": ...}` or `{"type": "tool_use", "id", "name", "input"}`."""


class FakeClaude:
    """Serves while it is entered. `answer` makes the blocks of an answer out of a request."""

    def __init__(self, answer: Callable[[Any], list[Block]]) -> None:
        self._answer = answer
        self.requests: list[Any] = []

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
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def turn(self, body: Any) -> bytes:
        self.requests.append(body)
        return b"".join(_stream(self._answer(body), len(self.requests)))


def results_of(body: Any) -> dict[str, str]:
    """The results of tools in a request, by the ids of their calls."""
    return {
        block["tool_use_id"]: _text(block.get("content", ""))
        for message in body["messages"]
        for block in (message["content"] if isinstance(message["content"], list) else ())
        if block["type"] == "tool_result"
    }


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text", part)) for part in content)


def _stream(blocks: list[Block], number: int) -> Iterator[bytes]:
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "fake", "content": []}
    calls = any(block["type"] == "tool_use" for block in blocks)
    yield _event({"type": "message_start", "message": {**message, "stop_reason": None, "usage": usage}})
    for index, block in enumerate(blocks):
        start: Block = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": block.get("text", "")}
        if block["type"] == "tool_use":
            start = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield _event({"type": "content_block_start", "index": index, "content_block": start})
        yield _event({"type": "content_block_delta", "index": index, "delta": delta})
        yield _event({"type": "content_block_stop", "index": index})
    reason = "tool_use" if calls else "end_turn"
    yield _event({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage})
    yield _event({"type": "message_stop"})


def _event(data: Any) -> bytes:
    return f"event: {data['type']}\ndata: {json.dumps(data)}\n\n".encode()


def _handler(model: FakeClaude) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
            known = self.path.partition("?")[0].endswith("/v1/messages")
            self._say(model.turn(body) if known else b"{}", "text/event-stream" if known else "application/json")

        def do_GET(self) -> None:
            self._say(b"{}", "application/json")

        def do_HEAD(self) -> None:
            self._say(b"", "application/json")

        def log_message(self, *_words: object) -> None:
            pass

        def _say(self, body: bytes, kind: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    return Handler
