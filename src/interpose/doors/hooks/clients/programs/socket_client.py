"""Asks the listener for hooks over its Unix socket. Whatever is no whole answer of ours in time is no answer.

This module is imported by `interpose hook`, and its text is the first part of the Python client that is installed. So
it imports nothing but modules that are part of the interpreter: any other would take longer than all that it does.
"""

import _socket
import posix
from time import monotonic, time

from interpose.core.platforms.peer_owner import NOT_TOLD, peer_owner

STALLED_SECONDS = 60
"""How long a server is not asked again that gave no answer in time. One that is back says so itself, earlier."""
_AGAIN_SECONDS = 1.0
"""How long it has for an answer when it is asked again after that."""
LARGEST = 64 << 20
_SOCKET = 0o140000
_FILE = 0o100000
_KIND = 0o170000
_WAITING = b"HTTP/1.1 102 "


class HookReply:
    """What a hook's process is to say."""

    def __init__(self, stdout: bytes, stderr: bytes, code: int) -> None:
        self.stdout, self.stderr, self.code = stdout, stderr, code


class NobodyError(Exception):
    """Nobody listens: the event was not heard."""


class BrokenError(Exception):
    """Somebody listens who gave no answer that could be used."""


class PersonWait:
    """How long we can wait for a person besides, if the listener says that it does."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds
        self.given = 0.0
        """What we were told to wait."""

    def begin(self, said: bytes, shown: bytes) -> None:
        """Wait so long. Nobody waits twice, or longer than we can."""
        self.given = min(float(int(said)), self.seconds) if said.isdigit() else 0.0
        self.seconds = 0.0
        self.show(shown)

    def show(self, text: bytes) -> None:
        """Meanwhile this can be shown."""


def ask(path: str, host: str, event: str, body: bytes, seconds: float, person: PersonWait | None = None) -> HookReply:
    """The listener's answer. Raises NobodyError or BrokenError, and nothing else, in time.

    That it gave none in time is remembered: those who come after us need not wait, too. `person` is how long it may
    wait for one.
    """
    until = stalled_until(path)
    if until > time():
        raise BrokenError("it gave others no answer in time")
    if until:
        seconds = min(seconds, _AGAIN_SECONDS)
    try:
        return _asked(path, host, event, body, seconds, person or PersonWait())
    except TimeoutError as error:
        note_stalled(path)
        raise BrokenError(str(error)) from None
    except (OSError, ValueError) as error:
        raise BrokenError(str(error)) from None


def stalled_until(path: str) -> float:
    """Until when the server of this socket is not asked, as it gave no answer; in the past, or 0 if that is over.

    What was written before the socket was made is about another server.
    """
    try:
        file = stalled_file(path)
        noted, made = posix.lstat(file), posix.lstat(path)
        if noted.st_mode & _KIND != _FILE or noted.st_uid != posix.geteuid() or noted.st_mtime_ns <= made.st_mtime_ns:
            return 0.0
        handle = posix.open(file, posix.O_RDONLY | posix.O_NOFOLLOW | posix.O_CLOEXEC)
        try:
            until = float(int(posix.read(handle, 16)))
        finally:
            posix.close(handle)
    except (OSError, ValueError):
        return 0.0
    # A clock that was set back must not keep the server out for long.
    return until if until <= time() + STALLED_SECONDS else 0.0


def note_stalled(path: str) -> None:
    """Remember that the server of this socket gave no answer in time."""
    try:
        flags = posix.O_WRONLY | posix.O_CREAT | posix.O_TRUNC | posix.O_NOFOLLOW | posix.O_CLOEXEC
        handle = posix.open(stalled_file(path), flags, 0o600)
        try:
            posix.write(handle, b"%d\n" % (time() + STALLED_SECONDS))
        finally:
            posix.close(handle)
    except OSError:
        pass  # the next one waits again, and decides as we do


def stalled_file(path: str) -> str:
    """Where that is remembered, beside the socket."""
    return path.rpartition("/")[0] + "/hook.stalled"


def _asked(path: str, host: str, event: str, body: bytes, seconds: float, person: PersonWait) -> HookReply:
    deadline = monotonic() + seconds
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        connection.settimeout(seconds)
        try:
            _check_owner(posix.lstat(path))
            connection.connect(path)
        except (TimeoutError, BlockingIOError) as error:  # it is there, and takes no more of us
            raise TimeoutError(str(error)) from None
        except OSError as error:
            raise NobodyError(str(error)) from None
        _check_peer(connection)
        query = f"?event={event}" if event else ""
        head = f"POST /hook/{host}{query} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
        if person.seconds >= 1:
            head += f"X-Interpose-Wait: {int(person.seconds)}\r\n"
        connection.sendall(head.encode("ascii") + b"Connection: close\r\n\r\n" + body)
        return _parsed(_received(connection, deadline, person))
    finally:
        connection.close()


def _check_owner(found: posix.stat_result) -> None:
    """Nobody but us may have put the socket there, or be able to take its place."""
    if found.st_mode & _KIND != _SOCKET:
        raise OSError("it is no socket")
    if found.st_uid != posix.geteuid() or found.st_mode & 0o077:
        raise OSError("the socket is not ours alone")


def _check_peer(connection: _socket.socket) -> None:
    # Where the system does not tell, the owner of the socket must do.
    if peer_owner(connection) not in (NOT_TOLD, posix.geteuid()):
        raise ValueError("another user listens there")


def _received(connection: _socket.socket, deadline: float, person: PersonWait) -> bytes:
    parts: list[bytes] = []
    size = 0
    while True:
        if person.seconds and parts:
            before, end, rest = b"".join(parts).partition(b"\r\n\r\n")
            if end and before.startswith(_WAITING):  # it does not hang: it waits for a person
                fields = _fields(before)
                person.begin(fields.get(b"x-interpose-wait", b""), _unquoted(fields.get(b"x-interpose-stderr", b"")))
                deadline += person.given
                parts = [rest] if rest else []
        left = deadline - monotonic()
        if left <= 0:
            raise TimeoutError("no answer in time")
        connection.settimeout(left)
        part = connection.recv(65536)
        if not part:
            return b"".join(parts)
        parts.append(part)
        size += len(part)
        if size > LARGEST:
            raise ValueError("the answer is too long")


def _parsed(data: bytes) -> HookReply:
    head, end, body = data.partition(b"\r\n\r\n")
    if not end or not head.startswith(b"HTTP/1.1 200 "):
        raise ValueError("no answer")
    fields = _fields(head)
    length, code = fields.get(b"content-length", b""), fields.get(b"x-interpose-exit", b"")
    if not length.isdigit() or int(length) != len(body):
        raise ValueError("the answer is not whole")
    if code not in (b"0", b"2"):
        raise ValueError("the answer has no exit code")
    return HookReply(body, _unquoted(fields.get(b"x-interpose-stderr", b"")), int(code))


def _fields(head: bytes) -> dict[bytes, bytes]:
    fields: dict[bytes, bytes] = {}
    for line in head.split(b"\r\n")[1:]:
        name, colon, value = line.partition(b":")
        name = name.lower()
        if not colon or name in fields:
            raise ValueError("the head of the answer is broken")
        fields[name] = value.strip()
    return fields


def _unquoted(text: bytes) -> bytes:
    first, *rest = text.split(b"%")
    return first + b"".join(bytes.fromhex(part[:2].decode("ascii")) + part[2:] for part in rest)
