"""Outcomes find the decisions that they belong to."""

from __future__ import annotations

from typing import Any

import pytest

from interpose import Allow, Confirm, Context, ToolCall, Verdict
from interpose.engine.flow.pending_calls import ALIKE, PendingCalls

HERE = Context(session_id="s", source="hook:x", cwd="/w", agent_id="a")
ELSEWHERE = Context(session_id="t", source="hook:x")


def call(command: str = "ls", context: Context = HERE) -> ToolCall:
    return ToolCall("exec", {"command": command, "n": [1, {"a": None}]}, context=context, original_name="Bash")


def made(command: str = "ls") -> ToolCall:
    """The call as the host makes it."""
    return ToolCall("Bash", call(command).arguments)


def opened(calls: PendingCalls, one: ToolCall, key: str = "") -> None:
    came = ToolCall(one.original_name or one.name, one.arguments)
    calls.open(came, Verdict(outcome="allow", decision=Allow(), payload=one), key)


def ended(calls: PendingCalls, context: Context, name: str, arguments: dict[str, Any], key: str = "") -> str:
    """The id of the call that ended."""
    found = calls.close(context, name, arguments, key)
    return "" if found is None else found.verdict.payload.call_id


def test_a_call_is_found_by_what_it_is_and_only_once() -> None:
    calls, one = PendingCalls(), call()
    opened(calls, one)
    arguments = {"n": [1, {"a": None}], "command": "ls"}
    assert ended(calls, ELSEWHERE, "Bash", arguments) == ""
    assert ended(calls, HERE, "Bash", {"command": "ls -l"}) == ""
    assert ended(calls, HERE, "Bash", arguments) == one.call_id
    assert ended(calls, HERE, "Bash", arguments) == ""


def test_the_hosts_own_name_wins_over_the_arguments() -> None:
    calls, one = PendingCalls(), call()
    opened(calls, one, "toolu_1")
    assert ended(calls, HERE, "Bash", {"command": "rewritten"}, "toolu_1") == one.call_id


@pytest.mark.parametrize(
    ("note", "ran", "as_decided"),
    [
        ("what was decided", {"command": "ls", "n": [1, {"a": None}]}, True),
        ("something else", {"command": "rm -rf /srv"}, False),
        ("a host that does not say", {}, True),
    ],
)
def test_what_ran_is_compared_with_what_was_decided(note: str, ran: dict[str, Any], as_decided: bool) -> None:
    calls, one = PendingCalls(), call()
    opened(calls, one, "toolu_1")
    found = calls.close(HERE, "Bash", ran, "toolu_1")
    assert found is not None
    assert found.allows(ToolCall("Bash", ran)) is as_decided


def test_of_calls_that_are_alike_each_is_given_once() -> None:
    calls, some = PendingCalls(), [call() for _ in range(3)]
    for one in some:
        opened(calls, one)
    found = {ended(calls, HERE, "Bash", some[0].arguments) for _ in range(4)}
    assert found == {one.call_id for one in some} | {""}


def test_memory_is_bounded() -> None:
    calls = PendingCalls(limit=2)
    for name in ("a", "b", "c"):
        opened(calls, call(name))
    assert ended(calls, HERE, "Bash", call("a").arguments) == ""
    for _ in range(ALIKE * 2):
        opened(calls, call("c"))
    assert sum(ended(calls, HERE, "Bash", call("c").arguments) != "" for _ in range(ALIKE * 3)) == ALIKE


def test_arguments_without_a_json_form_are_found_too() -> None:
    calls, one = PendingCalls(), ToolCall("exec", {"\ud800": b"x"}, context=HERE)
    opened(calls, one)
    assert ended(calls, HERE, "exec", one.arguments) == one.call_id


GATEWAY = Context(session_id="s", source="gateway")


def test_a_call_that_two_surfaces_see_is_one_call() -> None:
    calls, one = PendingCalls(), call()
    opened(calls, one, "toolu_1")
    found = calls.seen_before(ToolCall("Bash", one.arguments), GATEWAY, "toolu_1")
    assert found is not None
    assert found.payload.call_id == one.call_id
    assert ended(calls, GATEWAY, "Bash", one.arguments, "toolu_1") == one.call_id
    assert ended(calls, HERE, "Bash", one.arguments, "toolu_1") == one.call_id, "both say how it ended"
    assert ended(calls, HERE, "Bash", one.arguments, "toolu_1") == ""


