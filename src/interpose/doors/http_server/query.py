"""The fields of a request's query as a value of a type, or the refusal that names the field."""

from __future__ import annotations

import re
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta

from interpose.doors.http_server.messages import Refusal, Request

T = TypeVar("T")

CODE = "invalid_query"

Word = Annotated[str, Meta(max_length=1024, pattern=r"^[^\x00-\x1f\x7f]*$")]
"""Text of one line."""

_PLACE = re.compile(r"^(?P<problem>.*?) - at `\$\.(?P<name>[^`]*)`$", re.DOTALL)


def query_of(request: Request, type: type[T]) -> T:  # noqa: A002 - the word of every decoder
    """The query of a request. A field that the type doesn't have is refused: a filter must not be lost by a slip."""
    try:
        return msgspec.convert(request.query, type, strict=False)
    except msgspec.ValidationError as error:
        place = _PLACE.match(str(error))
        raise invalid_query(*((place["name"], place["problem"]) if place else ("", str(error)))) from None


def invalid_query(name: str, problem: str) -> Refusal:
    """The refusal of a field."""
    return Refusal(400, CODE, f"{name}: {problem}" if name else problem)
