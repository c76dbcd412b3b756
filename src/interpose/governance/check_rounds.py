"""Rounds of checking: a planner and its checker, a fixer and its validator. Whoever runs them may report them, and what
an agent that was asked to check gives back is read as one.

The planner and its checker get nowhere when the last issues are the same and the score does not improve, twice in a
row. A validator that says the same thrice is a stall at once.
"""

from __future__ import annotations

from math import isfinite
from typing import Any, cast

from msgspec import MsgspecError, Struct
from msgspec.json import decode
from msgspec.structs import replace

from interpose.governance.file_model import StallsForm
from interpose.governance.session_bounds import short
from interpose.governance.sessions import GovernedSession, SeenStep
from interpose.governance.stalls import StallAnswer, after_step
from interpose.governance.step_digests import digest
from interpose.late_patterns import late
from interpose.types import ToolCall, ToolOutcome

WINDOW = 50
"""Rounds that are kept. A rulebook that compares more finds nothing."""
_IN_A_ROW = 2
_MOST_TEXT = 100_000
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
    if outcome.denied or outcome.is_error:
        return None
    told = outcome.result
    text = _text_of(told)
    if text is not None and text.lstrip()[:1] == "{":
        try:
            told = decode(text)
        except (MsgspecError, RecursionError):
            pass  # it only looks like one
    if isinstance(told, dict):
        return _structured(told)
    return _written(text) if text is not None and call.name == "task" else None


def _structured(told: dict[str, Any]) -> CheckRound | None:
    score = told.get("score")
    issues = next((found for name in _CHECKERS if isinstance(found := told.get(name), list)), None)
    if issues is None or isinstance(score, bool) or not isinstance(score, int | float) or not isfinite(score):
        return None
    return CheckRound(digest(*sorted(_issue(each) for each in issues[:_MOST_ISSUES])), float(score))


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


def _text_of(result: object) -> str | None:
    """The text of a result: itself, or the first one in a list of parts, as MCP and hosts write it."""
    if isinstance(result, dict):
        result = result.get("content", result.get("text"))
    if isinstance(result, list | tuple) and result:
        result = cast("list[Any]", result)[0]
        if isinstance(result, dict):
            result = result.get("text")
    return result[:_MOST_TEXT] if isinstance(result, str) else None


def after_round(
    form: StallsForm, session: GovernedSession, seen: CheckRound, agent: str = ""
) -> tuple[GovernedSession, StallAnswer | None]:
    """The session after a round of planner and checker, and what one rulebook says to that."""
    after = with_round(session, seen)
    return after, round_stall(form, after, agent)


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


def after_validation(
    form: StallsForm, session: GovernedSession, message: str, location: str = "", agent: str = ""
) -> tuple[GovernedSession, StallAnswer | None]:
    """The session after a validator's report, and whether fixing gets nowhere. Without a message it has passed."""
    where = digest("validator", location)
    step = SeenStep(
        agent=short(agent), tool="validator", exact=where, shape=where, target=where,
        error=digest(message, location) if message else "", result="" if message else digest("passed", location),
    )  # fmt: skip
    after, found = after_step(replace(form, same_call=0, alternating=0), session, step)
    return after, found and replace(found, kind="validator-fix" if found.kind == "same-error" else found.kind)
