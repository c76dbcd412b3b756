"""A webhook: another program is told of each new question, in the background. Nothing waits for it.

The answer to a question never comes this way: whoever is told answers as any person does, with a token of their own.
"""

from __future__ import annotations

import hashlib
import hmac
import http.client
import logging
import queue
import threading
from collections.abc import Mapping, Sequence
from time import time
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec import json as fast

from interpose.core.errors import text_of
from interpose.people.approvals.questions import Question

log = logging.getLogger("interpose.approvals")

WAITING_LIMIT = 200
"""Questions that may wait to be told. One more is not told, and logged."""
TIMEOUT = 5.0
PAUSES = (1.0, 5.0, 25.0)
"""Seconds before each new attempt."""


class WebhookBody(Struct, frozen=True):
    """What is posted."""

    question: Question
    event: str = "approval.asked"


class Webhook:
    """Posts questions to an address, one after the other. Call it with each new one."""

    def __init__(
        self, url: str, *, headers: Mapping[str, str] | None = None, secret: str = "", pauses: Sequence[float] = PAUSES
    ) -> None:
        """With a `secret`, each request is signed: see `signature`."""
        self._address = urlsplit(url)
        self._headers, self._secret, self._pauses = dict(headers or {}), secret.encode(), tuple(pauses)
        self._queue: queue.Queue[WebhookBody] = queue.Queue(WAITING_LIMIT)
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def __call__(self, question: Question) -> None:
        """Tell of a question, some time soon."""
        self._add(WebhookBody(question))

    def escalated(self, question: Question) -> None:
        """Tell that a question goes to others, as nobody answered."""
        self._add(WebhookBody(question, "approval.escalated"))

    def _add(self, told: WebhookBody) -> None:
        try:
            self._queue.put_nowait(told)
        except queue.Full:
            log.warning("webhook: %d questions wait to be told, %s is not", WAITING_LIMIT, told.question.id)
            return
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._work, name="interpose:webhook", daemon=True)
                self._thread.start()

    def _work(self) -> None:
        while True:
            with self._lock:
                try:
                    told = self._queue.get_nowait()
                except queue.Empty:
                    self._thread = None
                    return
            self._tell(told)

    def _tell(self, told: WebhookBody) -> None:
        body, pause, problem = fast.encode(told), threading.Event(), ""
        for seconds in (0.0, *self._pauses):
            pause.wait(seconds)
            try:
                status = self._post(body)
            except (OSError, http.client.HTTPException, ValueError) as error:
                problem = text_of(error)
                continue
            if status < 300:
                return
            problem = f"it answered {status}"
            if 300 <= status < 500 and status not in (408, 429):
                break  # the same again would be answered alike
        log.warning("webhook: nobody was told of question %s: %s", told.question.id, problem)

    def _post(self, body: bytes) -> int:
        address = self._address
        secure = address.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        connection = kind(address.hostname or "", address.port, timeout=TIMEOUT)
        target = (address.path or "/") + (f"?{address.query}" if address.query else "")
        headers = {"Content-Type": "application/json", "User-Agent": "interpose"} | self._headers
        if self._secret:
            moment = str(int(time()))
            headers |= {
                "X-Interpose-Timestamp": moment,
                "X-Interpose-Signature": f"sha256={signature(self._secret, moment, body)}",
            }
        try:
            connection.request("POST", target, body, headers)
            return connection.getresponse().status
        finally:
            connection.close()


def signature(secret: bytes, timestamp: str, body: bytes) -> str:
    """HMAC-SHA256 of `<timestamp>.<body>`: who has the secret can tell that we sent it, and when."""
    return hmac.new(secret, timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()
