"""Asking at the terminal: the default answer is no, and hostile text can't repaint the question."""

from __future__ import annotations

import io
from typing import Any

import pytest

from interpose import BatchAnswer, InteractiveConfirmation, PermissionRequest, ToolCall
from interpose.core.formats.plain_text import plain


def ask(typed: str, request: PermissionRequest | None = None, **options: Any) -> tuple[bool, str]:
    output = io.StringIO()
    handler = InteractiveConfirmation(input=io.StringIO(typed), output=output, **options)
    answer = handler.confirm(request or PermissionRequest("Run it?", ToolCall("exec", {"command": "ls"})))
    return answer, output.getvalue()


@pytest.mark.parametrize("typed", ["y\n", "Y\n", "yes\n", " YES \n", "y"])
def test_a_clear_yes(typed: str) -> None:
    assert ask(typed)[0] is True


@pytest.mark.parametrize("typed", ["\n", "", "n\n", "no\n", "yep\n", "ja\n", "1\n", "true\n", "y y\n", "\x00y\n"])
def test_everything_else_is_no(typed: str) -> None:
    assert ask(typed)[0] is False


def test_the_question_shows_the_call_that_would_run() -> None:
    assert ask("")[1] == '? Run it?\n  exec {"command": "ls"}\n  Allow? [y/N] '
    assert ask("", verbose=True)[1] == '? Run it?\n  exec {\n  "command": "ls"\n}\n  Allow? [y/N] '


def test_blank_lines_do_not_push_the_question_off_the_screen() -> None:
    shown = ask("", PermissionRequest("Run it?" + "\n \t" * 199 + "\nfake"))[1]
    assert shown == "? Run it?\n? (199 blank lines)\n? fake\n  Allow? [y/N] "
    assert ask("", PermissionRequest("a\n\n\nb"))[1] == "? a\n? \n? \n? b\n  Allow? [y/N] "


def test_a_question_about_something_else_than_a_call() -> None:
    assert ask("", PermissionRequest("Send?"))[1] == "? Send?\n  Allow? [y/N] "


def test_hostile_text_can_not_move_the_cursor() -> None:
    request = PermissionRequest(
        "Run\x1b[2K\rharmless?", ToolCall("exec", {"command": "rm\x1b[1A -rf /\u202e", "x": "\ud800"})
    )
    text = ask("", request)[1]
    assert not any(char in text for char in "\x1b\r\u202e\ud800")
    assert "Run\\x1b[2K\\rharmless?" in text


def test_plain_keeps_what_is_readable() -> None:
    assert plain("déjà vu ✏️\nnext") == "déjà vu ✏️\nnext"
    assert plain("\x00\x7f\u200b") == "\\x00\\x7f\\u200b"


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("a\n", BatchAnswer.APPROVE),
        ("approve\n", BatchAnswer.APPROVE),
        ("r\n", BatchAnswer.REVIEW),
        ("review\n", BatchAnswer.REVIEW),
        ("d\n", BatchAnswer.DENY),
        ("\n", BatchAnswer.DENY),
        ("", BatchAnswer.DENY),
        ("y\n", BatchAnswer.DENY),
        ("all\n", BatchAnswer.DENY),
    ],
)
def test_a_batch_is_denied_by_default(typed: str, answer: BatchAnswer) -> None:
    output = io.StringIO()
    handler = InteractiveConfirmation(input=io.StringIO(typed), output=output)
    assert handler.confirm_batch([PermissionRequest("x?")], ["exec", "exec", "read"]) is answer
    assert output.getvalue().startswith("3 tool call(s) - 1 require confirmation - [execx2, read]\n")


def test_standard_streams_are_the_default(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    assert InteractiveConfirmation().confirm(PermissionRequest("Sure?")) is True
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Sure?" in captured.err


def test_a_batch_shows_every_call_that_is_asked_about() -> None:
    output = io.StringIO()
    requests = [PermissionRequest("Run it?", ToolCall("exec", {"command": "make"})), PermissionRequest("Send?")]
    InteractiveConfirmation(input=io.StringIO(""), output=output).confirm_batch(requests, ["exec", "\x1b[2Kread"])
    text = output.getvalue()
    assert '? Run it?\n  exec {"command": "make"}\n? Send?\n' in text
    assert "\x1b" not in text


def test_text_of_the_agent_can_not_pose_as_the_prompt() -> None:
    text = ask("", PermissionRequest("Run a\n  Allow? [y/N] y"))[1]
    assert text == "? Run a\n?   Allow? [y/N] y\n  Allow? [y/N] "
