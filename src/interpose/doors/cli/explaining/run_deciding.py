"""How `interpose run` gets its answer: from a server, or here under the same rules."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from interpose import __version__
from interpose.core.answers import Approved
from interpose.core.driving import drive
from interpose.core.errors import ApprovalError, NotProvenError, text_of
from interpose.core.types import (
    AUDIT_UNAVAILABLE,
    Allow,
    Confirm,
    Context,
    Deny,
    PermissionRequest,
    ToolCall,
    Transform,
    Verdict,
    new_id,
)
from interpose.doors.cli.shared.server_client import connection_to, user_name
from interpose.engine.flow.hosted import Abilities, in_another_form

if TYPE_CHECKING:
    from interpose.composition.service.service import Service
    from interpose.core.config.settings import ApprovalSettings, Config

PATH = "/api/v1/cli/validate"
CLIENT_VARIABLES = ("INTERPOSE_CLIENT_ID", "MAYBE_DONT_CLIENT_ID")
TOKEN_VARIABLE = "INTERPOSE_TOKEN"  # noqa: S105 - the name of a variable

NOT_PROVEN = "approval-not-proven"
_MAX_ANSWER = 1 << 20


class RunAnswer(Struct, frozen=True, kw_only=True):
    """Whether a command may run. `approval` is the question that waits for a person, if one does.

    `request_id` finds the record. It is empty where nothing was recorded.
    """

    word: Literal["allow", "ask", "deny"]
    request_id: str = ""
    rule: str = ""
    reason: str = ""
    instead: str = ""
    approval: str = ""


class UnreachableError(Exception):
    """No server answered in a way that we could go by."""


def called(words: Sequence[str]) -> ToolCall:
    """The command as the call that is judged."""
    client = next((os.environ[name] for name in CLIENT_VARIABLES if os.environ.get(name)), "")
    # One id for both: the record is found by it, whether a server makes it in our request or we do.
    id = new_id()
    context = Context(
        agent_id=client, principal=f"user:{user_name()}", cwd=str(Path.cwd()), source="cli", request_id=id
    )
    return ToolCall("exec", {"command": shlex.join(words)}, id, context)


class AskedServer:
    """A decision server, behind a Unix socket or an address."""

    def __init__(self, at: str, timeout: float) -> None:
        """`at` is a path, or an address that starts with http:// or https://."""
        self._at, self._timeout = at, timeout

    def answer(self, call: ToolCall, words: Sequence[str]) -> RunAnswer:
        """What the server says. Raises UnreachableError."""
        try:
            connection = connection_to(self._at, self._timeout)
            try:
                connection.request("POST", PATH, self._body(call, words), self._headers(call))
                response = connection.getresponse()
                data = response.read(_MAX_ANSWER)
            finally:
                connection.close()
        except (OSError, HTTPException, ValueError) as error:
            raise UnreachableError(f"{self._at}: {error}") from error
        if response.status != 200:
            raise UnreachableError(f"{self._at}: answered {response.status} {_code(data)}")
        return self._understood(data)

    def _body(self, call: ToolCall, words: Sequence[str]) -> bytes:
        # One word alone would be read as a whole command line: it is quoted, so that it stays one word.
        command = words[0] if len(words) > 1 else shlex.quote(words[0])
        machine = os.uname()
        about = {
            "hostname": machine.nodename, "username": user_name(), "os": machine.sysname.lower(),
            "os_version": machine.release, "arch": machine.machine, "shell": os.environ.get("SHELL", ""),
            "cli_version": __version__,
        }  # fmt: skip
        return msgspec.json.encode({
            "command": command, "arguments": words[1:], "working_directory": call.context.cwd, "client_info": about,
        })  # fmt: skip

    def _headers(self, call: ToolCall) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "X-Request-ID": call.context.request_id}
        if call.context.agent_id:
            headers["X-Interpose-Client-ID"] = call.context.agent_id
        if token := os.environ.get(TOKEN_VARIABLE):
            headers["Authorization"] = f"Bearer {token}"
        return headers

    def _understood(self, data: bytes) -> RunAnswer:
        try:
            said = msgspec.json.decode(data, type=_Said)
        except (msgspec.DecodeError, RecursionError) as error:
            raise UnreachableError(f"{self._at}: an answer that is not understood: {error}") from None
        denial = said.denial or _Denial()
        word: Literal["allow", "ask", "deny"] = "ask" if said.decision == "ask" else "deny"
        if said.allowed and said.decision in ("", "allow"):
            word = "allow"
        return RunAnswer(
            word=word, request_id=said.request_id, rule=denial.policy_name, reason=denial.message or said.message,
            instead=said.instead, approval=said.approval_id,
        )  # fmt: skip


