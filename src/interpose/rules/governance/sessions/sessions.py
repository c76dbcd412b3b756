"""A governed session as it is kept: who works in it, how it stands, what was counted, what was delegated.

Plain values. What events make of them is in session_states.py, delegation.py, first_tools.py and stalls.py; how they
are kept, shared and survive restarts in session_keeper.py.

INVARIANT: none of them takes a field that it does not know. A session that a newer version wrote is refused: an older
one would lose what it can't read when it writes the session again.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

SessionWord = Literal["created", "active", "compacted", "idle", "interrupted", "resumed", "ended"]
"""`created`: nobody has called anything. `idle`: nothing was called for some time. `interrupted`: it was idle and
longer away than a resume takes. `resumed`: it came back in time, with context; later than that it begins anew."""

DelegationWord = Literal["pending", "working", "done", "failed", "expired"]

SessionText = Literal["", "prefix", "reminder", "resume"]
"""What an agent is to be told: its role and rules when a session begins, the same after a compaction, the same and how
things stand after a resume; empty is nothing."""


class SessionCounts(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was counted since the session began. Budgets are counted apart, exactly (budgets.py)."""

    calls: int = 0
    denials: int = 0
    questions: int = 0
    errors: int = 0
    violations: int = 0
    spawns: int = 0
    compactions: int = 0
    tokens: int = 0
    cost_micros: int = 0
    """Cost in millionths."""


class FirstUse(Struct, frozen=True, forbid_unknown_fields=True):
    """A first tool of a rulebook was used, in this generation."""

    book: str
    generation: int


