"""Which desk is meant: the store of the configuration, or a server's."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from http.client import HTTPException
from pathlib import Path
from typing import Any, Protocol, TypeVar
from urllib.parse import quote

import msgspec

from interpose.composition.service.operation_answers import ApprovalsAnswer, BatchAnswers, BatchItem, GrantsAnswer
from interpose.composition.service.question_views import AnsweredQuestion, ShownQuestion
from interpose.core.config.load import load
from interpose.core.config.settings import Config
from interpose.core.errors import (
    AnsweredError,
    ApprovalError,
    ConfigError,
    CrowdedError,
    EditError,
    InterposeError,
    NoQuestionError,
    NotHaltedError,
    NotProvenError,
    ScopeError,
    SessionError,
    StoreError,
    TooLateError,
    UnlikeError,
    UnloadableError,
    VoteError,
    text_of,
)
from interpose.doors.cli import EXIT_CONFIG, EXIT_INTERNAL, EXIT_USAGE
from interpose.doors.cli.auditing.kept_store import kept_store, with_remedy
from interpose.doors.cli.explaining.call_arguments import UsageError
from interpose.doors.cli.explaining.verdict_text import visible, visible_lines
from interpose.doors.cli.shared.server_client import connection_to, reachable
from interpose.doors.hooks.install.situation import store_desk
from interpose.effects.ourselves.operations import API, BY_ID
from interpose.people.approvals.grants import Given
from interpose.people.approvals.questions import Question, spoken_id
from interpose.people.approvals.scopes import ONCE, Scope

EXIT_NOT_DONE = 1
TIMEOUT = 10.0
_STARTING = 15.0
"""Seconds for a server to start that a yes needs."""

EPILOG = """This user's server is asked over its Unix socket. To say yes you prove to be no agent: by your own terminal,
or as approvals.proof wants it. Without a server questions and grants are shown from the store, and nothing is answered.
With --server an address is asked, and the name of the token is the approver's.

