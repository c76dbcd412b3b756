"""What all routes share by which people answer: the proof that it is a person, and what refusals are called."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, TypeVar

from msgspec import Meta, Struct

from interpose.core.answers import ApproverRole
from interpose.core.errors import (
    AnsweredError,
    CrowdedError,
    EditError,
    NoQuestionError,
    NotProvenError,
    ScopeError,
    StoreError,
    TooLateError,
    UnlikeError,
    VoteError,
    text_of,
)
from interpose.doors.http import proving
from interpose.doors.http.incoming import body_of, require_json
from interpose.doors.http_server.messages import Refusal, Request

if TYPE_CHECKING:
    from interpose.composition.service.service import Service

T = TypeVar("T")

STORE = (503, "store_unavailable")
MISSING = (404, "not_found")
ANSWERING = (
    (400, "invalid_request"), (415, "invalid_content_type"), MISSING, (409, "already_answered"), (410, "too_late"),
    STORE,
)  # fmt: skip


class Proving(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What proves that a person answers, where the operator chose so."""

    passphrase: Annotated[str, Meta(max_length=1000, description="where approvals.proof is `passphrase`")] = ""
    code: Annotated[str, Meta(max_length=40, description="where approvals.proof is `code`")] = ""


def prove(service: Service, request: Request, body: Proving, what: str, typed: str) -> None:
    """Raises NotProvenError unless a person answers, which says what is `typed` for it. Blocks."""
    proving.prove(service, proving.answerer_of(request, body.passphrase, body.code), what, typed)


def role_of(request: Request) -> ApproverRole:
    """Whoever is at our Unix socket without a token, and proves to be a person, is the operator of this machine."""
    if request.caller.role == "operator" or (request.peer.kind == "unix" and "authorization" not in request.headers):
        return "operator"
    return "approver"


def body_with(request: Request, kind: type[T]) -> T:
    """The body of a request, which must be announced as JSON."""
    require_json(request, 415)
    return body_of(request, kind)


async def done(work: Callable[[], T]) -> T:
    """What the desk says, asked in a thread: the store may take its time."""
    try:
        return await asyncio.to_thread(work)
    except NoQuestionError:
        raise Refusal(*MISSING, "there is no question of this id") from None
    except NotProvenError as error:
        raise proving.not_proven(error) from None
    except AnsweredError as error:
        raise Refusal(409, "already_answered", text_of(error)) from None
    except TooLateError as error:
        raise Refusal(410, "too_late", text_of(error)) from None
    except ScopeError as error:
        raise Refusal(400, "invalid_scope", text_of(error)) from None
    except EditError as error:
        raise Refusal(400, "invalid_edit", text_of(error)) from None
    except VoteError as error:
        raise Refusal(403, "not_an_approver", text_of(error)) from None
    except UnlikeError as error:
        raise Refusal(409, "not_alike", text_of(error)) from None
    except CrowdedError as error:
        raise Refusal(409, "too_many", text_of(error)) from None
    except StoreError as error:
        raise Refusal(*STORE, f"the store can't be reached now: {text_of(error)}") from None
