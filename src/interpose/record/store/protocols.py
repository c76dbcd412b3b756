"""What the rest of Interpose may ask of a store. Values cross as frozen structs; SQL never leaves this package.

Entries are append-only: a writer owns its sequence, and nothing of an entry is ever changed. The other protocols hold
the state that servers share. Each method is one transaction, so that what it promises holds under races too.
Every method raises `StoreError` when the store can't be reached or refuses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

from msgspec import Struct

Kind = Literal["decided", "finished", "checkpoint", "retention", "repair"]

NEVER = (1 << 63) - 1
"""The time at which something ends that doesn't end."""


class StoredEntry(Struct, frozen=True, array_like=True, gc=False):
    """One link of a writer's chain. What comes after `body` makes it searchable; the hash covers that, too.

    `position` is given by the store: later entries have higher ones, with gaps. `request` is the request in which the
    entry came about, `rules` are those that rewrote the call or objected to its result, where `rule` does not say so.
    They stand last because they came last: journals have entries without them. Nothing in here can refer back to an
    entry, so the garbage collector need not look at the many that there are.
    """

    writer: str
    seq: int
    kind: Kind
    time_ns: int
    prev: bytes
    hash: bytes
    body: bytes
    call_id: str = ""
    session: str = ""
    agent: str = ""
    tool: str = ""
    decision: str = ""
    rule: str = ""
    text: str = ""
    effects: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    position: int = 0
    request: str = ""
    rules: tuple[str, ...] = ()


class Query(Struct, frozen=True, kw_only=True):
    """Which entries are wanted. Empty fields don't restrict; the others must all hold.

    Of decisions alone (`kinds=("decided",)`) every column has an index; other kinds are found by text, call or writer.
    `path` finds itself and what lies under it, `text` finds a part of the text in any case of its ASCII
    letters, `since_ns` is included and `until_ns` is not. `request` finds all entries of calls of which one came about
    in that request. Of decisions alone, `rule` also finds those of calls of which some entry has it among its `rules`.
    """

    kinds: tuple[Kind, ...] = ()
    call_id: str = ""
    request: str = ""
    session: str = ""
    agent: str = ""
    tool: str = ""
    decision: str = ""
    rule: str = ""
    effect: str = ""
    path: str = ""
    host: str = ""
    text: str = ""
    since_ns: int | None = None
    until_ns: int | None = None


class Tally(Struct, frozen=True):
    """How many decisions were alike, in a stretch of time that starts at `start_ns`."""

    start_ns: int
    decision: str
    rule: str
    agent: str
    tool: str
    count: int


class RuleTally(Struct, frozen=True):
    """How often a rule said something, in a stretch of time that starts at `start_ns`.

    `said` is the decision that it made; `result` that it rewrote or withheld what a tool gave back.
    """

    start_ns: int
    rule: str
    said: str
    count: int


class SearchFlaw(Struct, frozen=True):
    """Something that would hide an entry from those who search. `writer` is empty where it would hide many."""

    writer: str
    seq: int
    why: str


class EntryStore(Protocol):
    """The entries of all writers. `is_shared`: other machines write here, too."""

    is_shared: bool

    def append(self, entries: Sequence[StoredEntry], *, durable: bool = False) -> None:
        """Add entries, all or none, in order. They survive the end of this process, and if `durable` a power loss.

        `SequenceTakenError` if a writer has an entry of that number already.
        """

    def scan(self, writer: str, after_seq: int, limit: int) -> list[StoredEntry]:
        """A writer's entries past a number, in order."""

    def head(self, writer: str) -> StoredEntry | None:
        """A writer's last entry."""

    def writers(self) -> list[str]:
        """Everybody who has entries here, by name."""

    def query(
        self, query: Query, limit: int, after: int | None = None, *, oldest_first: bool = False
    ) -> list[StoredEntry]:
        """Matching entries, the newest first. `after` is the position of the last one of the page before."""

    def of_calls(self, call_ids: Sequence[str]) -> list[StoredEntry]:
        """All entries of some calls, in the order in which they were added."""

    def tallies(self, query: Query, width_ns: int) -> list[Tally]:
        """Matching decisions, counted by stretches of time of this width."""

    def drop(self, writer: str, through_seq: int) -> int:
        """Forget a writer's entries up to a number, for retention. Says how many."""

    def size(self) -> int:
        """Bytes that the entries take, with their indexes."""

    def search_flaws(self) -> list[SearchFlaw]:
        """What would hide entries from those who search, although their chains hold: columns that were changed behind
        what they mean, and indexes that don't have what they should."""

    def reindex(self) -> int:
        """Make the indexes and the form of searched columns anew from the entries. Says how many entries there are."""

    def tampered(self) -> str:
        """What somebody else did to the files of a store that is open for writing; empty if nothing can be seen.

        A glance, not a proof: for those who are about to rely on it.
        """

    def reopen(self) -> None:
        """Let go of what is open, and open what is there now."""

    def close(self) -> None:
        """Let go of files and connections. Closing twice is fine."""


class EntryFigures(Protocol):
    """Decisions in figures, for those who look: each is bounded, however much is stored."""

    def rule_tallies(self, since_ns: int, width_ns: int, limit: int) -> list[RuleTally]:
        """What rules said since then, counted by stretches of time of this width; no more rows than `limit`, the
        largest counts first."""

    def decision_tallies(self, since_ns: int, width_ns: int, limit: int) -> list[Tally]:
        """Decisions since then, counted by stretches of time alone: rule, agent and tool are empty. The newest
        stretches first, no more rows than `limit`."""

    def sample(self, since_ns: int, until_ns: int, limit: int) -> list[StoredEntry]:
        """Some decisions of a time, its first ones: found by the index of times, however much is stored."""


