"""A pause: what it answers, what it never answers, and that it ends."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from interpose.composition.build import open_engine
from interpose.core.answers import Approved, Approvers, Pending
from interpose.core.errors import CrowdedError, NotProvenError, ScopeError
from interpose.core.types import Confirm, Context, Deny, Finding, PermissionRequest, ToolCall
from interpose.engine.engine import Engine
from interpose.people.approvals.desk import Desk
from interpose.people.approvals.grants import Given
from interpose.people.approvals.pauses import MOST_AT_ONCE
from interpose.people.approvals.questions import moment
from interpose.people.approvals.seal import new_seal
from interpose.people.approvals.uses import Uses
from interpose.record.store.protocols import Store
from tests.unit.people.approvals.test_desk import HERE, KEY, SEAL, Clock, ask, made, request


def pause(desk: Desk, minutes: float = 10, **more: str) -> Given:
    until = moment(desk._clock()) + timedelta(minutes=minutes)
    return desk.pauses.begin("ann", until, desk.seal(), **more)


def test_questions_are_answered_while_it_holds_and_asked_again_when_it_ends(store: Store) -> None:
    clock = Clock()
    desk = made(store, clock)
    given = pause(desk, reason="moving files")
    assert ask(desk) == Approved(f"pause:{given.id} of ann")
    assert ask(made(store, clock), request("git tag")) == Approved(f"pause:{given.id} of ann")
    assert desk.asked() == []
    (listed,) = desk.grants()
    assert (listed.scope.kind, listed.comment, listed.uses_left) == ("pause", "moving files", None)
    clock.pass_by(600)
    assert isinstance(ask(desk), Pending)
    assert desk.pauses.standing() == []


def test_a_refusal_stays_a_refusal(store: Store) -> None:
    desk = made(store, Clock())
    pause(desk)
    engine = Engine(confirm=desk.waiting())

    class Both:
        def intercept(self, call: ToolCall) -> Confirm | Deny:
            return Deny("Never", rule="r") if "rm" in call.arguments["command"] else Confirm("Really?", rule="q")

    engine.interceptors.add(id="both", name="tool.before", interceptor=Both())  # type: ignore[attr-defined]
    run = engine.run(HERE)
    assert run.before(ToolCall("exec", {"command": "rm -rf /"}, context=HERE)).outcome == "deny"
    let = run.before(ToolCall("exec", {"command": "ls"}, context=HERE))
    assert (let.outcome, let.approver.startswith("pause:")) == ("allow", True)


def test_what_certain_people_must_answer_is_still_asked(store: Store) -> None:
    desk = made(store, Clock())
    pause(desk)
    found = Finding(interceptor="p", said="ask", reason="two", rule="two", approvers=Approvers(count=2))
    assert isinstance(ask(desk, replace(request(), findings=(found,))), Pending)


@pytest.mark.parametrize(
    "command", ["git push --no-verify", "rm ~/.claude/settings.json", "echo '{}' > ~/.claude/settings.json"]
)
def test_what_guards_the_agent_is_still_asked_about(store: Store, command: str) -> None:
    """The pause ends. A hook that was switched off meanwhile would stay off."""
    desk = made(store, Clock())
    pause(desk)
    assert isinstance(ask(desk, request(command)), Pending)


def test_one_agent_alone(store: Store) -> None:
    desk = made(store, Clock())
    given = pause(desk, agent="claude-code")
    assert isinstance(ask(desk), Pending)
    hook = replace(HERE, source="hook:claude-code")
    assert ask(desk, request("git tag", hook)) == Approved(f"pause:{given.id} of ann")
    named = replace(HERE, agent_id="claude-code", session_id="s9")
    assert ask(desk, request("git tag", named)) == Approved(f"pause:{given.id} of ann")
    assert isinstance(ask(desk, request("git tag", replace(HERE, source="claude-code"))), Pending)


def test_how_long_and_how_many(store: Store) -> None:
    desk = made(store, Clock())
    pause(desk, 480)
    for minutes in (480.1, 0, -1):
        with pytest.raises(ScopeError):
            pause(desk, minutes)
    for _ in range(MOST_AT_ONCE - 1):
        pause(desk, 1)
    with pytest.raises(CrowdedError):
        pause(desk, 1)


def test_it_is_ended_and_stays_ended(store: Store, tmp_path: Any) -> None:
    clock, alarms = Clock(), list[str]()
    uses = Uses(tmp_path / "uses", alarm=lambda _key, text: alarms.append(text))
    desk = made(store, clock, uses=uses)
    given = pause(desk)
    (row,) = store.grants(now_ns=clock())
    assert desk.revoke(given.id)
    assert isinstance(ask(desk), Pending)
    store.give(row)  # an older copy of the store
    assert isinstance(ask(desk, request("git tag")), Pending)
    again = Uses(tmp_path / "uses", alarm=lambda _key, text: alarms.append(text))
    again.open(clock())
    assert isinstance(ask(made(store, clock, uses=again), request("git log")), Pending)


def test_a_clock_that_is_set_back_revives_nothing(store: Store) -> None:
    from interpose.people.approvals.latest_time import LatestTime

    wall, steady = [Clock()()], [0]
    clock = LatestTime(lambda: wall[0], lambda: steady[0])
    desk = made(store, clock)
    pause(desk)
    wall[0] += 601 * 10**9
    steady[0] += 601 * 10**9
    assert isinstance(ask(desk), Pending)
    wall[0] -= 3600 * 10**9
    assert isinstance(ask(desk, request("git tag")), Pending)


def test_one_that_no_server_gave_is_none(store: Store) -> None:
    clock = Clock()
    stranger = Desk(store, timeout=300, key=KEY, clock=clock, seal=new_seal())
    pause(stranger)
    desk = made(store, clock)
    assert isinstance(ask(desk), Pending)
    assert "INVALID" in "".join(desk.alarms.texts())


def test_who_has_no_seal_pauses_nothing(store: Store) -> None:
    looking = Desk(store, timeout=300, key=KEY, clock=Clock(), verifier=SEAL)
    with pytest.raises(NotProvenError):
        looking.seal()
    assert looking.paused(request()) is None


def test_messages_and_results_are_let_through_too(store: Store) -> None:
    from interpose.core.types import Message, ToolOutcome

    desk = made(store, Clock())
    given = pause(desk)
    for subject in (Message("hi", context=HERE), ToolOutcome(ToolCall("read", {"path": "x"}, context=HERE), "text")):
        assert ask(desk, PermissionRequest("?", subject)) == Approved(f"pause:{given.id} of ann")
    nothing = ask(desk, PermissionRequest("?", None))
    assert isinstance(nothing, Deny)


def test_a_context_is_needed_for_no_pause(store: Store) -> None:
    desk = made(store, Clock())
    given = pause(desk)
    assert ask(desk, request("ls", Context())) == Approved(f"pause:{given.id} of ann")


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("write", {"path": ".claude/settings.json", "content": "{}"}),
        ("write", {"path": "proj/notes.txt", "content": "{}"}),
        ("edit", {"path": "proj/there/settings.json", "old_string": "a", "new_string": "b"}),
        ("mcp__files__save", {"target": ".claude/settings.json", "content": "{}"}),
    ],
    ids=["its settings", "a link to them", "through a directory that is a link", "a tool of an MCP server"],
)  # fmt: skip
def test_an_agents_settings_are_still_asked_about_however_they_are_reached(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: str, arguments: dict[str, str]
) -> None:
    """The words of a call may name none of them: the guard that asks knows where they lead."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in (".claude", "proj"):
        (tmp_path / name).mkdir()
    (tmp_path / ".claude" / "settings.json").write_text("{}", encoding="utf-8")
    (tmp_path / "proj" / "notes.txt").symlink_to(tmp_path / ".claude" / "settings.json")
    (tmp_path / "proj" / "there").symlink_to(tmp_path / ".claude")
    desk = made(store, Clock())
    pause(desk)
    context = replace(HERE, cwd=str(tmp_path))
    absolute = {
        name: str(tmp_path / value) if name in ("path", "target") else value for name, value in arguments.items()
    }
    verdict = open_engine(confirm=desk.waiting()).run(context).before(ToolCall(tool, absolute, context=context))
    assert (verdict.outcome, verdict.approver) == ("ask", ""), verdict.reason
