"""Answers that an agent has not heard yet: it was told to go on with other work, and somebody has answered since.

They are told once, with the next thing that the agent is told, where its host has a place for that. Kept by the process
that took the answer; whoever makes the same call again hears it anyway.
"""

from __future__ import annotations

import threading
from collections import OrderedDict

from interpose.core.formats.plain_text import one_line
from interpose.people.approvals.questions import Question

MOST_SESSIONS = 1000
MOST_OF_A_SESSION = 10
_LONGEST_NAME = 100


class News:
    """By session, and by where it is: an id is the caller's own word. Safe to share by threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._texts: OrderedDict[tuple[str, str], list[str]] = OrderedDict()

    def add(self, question: Question) -> None:
        """A question was answered that somebody had put off."""
        answer = question.answer
        if answer is None or question.deferred is None or not question.session:
            return
        # INVARIANT: nothing but names is told that the asker said: this reads as if a person had written it.
        about = one_line(question.tool)[:_LONGEST_NAME] or question.point.value
        if answer.approved:
            text = f"Question {question.id} about {about} was approved by {answer.by}: make the same call again."
        else:
            why = f": {answer.comment}" if answer.comment else ""
            text = f"Question {question.id} about {about} was denied by {answer.by}{why}."
        with self._lock:
            place = (question.source, question.session)
            texts = self._texts.setdefault(place, [])
            texts.append(text)
            del texts[:-MOST_OF_A_SESSION]
            self._texts.move_to_end(place)
            if len(self._texts) > MOST_SESSIONS:
                self._texts.popitem(last=False)

    def take(self, source: str, session: str) -> str:
        """What the agent of a session has not heard; empty if nothing. It counts as told."""
        if not self._texts:  # nobody put anything off: nearly always
            return ""
        with self._lock:
            return "\n".join(self._texts.pop((source, session), ()))
