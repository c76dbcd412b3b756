"""What a result says: the object in it, its text, whether it tells of a failure. Every host wraps results differently.

Of a result with several fields only those are read in which hosts put what the agent or tool answered: Claude Code also
repeats the prompt, OpenCode a title.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from msgspec import MsgspecError
from msgspec.json import decode

from interpose.core.types import ToolOutcome
from interpose.effects.late_patterns import late

MOST_TEXT = 100_000
_MOST_PARTS = 200
_DEEPEST = 6
_ANSWERS = (
    "structuredContent", "content", "llmContent", "textResultForLlm", "text_result_for_llm", "output", "result",
    "response", "text", "value", "message", "stdout", "returnDisplay", "answer", "summary", "parts", "error",
)  # fmt: skip
"""Where hosts put an answer, the likeliest first."""
_FAILED_WORDS = frozenset(
    {"fail", "failed", "failure", "error", "errored", "aborted", "cancelled", "canceled", "timeout"}
)
_STATUS = ("status", "state", "outcome", "verdict", "resultType", "result_type")
_CONCLUSION = 600
"""Letters at the beginning and at the end of a text in which its conclusion is looked for."""
_NOT_FAILED = late(
    r"(?i)\b(?:no|zero|0|none|without(?: any)?|never|not|nothing|isn't|didn't|doesn't|don't|avoids?|prevents?|"
    r"fix(?:es|ed)?|resolv(?:es|ed)|repair(?:s|ed)|handl(?:es|ed|ing)|catch(?:es)?|caught|covers?|previously|formerly|earlier)\b"
    r"[^.;\n]{0,40}?\b(?:fail\w*|errors?|exceptions?)\b|\b(?:fail\w*|errors?)[ \t]*[:=][ \t]*(?:0|none)\b"
)
_SAYS_FAILED = late(
    r"(?im)\b(?:failed|fails|failure|gave up|aborted|crashed|timed out|unsuccessful(?:ly)?)\b|\bwith (?:an )?errors?\b|"
    r"^[ \t>*#-]{0,8}(?:fatal )?error\b[*]{0,2}[ \t]?:|\b(?:could not|couldn't|cannot|can't|unable to|did not|didn't)"
    r"[ \t]+(?:be )?(?:complete|finish|succeed|do (?:it|this|that|the)|run|build|compile|write|find|reach|access)"
)


def said_object(result: object) -> dict[str, Any] | None:
    """The object that a result is, or that stands in its text."""
    text = said_text(result)
    if text.lstrip()[:1] == "{":
        try:
            found = decode(text)
        except (MsgspecError, RecursionError):
            found = None  # it only looks like one
        if isinstance(found, dict):
            return found
    if isinstance(result, dict):
        inner = result.get("structuredContent")
        return inner if isinstance(inner, dict) else result
    return None


def said_text(result: object) -> str:
    """The text of an answer: itself, or what stands where hosts put it, part by part."""
    return "\n".join(_texts(result, _DEEPEST))[:MOST_TEXT]


def is_launched(result: object) -> bool:
    """Whether a result only says that an agent works in the background, as Claude Code's does unless its model asks for
    the answer: `{"isAsync": true, "status": "async_launched", "agentId": ...}`."""
    return isinstance(result, dict) and (result.get("isAsync") is True or result.get("status") == "async_launched")


def tells_failure(outcome: ToolOutcome) -> bool:
    """Whether work failed by what its result says, and not only by what its host calls it."""
    if outcome.is_error:
        return True
    told = said_object(outcome.result)
    for fields in (told, outcome.result):
        if isinstance(fields, dict) and (said := _said_status(fields)) is not None:
            return said
    text = said_text(outcome.result)
    ends = (text,) if len(text) <= 2 * _CONCLUSION else (text[:_CONCLUSION], text[-_CONCLUSION:])
    return any(_SAYS_FAILED.search(_NOT_FAILED.sub("", end)) for end in ends)


def _said_status(fields: dict[str, Any]) -> bool | None:
    """Whether fields say that it failed; None if they say nothing of it. `completed` only says that it ended."""
    if fields.get("isError") is True or fields.get("success") is False or fields.get("ok") is False:
        return True
    for name in _STATUS:
        if isinstance(said := fields.get(name), str) and said.strip().lower() in _FAILED_WORDS:
            return True
    return False if fields.get("success") is True or fields.get("ok") is True else None


def _texts(value: object, depth: int) -> Iterator[str]:
    if depth <= 0:
        return
    if isinstance(value, str):
        yield value[:MOST_TEXT]
    elif isinstance(value, list | tuple):
        for part in cast("list[Any]", value)[:_MOST_PARTS]:
            yield from _texts(part, depth - 1)
    elif isinstance(value, dict):
        for name in _ANSWERS:
            if found := "\n".join(_texts(value.get(name), depth - 1)):
                yield found
                return
