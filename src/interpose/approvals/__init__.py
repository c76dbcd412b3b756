"""Answers to questions: confirmation handlers, batches, standing answers."""

from interpose.approvals.batch import BatchAnswer, BatchConfirmation, ask_for_batch, summary
from interpose.approvals.handlers import (
    AutoApprove,
    AutoDeny,
    CallbackConfirmation,
    ConfirmationHandler,
    StandingAnswer,
    as_handler,
    ask_person,
    put_question,
    question,
    standing_answer,
)
from interpose.approvals.terminal import InteractiveConfirmation

__all__ = [
    "AutoApprove",
    "AutoDeny",
    "BatchAnswer",
    "BatchConfirmation",
    "CallbackConfirmation",
    "ConfirmationHandler",
    "InteractiveConfirmation",
    "StandingAnswer",
    "as_handler",
    "ask_for_batch",
    "ask_person",
    "put_question",
    "question",
    "standing_answer",
    "summary",
]