class AgentNode(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One agent of a session, as its host names it. The main agent has the empty id and depth 0."""

    id: str = ""
    name: str = ""
    """What kind of agent the host says it is."""
    role: str = ""
    parent: str = ""
    depth: int = 0
    delegation: str = ""
    """The delegation that it works on; empty for a main agent and for one that nobody announced."""
    first_generation: int = 0
    """The generation in which it has used a first tool; 0 if it never has."""
    first_uses: tuple[FirstUse, ...] = ()
    """The same for each rulebook: what one of them takes for a first tool is none for another."""
    seen_ns: int = 0
    """When it was last heard of."""
    since_ns: int = 0
    """When it was first heard of."""
    expires_ns: int = 0
    """When the work that it was given is over; 0 if nobody said so."""


class Delegation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Work that one agent gave to another."""

    id: str
    """The id of the call that asked for it."""
    key: str = ""
    """The host's own name for that call."""
    by: str = ""
    """The agent that delegated."""
    from_role: str = ""
    to_role: str = ""
    target: str = ""
    """The kind of agent that was asked for, in the words of the host's tool."""
    depth: int = 1
    state: DelegationWord = "pending"
    agent: str = ""
    """The agent that works on it, once there is one."""
    created_ns: int = 0
    expires_ns: int = 0
    ended_ns: int = 0
    roles: tuple[str, ...] = ()
    """Under which role of which rulebook it was given: `user/coordinator`."""
    detached: bool = False
    """The call that asked for it was answered at once: the agent works on."""
    reported: bool = False
    """Its host said what the agent of such work answered in the end."""


class SpawnCount(Struct, frozen=True, forbid_unknown_fields=True):
    """How many agents a role of a rulebook (`user/coordinator`) has started since the session began."""

    role: str
    count: int


class SeenStep(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One finished call in the window that stalls are looked for in. Digests only: no arguments are kept."""

    agent: str = ""
    tool: str = ""
    exact: str = ""
    """Digest of name and arguments."""
    shape: str = ""
    """Digest of name and arguments with the numbers in them taken out: a counter that changes makes no other shape.
    The names of files stay: another file is another shape."""
    target: str = ""
    """Digest of what it would do: effects and resources, however they are worded."""
    error: str = ""
    """Digest of its error with numbers taken out; empty if it succeeded."""
    result: str = ""
    """Digest of its result without times, and without numbers that its arguments have; empty if it was denied."""
    denied: bool = False
    approved: bool = False
    """Whether somebody was asked about it and said yes."""

    @property
    def key(self) -> str:
        """Steps with the same key are the same call with the same end."""
        return f"{self.shape}.{'denied' if self.denied else self.error or self.result}"


class StallTally(Struct, frozen=True, forbid_unknown_fields=True):
    """How often the same error came, or the same thing was denied. `age` is how much was achieved since then."""

    key: str
    shape: str
    count: int = 1
    age: int = 0


class StallTrack(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What one agent of a session did last, as far as stalls are counted by it."""

    agent: str = ""
    keys: tuple[str, ...] = ()
    """The keys of its last steps, the newest last."""
    run: int = 0
    """How often the last of them came in a row."""
    counter: bool = False
    """Whether the calls of that row differ in a number."""
    exact: str = ""
    """The last call."""
    cycles: tuple[int, ...] = ()
    """For each length of a cycle: how many steps in a row were what was done so many steps before."""
    errors: tuple[StallTally, ...] = ()
    denied: tuple[StallTally, ...] = ()


class StallCounts(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What was counted to find stalls, and the one that stands now."""

    kind: str = ""
    """The stall that stands now; empty if there is none."""
    times: int = 0
    """How many steps of the escalation were taken for it."""
    agent: str = ""
    """Whose it is."""
    issue_hashes: tuple[str, ...] = ()
    """Digests of the issues of the last rounds of planner and checker, and their scores."""
    scores: tuple[float, ...] = ()
    told: str = ""
    """The reminder that is still to be told to that agent; empty if there is none."""
    asking: str = ""
    """What a person is to be asked before that agent's next call; empty if nothing."""
    unanswered: int = 0
    """How often a person was asked that, and none answered."""
    reports: tuple[str, ...] = ()
    """Digests of what validators reported last; empty once one of them let it pass."""
    errors: int = 0
    """Errors that no progress has made up for. How many there were at all is in `counts`."""
    progress: int = 0
    """Steps of progress since the last error that was made up for."""
    tracks: tuple[StallTrack, ...] = ()
    """One for each agent, the last active one last."""


class Halt(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A session whose tools are stopped."""

    reason: str
    by: str
    """`governance/stall`, or the operator who said so."""
    at_ns: int
    checkpoint: str = ""
    """Where its context was written."""


class Lift(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An operator's word that a halted session may go on, signed by a server (service/held_halts.py)."""

    halt_ns: int
    """When the halt was that it lifts."""
    by: str
    at_ns: int
    signature: bytes = b""


class SeenViolation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something that was not allowed: the newest of them are kept with the session, all of them in the ledger."""

    at_ns: int
    call_id: str
    agent: str
    role: str
    tool: str
    rule: str
    said: str


class AgentNotice(Struct, frozen=True, forbid_unknown_fields=True):
    """A warning that an agent is still to be told."""

    agent: str
    text: str


class Validation(Struct, frozen=True, forbid_unknown_fields=True):
    """A command or tool that succeeded, and when."""

    name: str
    at_ns: int


class GovernedSession(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A session. `generation` grows with every compaction, resume and fresh beginning: first tools are due again."""

    id: str
    key: str = ""
    """By which it is found (session_keys.py)."""
    state: SessionWord = "created"
    generation: int = 1
    host: str = ""
    project: str = ""
    principal: str = ""
    created_ns: int = 0
    began_ns: int = 0
    """When it began, or began anew."""
    active_ns: int = 0
    """When something was last called in it."""
    seen_ns: int = 0
    """The latest time of any event. For a session it is never earlier than this, whatever a clock says."""
    idle_after_ns: int = 0
    """After how long without a call it is idle, and after how long interrupted: what held when it was last heard of."""
    resume_after_ns: int = 0
    away_ns: int = 0
    """How long nothing was called in it before it was last resumed."""
    ended_ns: int = 0
    counts: SessionCounts = SessionCounts()
    agents: tuple[AgentNode, ...] = ()
    delegations: tuple[Delegation, ...] = ()
    steps: tuple[SeenStep, ...] = ()
    stall: StallCounts = StallCounts()
    halt: Halt | None = None
    lift: Lift | None = None
    """The last one."""
    violations: tuple[SeenViolation, ...] = ()
    validations: tuple[Validation, ...] = ()
    owes: SessionText = ""
    """What its agent has not been told yet."""
    notices: tuple[AgentNotice, ...] = ()
    """Warnings that agents have not been told yet."""
    spawned: tuple[SpawnCount, ...] = ()
    forgotten_depth: int = 0
    """How deep the deepest stood that is no longer among `agents` and `delegations`; 0 if nobody was forgotten."""
    forgotten_expires_ns: int = 0
    """When the work of the first of those is over; 0 if none of them had such a time."""

    def agent(self, id: str) -> AgentNode | None:
        """The agent of this id, if it was seen."""
        for one in self.agents:
            if one.id == id:
                return one
        return None
