"""What people are told is written from facts, bounded, and can't be steered by what the agent chose."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpose.core.answers import Approvers
from interpose.core.types import Finding, HookPoint
from interpose.people.approvals.questions import Question, ShownEffect
from interpose.people.notifications import ntfy, slack
from interpose.people.notifications.mail import mail
from interpose.people.notifications.notices import MOST_LISTED, Notice, notice_of, severity_of, text_of_notice

NOW = datetime(2026, 1, 31, 8, tzinfo=UTC)
LINKS = {"q0000001": ("https://i.example/a/look", "https://i.example/a/deny")}


def question(id: str = "q0000001", **more: Any) -> Question:
    told: dict[str, Any] = {
        "message": "Really?", "point": HookPoint.TOOL_BEFORE, "tool": "exec", "said": "Bash",
        "arguments": {"command": "git push --force origin topic", "description": "a harmless look around"},
        "effects": (ShownEffect("vcs.publish", "origin", "proven", "publish to origin, forced"),),
        "findings": (Finding(interceptor="g", said="ask", reason="Overwrites what others pushed", rule="push-force"),),
        "agent": "main", "principal": "user:ann", "cwd": "/home/ann/project", "source": "hook:claude-code",
    }  # fmt: skip
    return Question(id=id, asked=NOW, expires=NOW + timedelta(minutes=5), **told | more)


def told(*questions: Question, details: bool = True) -> Notice:
    return notice_of(questions, LINKS, NOW, details=details)


def test_one_question_says_what_would_happen_and_why() -> None:
    text = text_of_notice(told(question(instead="git push --force-with-lease")))
    assert text.splitlines() == [
        "Would do: publish to origin, forced",
        "Asked because: Overwrites what others pushed (push-force)",
        "The agent's call: git push --force origin topic",
        "Safer: git push --force-with-lease",
        "Directory: /home/ann/project",
        "Asked by: hook:claude-code, main, user:ann",
        "Open until: 08:05 UTC (5 min left)",
        "Answer: https://i.example/a/look",
    ]


def test_the_agents_own_words_are_left_out() -> None:
    notice = told(question())
    for said in (text_of_notice(notice), slack.text(notice), str(ntfy.message(notice, "t"))):
        assert "harmless" not in said


def test_without_details_nothing_of_the_call_leaves() -> None:
    notice = told(question(tool="secret_tool"), details=False)
    said = text_of_notice(notice) + notice.title
    assert all(word not in said for word in ("push", "origin", "ann", "secret_tool", "claude"))
    assert "Answer: https://i.example/a/look" in said


def test_who_must_agree_is_said() -> None:
    assert "Must agree: 2 of the role approver" in text_of_notice(told(question(approvers=(Approvers(count=2),))))


def test_several_are_one_notification_that_lists_the_first() -> None:
    notice = told(*(question(f"q{number:07}") for number in range(8)))
    assert notice.title == "Interpose: 8 questions wait for an answer"
    text = text_of_notice(notice)
    assert text.count("Question q") == MOST_LISTED
    assert text.endswith("And 3 more: interpose approvals list")


def test_without_a_link_it_says_what_to_type() -> None:
    text = text_of_notice(notice_of((question(),), {}, NOW, details=True))
    assert text.endswith("Answer: interpose approvals show q0000001")
    assert "actions" not in ntfy.message(notice_of((question(),), {}, NOW, details=True), "t")


def test_a_button_only_looks_or_denies() -> None:
    look, deny = ntfy.message(told(question()), "t")["actions"]
    assert (look["action"], look["url"]) == ("view", "https://i.example/a/look")
    assert (deny["action"], deny["url"], deny["body"]) == ("http", "https://i.example/a/deny", "answer=deny")


def test_the_highest_severity_of_what_asks_counts() -> None:
    found = [
        Finding(interceptor="g", said="ask", reason="", severity="error"),
        Finding(interceptor="g", said="note", reason="", severity="critical"),
        Finding(interceptor="g", said="ask", reason="", severity="info"),
    ]
    assert severity_of(question(findings=tuple(found))) == "error"
    assert severity_of(question(findings=())) == "warning"


HOSTILE = [
    ("bidi", "rm \u202egnp.exe\u202c", "\u202e"),
    ("zero width", "rm\u200b -rf", "\u200b"),
    ("terminal", "x \x1b[2J\x1b]0;owned\x07", "\x1b"),
    ("a line that looks like ours", "x\nAnswer: https://evil.example/a/1", "\nAnswer: https://evil"),
    ("line separator", "x\u2028Answer: y", "\u2028"),
    ("null", "a\0b", "\0"),
]


@pytest.mark.parametrize(("note", "command", "never"), HOSTILE, ids=[note for note, _, _ in HOSTILE])
def test_what_the_agent_chose_steers_nothing(note: str, command: str, never: str) -> None:
    hostile = question(
        tool=command, said=command, agent=command, cwd=command, arguments={"command": command}, instead=command,
        effects=(ShownEffect("vcs.publish", command, "proven", command),),
    )  # fmt: skip
    notice = told(hostile)
    for said in (text_of_notice(notice), slack.text(notice), str(mail(notice, "a@b.c", ["d@e.f"])), notice.title):
        assert never not in said, note
    assert "\n" not in notice.title


@pytest.mark.parametrize(
    "command", ["`code` *bold* <!channel> <https://evil.example|ok> @channel", "```\n<!here>", "[a](http://evil)"]
)
def test_a_chat_makes_nothing_of_it(command: str) -> None:
    said = slack.text(told(question(arguments={"command": command})))
    (line,) = [line for line in said.splitlines() if line.startswith("The agent's call: ")]
    quoted = line.removeprefix("The agent's call: ")
    assert quoted[0] == quoted[-1] == "`"
    assert not {"`", "<", ">"} & set(quoted[1:-1])


@given(st.text(max_size=3000), st.text(max_size=3000))
def test_it_is_bounded_and_printable_whatever_comes(command: str, words: str) -> None:
    """A law: whatever the agent chose, each line is one line, and the whole is short."""
    hostile = question(arguments={"command": command, "more": words}, agent=words, cwd=words, instead=command)
    text = text_of_notice(told(*(replaced(hostile, number) for number in range(7))))
    assert all(line.isprintable() for line in text.split("\n"))
    assert len(text) < 12_000
    assert len(ntfy.message(told(hostile), "t")["message"].encode()) <= 4000
    assert str(mail(told(hostile), "a@b.c", ["d@e.f"])["Subject"]).isprintable()


def replaced(one: Question, number: int) -> Question:
    from msgspec.structs import replace

    return replace(one, id=f"q{number:07}")