@pytest.mark.parametrize(
    ("note", "seen", "context", "key"),
    [
        ("another command", made("rm -rf /"), GATEWAY, "toolu_1"),
        ("another shell", ToolCall("PowerShell", made().arguments), GATEWAY, "toolu_1"),
        ("another session", made(), Context(session_id="t", source="gateway"), "toolu_1"),
        ("another directory", made(), Context(session_id="s", source="gateway", cwd="/elsewhere"), "toolu_1"),
        ("another agent", made(), Context(session_id="s", source="gateway", agent_id="b"), "toolu_1"),
        ("another name of the host's", made(), GATEWAY, "toolu_2"),
        ("no name: the agent's text alone joins nothing", made(), GATEWAY, ""),
        ("the same surface twice: it is made again", made(), HERE, "toolu_1"),
        (
            "a hook of another host: hooks decide by themselves",
            made(),
            Context(session_id="s", source="hook:y"),
            "toolu_1",
        ),
    ],
)
def test_what_joins_no_calls(note: str, seen: ToolCall, context: Context, key: str) -> None:
    calls = PendingCalls()
    opened(calls, call(), "toolu_1")
    assert calls.seen_before(seen, context, key) is None, note


def test_a_surface_joins_a_call_once() -> None:
    calls = PendingCalls()
    opened(calls, call(), "toolu_1")
    assert calls.seen_before(made(), GATEWAY, "toolu_1") is not None
    assert calls.seen_before(made(), GATEWAY, "toolu_1") is None


def test_nothing_joins_what_no_hook_has_let_through() -> None:
    calls, http = PendingCalls(), Context(session_id="s", source="intercept")
    opened(calls, call(context=http), "toolu_1")
    assert calls.seen_before(made(), GATEWAY, "toolu_1") is None


def test_a_rewritten_call_is_joined_by_what_runs() -> None:
    calls, one = PendingCalls(), call("echo safe")
    came = ToolCall("Bash", {"command": "rm -rf /"})
    calls.open(came, Verdict(outcome="rewrite", decision=Allow(), payload=one, rewritten=True), "toolu_1")
    assert calls.seen_before(came, GATEWAY, "toolu_1") is None
    assert calls.seen_before(made("echo safe"), GATEWAY, "toolu_1") is not None


def test_who_never_saw_a_call_can_not_end_it() -> None:
    calls, one = PendingCalls(), call()
    opened(calls, one, "toolu_1")
    assert ended(calls, GATEWAY, "Bash", {"command": "x"}, "toolu_1") == ""
    assert ended(calls, HERE, "Bash", one.arguments, "toolu_1") == one.call_id


def asked(calls: PendingCalls, one: ToolCall, key: str, *, may_run: bool = True) -> None:
    calls.open(made(), Verdict(outcome="ask", decision=Allow(), payload=one), key, may_run=may_run, put=not may_run)


def test_what_a_host_puts_to_its_person_is_known_by_what_it_is() -> None:
    calls, one, other = PendingCalls(), call(), call()
    asked(calls, one, "toolu_1")
    asked(calls, other, "toolu_2")
    for elsewhere in (made("rm x"), ToolCall("Write", made().arguments)):
        calls.put_to_person(elsewhere, HERE)
    calls.put_to_person(made(), ELSEWHERE)
    calls.put_to_person(made(), HERE)
    put = {key: found.put for key in ("toolu_1", "toolu_2") if (found := calls.close(HERE, "Bash", {}, key))}
    assert put == {"toolu_1": False, "toolu_2": True}, "the newest one like it, and no other"


def test_each_of_two_calls_that_are_alike_is_put_to_a_person() -> None:
    calls = PendingCalls()
    asked(calls, call(), "toolu_1")
    asked(calls, call(), "toolu_2")
    calls.put_to_person(made(), HERE)
    calls.put_to_person(made(), HERE)
    calls.put_to_person(made(), HERE)
    assert all(found.put for key in ("toolu_1", "toolu_2") if (found := calls.close(HERE, "Bash", {}, key)))


