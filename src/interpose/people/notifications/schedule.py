"""Which questions a channel is due to tell of now. No state, no clock of its own."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from interpose.core.config.notifications import NotificationChannel
from interpose.core.types import SEVERITY_WEIGHT
from interpose.people.approvals.questions import Question
from interpose.people.notifications.notices import severity_of


def due_of(question: Question, channel: NotificationChannel, muted_until: datetime | None) -> datetime:
    """When a channel tells of a question. One that was asked while all was mute counts from the end of that, so that
    the second channel still comes second."""
    since = question.asked if muted_until is None else max(question.asked, muted_until)
    return since + timedelta(seconds=channel.after)


def to_tell(
    questions: Iterable[Question],
    channel: NotificationChannel,
    now: datetime,
    *,
    group: float,
    muted_until: datetime | None = None,
) -> list[Question]:
    """The questions of one notification, the oldest first; none if there is nothing to tell, or it is collected yet.

    A question that somebody has put off is known to people, and not told of.
    """
    if muted_until is not None and now < muted_until:
        return []
    least = SEVERITY_WEIGHT[channel.min_severity]
    due = {
        question.id: (due_of(question, channel, muted_until), question)
        for question in questions
        if question.deferred is None and SEVERITY_WEIGHT[severity_of(question)] >= least
    }
    ready = [question for at, question in due.values() if at <= now]
    if not ready:
        return []
    first = min(at for at, _ in due.values())
    return ready if now >= first + timedelta(seconds=group) else []
