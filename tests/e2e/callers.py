"""A program that asks a server over HTTP, as an agent's would: in a terminal of its own, and not as our child.

A process that asks is an agent, and so is nothing that it starts a person's. Tests ask through one of these, so that
the terminals which they open stay a person's.
"""

from __future__ import annotations

import itertools
import json
import os
import pty
import signal
import sys
import threading
from concurrent.futures import Future
from typing import Any

from tests.support.timing.patience import PATIENCE

PROGRAM = """\
import http.client, json, os, sys, threading
heard, told = int(sys.argv[1]), int(sys.argv[2])
lock = threading.Lock()
def ask(id, port, method, path, body, headers):
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=float(sys.argv[3]))
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        said = [id, answer.status, answer.read().decode()]
        connection.close()
    except Exception as error:
        said = [id, 0, repr(error)]
    with lock:
        os.write(told, json.dumps(said).encode() + b"\\n")
for line in os.fdopen(heard):
    threading.Thread(target=ask, args=json.loads(line), daemon=True).start()
"""


class Caller:
    """Asks, and can be asked by several threads at once. Ends with `close`."""

    def __init__(self) -> None:
        self._numbers, self._lock = itertools.count(), threading.Lock()
        self._waiting: dict[int, Future[tuple[int, str]]] = {}
        heard, self._asks = os.pipe()
        answers, told = os.pipe()
        self._pid, self._terminal = pty.fork()
        if self._pid == 0:
            for handle in (heard, told):  # here alone: others that are started at the same time must not keep them
                os.set_inheritable(handle, True)
            # The shell stays, and leads the terminal.
            line = f'"{sys.executable}" -S -c "$0" {heard} {told} {PATIENCE}; true'
            os.execv("/bin/bash", ["bash", "--norc", "-c", line, PROGRAM])
        os.close(heard)
        os.close(told)
        self._answers = os.fdopen(answers)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def ask(self, port: int, method: str, path: str, value: Any, headers: dict[str, str]) -> tuple[int, Any]:
        """One request, and the status and body of its answer."""
        answer: Future[tuple[int, str]] = Future()
        with self._lock:
            number = next(self._numbers)
            self._waiting[number] = answer
            asked = [number, port, method, path, None if value is None else json.dumps(value), headers]
            os.write(self._asks, json.dumps(asked).encode() + b"\n")
        status, body = answer.result(PATIENCE)
        if status == 0:
            raise ConnectionError(body)
        return status, json.loads(body)

    def _read(self) -> None:
        for line in self._answers:
            number, status, body = json.loads(line)
            self._waiting.pop(number).set_result((status, body))

    def close(self) -> None:
        """End the program and its shell."""
        os.close(self._asks)
        try:
            os.killpg(self._pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # it has ended already
        os.waitpid(self._pid, 0)
        self._reader.join(PATIENCE)
        self._answers.close()
        os.close(self._terminal)
