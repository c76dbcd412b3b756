"""The APIs that are understood, and which of them a path speaks."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Literal

from msgspec import Struct

from interpose.doors.http_server.messages import Refusal
from interpose.doors.proxy import anthropic_messages, gemini_content, openai_chat, openai_responses
from interpose.doors.proxy.found_calls import AnswerStream, JudgedAnswer
from interpose.doors.proxy.openai_responses import Unanswered


class Dialect(Struct, frozen=True):
    """One API: how it streams, how it answers, how it says that something went wrong."""

    name: str
    stream: Callable[[Unanswered], AnswerStream]
    judged: Callable[[Any, Unanswered], JudgedAnswer]
    error: Callable[[int, str], Any]


def _anthropic_error(status: int, message: str) -> Any:
    kinds = {
        400: "invalid_request_error",
        403: "permission_error",
        413: "request_too_large",
        415: "invalid_request_error",
    }
    return {"type": "error", "error": {"type": kinds.get(status, "api_error"), "message": message}}


def _openai_error(status: int, message: str) -> Any:
    kind = "invalid_request_error" if status < 500 else "server_error"
    return {"error": {"message": message, "type": kind, "param": None, "code": "interpose"}}


def _gemini_error(status: int, message: str) -> Any:
    words = {400: "INVALID_ARGUMENT", 403: "PERMISSION_DENIED", 415: "INVALID_ARGUMENT"}
    return {"error": {"code": status, "message": message, "status": words.get(status, "INTERNAL")}}


MESSAGES = Dialect(
    anthropic_messages.NAME,
    lambda _unanswered: anthropic_messages.MessagesStream(),
    lambda body, _unanswered: anthropic_messages.judged(body),
    _anthropic_error,
)
RESPONSES = Dialect(openai_responses.NAME, openai_responses.ResponsesStream, openai_responses.judged, _openai_error)
CHAT = Dialect(
    openai_chat.NAME,
    lambda _unanswered: openai_chat.ChatStream(),
    lambda body, _unanswered: openai_chat.judged(body),
    _openai_error,
)
GEMINI = Dialect(
    gemini_content.NAME,
    lambda _unanswered: gemini_content.GeminiStream(),
    lambda body, _unanswered: gemini_content.judged(body),
    _gemini_error,
)

_JUDGED = (
    # What counts the tokens of a request hears all of it, too.
    (re.compile(r"/messages(?:/count_tokens)?"), MESSAGES),
    (re.compile(r"/responses(?:/[^/]+)?(?:/cancel)?"), RESPONSES),
    (re.compile(r"/chat/completions"), CHAT),
    (re.compile(r"/[^/]+:(?:(?:stream)?generatecontent|counttokens)"), GEMINI),
)
_HARMLESS = re.compile(r"/(?:models(?:/[^/:]+)?|embeddings|moderations|[^/]+:(?:embedcontent|batchembedcontents))")
"""Paths whose answers nobody takes for calls."""
_ODD = re.compile(r"//|/\.{1,2}(?:/|$)|[\x00-\x20\x7f\\;?#]")

PathKind = Dialect | Literal["harmless", "unknown"]


def kind_of(path: str) -> PathKind:
    """What is spoken at a path, without its escapes. Raises Refusal for one that servers could take for another."""
    if _ODD.search(path):
        raise Refusal(400, "bad_request", "this path could be taken for another")
    plain = path.lower().rstrip("/")
    for pattern, dialect in _JUDGED:
        if _ends(pattern, plain):
            return dialect
    return "harmless" if _ends(_HARMLESS, plain) else "unknown"


def _ends(pattern: re.Pattern[str], path: str) -> bool:
    """Whether the last segments of a path are these. A path has few, and each is looked at once."""
    at = len(path)
    for _ in range(4):
        at = path.rfind("/", 0, at)
        if at < 0:
            return False
        if pattern.fullmatch(path, at):
            return True
    return False
