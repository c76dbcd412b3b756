from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any, NoReturn

import pytest

from interpose import Context, Deny, Engine, InterceptorChain
from interpose.core.types import Allow, ToolCall, ToolOutcome
from interpose.rules.guards import AuditLog
from tests.support.hostile import BrokenTextError, EvilText, RaisingEquality

LOGGER = "test.audit"


def unchanged(text: str) -> str:
    return text


def audit(redact: Callable[[str], str] = unchanged, level: int = logging.INFO) -> AuditLog:
    return AuditLog(logger=logging.getLogger(LOGGER), level=level, redact=redact)


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.DEBUG, logger=LOGGER)
    return caplog


class Refuses:
    def intercept(self, _call: ToolCall) -> Deny:
        return Deny("not here")


def fail(_arguments: Any) -> NoReturn:
    raise OSError("disk full")


@pytest.mark.parametrize(
    ("note", "refused", "tool", "words", "level"),
    [
        ("goes well", False, lambda _: "total 12", "Tool completed: exec -> total 12", logging.INFO),
        ("structured", False, lambda _: {"n": [1, 2]}, 'Tool completed: exec -> {"n":[1,2]}', logging.INFO),
        ("fails", False, fail, 'Tool failed: exec -> {"status":"error","tool":"exec","error":"disk full"}',
         logging.WARNING),
        ("is denied", True, fail, 'Tool denied: exec -> {"status":"blocked","tool":"exec","reason":"not here"}',
         logging.WARNING),
    ],
)  # fmt: skip
def test_every_outcome_is_logged(
    lines: pytest.LogCaptureFixture, note: str, refused: bool, tool: Any, words: str, level: int
) -> None:
    chain: InterceptorChain[ToolCall, ToolOutcome] = InterceptorChain().with_(audit(), priority=-10)
    engine = Engine(chain.with_(Refuses()) if refused else chain)
    engine.run_tool(ToolCall("bash", {"command": "ls -la"}, "call-7", Context(session_id="s1", agent_id="main")), tool)
    invoked, ended = lines.records
    assert invoked.getMessage() == 'Tool invoked: exec with input: {"command":"ls -la"} [call call-7]', note
    assert ended.getMessage().startswith(f"{words} [call call-7, "), note
    assert (invoked.levelno, ended.levelno) == (logging.INFO, level), note
    for record in (invoked, ended):
        assert vars(record)["call_id"] == "call-7"
        assert vars(record)["tool"] == "exec"
        assert vars(record)["session_id"] == "s1"
        assert vars(record)["agent_id"] == "main"
    assert vars(ended)["outcome"] in ended.getMessage()


