"""When a channel tells of which questions."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from interpose.core.config.notifications import NotificationChannel
from interpose.core.types import Finding, HookPoint, Severity
from interpose.people.approvals.questions import Deferral, Question
from interpose.people.notifications.schedule import to_tell

NOW = datetime(2026, 1, 31, 8, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def asked(id: str, seconds: float, severity: Severity = "warning") -> Question:
    found = Finding(interceptor="g", said="ask", reason="", severity=severity)
    return Question(
        id=id, asked=at(seconds), expires=at(300), message="?", point=HookPoint.TOOL_BEFORE, tool="exec", arguments={},
        findings=(found,),
    )  # fmt: skip


def channel(after: float = 0.0, **more: Any) -> NotificationChannel:
    return NotificationChannel(kind="desktop", after=after, **more)


CASES = [
    ("it is collected first", [("a", 0)], {}, 2.9, None, []),
    ("then it is told", [("a", 0)], {}, 3, None, ["a"]),
    ("with what came meanwhile", [("a", 0), ("b", 2.9)], {}, 3, None, ["a", "b"]),
    ("but not with what is still to come", [("a", 0), ("b", 4)], {}, 3, None, ["a"]),
    ("the second channel waits", [("a", 0)], {"after": 60}, 59, None, []),
    ("and tells when its time has come", [("a", 0)], {"after": 60}, 63, None, ["a"]),
    ("of what is due there only", [("a", 0), ("b", 30)], {"after": 60}, 63, None, ["a"]),
    ("nothing is told while it is muted", [("a", 0)], {}, 59, 60, []),
    ("when that ends, all that is open", [("a", 0), ("b", 30)], {}, 63, 60, ["a", "b"]),
    ("and the second channel stays second", [("a", 0)], {"after": 60}, 100, 60, []),
    ("counted from the end", [("a", 0)], {"after": 60}, 123, 60, ["a"]),
    ("a mute that was over before says nothing", [("a", 70)], {}, 73, 60, ["a"]),
    ("less than the channel wants is not told", [("a", 0)], {"min_severity": "error"}, 100, None, []),
]


@pytest.mark.parametrize(("note", "questions", "how", "now", "muted", "want"), CASES, ids=[case[0] for case in CASES])
def test_cases(
    note: str, questions: list[tuple[str, float]], how: dict[str, Any], now: float, muted: float | None, want: list[str]
) -> None:
    found = to_tell(
        [asked(id, seconds) for id, seconds in questions], channel(**how), at(now), group=3,
        muted_until=None if muted is None else at(muted),
    )  # fmt: skip
    assert [one.id for one in found] == want, note


def test_what_somebody_put_off_is_not_told_of() -> None:
    put_off = replace(asked("a", 0), deferred=Deferral(by="ann", at=NOW))
    assert to_tell([put_off], channel(), at(100), group=3) == []


def test_a_channel_for_errors_tells_of_errors() -> None:
    found = to_tell([asked("a", 0), asked("b", 0, "critical")], channel(min_severity="error"), at(9), group=3)
    assert [one.id for one in found] == ["b"]
