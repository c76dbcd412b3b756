"""Every call has one record that says what was decided and what came of it."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from interpose.composition.build import open_ledger
from interpose.core.answers import Approved, Pending
from interpose.core.types import (
    Allow,
    Confirm,
    Context,
    Decision,
    Deny,
    PermissionRequest,
    ToolCall,
    ToolOutcome,
    Transform,
)
from interpose.engine.engine import Engine
from interpose.record.ledger import LedgerSettings, search, verify_directory
from interpose.record.ledger.record import Record
from interpose.record.store.protocols import Query
from tests.support.ledgers import all_records, guarded, run, shell_call

KEY = "AKIA" + "QWERTYUIOPASDFGH"


def recorded(directory: Path, *calls: tuple[str, Any], **settings: Any) -> list[Record]:
    """The records of these commands and results, oldest first."""
    with open_ledger(directory, LedgerSettings(**settings)) as ledger:
        engine = Engine(guarded(), recorder=ledger.recorder)
        for command, result in calls:
            run(engine, command, result)
        assert ledger.flush()
        assert verify_directory(directory, ledger.store).ok
        return all_records(ledger.store)[::-1]


OUTCOMES: list[tuple[str, str, Any, dict[str, Any]]] = [
    ("a call that succeeds", "ls", {"exit_code": 0}, {"decision": "allow", "outcome": "success", "exit_code": 0}),
    ("an exit code of a failing command", "ls", {"exit_code": 2}, {"outcome": "success", "exit_code": 2}),
    ("a refused call never ran", "rm -rf /", None, {"decision": "deny", "outcome": "denied", "rule": "no-rm"}),
    ("the length of a result", "ls", "x" * 10, {"bytes": 12, "result": "x" * 10}),
    ("half a character", "echo \ud800", "\ud800", {"decision": "allow", "arguments": {"command": "echo \\ud800"}}),
    ("a NUL", "echo \0", "\0", {"outcome": "success", "arguments": {"command": "echo \0"}}),
    ("paths with line ends", "cat '/tmp/a\nb\u2028c' $'/x\\ny'", "", {"outcome": "success"}),
    ("more text than is searched", "echo " + "ä\0" * 9000, "", {"outcome": "success"}),
    ("a result that is no JSON", "ls", {1, 2}, {"outcome": "success"}),
]


@pytest.mark.parametrize(("note", "command", "result", "want"), OUTCOMES, ids=[case[0] for case in OUTCOMES])
def test_a_record_says_what_happened(
    tmp_path: Path, note: str, command: str, result: Any, want: dict[str, Any]
) -> None:
    (record,) = recorded(tmp_path, (command, result))
    assert {name: getattr(record, name) for name in want} == want, note
    assert record.session == "s1"
    assert record.agent == "main"
    assert record.finished_ns >= record.time_ns


@pytest.mark.parametrize("level", ["written", "durable", "best_effort"])
def test_every_level_records_everything(tmp_path: Path, level: str) -> None:
    found = recorded(tmp_path, *[(f"echo {number}", number) for number in range(50)], level=level)
    assert [record.result for record in found] == list(range(50))


def test_a_tool_that_raises_has_a_record(tmp_path: Path) -> None:
    def tool(_arguments: dict[str, Any]) -> Any:
        raise ValueError(f"no such key {KEY}")

    with open_ledger(tmp_path) as ledger:
        Engine(guarded(), recorder=ledger.recorder).run_tool(shell_call("ls"), tool)
        ledger.flush()
        (record,) = all_records(ledger.store)
    assert record.outcome == "error"
    assert KEY not in str(record)


def test_a_decision_without_outcome_is_marked(tmp_path: Path) -> None:
    with open_ledger(tmp_path) as ledger:
        engine = Engine(guarded())
        ticket = ledger.recorder.decided(engine.decide(shell_call("ls")))
        assert ticket is not None
        ticket.wait()
        ledger.flush()
        assert [record.outcome for record in all_records(ledger.store)] == ["unknown"]


class Tamed:
    """Lets something else run than what came in."""

    def intercept(self, call: ToolCall) -> Transform[ToolCall]:
        return Transform(call.with_arguments({"command": f"{call.arguments['command']} --safe"}))


def test_the_recorded_call_is_the_executed_call(tmp_path: Path) -> None:
    ran: list[Any] = []
    registry = guarded()
    registry.add(id="tamed", name="tool.before", interceptor=Tamed())
    with open_ledger(tmp_path) as ledger:
        Engine(registry, recorder=ledger.recorder).run_tool(shell_call(f"ls {KEY}"), ran.append)
        Engine(guarded(), recorder=ledger.recorder).run_tool(shell_call(f"ls {KEY}"), ran.append)
        ledger.flush()
        (plain, record) = all_records(ledger.store)
        assert search(ledger.store, Query(text="--safe"), 10) == [record]
    assert ran[0] == {"command": f"ls {KEY} --safe"}
    assert isinstance(record.arguments, dict)
    hidden = record.arguments["command"]
    assert (record.decision, record.rewritten) == ("rewrite", True)
    assert hidden.startswith("ls [redacted:")
    assert hidden.endswith("] --safe")
    assert record.original_arguments == {"command": hidden.removesuffix(" --safe")}
    assert record.original_arguments_digest == plain.arguments_digest != record.arguments_digest
    assert (plain.original_arguments, plain.original_arguments_digest) == (UNSET, "")


class Looks:
    """Keeps results back that are poison, and shortens others."""

    def intercept(self, outcome: ToolOutcome) -> Decision[ToolOutcome]:
        if "poison" in str(outcome.result):
            return Deny(f"Poison: {outcome.result}", rule="injection")
        return Transform(replace(outcome, result="short")) if len(str(outcome.result)) > 100 else Allow()


RESULTS: list[tuple[str, Any, str, Any]] = [
    ("handed on as it was", "fine", "passed", UNSET),
    ("withheld", f"poison {KEY}", "withheld", "poison [redacted:aws-access-key-id:"),
    ("rewritten", "x" * 200, "rewritten", "x" * 200),
]


@pytest.mark.parametrize(("note", "result", "became", "original"), RESULTS, ids=[case[0] for case in RESULTS])
def test_what_was_said_about_a_result(tmp_path: Path, note: str, result: Any, became: str, original: Any) -> None:
    registry = guarded()
    registry.add(id="looks", name="tool.after", interceptor=Looks())
    with open_ledger(tmp_path) as ledger:
        answer = run(Engine(registry, recorder=ledger.recorder), "ls", result)
        ledger.flush()
        (record,) = all_records(ledger.store)
    assert record.after is not None
    assert record.after.result == became, note
    assert [name for name, _ in record.after.timings] == ["looks"]
    assert KEY not in str(record)
    assert bool(record.original_result_digest) == (became != "passed")
    if became == "withheld":
        assert record.after.rule == "injection"
        assert [found.said for found in record.after.said.findings] == ["deny"]
        assert str(record.original_result).startswith(original)
        assert record.result == answer | {"reason": record.after.said.reason}
    else:
        assert (record.result, record.original_result) == (answer, original)
    assert record.outcome == "success"


class Asks:
    def intercept(self, _call: ToolCall) -> Confirm:
        return Confirm("Really?")


class Queue:
    """The first question waits, the next one is answered."""

    asked = False

    def confirm(self, _request: PermissionRequest) -> Pending | Approved:
        if self.asked:
            return Approved("ann@example.com")
        self.asked = True
        return Pending("question-1")


def test_who_approved_and_which_question_it_was(tmp_path: Path) -> None:
    registry = guarded()
    registry.add(id="asks", name="tool.before", interceptor=Asks())
    with open_ledger(tmp_path) as ledger:
        asking = Engine(registry, confirm=Queue(), recorder=ledger.recorder).run(shell_call("ls").context)
        call = shell_call("ls", call_id="one")
        assert asking.before(call).outcome == "ask"
        ledger.flush()
        (record,) = all_records(ledger.store)
        assert (record.decision, record.outcome, record.approval) == ("ask", "unknown", "question-1")
        verdict = asking.before(call)
        asking.after(ToolOutcome(verdict.payload, "done"))
        ledger.flush()
        (record,) = all_records(ledger.store)
    assert (record.decision, record.outcome) == ("allow", "success")
    assert (record.approver, record.approval) == ("ann@example.com", "question-1")


def test_an_outcome_whose_decision_was_never_seen_has_a_record(tmp_path: Path) -> None:
    with open_ledger(tmp_path) as ledger:
        after = Engine(guarded(), recorder=ledger.recorder).run(shell_call("ls").context)
        after.after(ToolOutcome(shell_call("ls"), "done"), decided=False)
        ledger.flush()
        (record,) = all_records(ledger.store)
    assert (record.outcome, record.result) == ("success", "done")
    assert [found.said for found in record.findings] == ["note"]


@dataclass
class Login:
    """A result of the tool's own making."""

    key: str


