"""Sessions under any sequence of events, with two servers on one store that restart in between: against a small model.

The model is written from the user's view: when somebody last worked, how often the context was lost, what was said and
not told. What the keeper, the store and the state machine make of it must be the same, whoever handles which event.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, cast

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from msgspec.structs import replace

from interpose.core.types import Context, ToolCall
from interpose.record.store import open_store
from interpose.record.store.protocols import Store
from interpose.rules.governance.budgets.durations import NANOSECONDS
from interpose.rules.governance.files.file_model import FirstForm
from interpose.rules.governance.files.rulebook import Role, Rulebook, Seat
from interpose.rules.governance.roles.first_tools import first_tool_rulings, with_first_tool
from interpose.rules.governance.sessions.session_keeper import SessionKeeper
from interpose.rules.governance.sessions.session_keys import session_key
from interpose.rules.governance.sessions.session_states import SessionEvent, after_event, new_session
from interpose.rules.governance.sessions.sessions import GovernedSession, Halt

HOUR = 60
RESUME, FRESH = HOUR, 48 * HOUR
CONTEXT = Context(session_id="s", cwd="/p")
KEY = session_key(CONTEXT)
SEAT = Seat(
    book=Rulebook(file="governance.yaml"),
    role=Role(name="worker", first_tools=FirstForm(any_of=("read",))),
)
WORKS = ("start", "clear", "resume", "message", "call", "compact", "compacted")
EVENTS = (*WORKS, "result", "idle", "end")
MINUTES = st.sampled_from((0, 0, 1, 14, 59, 60, 61, 47 * HOUR, FRESH, FRESH + 1, 100 * HOUR))


class Model:
    """What a user would say about the session. Times are minutes."""

    def __init__(self, now: int) -> None:
        self.now = self.worked = now
        self.state, self.owed = "created", "prefix"
        self.contexts = 1
        """How many contexts there have been: each wants its first tool."""
        self.calls = self.compactions = self.calls_ever = 0
        self.first_tool_in = 0
        self.halted = False

    def hears(self, event: str, now: int, can_tell: bool) -> str:
        self.now = max(self.now, now)
        away = self.now - self.worked
        over = self.state == "ended"
        if event in ("idle", "end"):
            if not over:
                waits = "interrupted" if away >= RESUME else "idle"
                self.state = "ended" if event == "end" else waits
                self.owed = "" if event == "end" else self.owed
        else:
            self.worked = self.now
            begins = event in ("start", "clear", "resume")
            if event == "result":
                away = 0
            if self.state in ("idle", "interrupted") or (over and begins):
                self.state = "active"
            if not over or begins:
                self.comes_back(event, away)
            self.calls += event == "call"
            self.calls_ever += event == "call"
            self.loses_context(event, over and not begins)
        told = self.owed if can_tell else ""
        self.owed = "" if can_tell else self.owed
        return told

    def comes_back(self, event: str, away: int) -> None:
        if away > FRESH:
            self.state, self.owed, self.calls, self.compactions = "created", "prefix", 0, 0
            self.contexts += 1
        elif away >= RESUME:
            self.state, self.owed = "resumed", "resume"
            self.contexts += 1
            return
        elif event in ("start", "clear"):
            self.owed = "prefix"
        if event == "call":
            self.state = "active"

    def loses_context(self, event: str, over: bool) -> None:
        if event == "clear":
            self.state, self.owed = "created", "prefix"
            self.contexts += 1
        elif event == "compact" or (event == "compacted" and self.state != "compacted"):
            self.state = "ended" if over else "compacted"
            self.owed = "reminder"
            self.contexts += 1
            self.compactions += 1


class Sessions(RuleBasedStateMachine):
    """Two servers that share a store."""

    @initialize(start=st.integers(0, 1000))
    def begin(self, start: int) -> None:
        self.directory = tempfile.TemporaryDirectory(prefix="t")
        self.place = Path(self.directory.name) / "ledger.db"
        self.stores: list[Store] = [open_store(self.place), open_store(self.place)]
        self.keepers = [SessionKeeper(store) for store in self.stores]
        self.clock = 30_000_000 + start
        self.model: Model | None = None
        self.generation = 0
        self.reminders = self.compactions_ever = 0

    def teardown(self) -> None:
        for store in getattr(self, "stores", ()):
            store.close()
        if hasattr(self, "directory"):
            self.directory.cleanup()

    @rule(event=st.sampled_from(EVENTS), minutes=MINUTES, server=st.integers(0, 1), can_tell=st.booleans())
    def happens(self, event: SessionEvent, minutes: int, server: int, can_tell: bool) -> None:
        self.clock += minutes
        self.hear(event, server, can_tell)

    @rule(minutes=st.integers(1, 300 * HOUR), event=st.sampled_from(EVENTS), server=st.integers(0, 1))
    def happens_on_a_clock_that_goes_back(self, minutes: int, event: SessionEvent, server: int) -> None:
        real, self.clock = self.clock, max(0, self.clock - minutes)
        self.hear(event, server, can_tell=True)
        self.clock = real

    def hear(self, event: SessionEvent, server: int, can_tell: bool) -> None:
        now = self.clock * 60 * NANOSECONDS
        told: list[str] = []

        def change(last: GovernedSession | None) -> GovernedSession:
            after = after_event(last or new_session(CONTEXT, now), event, now, can_tell=can_tell)
            told[:] = [after.tell]
            return after.session

        self.keepers[server].change(KEY, change)
        self.model = self.model or Model(self.clock)
        before = self.model.contexts
        assert told == [self.model.hears(event, self.clock, can_tell)]
        self.reminders += told == ["reminder"]
        self.compactions_ever += event in ("compact", "compacted") and self.model.contexts > before
        assert self.reminders <= self.compactions_ever, "no reminder without a compaction, and one at most"

    @rule(server=st.integers(0, 1))
    def restarts(self, server: int) -> None:
        self.stores[server].close()
        self.stores[server] = open_store(self.place)
        self.keepers[server] = SessionKeeper(self.stores[server])

    @precondition(lambda self: self.model is not None)
    @rule(server=st.integers(0, 1))
    def is_halted(self, server: int) -> None:
        halt = Halt(reason="enough", by="ann", at_ns=1)
        self.keepers[server].change(KEY, lambda last: replace(cast("GovernedSession", last), halt=halt))
        assert self.model is not None
        self.model.halted = True

    @precondition(lambda self: self.model is not None)
    @rule(server=st.integers(0, 1))
    def uses_a_first_tool(self, server: int) -> None:
        call = ToolCall("read")
        self.keepers[server].change(KEY, lambda last: with_first_tool(cast("GovernedSession", last), SEAT, call))
        assert self.model is not None
        self.model.first_tool_in = self.model.contexts

    @invariant()
    def both_servers_see_what_the_user_would_say(self) -> None:
        model = getattr(self, "model", None)
        if model is None:
            return
        for keeper in self.keepers:
            session = keeper.read(KEY)
            assert session is not None
            assert seen(session) == (
                model.state, model.contexts, model.calls, model.compactions, model.owed, model.halted,
            )  # fmt: skip
            assert session.generation >= self.generation, "a generation never comes back"
            self.generation = session.generation
            due = bool(first_tool_rulings(SEAT, session, ToolCall("write")))
            assert due == (model.first_tool_in < model.contexts), "due again exactly when the context is another"


def seen(session: GovernedSession) -> tuple[Any, ...]:
    counts = session.counts
    return (
        session.state, session.generation, counts.calls, counts.compactions, session.owes, session.halt is not None,
    )  # fmt: skip


TestSessions = Sessions.TestCase
TestSessions.settings = settings(max_examples=40, stateful_step_count=30)
