"""What a validator reports: an object such as `{shouldBlock, violations}`, or the verdict of an agent that was asked.

A report that blocks takes the place of the result: the agent reads what was found and what to do, and nothing besides.
The same report again and again is a fix that gets nowhere.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from interpose.core.formats.plain_text import one_line
from interpose.core.types import ToolCall, ToolOutcome
from interpose.effects.late_patterns import late
from interpose.rules.governance.files.file_model import StallsForm
from interpose.rules.governance.roles.spawns import reporter_of
from interpose.rules.governance.sessions.session_bounds import short
from interpose.rules.governance.sessions.sessions import GovernedSession
from interpose.rules.governance.stalls.check_rounds import score_in
from interpose.rules.governance.stalls.said_results import said_object, said_text
from interpose.rules.governance.stalls.stalls import StallAnswer, reached
from interpose.rules.governance.stalls.step_digests import digest

RULE = "governance/validation"
WINDOW = 50
"""Reports that are kept. A rulebook that compares more finds nothing."""
_MOST_VIOLATIONS = 50
_LONGEST = 400
_LISTS = ("violations", "issues", "problems", "errors")
_BLOCKS = ("shouldBlock", "should_block")
_VALID = ("valid", "isValid", "is_valid", "passed", "ok", "success")
_WHAT = ("message", "description", "text", "violation", "issue", "reason", "title", "rule")
_WHERE = ("location", "path", "file", "line", "where")
_VERDICT = late(
    r"(?im)^[ \t>*#_-]{0,8}(?:(?:overall |final )?(?:validation|verdict|result|status|review|checks?)[ \t*_:-]{1,8})?"
    r"(pass(?:ed)?|fail(?:ed|ure)?|rejected|blocked|invalid|not valid)\b[ \t*_.!:)]{0,8}(?:$|[-(])"
)
_BULLET = late(r"(?m)^[ \t]{0,8}(?:[-*+•]|[0-9]{1,3}[.)])[ \t]+(\S.{0,400})$")
_BLOCKED = "VALIDATION FAILED: "


class ValidationReport(Struct, frozen=True):
    """What a validator found. `blocks`: it says that its result must not pass as one that succeeded."""

    passed: bool
    violations: tuple[str, ...] = ()
    blocks: bool = False

    @property
    def digest(self) -> str:
        """The same for the same violations, in whatever order and in whatever lines."""
        return digest("validator", *sorted(self.violations))


def report_of(call: ToolCall, outcome: ToolOutcome) -> ValidationReport | None:
    """The report that a result is."""
    reporter = reporter_of(call)
    if outcome.denied or not reporter:
        return None
    if isinstance(outcome.result, str) and outcome.result.startswith(_BLOCKED):  # it was replaced by ours
        return ValidationReport(passed=False, violations=_bullets(outcome.result), blocks=True)
    told = said_object(outcome.result)
    if told is not None and (found := _structured(told)) is not None:
        return found
    return _written(said_text(outcome.result)) if reporter == "agent" else None


def _structured(told: dict[str, Any]) -> ValidationReport | None:
    listed = next((found for name in _LISTS if isinstance(found := told.get(name), list)), None)
    blocks = next((said for name in _BLOCKS if isinstance(said := told.get(name), bool)), None)
    valid = next((said for name in _VALID if isinstance(said := told.get(name), bool)), None)
    if listed is None or (blocks is None and valid is None) or (blocks is None and score_in(told) is not None):
        return None  # what has a score is a round of planner and checker
    violations = tuple(map(_violation, listed[:_MOST_VIOLATIONS]))
    passed = valid if valid is not None else not (blocks or violations)
    return ValidationReport(passed, violations, blocks=bool(blocks))


def _violation(told: object) -> str:
    """One violation in a line: where it is, and what it is."""
    if not isinstance(told, dict):
        return one_line(told if isinstance(told, str) else type(told).__name__)[:_LONGEST]
    what = next((said for name in _WHAT if isinstance(said := told.get(name), str) and said), "a violation")
    where = ":".join(str(said) for name in _WHERE if isinstance(said := told.get(name), str | int))
    return one_line(f"{where}: {what}" if where else what)[:_LONGEST]


def _written(text: str) -> ValidationReport | None:
    verdict = _VERDICT.search(text)
    if verdict is None:
        return None
    if verdict[1].lower().startswith("pass"):
        return ValidationReport(passed=True)
    found = _bullets(text)
    return ValidationReport(passed=False, violations=found) if found else None


def _bullets(text: str) -> tuple[str, ...]:
    return tuple(one_line(bullet[1])[:_LONGEST] for bullet in _BULLET.finditer(text))[:_MOST_VIOLATIONS]


def blocked_text(call: ToolCall, report: ValidationReport) -> str:
    """What the agent gets instead of a result that its validator blocks."""
    tool = one_line(call.original_name or call.name)[:100]
    lines = [f"{_BLOCKED}{tool}", "Violations:"]
    lines += [f"- {one}" for one in report.violations] or ["- the validator names none"]
    return "\n".join((*lines, "Fix the issues above and retry."))


def with_report(session: GovernedSession, report: ValidationReport) -> GovernedSession:
    """The session with a report in it, counted once for all rulebooks. One that passes begins the count anew."""
    reports = () if report.passed else (*session.stall.reports, report.digest)[-WINDOW:]
    return replace(session, stall=replace(session.stall, reports=reports))


def report_stall(form: StallsForm, session: GovernedSession, agent: str = "") -> StallAnswer | None:
    """What a rulebook says to a session whose last step was a report."""
    reports = session.stall.reports
    count = next((at for at, one in enumerate(reversed(reports)) if one != reports[-1]), len(reports))
    return reached(
        form, form.same_error, count, "validator-fix", short(agent),
        f"The validator reported the same {count} times, and nothing done in between has changed it",
        "Read what it names before you change anything else, or ask the user which of it may stay.",
    )  # fmt: skip
