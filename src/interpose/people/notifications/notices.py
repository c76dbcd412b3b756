"""What people are told of questions, written from facts: what would happen, who asks, why, and until when.

INVARIANT: what the agent chose (the call, names, paths) is marked as such, on one line, cut, and can neither steer a
terminal nor turn the direction of the text. What it says of its own call is not told here at all: the page has it,
as its words. Secrets were taken out when the question was asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct
from msgspec import json as fast

from interpose.core.formats.plain_text import one_line
from interpose.core.types import SEVERITY_WEIGHT, Severity
from interpose.people.approvals.questions import Question

MOST_LISTED = 5
"""Questions that one notification lists. Of the others it says how many they are."""
_TITLE, _WORDS, _CALL, _SHORT_CALL = 60, 200, 400, 120
_MOST_EFFECTS, _MOST_REASONS = 4, 3
_ELLIPSIS = "…"


class NoticeLine(Struct, frozen=True):
    """A fact. A `quoted` text is the agent's, or repeats what it chose: it is shown as a quotation."""

    label: str
    text: str
    quoted: bool = False


class NoticeEntry(Struct, frozen=True, kw_only=True):
    """One question. Both links are empty if nobody can answer by one: `deny` is only for buttons."""

    id: str
    lines: tuple[NoticeLine, ...]
    link: str = ""
    deny: str = ""


class Notice(Struct, frozen=True, kw_only=True):
    """One notification. `more` questions wait that it does not list."""

    title: str
    entries: tuple[NoticeEntry, ...] = ()
    severity: Severity = "warning"
    more: int = 0
    hint: str = ""


TRYOUT = Notice(
    title="Interpose: a try-out",
    severity="info",
    hint="Somebody ran `interpose approvals notify test`. Questions of your agents come this way. There is nothing to "
    "answer.",
)


def severity_of(question: Question) -> Severity:
    """The highest of what is asked."""
    found = [found.severity for found in question.findings if found.said == "ask"] or ["warning"]
    return max(found, key=SEVERITY_WEIGHT.__getitem__)


def notice_of(
    questions: Sequence[Question],
    links: dict[str, tuple[str, str]],
    now: datetime,
    *,
    details: bool,
    after_mute: bool = False,
) -> Notice:
    """What is told of these questions. `links` are those to look and to deny, by question."""
    listed = questions[:MOST_LISTED]
    alone = len(questions) == 1
    title = (
        f"Interpose: question {listed[0].id}" + (f" about {_cut(listed[0].tool, 30)}" if details else "")
        if alone
        else f"Interpose: {len(questions)} questions wait for an answer"
    )
    entries = tuple(
        NoticeEntry(
            id=question.id,
            lines=_lines(question, now, whole=alone) if details else (_until(question, now),),
            link=links.get(question.id, ("", ""))[0],
            deny=links.get(question.id, ("", ""))[1],
        )
        for question in listed
    )
    severest = max((severity_of(question) for question in questions), key=SEVERITY_WEIGHT.__getitem__)
    hint = "Notifications were muted; these are still open." if after_mute else ""
    return Notice(
        title=_cut(title, _TITLE), entries=entries, severity=severest, more=len(questions) - len(listed), hint=hint
    )


def text_of_notice(notice: Notice, *, links: bool = True) -> str:
    """A notification as plain text."""
    parts = [notice.hint] if notice.hint else []
    for entry in notice.entries:
        lines = [f"Question {entry.id}"] if len(notice.entries) > 1 else []
        lines += [f"{line.label}: {line.text}" for line in entry.lines]
        lines.append(f"Answer: {entry.link}" if links and entry.link else _typed(entry.id))
        parts.append("\n".join(lines))
    if notice.more:
        parts.append(f"And {notice.more} more: interpose approvals list")
    return "\n\n".join(parts)


def _typed(id: str) -> str:
    return f"Answer: interpose approvals show {id}"


def _lines(question: Question, now: datetime, *, whole: bool) -> tuple[NoticeLine, ...]:
    effects = [_cut(effect.text, _WORDS) for effect in question.effects[:_MOST_EFFECTS]]
    left = len(question.effects) - len(effects)
    lines = [NoticeLine("Would do", text, quoted=True) for text in effects]
    if left > 0:
        lines.append(NoticeLine("Would do", f"{left} more"))
    asking = [found for found in question.findings if found.said == "ask"]
    lines += [
        NoticeLine("Asked because", f"{_cut(found.reason, _WORDS)} ({_cut(found.rule or found.interceptor, 60)})", True)
        for found in asking[: _MOST_REASONS if whole else 1]
    ]
    lines.append(NoticeLine("The agent's call", _call(question, _CALL if whole else _SHORT_CALL), quoted=True))
    if whole:
        if question.instead:
            lines.append(NoticeLine("Safer", _cut(question.instead, _WORDS), quoted=True))
        if question.cwd:
            lines.append(NoticeLine("Directory", _cut(question.cwd, _WORDS), quoted=True))
        lines.append(NoticeLine("Asked by", _asker(question), quoted=True))
        lines += [
            NoticeLine("Must agree", f"{one.count} of the role {one.role}")
            for one in question.approvers[:_MOST_REASONS]
        ]
    lines.append(_until(question, now))
    return tuple(lines)


def _asker(question: Question) -> str:
    said = (question.source, question.agent, question.principal)
    return ", ".join(_cut(text, 60) for text in dict.fromkeys(said) if text) or "unknown"


def _until(question: Question, now: datetime) -> NoticeLine:
    minutes = max(0, round((question.expires - now).total_seconds() / 60))
    left = f"{minutes} min" if minutes < 120 else f"{round(minutes / 60)} h"
    return NoticeLine("Open until", f"{question.expires:%H:%M} UTC ({left} left)")


def _call(question: Question, most: int) -> str:
    arguments: Any = question.arguments
    command = arguments.get("command") if isinstance(arguments, dict) else None
    if isinstance(command, str):
        return _cut(command, most)
    text = arguments if isinstance(arguments, str) else fast.encode(arguments).decode()
    return _cut(f"{question.said or question.tool} {text}", most)


def _cut(text: str, most: int) -> str:
    """On one line, and not longer. It is cut before it is written out, too: what can't be shown grows by that."""
    shown = one_line(text[:most])
    if len(text) <= most and len(shown) <= 2 * most:
        return shown
    return shown[: 2 * most].rstrip() + _ELLIPSIS
