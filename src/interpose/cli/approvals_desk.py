"""Which desk is meant: the store of the configuration, or a server's."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path
from typing import Any, Protocol, TypeVar
from urllib.parse import quote

import msgspec

from interpose.approvals.desk import Desk
from interpose.approvals.grants import Given
from interpose.approvals.questions import Question, spoken_id
from interpose.approvals.scopes import ONCE, Scope
from interpose.cli import EXIT_CONFIG, EXIT_INTERNAL, EXIT_USAGE
from interpose.cli.call_arguments import UsageError
from interpose.cli.server_client import connection_to
from interpose.cli.verdict_text import visible, visible_lines
from interpose.config.load import load
from interpose.errors import (
    AnsweredError,
    ApprovalError,
    ConfigError,
    InterposeError,
    NoQuestionError,
    ScopeError,
    StoreError,
    TooLateError,
    text_of,
)
from interpose.store import open_store

EXIT_NOT_DONE = 1
TIMEOUT = 10.0

EPILOG = """Without --server, the store of this user's configuration is asked: nobody needs to serve. With --server the
server is asked, and the name of the token is the approver's.

exit codes: 0 done; 1 there is no such question or grant, or it was too late; 64 wrong usage; 70 internal error, or a
store or server that can't be reached; 78 a configuration that can't be loaded"""

T = TypeVar("T")

_SHOWN_BYTES = 64 << 20
_REFUSALS: dict[str, type[ApprovalError]] = {
    "not_found": NoQuestionError,
    "already_answered": AnsweredError,
    "too_late": TooLateError,
    "invalid_scope": ScopeError,
}


class AnyDesk(Protocol):
    """Where questions are answered."""

    def asked(self) -> list[Question]:
        """Questions that wait, the oldest first."""

    def recent(self) -> list[Question]:
        """Questions of any state, the newest first."""

    def question(self, id: str) -> Question:
        """One question."""

    def approve(self, id: str, by: str, scope: Scope = ONCE, *, comment: str = "") -> Question:
        """Say yes."""

    def deny(self, id: str, by: str, reason: str = "") -> Question:
        """Say no."""

    def grants(self) -> list[Given]:
        """Answers that still count."""

    def revoke(self, id: str) -> bool:
        """Take an answer back."""


class ServerDesk:
    """The desk of a server."""

    def __init__(self, at: str, token: str) -> None:
        self._at, self._token = at, token

    def asked(self) -> list[Question]:
        """Questions that wait, the oldest first."""
        return self._ask("GET", "approvals?limit=1000", dict[str, list[Question]])["approvals"]

    def recent(self) -> list[Question]:
        """Questions of any state, the newest first."""
        return self._ask("GET", "approvals?state=all&limit=1000", dict[str, list[Question]])["approvals"]

    def question(self, id: str) -> Question:
        """One question."""
        return self._ask("GET", f"approvals/{_segment(id)}", Question)

    def approve(self, id: str, by: str, scope: Scope = ONCE, *, comment: str = "") -> Question:  # noqa: ARG002
        """Say yes. The server knows by whom."""
        body: dict[str, Any] = {"scope": scope.kind, "comment": comment}
        if scope.kind == "uses":
            body["uses"] = scope.uses
        if scope.until is not None:
            body["until"] = scope.until
        return self._ask("POST", f"approvals/{_segment(id)}/approve", Question, body)

    def deny(self, id: str, by: str, reason: str = "") -> Question:  # noqa: ARG002 - as above
        """Say no."""
        return self._ask("POST", f"approvals/{_segment(id)}/deny", Question, {"reason": reason})

    def grants(self) -> list[Given]:
        """Answers that still count."""
        return self._ask("GET", "grants?limit=1000", dict[str, list[Given]])["grants"]

    def revoke(self, id: str) -> bool:
        """Take an answer back."""
        try:
            self._ask("DELETE", f"grants/{_segment(id)}", dict[str, Any])
        except NoQuestionError:
            return False
        return True

    def _ask(self, method: str, path: str, kind: type[T], body: object = None) -> T:
        headers = {"Authorization": f"Bearer {self._token}"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        try:
            connection = connection_to(self._at, TIMEOUT)
            try:
                data = None if body is None else msgspec.json.encode(body)
                connection.request(method, f"/api/v1/{path}", data, headers)
                response = connection.getresponse()
                answer = response.read(_SHOWN_BYTES)
            finally:
                connection.close()
            if response.status != 200:
                raise _refusal(response.status, answer)
            return msgspec.json.decode(answer, type=kind)
        except (OSError, HTTPException, msgspec.MsgspecError, ValueError) as error:
            raise StoreError(f"{self._at}: {text_of(error)}") from error


def _segment(id: str) -> str:
    return quote(spoken_id(id), safe="")


class _Refused(msgspec.Struct):
    error: str
    message: str


def _refusal(status: int, answer: bytes) -> InterposeError:
    try:
        said = msgspec.json.decode(answer, type=_Refused)
    except msgspec.MsgspecError:
        return StoreError(f"the server answered {status}")
    return _REFUSALS.get(said.error, StoreError)(f"{said.message} ({said.error})")


def add_place(parser: argparse.ArgumentParser) -> None:
    """Where the desk is, and how it is printed."""
    parser.add_argument("--config", metavar="FILE", help="read this file instead of the user's interpose.yaml")
    parser.add_argument("--server", metavar="URL", help="ask this server (http://, https:// or a socket's path)")
    parser.add_argument("--token-file", metavar="FILE", help="a file with a token of role approver, for --server")
    parser.add_argument("--json", action="store_true", help="print JSON")


@contextmanager
def opened(args: argparse.Namespace, *, read_only: bool = False) -> Iterator[AnyDesk]:
    """The desk that is meant. Raises UsageError, ConfigError or StoreError."""
    if args.server:
        yield ServerDesk(_address(args.server), _token(args.token_file))
        return
    if args.token_file:
        raise UsageError("--token-file belongs to --server")
    config = load(args.config).config
    where = config.store.url or str(Path(config.ledger.directory) / "ledger.db")
    if not config.store.url and not Path(where).is_file():
        raise StoreError(f"nothing was ever asked: there is no ledger at {where}")
    store = open_store(where, read_only=read_only)
    try:
        # Answers need no key: a question carries the digests of what it is about.
        yield Desk(store, timeout=config.approvals.timeout, key=b"")
    finally:
        store.close()


def _address(text: str) -> str:
    if not text.startswith(("http://", "https://", "/")):
        raise UsageError("--server needs an address with http:// or https://, or the path of a socket")
    return text


def _token(file: str | None) -> str:
    """The token: alone in its file, or the last word of a line of a tokens file that may approve."""
    if file is None:
        raise UsageError("--server needs --token-file: answering takes a token of role approver or operator")
    try:
        with Path(file).open(encoding="ascii") as opened_file:
            lines = [line.split() for line in opened_file if line.strip() and not line.startswith("#")]
            if os.fstat(opened_file.fileno()).st_mode & 0o077:
                print(f"interpose: others can read {visible(file)}; run chmod 600", file=sys.stderr)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the token can't be read: {text_of(error)}") from None
    for words in lines:
        if len(words) == 1 or (len(words) == 3 and words[1] in ("approver", "operator")):
            return words[-1]
    raise UsageError(f"{file} has no token of an approver: one word alone, or a line `name approver token`")


def answered(verb: str, args: argparse.Namespace, act: Callable[[], int]) -> int:
    """Do something at a desk. What goes wrong is said in one line, with the exit code for it."""
    try:
        return act()
    except BrokenPipeError:
        raise  # not an error of ours: see cli/__init__.py
    except (NoQuestionError, AnsweredError, TooLateError) as error:
        code, problem = EXIT_NOT_DONE, text_of(error)
    except (UsageError, ScopeError) as error:
        code, problem = EXIT_USAGE, text_of(error)
    except ConfigError as error:
        code, problem = EXIT_CONFIG, f"a configuration that can't be loaded\n{error}"
    except (InterposeError, OSError) as error:
        code, problem = EXIT_INTERNAL, text_of(error)
    print(f"interpose {verb} {args.act}: {visible_lines(problem)}", file=sys.stderr)
    return code
