"""Rounds of a planner and its checker, read from what an agent that was asked to check gives back, or a tool.

A round has issues and a score. They get nowhere when the last issues are the same and the score does not improve, twice
in a row.
"""

from __future__ import annotations

from math import isfinite
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from interpose.core.types import ToolCall, ToolOutcome
from interpose.effects.late_patterns import late
from interpose.rules.governance.files.file_model import StallsForm
from interpose.rules.governance.roles.spawns import reporter_of
from interpose.rules.governance.sessions.session_bounds import short
from interpose.rules.governance.sessions.sessions import GovernedSession
from interpose.rules.governance.stalls.said_results import said_object, said_text
from interpose.rules.governance.stalls.stalls import StallAnswer
from interpose.rules.governance.stalls.step_digests import digest

WINDOW = 50
"""Rounds that are kept. A rulebook that compares more finds nothing."""
_IN_A_ROW = 2
_MOST_ISSUES = 200
_SCORE = late(
    r"(?im)^[ \t>*#-]{0,8}(?:overall |quality |total )?score\**[ \t]{0,3}[:=][ \t*]{0,4}([0-9]{1,6}(?:\.[0-9]{1,6})?)"
)
_ISSUE = late(r"(?m)^[ \t]{0,8}(?:[-*+•]|[0-9]{1,3}[.)])[ \t]+(\S.{0,400})$")
_CHECKERS = ("issues", "problems", "violations")


class CheckRound(Struct, frozen=True):
    """What a checker said: a digest of its issues, and its score. More is better."""

    issues: str
    score: float


def round_of(call: ToolCall, outcome: ToolOutcome) -> CheckRound | None:
    """The round that a result is: of an agent that was asked for it, or of a tool that answers issues and a score."""
    reporter = reporter_of(call)
    if outcome.denied or outcome.is_error or not reporter:
        return None
    told = said_object(outcome.result)
    if told is not None and (found := _structured(told)) is not None:
        return found
    return _written(said_text(outcome.result)) if reporter == "agent" else None


def score_in(told: dict[str, Any]) -> float | None:
    """The score that an object has."""
    score = told.get("score")
    if isinstance(score, bool) or not isinstance(score, int | float) or not isfinite(score):
        return None
    return float(score)


def _structured(told: dict[str, Any]) -> CheckRound | None:
    score = score_in(told)
    issues = next((found for name in _CHECKERS if isinstance(found := told.get(name), list)), None)
    if issues is None or score is None:
        return None
    return CheckRound(digest(*sorted(_issue(each) for each in issues[:_MOST_ISSUES])), score)


def _issue(told: object) -> str:
    if isinstance(told, dict):
        return " ".join(f"{name} {told[name]}" for name in sorted(map(str, told)) if isinstance(told.get(name), str))
    return told if isinstance(told, str) else type(told).__name__


def _written(text: str) -> CheckRound | None:
    score = _SCORE.search(text)
    issues = [found[1] for found in _ISSUE.finditer(text)][:_MOST_ISSUES]
    if score is None or not issues:
        return None
    return CheckRound(digest(*sorted(issues)), float(score[1]))


def with_round(session: GovernedSession, seen: CheckRound) -> GovernedSession:
    """The session with a round in it, counted once for all rulebooks."""
    counts = session.stall
    hashes, scores = (*counts.issue_hashes, seen.issues)[-WINDOW:], (*counts.scores, seen.score)[-WINDOW:]
    return replace(session, stall=replace(counts, issue_hashes=hashes, scores=scores))


def round_stall(form: StallsForm, session: GovernedSession, agent: str = "") -> StallAnswer | None:
    """What a rulebook says to a session whose last step was a round."""
    needed, unimproved = form.same_issues, _unimproved(session, form.same_issues)
    if unimproved < _IN_A_ROW:
        return None
    times = unimproved - _IN_A_ROW + 1
    return StallAnswer(
        word=form.escalation[min(times, len(form.escalation)) - 1], kind="planner-checker", times=times,
        agent=short(agent), count=unimproved,
        reason=f"The checker found the same issues {needed} times or more, and the score is no better than before",
        instead="Change the plan itself, or ask the user which of the issues may stay.",
    )  # fmt: skip


def _unimproved(session: GovernedSession, needed: int) -> int:
    """How many rounds in a row, the last one included, had the issues of those before and no better score."""
    hashes, scores, count = session.stall.issue_hashes, session.stall.scores, 0
    for last in range(len(hashes) - 1, 0, -1):
        same = hashes[max(0, last + 1 - needed) : last + 1]
        if not needed or len(same) < needed or len(set(same)) > 1 or scores[last] > scores[last - 1]:
            break
        count += 1
    return count