def test_a_call_that_waits_is_found_when_it_ran_all_the_same_and_joins_nothing() -> None:
    calls, one = PendingCalls(), call()
    asked(calls, one, "toolu_1", may_run=False)
    assert calls.seen_before(made(), GATEWAY, "toolu_1") is None
    calls.put_to_person(made(), HERE)
    found = calls.close(HERE, "Bash", one.arguments, "toolu_1")
    assert found is not None
    assert not found.may_run


def large(number: int, size: int = 1 << 20) -> ToolCall:
    return ToolCall("write", {"path": f"/w/{number}", "content": f"{number}" + "x" * size}, context=HERE)


def remembered(calls: PendingCalls) -> int:
    """Letters of all arguments that are kept."""
    kept = [one for alike in (*calls._open.values(), *calls._held.values()) for one in alike]
    return sum(len(str(one.verdict.payload.arguments)) + len(str(one.verdict.decision)) for one in kept)


def test_large_arguments_are_remembered_by_their_digests() -> None:
    """400 writes of a megabyte without a reported result took a gigabyte."""
    calls = PendingCalls()
    for number in range(40):
        opened(calls, large(number), f"t{number}")
    assert remembered(calls) < 40 * 1000
    found = calls.close(HERE, "write", {}, "t7")
    assert found is not None
    assert found.verdict.payload.arguments["path"] == "/w/7"
    assert found.allows(ToolCall("write", large(7).arguments))
    assert not found.allows(ToolCall("write", {"path": "/w/7", "content": "7" + "x" * ((1 << 20) - 1) + "y"}))


def test_a_large_call_is_found_by_what_it_is_and_joined_with_its_arguments() -> None:
    calls, one = PendingCalls(), large(1)
    opened(calls, one)
    assert ended(calls, HERE, "write", dict(one.arguments)) == one.call_id
    opened(calls, one, "t1")
    seen = calls.seen_before(ToolCall("write", one.arguments), Context(session_id="s", source="gateway"), "t1")
    assert seen is not None
    assert seen.payload.arguments == one.arguments, "the gateway runs these"


def test_bytes_are_bounded_and_given_back() -> None:
    calls = PendingCalls(most_bytes=100_000)
    for number in range(200):
        opened(calls, call("x" * 2000 + str(number)), f"t{number}")
    assert calls._bytes <= 100_000
    assert ended(calls, HERE, "Bash", {}, "t0") == "", "the oldest are forgotten"
    assert ended(calls, HERE, "Bash", {}, "t199") != ""
    for number in range(200):
        ended(calls, HERE, "Bash", {}, f"t{number}")
    assert calls._bytes == 0


@pytest.mark.parametrize("held", ["waits", "handed over"])
@pytest.mark.parametrize("limits", [{"limit": 10}, {"most_bytes": 40_000}])
def test_a_call_that_a_person_must_answer_is_forgotten_last_and_with_an_alarm(
    held: str, limits: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    calls, first = PendingCalls(**limits), call("git push --force")
    asked: Verdict[ToolCall] = Verdict(outcome="ask", decision=Confirm("Really?"), payload=first)
    calls.open(made("git push --force"), asked, "held", may_run=held != "waits", put=False)
    for number in range(100):
        opened(calls, call(f"ls {number}"), f"t{number}")
    assert ended(calls, HERE, "Bash", {}, "held") == first.call_id, "other calls can't push it out"
    assert not caplog.records
    calls.open(made("git push --force"), asked, "held", may_run=held != "waits", put=False)
    for number in range(100):
        one = call(f"git push --force {number}")
        waiting: Verdict[ToolCall] = Verdict(outcome="ask", decision=Confirm("Really?"), payload=one)
        calls.open(made(), waiting, f"w{number}", may_run=False)
    assert ended(calls, HERE, "Bash", {}, "held") == ""
    assert first.call_id in caplog.text
    assert "alarm: too many calls have no result" in caplog.text