exit codes: 0 done; 1 there is no such question or grant, it was too late, or the proof was not enough; 64 wrong usage;
70 internal error, or a store or server that can't be reached; 78 a configuration that can't be loaded"""

T = TypeVar("T")

_SHOWN_BYTES = 64 << 20
_REFUSALS: dict[str, type[InterposeError]] = {
    "not_found": NoQuestionError,
    "not_halted": NotHaltedError,
    "already_answered": AnsweredError,
    "too_late": TooLateError,
    "invalid_scope": ScopeError,
    "invalid_edit": EditError,
    "not_an_approver": VoteError,
    "not_alike": UnlikeError,
    "too_many": CrowdedError,
}
_NOT_PROVEN = frozenset({
    "not_proven", "passphrase_needed", "passphrase_wrong", "code_needed", "code_wrong", "too_many_attempts",
    "no_server",
})  # fmt: skip


class AnyDesk(Protocol):
    """Where questions are answered."""

    def asked(self) -> list[Question]:
        """Questions that wait, the oldest first."""

    def recent(self) -> list[Question]:
        """Questions of any state, the newest first."""

    def question(self, id: str) -> Question:
        """One question."""

    def approve(
        self,
        id: str,
        by: str,
        scope: Scope = ONCE,
        *,
        comment: str = "",
        arguments: dict[str, Any] | None = None,
        kind: str = "",
    ) -> Question:
        """Say yes."""

    def deny(self, id: str, by: str, reason: str = "", *, comment: str = "") -> Question:
        """Say no."""

    def defer(self, id: str, by: str, comment: str = "") -> Question:
        """Answer later."""

    def grants(self) -> list[Given]:
        """Answers that still count."""

    def revoke(self, id: str) -> bool:
        """Take an answer back."""


class ServerDesk:
    """The desk of a server."""

    def __init__(self, at: str, token: str = "", *, of_anyone: bool = False) -> None:
        """`of_anyone` believes a socket whose server is another user's: the operator's has one."""
        self._at, self._token, self._of_anyone = at, token, of_anyone

    def asked(self) -> list[Question]:
        """Questions that wait, the oldest first."""
        return self.do("questions", ApprovalsAnswer, query="limit=1000").approvals

    def recent(self) -> list[Question]:
        """Questions of any state, the newest first."""
        return self.do("questions", ApprovalsAnswer, query="state=all&limit=1000").approvals

    def question(self, id: str) -> ShownQuestion:
        """One question."""
        return self.do("question", ShownQuestion, id=spoken_id(id))

    def approve(
        self,
        id: str,
        by: str,  # noqa: ARG002 - the server knows by whom
        scope: Scope = ONCE,
        *,
        comment: str = "",
        arguments: dict[str, Any] | None = None,
        kind: str = "",
    ) -> AnsweredQuestion:
        """Say yes."""
        body = _scoped(scope) | {"comment": comment}
        if arguments is not None:
            body["arguments"] = arguments
        if kind:
            body |= {"kind": kind, "sessions": scope.sessions}
        return self.do("approve", AnsweredQuestion, body, id=spoken_id(id))

    def approve_all(self, ids: Sequence[str], scope: Scope, *, comment: str) -> list[BatchItem]:
        """Say yes to several questions of one kind."""
        body = _scoped(scope) | {"ids": list(ids), "answer": "approve", "comment": comment}
        return self.do("batch", BatchAnswers, body).answers

    def deny_all(self, ids: Sequence[str], *, reason: str, comment: str) -> list[BatchItem]:
        """Say no to several questions of one kind."""
        body = {"ids": list(ids), "answer": "deny", "reason": reason, "comment": comment}
        return self.do("batch", BatchAnswers, body).answers

    def defer(self, id: str, by: str, comment: str = "") -> AnsweredQuestion:  # noqa: ARG002 - as above
        """Answer later."""
        return self.do("defer", AnsweredQuestion, {"comment": comment}, id=spoken_id(id))

    def do(
        self,
        operation: str,
        kind: type[T],
        body: dict[str, Any] | None = None,
        *,
        query: str = "",
        timeout: float = TIMEOUT,
        **named: str,
    ) -> T:
        """Ask for what a row of the table of operations says; `named` are the parts of its address that vary.

        Where a person must prove to be one, the server says which proof it wants, and it is typed at the terminal.
        """
        row = BY_ID[operation]
        path = row.path.format_map({name: quote(value, safe="") for name, value in named.items()})
        path = path.removeprefix(API) + (f"?{query}" if query else "")
        try:
            return self.ask(row.method, path, kind, body, timeout=timeout)
        except NotProvenError as error:
            if not row.proven or error.code not in _ASKED_FOR:
                raise
            return self.ask(row.method, path, kind, (body or {}) | _proof_asked(error), timeout=timeout)

    def deny(self, id: str, by: str, reason: str = "", *, comment: str = "") -> AnsweredQuestion:  # noqa: ARG002
        """Say no."""
        body = {"reason": reason, "comment": comment}
        return self.do("deny", AnsweredQuestion, body, id=spoken_id(id))

    def grants(self) -> list[Given]:
        """Answers that still count."""
        return self.do("grants", GrantsAnswer, query="limit=1000").grants

    def revoke(self, id: str) -> bool:
        """Take an answer back."""
        try:
            self.do("revoke-grant", dict[str, Any], id=spoken_id(id))
        except NoQuestionError:
            return False
        return True

    def ask(self, method: str, path: str, kind: type[T], body: object = None, *, timeout: float = TIMEOUT) -> T:
        """What the server answers. Raises StoreError, or the refusal that it says."""
        headers = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        if body is not None:
            headers["Content-Type"] = "application/json"
        try:
            connection = connection_to(self._at, timeout, of_anyone=self._of_anyone)
            try:
                data = None if body is None else msgspec.json.encode(body)
                connection.request(method, f"{API}{path}", data, headers)
                response = connection.getresponse()
                answer = response.read(_SHOWN_BYTES)
            finally:
                connection.close()
            if response.status != 200:
                raise _refusal(response.status, answer)
            return msgspec.json.decode(answer, type=kind)
        except (OSError, HTTPException, msgspec.MsgspecError, ValueError) as error:
            raise StoreError(f"{self._at}: {text_of(error)}") from error


def _proof_asked(missing: NotProvenError) -> dict[str, str]:
    """What the server wants to hear from a person, typed at their terminal."""
    field, prompt, hidden = _ASKED_FOR[missing.code]
    print(f"interpose: {visible(text_of(missing))}", file=sys.stderr)
    try:
        if hidden:
            from getpass import getpass

            return {field: getpass(prompt)}
        with Path("/dev/tty").open(encoding="utf-8") as keys:
            print(prompt, end="", file=sys.stderr, flush=True)
            return {field: keys.readline().strip()}
    except (OSError, EOFError):
        raise missing from None


_ASKED_FOR = {
    "passphrase_needed": ("passphrase", "Passphrase: ", True),
    "code_needed": ("code", "Code: ", False),
}
"""The field of the request, what is asked, and whether it is typed unseen."""


def _scoped(scope: Scope) -> dict[str, Any]:
    body: dict[str, Any] = {"scope": scope.kind}
    if scope.kind in ("uses", "kind"):
        body["uses"] = scope.uses
    if scope.until is not None:
        body["until"] = scope.until
    return body


class _Refused(msgspec.Struct):
    error: str
    message: str


def _refusal(status: int, answer: bytes) -> InterposeError:
    try:
        said = msgspec.json.decode(answer, type=_Refused)
    except msgspec.MsgspecError:
        return StoreError(f"the server answered {status}")
    if said.error in _NOT_PROVEN:
        return NotProvenError(said.message, said.error)
    return _REFUSALS.get(said.error, StoreError)(f"{said.message} ({said.error})")


def add_place(parser: argparse.ArgumentParser) -> None:
    """Where the desk is, and how it is printed."""
    parser.add_argument("--config", metavar="FILE", help="read this file instead of the user's interpose.yaml")
    parser.add_argument("--server", metavar="URL", help="ask this server (http://, https:// or a socket's path)")
    parser.add_argument("--token-file", metavar="FILE", help="a file with a token of role approver, for --server")
    parser.add_argument("--json", action="store_true", help="print JSON")


@contextmanager
def opened(args: argparse.Namespace, *, read_only: bool = True) -> Iterator[AnyDesk]:
    """The desk that is meant. Raises UsageError, ConfigError or StoreError."""
    if (named := server_named(args)) is not None:
        yield named
        return
    config = load(args.config).config
    if (found := listening_desk(config)) is not None:
        yield found
        return
    with kept_store(config, read_only=read_only) as store:
        yield store_desk(config, store)


class LatestDesk:
    """The desk of whoever answers now. A ledger and a server that come or go meanwhile are noticed at the next look."""

    def __init__(self, args: argparse.Namespace) -> None:
        """Raises UsageError or ConfigError."""
        self._args, self._server = args, args.server or ""
        with ExitStack() as stack:
            if args.server or args.token_file:  # what is wrong with these is said now, and does not get better
                stack.enter_context(opened(args))
        self._config = load(args.config).config
        self.awaited = ""
        """What is waited for, as of the last look."""

    def asked(self) -> list[Question]:
        """Questions that wait, the oldest first."""
        ledger = Path(self._config.ledger.directory) / "ledger.db"
        if self._server:
            self.awaited = f"waiting for questions at {self._server}; q ends"
        elif found := listening_desk(self._config):
            self.awaited = "waiting for questions; q ends"
            return found.asked()
        elif self._config.store.url or ledger.is_file():
            self.awaited = f"waiting for questions: {_NO_SERVER}; q ends"
        else:
            self.awaited = f"waiting for the first question: nothing was asked yet, and {_NO_SERVER}; q ends"
            return []
        return self._at_desk(lambda desk: desk.asked())

    def recent(self) -> list[Question]:
        """Questions of any state, the newest first."""
        return self._at_desk(lambda desk: desk.recent())

    def question(self, id: str) -> Question:
        """One question."""
        return self._at_desk(lambda desk: desk.question(id))

    def approve(
        self,
        id: str,
        by: str,
        scope: Scope = ONCE,
        *,
        comment: str = "",
        arguments: dict[str, Any] | None = None,
        kind: str = "",
    ) -> Question:
        """Say yes."""
        return self._at_desk(lambda desk: desk.approve(id, by, scope, comment=comment, arguments=arguments, kind=kind))

    def deny(self, id: str, by: str, reason: str = "", *, comment: str = "") -> Question:
        """Say no."""
        return self._at_desk(lambda desk: desk.deny(id, by, reason, comment=comment))

    def defer(self, id: str, by: str, comment: str = "") -> Question:
        """Answer later."""
        return self._at_desk(lambda desk: desk.defer(id, by, comment))

    def grants(self) -> list[Given]:
        """Answers that still count."""
        return self._at_desk(lambda desk: desk.grants())

    def revoke(self, id: str) -> bool:
        """Take an answer back."""
        return self._at_desk(lambda desk: desk.revoke(id))

    def _at_desk(self, act: Callable[[AnyDesk], T]) -> T:
        with opened(self._args) as desk:
            return act(desk)


_NO_SERVER = "no server runs (an agent's next call starts one, or `interpose serve`)"


def server_named(args: argparse.Namespace) -> ServerDesk | None:
    """The server that the command line names, if it does. Raises UsageError."""
    if args.server:
        at = _address(args.server)
        local = at.startswith("/") and args.token_file is None
        return ServerDesk(at, "" if local else _token(args.token_file), of_anyone=local)
    if args.token_file:
        raise UsageError("--token-file belongs to --server")
    return None


def listening_desk(config: Config) -> ServerDesk | None:
    """The desk of the server that runs here, if one does."""
    for at in (config.approvals.socket, config.server.socket, config.hooks.socket):
        if at and reachable(at):
            return ServerDesk(at, of_anyone=at == config.approvals.socket)
    return None


def started_desk(config: Config) -> ServerDesk:
    """The desk of the server that runs here, or of one that is started. NotProvenError if there can't be one."""
    from interpose.doors.hooks.clients.on_demand import start_server

    if (desk := listening_desk(config)) is not None:
        return desk
    socket = config.hooks.socket
    try:
        if not socket:
            raise OSError("hooks.socket is empty")
        start_server(socket)
    except OSError as error:
        raise NotProvenError(f"no server runs, and none can be started: {text_of(error)}", "no_server") from None
    end = time.monotonic() + _STARTING
    while time.monotonic() < end:
        if (desk := listening_desk(config)) is not None:
            return desk
        time.sleep(0.05)
    raise NotProvenError("no server runs, and none could be started: run `interpose serve`", "no_server")


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
    except SessionError as error:
        code, problem = EXIT_NOT_DONE, text_of(error)
    except (UsageError, ScopeError) as error:
        code, problem = EXIT_USAGE, text_of(error)
    except ApprovalError as error:
        code, problem = EXIT_NOT_DONE, text_of(error)
    except ConfigError as error:
        code, problem = EXIT_CONFIG, f"a configuration that can't be loaded\n{error}"
    except UnloadableError as error:
        code, problem = EXIT_CONFIG, f"rules that can't be loaded\n{error}"
    except (InterposeError, OSError) as error:
        code, problem = EXIT_INTERNAL, with_remedy(error)
    words = f"{verb} {args.act}".rstrip()
    print(f"interpose {words}: {visible_lines(problem)}", file=sys.stderr)
    return code
