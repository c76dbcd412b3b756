"""Who may ask: the tokens file, one `name role token` a line, and `until=` a moment if the token ends.

Instead of the token itself a line may hold `sha256:` and the hex digest of the token. Lines that begin with `#` are
notes. Whoever can read the file has its roles, so it must be readable by its owner alone.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import stat
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic, time

from msgspec import Struct

from interpose.core.errors import ServerError
from interpose.core.formats.own_files import why_not_ours
from interpose.doors.http_server.messages import ANONYMOUS, Access, Caller, Role

SHORTEST = 32
"""Characters of a token. Shorter ones could be guessed."""

_LARGEST_FILE = 1 << 20
_NAME = re.compile(r"[A-Za-z0-9._@-]{1,64}")
_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]+")
_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")
_NOTE = "# name role token. Roles: agent, auditor, approver, operator. Keep this file to yourself (chmod 600).\n"
_UNTIL = "until="
_LONGEST_LINE_WORDS = 4

_INCLUDES: dict[Role, frozenset[Access]] = {
    "agent": frozenset({"open", "agent"}),
    "auditor": frozenset({"open", "agent", "auditor"}),
    "approver": frozenset({"open", "agent", "approver"}),
    "operator": frozenset({"open", "agent", "auditor", "approver", "operator"}),
}


def may(role: Role, access: Access) -> bool:
    """Whether a role is enough for a route."""
    return access in _INCLUDES[role]


class Token(Struct, frozen=True):
    """One line of the file. `secret` is empty if only the digest is known, `until` None if it never ends."""

    name: str
    role: Role
    digest: bytes
    secret: str = ""
    until: datetime | None = None

    @property
    def ended(self) -> bool:
        """Whether it counts no more."""
        return self.until is not None and self.until.timestamp() <= _now()

    def __repr__(self) -> str:
        return f"Token({self.name!r}, {self.role!r})"


class Tokens(Struct, frozen=True):
    """The callers that are known."""

    entries: tuple[Token, ...] = ()

    def caller(self, presented: str) -> Caller | None:
        """Whose token this is. Takes the same time whichever it is, and if it is none."""
        digest = digest_of(presented)
        found: Token | None = None
        for token in self.entries:
            if hmac.compare_digest(token.digest, digest):
                found = token
        return Caller(found.role, found.name) if found and not found.ended else None

    def secret_of(self, role: Role) -> str:
        """A token that a local client may use for what this role may do; empty if none is written out."""
        usable = (token for token in self.entries if token.secret and not token.ended)
        return next((token.secret for token in usable if may(token.role, role)), "")


def open_tokens(path: Path) -> Tokens:
    """The tokens of a file. The first time, a file with one operator's token is made."""
    if not os.path.lexists(path):
        _create(path)
    return read_tokens(path)


def read_tokens(path: Path) -> Tokens:
    """The tokens of a file, or ServerError that says what is wrong and where."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise ServerError(f"{path}: the tokens can't be read: {error.strerror}") from None
    try:
        _check(path, os.fstat(handle))
        text = os.read(handle, _LARGEST_FILE + 1)
    finally:
        os.close(handle)
    if len(text) > _LARGEST_FILE:
        raise ServerError(f"{path}: more than {_LARGEST_FILE} bytes of tokens")
    try:
        return _parsed(path, text.decode("ascii"))
    except UnicodeDecodeError as error:
        raise ServerError(f"{path}: byte {error.start} is no ASCII") from None


def _check(path: Path, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise ServerError(f"{path}: the tokens can't be read: it is no regular file")
    if why := why_not_ours(path, found, private=True):
        raise ServerError(f"{path}: the tokens can't be used: {why}")


def _parsed(path: Path, text: str) -> Tokens:
    entries: dict[str, Token] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            token = _token(line.split())
        except ValueError as error:
            raise ServerError(f"{path}:{number}: {error}") from None
        if token.name in entries:
            raise ServerError(f"{path}:{number}: the name {token.name!r} is taken by an earlier line")
        entries[token.name] = token
    if not entries:
        raise ServerError(f"{path}: there are no tokens; delete the file to have one made at the next start")
    return Tokens(tuple(entries.values()))


def _token(words: list[str]) -> Token:
    """INVARIANT: no error repeats a token."""
    until = _moment(words.pop()) if len(words) == _LONGEST_LINE_WORDS else None
    if len(words) != 3:
        raise ValueError(f"expected `name role token` and at most `until=...`, found {len(words)} words")
    name, role, secret = words
    require_name(name)
    if role not in _INCLUDES:
        raise ValueError(f"expected a role ({', '.join(_INCLUDES)}), found {role!r}")
    if secret.startswith("sha256:"):
        digest = _DIGEST.fullmatch(secret)
        if not digest:
            raise ValueError("expected 64 lower-case hex digits after sha256:")
        return Token(name, role, bytes.fromhex(digest[1]), until=until)
    if len(secret) < SHORTEST or not _TOKEN.fullmatch(secret):
        raise ValueError(f"a token has at least {SHORTEST} characters: letters, digits and . _ ~ + / = -")
    return Token(name, role, digest_of(secret), secret, until)


def require_name(name: str) -> None:
    """Raises ValueError for what can't be the name of a caller."""
    if not _NAME.fullmatch(name):
        raise ValueError("a name has 1 to 64 letters, digits and . _ @ -")
    if name == ANONYMOUS:
        raise ValueError(f"{ANONYMOUS} is the name of those who have no token")


def _moment(word: str) -> datetime:
    try:
        found = datetime.fromisoformat(word.removeprefix(_UNTIL))
    except ValueError:
        found = None
    if found is None or not word.startswith(_UNTIL):
        raise ValueError("expected `until=` and a moment such as 2026-12-31 or 2026-12-31T12:00:00Z")
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


_started = time(), monotonic()


def _now() -> float:
    """The time, which here only goes forward: a clock that is set back brings no token back to life."""
    began, then = _started
    return max(time(), began + monotonic() - then)


def digest_of(secret: str) -> bytes:
    """What is kept of a token."""
    return hashlib.sha256(secret.encode("latin-1", "replace")).digest()


def _create(path: Path) -> None:
    """INVARIANT: the file appears whole or not at all, and never replaces one that another process just made."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(handle, "w", encoding="ascii") as file:
                file.write(f"{_NOTE}operator operator {secrets.token_urlsafe(32)}\n")
                file.flush()
                os.fsync(file.fileno())
            os.link(draft, path)
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    except OSError as error:
        raise ServerError(f"{path}: the tokens file can't be made: {error.strerror}") from None