class _Denial(Struct, frozen=True):
    policy_name: str = ""
    message: str = ""


class _Said(Struct, frozen=True):
    """What is read of an answer. Servers of others have only the first fields."""

    allowed: bool
    request_id: str = ""
    denial: _Denial | None = None
    message: str = ""
    decision: str = ""
    approval_id: str = ""
    instead: str = ""


class Here:
    """The same rules and the same ledger in this process, opened when they are needed."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._service: Service | None = None

    def answer(self, call: ToolCall, *, at_terminal: bool = False) -> RunAnswer:
        """What the rules say, recorded. Whoever sits at the terminal is asked; without a server nobody else can be.

        Raises PolicyError, PluginError, LedgerError or StoreError.
        """
        person = TerminalPerson(self._config.approvals) if at_terminal else None
        verdict = drive(self._opened().hosted(call.context, Abilities(), confirm=person).before(call)).verdict
        answer = _answer(verdict)
        return answer if answer.rule == AUDIT_UNAVAILABLE else replace(answer, request_id=call.context.request_id)

    def looked(self, call: ToolCall) -> RunAnswer:
        """What the rules would say. Nobody is asked, nothing is recorded, no grant is used."""
        verdict = self._opened().run(call.context).decide(call)
        if isinstance(verdict.decision, Transform):  # we would start the words that we were given
            verdict = in_another_form(verdict).verdict
        return _answer(verdict)

    def close(self) -> None:
        """Write what is queued."""
        if self._service is not None:
            self._service.close()

    def _opened(self) -> Service:
        if self._service is None:
            from interpose.composition.build import open_service

            self._service = open_service(self._config, follow=False)
        return self._service


class TerminalPerson:
    """Whoever sits at the terminal that this process runs in. It must be a person's: agents open terminals, too."""

    def __init__(self, settings: ApprovalSettings) -> None:
        self._settings = settings

    def confirm(self, request: PermissionRequest, /) -> Approved | Deny:
        """Ask on the terminal, if that is a proof."""
        from interpose.people.approvals import InteractiveConfirmation

        try:
            self._prove()
        except NotProvenError as error:
            return Deny(f"Nobody can be asked here, as {text_of(error)}. Asked was: {request.message}", NOT_PROVEN)
        if InteractiveConfirmation().confirm(request):
            return Approved(f"{user_name()} at the terminal")
        return Deny(f"Denied at the terminal: {request.message}", rule="approval-denied")

    def _prove(self) -> None:
        from interpose.composition.service.answering import AGENTS
        from interpose.people.presence.agents import SeenAgents
        from interpose.people.presence.proof import kind_of
        from interpose.people.presence.terminal import prove_terminal, start_of

        match kind := kind_of(self._settings.proof):
            case "terminal":
                seen = SeenAgents(Path(self._settings.directory) / AGENTS)
                prove_terminal(os.getpid(), start_of(os.getpid()), seen)
            case "token":
                pass  # the operator lets every process of this user answer
            case "passphrase" | "code" | "user":
                raise NotProvenError(f"approvals.proof is {kind}, which only a server can take")


def answered_at_terminal(config: Config, call: ToolCall, answer: RunAnswer) -> bool:
    """Ask whoever sits at the terminal about a question of the server's queue, and answer it there: the server takes
    the proof. Raises ApprovalError."""
    from interpose.doors.cli.approving.approvals_desk import listening_desk
    from interpose.people.approvals import InteractiveConfirmation

    desk, by = listening_desk(config), f"{user_name()} at the terminal"
    if desk is None:
        raise ApprovalError("the server that asks is not one of this user; answer there")
    desk.question(answer.approval)  # a question of another server's queue can't be answered here
    yes = InteractiveConfirmation().confirm(PermissionRequest(answer.reason, call))
    desk.approve(answer.approval, by) if yes else desk.deny(answer.approval, by)
    return yes


def _answer(verdict: Verdict[ToolCall]) -> RunAnswer:
    match verdict.decision:
        case Allow() | Transform():
            return RunAnswer(word="allow")
        case Confirm(message, rule, _, _, instead):
            return RunAnswer(word="ask", rule=rule, reason=message, instead=instead, approval=verdict.approval)
        case Deny(reason, rule, _, _, instead):
            return RunAnswer(word="deny", rule=rule, reason=reason, instead=instead)


def _code(data: bytes) -> str:
    try:
        said: Any = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        return ""
    return str(said.get("error", ""))[:100] if isinstance(said, dict) else ""
