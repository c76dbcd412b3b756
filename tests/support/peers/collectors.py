"""A collector of telemetry for tests, on a loopback port."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import SimpleQueue
from typing import Any, Self

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.support.timing.patience import PATIENCE


class Collector(ThreadingHTTPServer):
    """Takes what it is sent; while `open` is not set it hangs."""

    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Taking)
        self.open = threading.Event()
        self.hanging = threading.Event()
        self.taken: SimpleQueue[tuple[str, bytes]] = SimpleQueue()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    @contextmanager
    def running(self) -> Iterator[Self]:
        """Take requests while this holds."""
        with self:
            thread = threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True)
            thread.start()
            try:
                yield self
            finally:
                self.open.set()
                self.shutdown()
                thread.join()

    def spans(self) -> list[Any]:
        """The spans of the next batch that comes."""
        _, body = self.taken.get(timeout=PATIENCE)
        sent = ExportTraceServiceRequest.FromString(body)
        return [span for each in sent.resource_spans for scope in each.scope_spans for span in scope.spans]


class Taking(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if not self.server.open.is_set():
            self.server.hanging.set()
            self.server.open.wait(30)
        self.server.taken.put((self.path, body))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_words: object) -> None:
        pass
