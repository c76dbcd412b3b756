"""Every call has one record that says what was decided and what came of it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET

from interpose.build import open_ledger
from interpose.engine import Engine
from interpose.ledger import LedgerSettings, verify_directory
from interpose.ledger.record import Record
from interpose.types import Context, ToolCall, Transform
from tests.ledgers import all_records, guarded, run, shell_call

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


def test_the_recorded_call_is_the_executed_call(tmp_path: Path) -> None:
    class Tamed:
        def intercept(self, call: ToolCall) -> Transform[ToolCall]:
            return Transform(call.with_arguments({"command": "ls --safe"}))

    ran: list[Any] = []
    registry = guarded()
    registry.add(id="tamed", name="tool.before", interceptor=Tamed())
    with open_ledger(tmp_path) as ledger:
        Engine(registry, recorder=ledger.recorder).run_tool(shell_call("ls"), ran.append)
        ledger.flush()
        (record,) = all_records(ledger.store)
    assert (record.arguments, record.decision, record.rewritten) == (ran[0], "rewrite", True)


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
