"""Which limits of a rulebook hold for a call, and the counter of each. Plain values; budgets.py counts.

Who has a budget: a session from its beginning on (after `fresh_after` it begins anew); an agent in its session, where
agents of one kind share theirs, so that nobody gets more by starting another; a project is the directory in which the
session began, wherever its agents go; who has no principal shares one with all others who have none.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from interpose.core.types import Context
from interpose.rules.governance.budgets.counter_names import counter_name
from interpose.rules.governance.budgets.durations import duration_ns, spoken_ns
from interpose.rules.governance.files.file_model import BudgetForm
from interpose.rules.governance.files.rulebook import Rulebook
from interpose.rules.governance.roles.identity import agent_name
from interpose.rules.governance.roles.name_patterns import fits
from interpose.rules.governance.sessions.session_bounds import short
from interpose.rules.governance.sessions.session_states import time_in
from interpose.rules.governance.sessions.sessions import GovernedSession

BudgetKind = Literal["calls", "denials", "questions", "tokens", "cost", "time"]
PerWhom = Literal["session", "agent", "project", "principal"]

MICROS = 1_000_000
_KINDS: tuple[BudgetKind, ...] = ("calls", "denials", "questions", "tokens", "cost", "time")


class Charge(Struct, frozen=True, kw_only=True):
    """A limit that holds for a call, and the counter that it is counted in."""

    per: PerWhom
    whom: str
    """In words: the session's id, the agent's name, the directory, the principal."""
    kind: BudgetKind
    limit: int
    """Cost in millionths, time in nanoseconds."""
    counter: str
    window_ns: int = 0
    began_ns: int = 0
    """Since when a time runs. 0: the counter says so, which holds the time of the first call."""
    now_ns: int = 0
    watch: bool = False
    """Its rulebook only watches: what it would refuse is let through."""
    save_at_most: int = 0
    """How many calls that save work still pass when it is used up."""
    file: str = ""

    @property
    def save_counter(self) -> str:
        """What counts those."""
        return f"{self.counter}:save"

    def spoken(self, amount: int) -> str:
        """An amount of it for people: a number, a cost or a time."""
        if self.kind == "time":
            return spoken_ns(amount)
        return f"{amount / MICROS:.2f}" if self.kind == "cost" else str(amount)


def charges_of(book: Rulebook, session: GovernedSession, context: Context, now_ns: int) -> tuple[Charge, ...]:
    """Every limit of a rulebook that holds for what is done in a context. Those of several rulebooks are charged
    together, in one call of `charge`."""
    now = time_in(session, now_ns)
    return tuple(one for form in book.budgets for one in _charges(book, form, session, context, now))


class _Whom(Struct, frozen=True):
    spoken: str
    identity: tuple[str, ...]
    """All that makes this one another than others."""
    known_as: tuple[str, ...]


def _whom(form: BudgetForm, session: GovernedSession, context: Context) -> _Whom:
    run = (session.key, str(session.began_ns))
    match form.per:
        case "session":
            return _Whom(session.id, run, (session.id,))
        case "agent":
            name = short(agent_name(context))
            return _Whom(name or "main agent", (*run, name), (name, short(context.agent_id)))
        case "project":
            project = session.project or short(context.cwd)
            return _Whom(project, (project,), (project,))
        case "principal":
            principal = short(context.principal)
            return _Whom(principal, (principal,), (principal,))


def _charges(book: Rulebook, form: BudgetForm, session: GovernedSession, context: Context, now: int) -> list[Charge]:
    """INVARIANT: a counter's name says who, how long and what, and nothing of the limit: a file that is changed, or
    another rulebook that says something else about the same, counts on."""
    whom = _whom(form, session, context)
    if not any(fits(form.match, name) for name in whom.known_as):
        return []
    width = duration_ns(form.window) if form.window else 0
    ends = (now // width + 1) * width if width else 0
    return [
        Charge(
            per=form.per,
            whom=whom.spoken,
            kind=kind,
            limit=limit,
            counter=counter_name(form.per, kind, str(width), *whom.identity, ends_ns=ends),
            window_ns=width,
            began_ns=session.began_ns if form.per == "session" and not width else 0,
            now_ns=now,
            watch=book.mode == "watch",
            save_at_most=book.save_work.at_most,
            file=book.file.rpartition("/")[2],
        )
        for kind in _KINDS
        if (limit := _limit(form, kind)) is not None
    ]


def _limit(form: BudgetForm, kind: BudgetKind) -> int | None:
    match kind:
        case "calls":
            return form.calls
        case "denials":
            return form.denials
        case "questions":
            return form.questions
        case "tokens":
            return form.tokens
        case "cost":
            return None if form.cost is None else round(form.cost * MICROS)
        case "time":
            return None if form.time is None else duration_ns(form.time)