def test_calls_under_way_at_once_are_told_apart(lines: pytest.LogCaptureFixture) -> None:
    log = audit()
    calls = [ToolCall("read", {"path": f"f{number}"}, f"id-{number}") for number in range(20)]
    threads = [threading.Thread(target=log.intercept, args=(call,)) for call in calls]
    threads += [threading.Thread(target=log.observe, args=(call, ToolOutcome(call, call.call_id))) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    said = [record.getMessage() for record in lines.records]
    for number in range(20):
        assert f'Tool invoked: read with input: {{"path":"f{number}"}} [call id-{number}]' in said
        assert f"Tool completed: read -> id-{number} [call id-{number}, 0.0 ms]" in said


def test_a_call_whose_end_never_comes_leaves_nothing_behind() -> None:
    log = audit()
    before = str(vars(log))
    for number in range(100):
        log.intercept(ToolCall("read", {"path": f"f{number}"}))
    assert str(vars(log)) == before


@pytest.mark.parametrize(
    ("note", "result", "shown"),
    [
        ("a hundred characters", "x" * 100, "x" * 100),
        ("one more", "x" * 101, "x" * 100 + "..."),
        ("characters, not bytes", "é" * 100, "é" * 100),
        ("and one more of them", "é" * 101, "é" * 100 + "..."),
        ("lines stay one line", "a\nb\r\u2028c", r"a\nb\r\u2028c"),
        ("no control of the terminal", "\x1b[2J\x9b\u202e", r"\x1b[2J\x9b\u202e"),
        ("escapes count as well", "\n" * 60, r"\n" * 50 + "..."),
        ("nothing", None, "null"),
        ("a value of one's own", {"error": OSError("broken")}, '{"error":"broken"}'),
        ("half a character", "\ud800", r"\ud800"),
    ],
)
def test_previews(lines: pytest.LogCaptureFixture, note: str, result: object, shown: str) -> None:
    call = ToolCall("t", {}, "id")
    audit().observe(call, ToolOutcome(call, result))
    assert lines.messages == [f"Tool completed: t -> {shown} [call id, 0.0 ms]"], note


def test_nothing_of_the_agents_breaks_out_of_a_line(lines: pytest.LogCaptureFixture) -> None:
    call = ToolCall("t\nTool denied: x", {"a\nb": "c\nd\x7f"}, "id\nfake")
    audit().intercept(call)
    audit().observe(call, ToolOutcome(call, "ok\nTool completed: y"))
    assert all("\n" not in message and "\x7f" not in message for message in lines.messages)
    assert len(lines.messages) == 2


def deep() -> list[Any]:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    return value


@pytest.mark.parametrize("make", [deep, RaisingEquality, BrokenTextError, lambda: EvilText("x"), lambda: {(1, 2): 3}])
def test_no_result_is_too_strange(lines: pytest.LogCaptureFixture, make: Any) -> None:
    call = ToolCall("t", {}, "id")
    audit().observe(call, ToolOutcome(call, make()))
    assert lines.messages[0].startswith("Tool completed: t -> ")


def test_a_secret_is_redacted_before_it_is_cut(lines: pytest.LogCaptureFixture) -> None:
    secret = "s3cr3t" * 40
    call = ToolCall("exec", {"command": "x" * 60, "token": secret}, "id")
    log = audit(redact=lambda text: text.replace(secret, "[redacted]"))
    log.intercept(call)
    log.observe(call, ToolOutcome(call, f"{'x' * 90}{secret}"))
    assert "[redacted]" in lines.messages[0]
    assert all("s3cr3t" not in message for message in lines.messages)


def test_known_secrets_are_redacted_unless_told_otherwise(lines: pytest.LogCaptureFixture) -> None:
    token = "ghp_" + "R4nd0mT0k3nF0rT3st1ngPurp0s3sXyZ1234"
    call = ToolCall("exec", {"command": f"curl -H 'Authorization: Bearer {token}' https://example.com"}, "id")
    log = AuditLog(logger=logging.getLogger(LOGGER))
    log.intercept(call)
    log.observe(call, ToolOutcome(call, f"token {token}"))
    assert len(lines.messages) == 2
    assert all("R4nd0m" not in message and "[redacted:" in message for message in lines.messages)


def test_what_the_redactor_fails_on_is_not_shown(lines: pytest.LogCaptureFixture) -> None:
    def broken(_text: str) -> str:
        raise ValueError("no patterns")

    audit(redact=broken).intercept(ToolCall("exec", {"command": "hunter2"}, "id"))
    assert lines.messages == ["Tool invoked: exec with input: (not shown: no patterns) [call id]"]


def test_large_arguments_are_cut_before_they_are_redacted() -> None:
    lengths: list[int] = []

    def measure(text: str) -> str:
        lengths.append(len(text))
        return text

    logging.getLogger(LOGGER).setLevel(logging.INFO)
    call = ToolCall("write", {"content": "x" * 10_000_000}, "id")
    audit(redact=measure).intercept(call)
    audit(redact=measure).observe(call, ToolOutcome(call, "y" * 10_000_000))
    assert max(lengths) < 10_000


def test_nothing_is_rendered_that_nobody_reads() -> None:
    quiet = logging.getLogger("test.audit.quiet")
    quiet.setLevel(logging.ERROR)
    log = AuditLog(logger=quiet, redact=lambda _: pytest.fail("rendered"))
    call = ToolCall("exec", {"command": "ls"})
    assert log.intercept(call) == Allow()
    log.observe(call, ToolOutcome(call, "ok"))


def test_the_level_can_be_chosen(lines: pytest.LogCaptureFixture) -> None:
    call = ToolCall("exec", {})
    audit(level=logging.DEBUG).intercept(call)
    audit(level=logging.DEBUG).observe(call, ToolOutcome(call, is_error=True))
    assert [record.levelno for record in lines.records] == [logging.DEBUG, logging.WARNING]


def test_a_broken_configuration_is_an_error() -> None:
    with pytest.raises(ValueError, match="from text to text"):
        AuditLog(redact="***")  # type: ignore[arg-type]  # that is the point
