"""Answers to questions: confirmation handlers, batches, standing answers."""

from typing import TYPE_CHECKING

from interpose.core.late import late_names
from interpose.people.approvals.handlers import (
    EDITED,
    PAUSE,
    AutoApprove,
    AutoDeny,
    CallbackConfirmation,
    ConfirmationHandler,
    Put,
    StandingAnswer,
    as_handler,
    ask_person,
    needs_people,
    put_question,
    question,
    standing_answer,
)

if TYPE_CHECKING:
    from interpose.people.approvals.batch import BATCH_DENIED, BatchAnswer, BatchConfirmation, ask_for_batch
    from interpose.people.approvals.terminal import InteractiveConfirmation

# The modules are named and not imported, so that each is loaded by who needs it.
__all__ = [
    "BATCH_DENIED",
    "EDITED",
    "PAUSE",
    "AutoApprove",
    "AutoDeny",
    "BatchAnswer",
    "BatchConfirmation",
    "CallbackConfirmation",
    "ConfirmationHandler",
    "InteractiveConfirmation",
    "Put",
    "StandingAnswer",
    "alarms",
    "as_handler",
    "ask_for_batch",
    "ask_person",
    "asks_again",
    "binding",
    "desk",
    "edits",
    "grants",
    "known_calls",
    "latest_time",
    "needs_people",
    "put_question",
    "question",
    "questions",
    "scopes",
    "seal",
    "standing_answer",
    "uses",
    "votes",
    "webhook",
]

_HOMES = {
    "batch": ("BATCH_DENIED", "BatchAnswer", "BatchConfirmation", "ask_for_batch"),
    "terminal": ("InteractiveConfirmation",),
}
"""Who asks nobody needs none of these."""

if not TYPE_CHECKING:  # or a misspelt name would have a type
    __getattr__ = late_names(__name__, _HOMES)
