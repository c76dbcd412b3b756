"""Who may start whom, how deep, how many and until when; and that nobody stands less deep than it does."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from interpose.core.errors import DelegationError
from interpose.core.types import Context, ToolCall
from interpose.rules.governance.budgets.durations import NANOSECONDS
from interpose.rules.governance.files.file_model import AgentForm, DelegationForm
from interpose.rules.governance.files.rulebook import Role, Rulebook, Seat
from interpose.rules.governance.roles.delegation import (
    delegation_rulings,
    with_agent,
    with_agent_stopped,
    with_delegation,
    with_delegation_ended,
    with_expired,
)
from interpose.rules.governance.roles.identity import seat_of
from interpose.rules.governance.sessions import session_bounds
from interpose.rules.governance.sessions.session_bounds import MOST_DELEGATIONS, bounded
from interpose.rules.governance.sessions.session_states import after_event, new_session
from interpose.rules.governance.sessions.sessions import Delegation, GovernedSession

NOON = 1_900_000_000 * NANOSECONDS
HOUR = 3600 * NANOSECONDS
MAIN = Context(session_id="s", cwd="/p", source="hook:claude-code")
LEAD = DelegationForm(to=("worker", "research*"), depth=3, at_most=5, at_once=2, expires="8h")
WORKER = DelegationForm(to=("research*", "worker"), depth=2, at_once=1)


def role(name: str, tier: int, delegates: DelegationForm | None = None, **fields: Any) -> Role:
    return Role(
        name=name, tier=tier, delegates=delegates, places={"delegates": f"g.yaml:7: roles.{name}.delegates"}, **fields
    )


def rulebook(**fields: Any) -> Rulebook:
    roles = [
        role("lead", 0, LEAD), role("worker", 1, WORKER), role("researcher", 2), role("twin", 1),
        role("boss", 0, DelegationForm(to=("*",), depth=9)),
    ]  # fmt: skip
    agents = [
        AgentForm(role="lead", sub_agent=False), AgentForm(role="worker", agent="builder"),
        AgentForm(role="researcher", agent="explore*"), AgentForm(role="twin", agent="twin"),
        AgentForm(role="lead", agent="second-lead"), AgentForm(role="boss", agent="boss"),
        AgentForm(role="worker", agent="general-purpose"),
    ]  # fmt: skip
    given = {"file": "g.yaml", "agents": tuple(agents), "roles": {one.name: one for one in roles}} | fields
    return Rulebook(**given)


BOOK = rulebook()


def agent(id: str, kind: str) -> Context:
    return replace(MAIN, agent_id=id, agent_type=kind)


def task(kind: str | None, id: str = "", by: Context = MAIN, **arguments: Any) -> ToolCall:
    named = {} if kind is None else {"subagent_type": kind}
    call = ToolCall("task", {"prompt": "p"} | named | arguments, context=by, original_name="Task")
    return replace(call, call_id=id) if id else call


class Host:
    """A host with a governed session: what it says, and what becomes of it."""

    def __init__(self, book: Rulebook = BOOK) -> None:
        self.book, self.now = book, NOON
        self.session: GovernedSession = new_session(MAIN, NOON)
        self.came(MAIN)

    def came(self, context: Context) -> Seat:
        seat = seat_of(self.book, context)
        self.session = after_event(self.session, "call", self.now).session
        self.session = bounded(with_agent(self.session, context, seat, self.now))
        return seat

    def rulings(self, call: ToolCall) -> list[tuple[str, str]]:
        seat = self.came(call.context)
        return [(one.said, one.reason) for one in delegation_rulings(seat, self.session, call, self.now)]

    def starts(self, call: ToolCall) -> bool:
        """Whether a call was let through, and so began work."""
        if self.book.mode == "enforce" and any(said == "deny" for said, _ in self.rulings(call)):
            return False
        seat = seat_of(self.book, call.context)
        self.session = bounded(with_delegation(self.session, seat, call, "", self.now))
        return True

    def depth(self, id: str) -> int:
        found = self.session.agent(id)
        assert found is not None
        return found.depth

    def states(self) -> list[str]:
        return [one.state for one in self.session.delegations]


@pytest.mark.parametrize(
    ("note", "by", "kind", "said"),
    [
        ("to a role that it may start", MAIN, "builder", None),
        ("to a role by a glob", MAIN, "explorer", None),
        ("a kind that the host starts by itself", MAIN, None, None),
        ("to a role that it may not start", MAIN, "twin", "may not delegate to twin"),
        ("to its own role", MAIN, "second-lead", "to second-lead, which does the same work"),
        ("upward", agent("a", "builder"), "boss", "may not delegate upward, to boss"),
        (
            "to its own role, whatever is written",
            agent("a", "builder"),
            "general-purpose",
            "which does the same work",
        ),
        ("to itself", agent("a", "builder"), "BUILDER", "may not delegate to itself"),
        ("to somebody without a role", MAIN, "stranger", "which has no role here"),
        ("a part of a name is another name", MAIN, "build", "which has no role here"),
        ("a role that says nothing may start those below", agent("a", "twin"), "explorer", None),
        ("a role that says nothing may not start those above", agent("a", "twin"), "boss", "upward"),
    ],
)
def test_who_may_start_whom(note: str, by: Context, kind: str | None, said: str | None) -> None:
    rulings = [(word, reason) for word, reason in Host().rulings(task(kind, by=by)) if word != "note"]
    assert [word for word, _ in rulings] == ([] if said is None else ["deny"])
    assert said is None or said in rulings[0][1]


@pytest.mark.parametrize(("policy", "said"), [("deny", ["deny"]), ("ask", ["ask"]), ("note", ["note"]), ("allow", [])])
def test_whoever_has_no_role_is_started_as_the_file_says(policy: str, said: list[str]) -> None:
    assert [word for word, _ in Host(rulebook(unknown_role=policy)).rulings(task("stranger"))] == said


def test_the_words_say_who_what_instead_and_why() -> None:
    host = Host()
    seat = host.came(MAIN)
    (one,) = delegation_rulings(seat, host.session, task("twin"), NOON)
    assert one.reason == "This agent may not delegate to twin"
    assert one.instead == "Delegate to: builder, explore*, general-purpose"
    assert one.evidence == "g.yaml:7: roles.lead.delegates: it delegates to worker, research*; twin is twin"
    assert (one.rule, one.watch) == ("governance/delegation", False)
    assert delegation_rulings(replace(seat, book=replace(BOOK, mode="watch")), host.session, task("twin"), NOON)[
        0
    ].watch


def test_two_names_are_both_judged_and_what_cant_be_read_is_refused() -> None:
    host = Host()
    assert [word for word, _ in host.rulings(task("builder", agent="boss"))] == ["deny"]
    assert host.rulings(task(None, subagent_type=7))[0] == ("deny", "Whom this call asks for can't be read")


def test_depth_is_that_of_the_tree_and_not_the_number_of_delegations() -> None:
    host = Host()
    for number in range(5):
        assert host.starts(task("builder", f"t{number}")), "one after the other they all stand one deep"
        host.came(agent(f"b{number}", "builder"))
        assert host.depth(f"b{number}") == 1
        host.session = with_delegation_ended(host.session, f"t{number}", failed=False, now_ns=host.now)
    below = agent("b4", "builder")
    assert host.starts(task("explorer", "t5", by=below))
    host.came(agent("e", "explorer"))
    assert host.depth("e") == 2
    found = host.session.agent("e")
    assert found is not None
    assert (found.parent, found.delegation, found.role) == ("b4", "t5", "researcher")


def test_nobody_goes_deeper_than_those_above_may() -> None:
    """A role may say 9: below a worker, who may go two deep, it is two."""
    book = rulebook(
        roles={
            "lead": role("lead", 0, DelegationForm(to=("*",), depth=9)), "worker": role("worker", 1, WORKER),
            "researcher": role("researcher", 2, DelegationForm(to=("*",), depth=9)), "twin": role("twin", 2),
        }
    )  # fmt: skip
    host = Host(book)
    assert host.starts(task("builder", "1"))
    host.came(agent("b", "builder"))
    assert host.starts(task("explorer", "2", by=agent("b", "builder")))
    host.came(agent("e", "explorer"))
    ((said, reason),) = host.rulings(task("twin", "3", by=agent("e", "explorer")))
    assert said == "deny"
    assert "they would stand 3 deep" in reason


def test_how_many_there_may_be() -> None:
    host = Host()
    for number in range(2):
        assert host.starts(task("builder", f"t{number}"))
    assert "at the same time" in host.rulings(task("builder"))[0][1]
    host.session = with_delegation_ended(host.session, "t0", failed=True, now_ns=host.now)
    for number in range(2, 5):
        assert host.starts(task("builder", f"t{number}"))
        host.session = with_delegation_ended(host.session, f"t{number}", failed=False, now_ns=host.now)
    ((said, reason),) = host.rulings(task("builder"))
    assert said == "deny"
    assert "no more agents in this session" in reason
    assert host.session.counts.spawns == 5
    assert host.states() == ["failed", "pending", "done", "done", "done"]


def test_several_in_one_call_count_as_several() -> None:
    host = Host()
    assert not host.starts(ToolCall("task", {"agents": ["builder", "builder", "explorer"]}, context=MAIN))
    assert host.starts(ToolCall("task", {"agents": ["builder", "explorer"]}, "two", context=MAIN))
    assert [one.id for one in host.session.delegations] == ["two", "two/1"]
    host.session = with_delegation_ended(host.session, "two", failed=False, now_ns=host.now)
    assert host.states() == ["done", "done"]


def test_limits_are_exact_although_calls_were_judged_at_once() -> None:
    """All of them saw room. Who comes when it is taken is refused, and nothing of it is counted."""
    host = Host()
    seat = host.came(MAIN)
    calls = [task("builder", f"t{number}") for number in range(6)]
    assert all(delegation_rulings(seat, host.session, call, NOON) == () for call in calls)
    for call in calls[:2]:
        host.session = with_delegation(host.session, seat, call, "", NOON)
    for call in calls[2:]:
        with pytest.raises(DelegationError, match="at the same time"):
            with_delegation(host.session, seat, call, "", NOON)
    assert host.session.counts.spawns == 2
    watching = replace(seat, book=replace(BOOK, mode="watch"))
    assert with_delegation(host.session, watching, calls[-1], "", NOON).counts.spawns == 3


def test_under_two_rulebooks_the_same_work_is_counted_for_both() -> None:
    host = Host()
    theirs = replace(BOOK, level="organisation", roles={"any": role("any", 0, DelegationForm(expires="1h"))},
                     agents=(AgentForm(role="any"),))  # fmt: skip
    call = task("builder", "t")
    for book in (BOOK, theirs):
        host.session = with_delegation(host.session, seat_of(book, MAIN), call, "", NOON)
    (one,) = host.session.delegations
    assert (one.roles, one.from_role) == (("user/lead", "organisation/any"), "lead")
    assert one.expires_ns == NOON + HOUR, "the earlier of both"
    assert host.session.counts.spawns == 1
    assert [(count.role, count.count) for count in host.session.spawned] == [("user/lead", 1), ("organisation/any", 1)]


def test_work_expires_and_its_agent_is_refused() -> None:
    host = Host()
    assert host.starts(task("builder", "t"))
    host.came(agent("b", "builder"))
    read = ToolCall("read", {}, context=agent("b", "builder"))
    host.now = NOON + 8 * HOUR - 1
    assert host.rulings(read) == []
    host.now = NOON + 8 * HOUR
    ((said, reason),) = host.rulings(read)
    assert said == "deny"
    assert "is up" in reason
    assert with_expired(host.session, host.now).delegations[0].state == "expired"
    host.now = NOON
    assert host.rulings(read)[0][0] == "deny", "a clock that goes back gives it no time"
    assert host.rulings(ToolCall("read", {}, context=MAIN)) == []
    assert host.starts(task("builder", "again")), "what has expired takes no room"


def test_an_agent_that_works_on_after_the_answer_ends_when_it_stops() -> None:
    host = Host()
    call = ToolCall("spawn_agent", {"agent_type": "builder"}, "t", MAIN)
    assert host.starts(call)
    host.session = with_delegation_ended(host.session, "t", failed=False, now_ns=NOON)
    assert host.states() == ["pending"]
    host.came(agent("b", "builder"))
    assert host.states() == ["working"]
    host.session = with_agent_stopped(host.session, "", NOON)
    host.session = with_agent_stopped(host.session, "other", NOON)
    assert host.states() == ["working"]
    host.session = with_agent_stopped(host.session, "b", NOON)
    assert host.states() == ["done"]
    failing = ToolCall("spawn_agent", {"agent_type": "builder"}, "u", MAIN)
    assert host.starts(failing)
    host.session = with_delegation_ended(host.session, "u", failed=True, now_ns=NOON)
    assert host.states() == ["done", "failed"]


def test_an_agent_takes_the_oldest_work_for_its_kind() -> None:
    host = Host(rulebook(roles=BOOK.roles | {"lead": role("lead", 0, replace(LEAD, at_once=9))}))
    for id, kind in (("1", "explorer"), ("2", "builder"), ("3", "builder")):
        assert host.starts(task(kind, id))
    for id, kind in (("b1", "Builder"), ("e1", "explorer"), ("b2", "builder")):
        host.came(agent(id, kind))
    assert [(one.id, one.agent) for one in host.session.delegations] == [("1", "e1"), ("2", "b1"), ("3", "b2")]


def test_one_that_nobody_announced_stands_one_deep_and_is_noted_once() -> None:
    host = Host()
    read = ToolCall("read", {}, context=agent("x", "explorer"))
    ((said, reason),) = host.rulings(read)
    assert (said, reason) == ("note", "Nobody announced the agent explorer")
    assert host.depth("x") == 1
    host.now += 1
    assert host.rulings(read) == []
    found = host.session.agent("x")
    assert found is not None
    assert (found.role, found.delegation, found.parent) == ("researcher", "", "")


def test_one_that_could_be_any_of_those_waited_for_stands_as_deep_as_the_deepest() -> None:
    host = Host()
    assert host.starts(task("builder", "1"))
    host.came(agent("b", "builder"))
    assert host.starts(task("explorer", "2", by=agent("b", "builder")))
    host.came(agent("x", "called-otherwise"))
    assert host.depth("x") == 2


@pytest.fixture
def deep() -> Host:
    """A host in whose session a builder works, one deep."""
    host = Host(rulebook(roles=BOOK.roles | {"lead": role("lead", 0, DelegationForm(to=("*",), at_once=99))}))
    assert host.starts(task("builder", "b"))
    host.came(agent("b", "builder"))
    return host


BUILDER = agent("b", "builder")


def test_two_of_a_kind_that_could_be_taken_for_each_other_stand_as_deep_as_the_deeper(deep: Host) -> None:
    assert deep.starts(task("explorer", "below", by=BUILDER))
    assert deep.starts(task("explorer", "beside"))
    for id in ("x", "y"):
        deep.came(agent(id, "explorer"))
    assert (deep.depth("x"), deep.depth("y")) == (2, 2)


def test_one_that_was_forgotten_can_neither_rise_nor_let_another_rise(
    deep: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_bounds, "MOST_AGENTS", 3)
    assert deep.starts(task("explorer", "1"))
    deep.came(agent("early", "explorer"))
    deep.session = with_agent_stopped(deep.session, "early", deep.now)
    deep.now += 1
    deep.came(BUILDER)
    deep.came(agent("another", "stranger"))
    assert deep.session.agent("early") is None
    assert deep.starts(task("explorer", "2", by=BUILDER))
    deep.came(agent("early", "explorer"))
    assert deep.depth("early") == 2, "it has taken what another was to take"
    assert deep.starts(task("explorer", "3"))
    deep.came(agent("late", "explorer"))
    assert deep.depth("late") == 2, "which then takes what stands less deep"


def test_one_whose_work_was_forgotten_stands_as_deep_as_that(deep: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_bounds, "MOST_DELEGATIONS", 2)
    assert deep.starts(task("explorer", "1", by=BUILDER))
    deep.session = with_delegation_ended(deep.session, "1", failed=False, now_ns=deep.now)
    for number in range(3):
        assert deep.starts(task("twin", f"t{number}"))
    assert "1" not in {one.id for one in deep.session.delegations}
    deep.came(agent("late", "explorer"))
    assert deep.depth("late") == 2


def test_being_asked_for_as_something_gives_nobody_a_role() -> None:
    host = Host()
    assert host.starts(task("builder", "1"))
    seat = host.came(agent("x", "stranger"))
    assert seat.role is None
    found = host.session.agent("x")
    assert found is not None
    assert found.role == ""


def test_what_is_open_is_never_forgotten() -> None:
    form = DelegationForm(to=("*",), at_once=1000, at_most=1000)
    host = Host(rulebook(roles=BOOK.roles | {"lead": role("lead", 0, form)}))
    started = sum(host.starts(task("builder", f"t{number}")) for number in range(300))
    assert started == 200
    assert host.states() == ["pending"] * 200
    assert "in this session at the same time" in host.rulings(task("builder"))[0][1]
    over = tuple(Delegation(id=f"x{number}", state="done", agent="a") for number in range(MOST_DELEGATIONS))
    assert bounded(replace(host.session, delegations=(*host.session.delegations, *over))).delegations[:200] == (
        host.session.delegations
    )


KINDS = ("builder", "explorer", "helper")
ANYBODY = Rulebook(file="g.yaml", mode="watch", agents=(AgentForm(role="low"),), roles={"low": role("low", 1)})
STEPS = st.tuples(
    st.sampled_from(("asks", "asks for any", "comes", "calls", "stops")), st.integers(0, 7), st.integers(0, 2)
)


@pytest.mark.parametrize("forgets", [False, True])
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEPS, max_size=40))
def test_nobody_stands_less_deep_than_it_does(
    forgets: bool, steps: list[tuple[str, int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host starts what was let through, in any order; agents come late, stop, and are forgotten. `truth` is how deep
    each of them really stands."""
    if forgets:
        monkeypatch.setattr(session_bounds, "MOST_AGENTS", 3)
        monkeypatch.setattr(session_bounds, "MOST_DELEGATIONS", 3)
    host, truth, asked = Host(ANYBODY), {"": 0}, list[tuple[str, int]]()
    for at, (what, who, kind) in enumerate(steps):
        host.now += 1
        actor = sorted(truth)[who % len(truth)]
        context = agent(actor, KINDS[int(actor[-1])]) if actor else MAIN
        match what:
            case "asks" | "asks for any":
                named = {"agent": KINDS[kind]} if what == "asks" else {}
                assert host.starts(ToolCall("task", named, f"t{at}", replace(context, source="library")))
                asked.append((f"a{at:03}-{kind}", truth[actor] + 1))
            case "comes" if asked:
                id, depth = asked.pop(who % len(asked))
                truth[id] = depth
                host.came(agent(id, KINDS[int(id[-1])]))
            case "calls":
                host.came(context)
            case _:
                host.session = with_agent_stopped(host.session, actor, host.now)
        for node in host.session.agents:
            assert node.depth >= truth[node.id], (node, truth)
