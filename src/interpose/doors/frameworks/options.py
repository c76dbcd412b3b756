"""The options that every `guard` takes. They are the same for all frameworks."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, Literal, TypedDict

if TYPE_CHECKING:
    from interpose.composition.service.service import Service
    from interpose.core.config.settings import Config
    from interpose.core.types import PermissionRequest
    from interpose.engine.engine import Engine
    from interpose.people.approvals import ConfirmationHandler

WAIT = 30.0
"""Seconds that a call waits for the answer to a question in the queue."""
ANSWER = 30.0
"""Seconds within which a server must answer, besides those that it waits for a person."""


class GuardOptions(TypedDict, total=False):
    """Who decides, for whom, and who is asked. Without any of them: your configuration and policy, with its ledger."""

    engine: Engine | Service
    """Who decides: what `open_engine()` or `open_service()` gives, or an `Engine` of your own."""
    config: Config
    """Your configuration, if it is not the one of this user: what `load_config()` returns."""
    server: str
    """The address of an `interpose serve` that decides: `http://127.0.0.1:8080`. While it is gone, nothing runs."""
    token: str
    """What is shown to the server: a token of the role `agent`."""
    confirm: Literal["framework", "queue"] | ConfirmationHandler | Callable[[PermissionRequest], object]
    """Who answers questions: the framework's own way of asking, our queue, or a handler or function of yours. Left
    out: the framework's own way if it has one, else the queue if there is one, else every answer is no."""
    wait: float
    """How many seconds a call waits for an answer from the queue (30)."""
    session: str
    """The session of these calls. Left out: what the framework calls a conversation, else one for each guard."""
    agent: str
    """The agent that acts. Left out: the name that the framework knows it by."""
    role: str
    principal: str
    cwd: str
    messages: bool
    """Whether messages of the user pass `message.before`. Left out: if the framework has a place for it."""
    unguarded: Collection[str]
    """Tools that run where nobody can stand between, such as those of a model's provider, and that you accept by name.
    Any other such tool raises FrameworkLimitError."""


CONFIRMS = ("framework", "queue")
_LONGEST_WAIT = 86400
KNOWN = frozenset(GuardOptions.__annotations__)


def check(options: dict[str, Any]) -> None:
    """Raises TypeError or ValueError for options that nobody has, or that exclude each other."""
    unknown = sorted(options.keys() - KNOWN)
    if unknown:
        raise TypeError(f"guard has no option {unknown[0]!r}, only {', '.join(sorted(KNOWN))}")
    deciding = [name for name in ("engine", "config", "server") if options.get(name)]
    if len(deciding) > 1:
        raise ValueError(f"give one of {' and '.join(deciding)}: only one of them can decide")
    if options.get("token") and not options.get("server"):
        raise ValueError("token is shown to a server: give server, too")
    _check_confirm(options.get("confirm"))
    wait = options.get("wait", WAIT)
    if isinstance(wait, bool) or not isinstance(wait, int | float) or not 0 <= wait <= _LONGEST_WAIT:
        raise ValueError(f"wait is a number of seconds from 0 to {_LONGEST_WAIT}, not {wait!r}")
    if isinstance(options.get("unguarded"), str):
        raise TypeError(f"unguarded is a list of names: write unguarded=[{options['unguarded']!r}]")


def _check_confirm(confirm: object) -> None:
    """INVARIANT: a misspelled word never moves questions to others than those who were meant."""
    if isinstance(confirm, str) and confirm not in CONFIRMS:
        raise ValueError(f"confirm is {' or '.join(map(repr, CONFIRMS))}, a handler or a function, not {confirm!r}")
    if not (
        confirm is None or isinstance(confirm, str) or callable(confirm) or callable(getattr(confirm, "confirm", None))
    ):
        raise TypeError(f"confirm is a word, a handler or a function, not {type(confirm).__name__}")
