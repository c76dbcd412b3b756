"""Whoever lets a call run proves to be no agent. Which proof is wanted, the operator chose: `approvals.proof`.

terminal     a process at our Unix socket, at a terminal that no agent made or works in and into which no other program
             can type; where it proves nothing, the passphrase if one is set. On a system on which no terminal proves
             anything, the passphrase alone
passphrase   what only a person knows
code         what the server shows on its own terminal
user         a process of another system user at our Unix socket
token        a token of role approver, from anywhere: whoever can read the tokens file may answer

From another machine a token of role approver counts, with the passphrase or code if one is wanted.

INVARIANT: everything that can make a call run and comes from outside passes `Proof.check`, and nothing else decides it.
"""

from __future__ import annotations

import logging
import os
import pwd
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from msgspec import Struct

from interpose.core.config.settings import ApprovalSettings
from interpose.core.errors import NotProvenError, ServerError, text_of
from interpose.core.platforms.process_values import Ends
from interpose.effects.systems import this_system
from interpose.people.presence.agents import SeenAgents
from interpose.people.presence.browsers import prove_browser
from interpose.people.presence.codes import Codes
from interpose.people.presence.passphrase import Passphrase, read_passphrase
from interpose.people.presence.terminal import is_own_address, prove_terminal

log = logging.getLogger("interpose.approvals")

NEEDED = "passphrase_needed"
ProofKind = Literal["terminal", "passphrase", "code", "user", "token"]
OVER_TCP = (
    "a token alone does not answer from this machine, as an agent could read it: run `interpose approvals approve ID` "
    "in your own terminal, or choose another proof (approvals.proof)"
)


class Answerer(Struct, frozen=True, kw_only=True):
    """Who answers. `pid`, its `start` and `uid` are what the kernel says of a process at our Unix socket."""

    unix: bool
    address: str = ""
    client: str = ""
    """Who that speaks for, if it is a proxy that is trusted to say so."""
    port: int = 0
    our_address: str = ""
    our_port: int = 0
    """Where it connected to."""
    pid: int = 0
    start: int = 0
    uid: int = -1
    passphrase: str = ""
    code: str = ""
    paired: str = ""
    """The proof by which a person let this browser in, if it is one: see surfaces.page."""
    here: bool = False
    """That browser was on this machine then."""

    @property
    def on_this_machine(self) -> bool:
        """Whether it could be one of our own processes."""
        # What comes through a proxy on another machine may have come from here before, and so may a cookie.
        return (
            self.unix
            or self.here
            or is_own_address(self.address)
            or (bool(self.client) and is_own_address(self.client))
        )


class Proof:
    """Checks those who answer. Made anew when the configuration changes; the agents are remembered."""

    def __init__(
        self, settings: ApprovalSettings, agents: SeenAgents, *, show: Callable[[str, str], object] | None = None
    ) -> None:
        """ServerError if what the chosen proof needs is not there."""
        self.kind, self.agents = kind_of(settings.proof), agents
        self._passphrase = _passphrase_of(settings)
        if self._passphrase is None and self.kind != settings.proof:
            log.warning("%s", _no_passphrase())
        self._codes = Codes(show or _log_code)
        self._operator = _uid_of(settings.operator) if settings.proof == "user" else -1

    def _prove_terminal(self, answerer: Answerer) -> None:
        """By the terminal, or by the passphrase where one is set and a terminal proves nothing."""
        try:
            prove_terminal(answerer.pid, answerer.start, self.agents)
        except NotProvenError as error:
            if self._passphrase is None:
                raise
            if not answerer.passphrase:
                raise NotProvenError(f"{text_of(error).partition(';')[0]}; type the passphrase", NEEDED) from None
            self._passphrase.prove(answerer.passphrase)

    def check(self, answerer: Answerer, question: str) -> None:
        """Raises NotProvenError, which says what is missing. Reads files and takes its time."""
        match self.kind:
            case "token":
                return
            case "passphrase":
                if self._passphrase is None:
                    raise NotProvenError(_no_passphrase())
                self._passphrase.prove(answerer.passphrase)
            case "code":
                self._codes.prove(question, answerer.code)
            case "terminal" | "user" if not answerer.on_this_machine:
                return
            case "terminal" | "user" if answerer.paired == self.kind:
                # INVARIANT: a browser is paired by whoever proved it in the same way, over the Unix socket.
                uid = os.geteuid() if self.kind == "terminal" else self._operator
                ends = Ends(answerer.address, answerer.port, answerer.our_address, answerer.our_port)
                prove_browser(ends, self.agents, uid=uid)
            case "terminal" if answerer.unix:
                self._prove_terminal(answerer)
            case "user" if answerer.unix:
                if answerer.uid != self._operator:
                    raise NotProvenError(
                        f"this answer does not count: it comes from user {answerer.uid}, and only the operator (user "
                        f"{self._operator}) answers here"
                    )
            case "terminal" | "user":
                raise NotProvenError(OVER_TCP)


def kind_of(proof: ProofKind) -> ProofKind:
    """The proof that is wanted, as the operator chose it.

    Where this system can't tell who sits at a terminal, the passphrase is wanted in its place: so a question can be
    answered at all, and by no agent.
    """
    return "passphrase" if proof == "terminal" and not this_system().terminals_prove else proof


def proof_note(settings: ApprovalSettings) -> str:
    """What people are told of the proof that is wanted; empty if it is the one that the operator chose."""
    if kind_of(settings.proof) == settings.proof:
        return ""
    return _no_passphrase() if _passphrase_of(settings) is None else f"{_untold()}, so an approval needs the passphrase"


def _untold() -> str:
    return f"{this_system().title} does not tell who sits at a terminal"


def _no_passphrase() -> str:
    """Why nothing can be approved on a system on which terminals prove nothing, until a passphrase is set."""
    return (
        f"{_untold()}, so an approval needs a passphrase, and none is set: run "
        "`interpose approvals operator init --passphrase` in a terminal, which says when it counts: see "
        "`interpose help approvals`"
    )


def _passphrase_of(settings: ApprovalSettings) -> Passphrase | None:
    file = Path(settings.passphrase_file)
    if settings.proof == "passphrase":
        return Passphrase(read_passphrase(file))
    if settings.proof != "terminal" or not settings.passphrase_file or not os.path.lexists(file):
        return None
    try:
        return Passphrase(read_passphrase(file))
    except ServerError as error:  # it is needed only where a terminal proves nothing
        log.warning("the passphrase is not accepted: %s", text_of(error))
        return None


def _uid_of(operator: str) -> int:
    try:
        found = pwd.getpwnam(operator).pw_uid
    except KeyError:
        raise ServerError(f"approvals.operator: there is no user {operator!r} on this machine") from None
    if found == os.geteuid():
        raise ServerError(f"approvals.operator: {operator!r} is the user of the server itself; it must be another one")
    return found


def _log_code(question: str, code: str) -> None:
    log.warning("the code to answer question %s is %s", question, code)
