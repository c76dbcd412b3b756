"""The second part of the Python client: from the event on standard input to the exit code.

Its text is put behind that of socket_client.py, and the call of `main` behind that.
"""

import _signal  # type: ignore[import-not-found]  # the part of `signal` that is built in has no types
import posix
import sys
from posix import _exit
from time import monotonic, time

from interpose.doors.hooks.clients.programs.socket_client import LARGEST, BrokenError, NobodyError, PersonWait, ask


class StandaloneSettings:
    """What is written into the file when it is installed. `seconds` is for everything; the listener gets half of it.
    `wait` is what comes on top of it where a person is waited for."""

    def __init__(
        self,
        *,
        host: str,
        socket: str,
        seconds: float,
        wait: float,
        command: list[str],
        environment: dict[str, str],
        broken: tuple[bytes, bytes, int],
        spool: str,
    ) -> None:
        self.host, self.socket, self.seconds, self.wait = host, socket, seconds, wait
        self.command, self.environment, self.broken, self.spool = command, environment, broken, spool


def main(settings: StandaloneSettings) -> None:
    """Answer one event and end the process.

    INVARIANT: only an answer, or whoever we hand over to, lets anything run.
    """
    try:
        _signal.signal(_signal.SIGALRM, lambda *_: _refuse(settings))
        _signal.setitimer(_signal.ITIMER_REAL, settings.seconds)
        _answer(settings, monotonic() + settings.seconds)
    finally:
        _refuse(settings)


class _AtTheHost(PersonWait):
    """The host's person is told where to answer, and our own alarm rings later."""

    def show(self, text: bytes) -> None:
        left, _interval = _signal.getitimer(_signal.ITIMER_REAL)
        _signal.setitimer(_signal.ITIMER_REAL, left + self.given)
        _say(2, text + b"\n")


def _answer(settings: StandaloneSettings, deadline: float) -> None:
    event = sys.argv[1] if len(sys.argv) > 1 else ""
    body = _event()
    person = _AtTheHost(settings.wait)
    try:
        answer = ask(settings.socket, settings.host, event, body, settings.seconds / 2, person)
    except NobodyError:
        return _hand_over(settings, event, body, deadline, ("--wait", f"{settings.wait:.0f}"))
    except BrokenError:
        return _hand_over(settings, event, body, deadline + person.given, ("--in-process",))
    _say(1, answer.stdout)
    if answer.stderr:
        _say(2, answer.stderr + b"\n")
    _exit(answer.code)


def _event() -> bytes:
    parts: list[bytes] = []
    size = 0
    while size <= LARGEST:
        part = posix.read(0, 1 << 20)
        if not part:
            return b"".join(parts)
        parts.append(part)
        size += len(part)
    raise ValueError("the event is too long")


def _hand_over(settings: StandaloneSettings, event: str, body: bytes, deadline: float, how: tuple[str, ...]) -> None:
    """Let the whole program decide, in our place and with the same event."""
    reading, writing = posix.pipe()
    if posix.fork() == 0:
        try:
            posix.close(reading)
            _say(writing, body)
        finally:
            _exit(0)
    posix.close(writing)
    posix.dup2(reading, 0)
    named = [event] if event else []
    command = [*settings.command, *named, *how, "--within", f"{max(0.1, deadline - monotonic()):.1f}"]
    kept = {name: value for name, value in posix.environ.items() if not name.startswith(b"INTERPOSE_")}
    kept |= {name.encode(): value.encode() for name, value in settings.environment.items()}
    _signal.setitimer(_signal.ITIMER_REAL, 0)  # it would go on, and its signal kill the program, which is no refusal
    posix.execve(command[0], command, kept)


def _refuse(settings: StandaloneSettings) -> None:
    stdout, stderr, code = settings.broken
    try:
        if settings.spool:
            line = b'{"at":%d,"host":"%b","why":"the client got no answer"}\n' % (time(), settings.host.encode())
            _say(posix.open(settings.spool, posix.O_WRONLY | posix.O_CREAT | posix.O_APPEND, 0o600), line)
        _say(1, stdout)
        _say(2, stderr)
    finally:
        _exit(code)


def _say(handle: int, data: bytes) -> None:
    while data:
        data = data[posix.write(handle, data) :]