class SessionState(Struct, frozen=True, kw_only=True):
    """What is known of a session. `version` counts its changes, from 1."""

    session: str
    version: int
    updated_ns: int
    body: bytes


class SessionTally(Struct, frozen=True):
    """A session's decisions, counted by what they were. `agent` is one of its agents."""

    session: str
    agent: str
    first_ns: int
    last_ns: int
    count: int
    allow: int
    rewrite: int
    ask: int
    deny: int


class Sessions(Protocol):
    """State of sessions, changed only by those who saw its last version."""

    def load_session(self, session: str) -> SessionState | None:
        """A session as it is now."""

    def save_session(self, session: str, body: bytes, *, version: int, now_ns: int) -> bool:
        """Replace the state that had this version; 0 makes a new session. False: somebody else was faster."""

    def sessions(self, *, since_ns: int = 0, limit: int = 1000, prefix: str = "") -> list[SessionState]:
        """Sessions that changed since then, the last changed first; those whose names begin so."""

    def session_tallies(self, *, since_ns: int = 0, limit: int = 100, session: str = "") -> list[SessionTally]:
        """Recorded decisions since then, counted by session, the last active first; of one session if it is named."""


class Approval(Struct, frozen=True, kw_only=True):
    """A question to a person. `answer` is empty until somebody answers; an `approver` before that has put it off."""

    id: str
    session: str = ""
    created_ns: int
    expires_ns: int = NEVER
    body: bytes
    answer: str = ""
    approver: str = ""
    answered_ns: int = 0


class Approvals(Protocol):
    """Questions and their answers."""

    def ask(self, approval: Approval) -> bool:
        """Put a question. False if its id is taken."""

    def answer(self, id: str, answer: str, *, body: bytes, approver: str, now_ns: int) -> bool:
        """Answer a question that has this body. True for the one answer that counts; False if there was one, if it is
        too late, or if the question is another one meanwhile."""

    def approve(self, id: str, answer: str, grant: Grant, *, body: bytes, approver: str, now_ns: int) -> bool:
        """Answer a question and keep what the answer grants: both, or neither and False."""

    def postpone(self, changed: Approval, *, body: bytes, now_ns: int) -> bool:
        """Let a question that has this body wait longer: its body, its end and who said so change. False as above."""

    def approval(self, id: str) -> Approval | None:
        """A question with its answer."""

    def approvals(self, *, limit: int = 1000) -> list[Approval]:
        """Questions, answered or not, the newest first."""

    def settled(self, ids: Sequence[str], *, now_ns: int) -> list[str]:
        """Which of these questions need not be waited for: somebody answered, it is too late, or it was put off."""

    def waiting(self, *, now_ns: int, limit: int = 1000) -> list[Approval]:
        """Questions that can still be answered, the oldest first."""

    def count_waiting(self, session: str, *, now_ns: int) -> tuple[int, int]:
        """How many questions can still be answered: all of them, and those of one session."""

    def forget_approvals(self, before_ns: int) -> int:
        """Forget questions that ended before then, and grants that did. Says how many questions."""


class Grant(Struct, frozen=True, kw_only=True):
    """A permission that can be used `uses` times. `subject` names exactly what it permits."""

    id: str
    subject: str
    uses: int = 1
    expires_ns: int = NEVER
    created_ns: int
    body: bytes = b""


class Grants(Protocol):
    """Permissions that are used up."""

    def give(self, grant: Grant) -> bool:
        """Keep a grant. False if its id is taken."""

    def use(self, id: str, *, now_ns: int) -> Grant | None:
        """Use up one use of a grant. As it is afterwards; None if it is used up, over or gone."""

    def lower(self, id: str, uses: int) -> None:
        """Leave a grant no more uses than this."""

    def grants(self, subject: str = "", *, now_ns: int, limit: int = 1000) -> list[Grant]:
        """Grants that can still be used, the oldest first; of everything if no subject is named."""

    def revoke(self, id: str) -> bool:
        """Forget a grant. False if it isn't there."""

    def latest_ns(self) -> int:
        """The latest time of anything that is kept: of decisions, questions and answers; 0 if there is nothing."""


class Spending(Struct, frozen=True):
    """What is to be added to a counter, which may not exceed the budget by it. An amount of 0 only asks whether."""

    counter: str
    amount: int
    budget: int


class Counters(Protocol):
    """Numbers that grow up to a budget. They never shrink: what is used up stays so."""

    def spend(self, counter: str, amount: int, *, budget: int) -> int | None:
        """Add to a counter and say what it is now; None, and nothing is added, if that would exceed the budget."""

    def spend_all(self, spendings: Sequence[Spending]) -> tuple[str, ...]:
        """Add to several counters: to all, or to none if one would exceed its budget. Says which would; none is yes."""

    def spent(self, counter: str) -> int:
        """What a counter is now; 0 if nobody spent anything."""

    def spent_of(self, counters: Sequence[str]) -> dict[str, int]:
        """What these counters are now, all at one moment."""


class RefusalStore(Protocol):
    """Calls that were refused, each at a place that its host's name for it gives. They are never changed."""

    def keep_refusal(self, place: str, body: bytes, *, now_ns: int) -> None:
        """Keep a refusal, in place of an older one at the same place."""

    def refusal(self, place: str) -> bytes | None:
        """The refusal at a place; None if there is none."""

    def forget_refusals(self, before_ns: int, most: int) -> int:
        """Forget refusals of before then, and the oldest beyond so many. Says how many."""


class Store(EntryStore, EntryFigures, Sessions, Approvals, Grants, Counters, RefusalStore, Protocol):
    """A whole store."""