class Printed:
    def __repr__(self) -> str:
        return f"key {KEY}"


@pytest.mark.parametrize(
    ("note", "result"),
    [
        ("a dataclass", Login(KEY)),
        ("an object with a text", Printed()),
        ("bytes", KEY.encode()),
        ("deep", [[Login(KEY)]]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_secrets_in_objects_are_hidden_too(tmp_path: Path, note: str, result: Any) -> None:
    with open_ledger(tmp_path) as ledger:
        engine = Engine(guarded(), recorder=ledger.recorder)
        run(engine, "ls", result)
        engine.run_tool(ToolCall("exec", {"command": "ls", "login": result}), lambda _arguments: "done")
        ledger.flush()
        found = str([(one.result, one.arguments) for one in all_records(ledger.store)])
    assert KEY not in found, note
    assert b64encode(KEY.encode()).decode() not in found, note


def test_a_call_that_was_seen_before_is_recorded_as_the_first_time(tmp_path: Path) -> None:
    commands = [f"cat /etc/hosts {KEY}", f"cat /etc/hosts {KEY}", "ls"] * 2
    found = recorded(tmp_path, *[(command, "done") for command in commands])
    for first, again in ((0, 1), (0, 3), (2, 5)):
        for name in ("arguments", "arguments_digest", "effects", "rule"):
            assert getattr(found[first], name) == getattr(found[again], name)


def test_the_same_arguments_elsewhere_are_another_call(tmp_path: Path) -> None:
    """What a relative path means depends on where the call runs."""
    with open_ledger(tmp_path) as ledger:
        bodies = ledger.recorder.bodies
        drafts = [
            bodies.decided(Engine(guarded()).decide(ToolCall("exec", {"command": "cat x"}, context=Context(cwd=cwd))))
            for cwd in ("/one", "/two")
        ]
    assert [draft.paths for draft in drafts] == [("/one/x",), ("/two/x",)]


def test_secrets_never_reach_a_file(tmp_path: Path) -> None:
    calls = [(f"curl -H 'x-key: {KEY}' https://example.com", {"out": KEY}), (f"rm {KEY}", KEY), (f"cat /{KEY}", [KEY])]
    found = recorded(tmp_path, *calls)
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
    assert "[redacted:aws-access-key-id:" in str(found[0].arguments)
    assert found[0].arguments_digest != found[1].arguments_digest


def test_equal_values_have_equal_digests(tmp_path: Path) -> None:
    one, other, different = recorded(tmp_path, ("ls", "a"), ("ls", "a"), ("ls -l", "b"))
    assert one.arguments_digest == other.arguments_digest != different.arguments_digest
    assert one.result_digest == other.result_digest != different.result_digest


def test_values_can_be_left_out(tmp_path: Path) -> None:
    (record,) = recorded(tmp_path, ("echo word-of-mine", "result-of-mine"), include_argument_values=False)
    assert record.arguments is UNSET
    assert record.result is UNSET
    assert record.arguments_digest
    assert b"word-of-mine" not in (tmp_path / "ledger.db").read_bytes()


def test_async_callers_share_one_sync(tmp_path: Path) -> None:
    async def all_at_once(engine: Engine) -> None:
        calls = [shell_call(f"echo {number}") for number in range(64)]
        await asyncio.gather(*[engine.arun_tool(call, lambda _arguments: "done") for call in calls])

    with open_ledger(tmp_path, LedgerSettings(level="durable", deadline=30)) as ledger:
        asyncio.run(all_at_once(Engine(guarded(), recorder=ledger.recorder)))
        ledger.flush()
        assert [record.outcome for record in all_records(ledger.store)] == ["success"] * 64


def test_effects_make_records_searchable(tmp_path: Path) -> None:
    call = ToolCall("web_fetch", {"url": "https://user:pw@example.com:8443/x"}, context=Context(session_id="s1"))
    with open_ledger(tmp_path) as ledger:
        draft = ledger.recorder.bodies.decided(Engine(guarded()).decide(call))
        path = ledger.recorder.bodies.decided(Engine(guarded()).decide(shell_call("cat /etc/hosts")))
    assert draft.hosts == ("example.com",)
    assert "fs.read" in path.effects
    assert "/etc/hosts" in path.paths
