"""`interpose audit show` of calls and results that were changed, kept back or approved."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from interpose.composition.build import open_ledger
from interpose.core.answers import Approved
from interpose.core.registry import InterceptorRegistry
from interpose.core.types import Allow, Confirm, Decision, Deny, PermissionRequest, ToolCall, ToolOutcome, Transform
from interpose.doors.cli import main
from interpose.doors.cli.auditing.audit_text import page
from interpose.doors.cli.explaining.verdict_text import Ink
from interpose.engine.engine import Engine
from interpose.record.ledger import Record
from tests.support.ledgers import all_records, shell_call
from tests.support.timing.timing import cpu_seconds

SCRIPT = "set -e\n{}\necho end"


class Changes:
    """Rewrites one command, asks about another."""

    def intercept(self, call: ToolCall) -> Decision[ToolCall]:
        command = call.arguments["command"]
        if "curl" in command:
            changed = call.with_arguments({"command": command.replace("curl", "curl --fail"), "timeout": 5})
            return Transform(changed, rule="fails-loudly")
        return Confirm("Really push?", rule="push") if "push" in command else Allow()


class Looks:
    def intercept(self, outcome: ToolOutcome) -> Decision[ToolOutcome]:
        if outcome.result == "poison\x1b[2J":
            return Deny("An instruction is hidden in it.", rule="injection")
        return Transform(replace(outcome, result="short"), rule="shorten") if outcome.result == "long" else Allow()


class Ann:
    def confirm(self, _request: PermissionRequest) -> Approved:
        return Approved("ann@example.com")


def record_of(directory: Path, command: str, result: Any = "done") -> Record:
    registry = InterceptorRegistry()
    registry.add(id="changes", name="tool.before", interceptor=Changes())
    registry.add(id="looks", name="tool.after", interceptor=Looks())
    with open_ledger(directory) as ledger:
        engine = Engine(registry, confirm=Ann(), recorder=ledger.recorder)
        engine.run_tool(shell_call(command, call_id="one"), lambda _arguments: result)
        ledger.flush()
        (record,) = all_records(ledger.store)
        return record


SHOWN = [
    ("the call that came in", SCRIPT.format("curl x"), "done",
     ["REWRITE  exec", "  rule        fails-loudly\n", "\n  - curl x\n  + curl --fail x\n",
      "\n  timeout\n  + 5\n"], ["- set -e", "- echo end"]),
    ("a result that was kept back", "ls", "poison\x1b[2J",
     ["success", "result withheld", "injection: An instruction is hidden in it.", "interceptors of the result",
      "what the tool gave\n  poison\\x1b[2J"], ["\x1b"]),
    ("a result that was changed", "ls", "long",
     ["result rewritten", "  result's rule  shorten\n", "result\n  short", "what the tool gave\n  long"], []),
    ("who approved", "git push", "done", ["approved by  ann@example.com"], []),
    ("a call that nobody touched", "ls", "done",
     ["ALLOW  exec  success"], ["approved by", "rewritten", "the tool gave"]),
]  # fmt: skip


@pytest.mark.parametrize(("note", "command", "result", "parts", "absent"), SHOWN, ids=[case[0] for case in SHOWN])
def test_show(tmp_path: Path, note: str, command: str, result: Any, parts: list[str], absent: list[str]) -> None:
    text = page(record_of(tmp_path, command, result), Ink(False))
    for part in parts:
        assert part in text, note
    for part in absent:
        assert part not in text, note


RULED = [
    ("a rewrite of the call", "curl x", "done", "fails-loudly"),
    ("a rewrite of the result", "ls", "long", "shorten"),
    ("a result that was kept back", "ls", "poison\x1b[2J", "injection"),
    ("a rewrite of the result of a call that was asked about", "git push", "long", "shorten"),
    ("the question about that call", "git push", "long", "push"),
]


@pytest.mark.parametrize(("note", "command", "result", "rule"), RULED, ids=[case[0] for case in RULED])
def test_what_a_rule_changed_is_found_by_it(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], note: str, command: str, result: str, rule: str
) -> None:
    record_of(tmp_path, command, result)
    ledger = ["--ledger", str(tmp_path / "ledger.db")]
    for wanted, code in ((rule, 0), (rule[:-1], 1), ("other", 1)):
        assert main(["audit", "search", "--rule", wanted, "--json", *ledger]) == code, note
        out = capfdbinary.readouterr().out
        assert [json.loads(line)["call_id"] for line in out.splitlines()] == (["one"] if code == 0 else [])
    assert main(["audit", "stats", "--rule", rule, "--json", *ledger]) == 0
    assert json.loads(capfdbinary.readouterr().out)["total"] == 1


def test_a_question_that_waits(tmp_path: Path) -> None:
    record = replace(record_of(tmp_path, "ls"), decision="ask", outcome="unknown", approval="q1", after=None)
    text = page(record, Ink(False))
    assert "waits for an answer" in text
    assert "question" in text


def test_a_change_whose_values_are_not_kept(tmp_path: Path) -> None:
    record = replace(record_of(tmp_path, "curl x"), arguments=UNSET, original_arguments=UNSET)
    assert "yes, from values that are not kept" in page(record, Ink(False))


def test_a_long_change_is_shown_at_once(tmp_path: Path) -> None:
    """Two texts without a common line: a difference that looks for the best one would take minutes."""
    lines = [f"line {number % 7}" for number in range(20_000)]
    record = record_of(tmp_path, "ls")
    record = replace(
        record, original_arguments={"command": "\n".join(lines)}, arguments={"command": "\n".join(lines[::-1])}
    )
    assert cpu_seconds(lambda: page(record, Ink(False))) < 5


def test_search_prints_an_entry_for_each_phase(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    record_of(tmp_path, "ls", "poison\x1b[2J")
    for act in (["search", "ls"], ["tail"], ["show", "one"], ["export"]):
        assert main(["audit", *act, "--format", "intercept", "--ledger", str(tmp_path / "ledger.db")]) == 0
        out = capfdbinary.readouterr().out.decode()
        decoder, entries = json.JSONDecoder(), []
        while out.strip():
            entry, end = decoder.raw_decode(out.lstrip())
            entries.append((entry["phase"], entry["decision"]))
            out = out.lstrip()[end:]
        assert entries == [("request_validation", "allow"), ("response_validation", "deny")], act
