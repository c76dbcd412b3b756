"""The JSON of a request's body, or the refusal that says what is wrong with it."""

from __future__ import annotations

from typing import Any, TypeVar

from interpose.core.formats import strict_json
from interpose.doors.http_server.messages import Refusal

T = TypeVar("T")

CODE = "invalid_request"


def decode(body: bytes) -> Any:
    """The value of a body."""
    try:
        return strict_json.decode(body)
    except strict_json.StrictJsonError as error:
        raise Refusal(400, CODE, f"the body can't be read: {error}") from None


def decode_as(body: bytes, type: type[T]) -> T:  # noqa: A002 - the word of every decoder
    """The value of a body as a value of `type`."""
    try:
        return strict_json.decode_as(body, type)
    except strict_json.StrictJsonError as error:
        raise Refusal(400, CODE, f"the body can't be read: {error}") from None
