"""`/api/v1/notifications`: how channels stand, a try-out of them, and silence for a while."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct

from interpose.doors.http.answering import STORE, body_with, done
from interpose.doors.http.operation_routes import served
from interpose.doors.http_server.messages import Refusal, Request, Response, Route, json_response
from interpose.people.notifications.channel_answers import NotificationsAnswer, ShownChannel, TryoutAnswer

if TYPE_CHECKING:
    from interpose.composition.service.service import Service

MOST_MINUTES = 1440


class MuteBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """For how long nothing is sent. What is still open then is told."""

    minutes: Annotated[int, Meta(ge=1, le=MOST_MINUTES)]


class TryoutBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """By which channels; by all if none is named."""

    channels: Annotated[list[Annotated[str, Meta(max_length=24)]], Meta(max_length=20)] = []


def routes(service: Service) -> tuple[Route, ...]:
    """What whoever answers may see and do. None of it lets a call run."""
    trying = asyncio.Lock()

    def standing() -> NotificationsAnswer:
        notifier, channels = service.notifier, service.config.notifications.channels
        mute = notifier.muted()
        shown = [
            ShownChannel(
                name=one.name, kind=channels[one.name].kind, after=channels[one.name].after,
                person=channels[one.name].person, failed=one.failed, problem=one.problem, at=one.at,
            )
            for one in notifier.standings()
            if one.name in channels
        ]  # fmt: skip
        if mute is None:
            return NotificationsAnswer(channels=shown)
        return NotificationsAnswer(channels=shown, muted_until=mute.until, muted_by=mute.by)

    async def show(_request: Request) -> Response:
        return json_response(await done(standing))

    async def mute(request: Request) -> Response:
        body, by = body_with(request, MuteBody), request.caller.name
        await done(lambda: service.notifier.mute(body.minutes, by))
        return json_response(await done(standing))

    async def unmute(request: Request) -> Response:
        by = request.caller.name
        await done(lambda: service.notifier.mute(0, by))
        return json_response(await done(standing))

    async def try_out(request: Request) -> Response:
        body = body_with(request, TryoutBody)
        if unknown := [name for name in body.channels if name not in service.config.notifications.channels]:
            raise Refusal(404, "not_found", f"there is no channel {unknown[0]!r}")
        if trying.locked():
            raise Refusal(409, "too_many", "another try-out is under way")
        async with trying:
            return json_response(TryoutAnswer(await done(lambda: service.notifier.try_out(body.channels))))

    return (
        served(
            "channels", show,
            answer=NotificationsAnswer, codes=((503, "no_server"), STORE),
        ),
        served(
            "mute", mute,
            body=MuteBody, answer=NotificationsAnswer,
            codes=((400, "invalid_request"), (415, "invalid_content_type"), (503, "no_server"), STORE),
        ),
        served(
            "unmute", unmute,
            answer=NotificationsAnswer, codes=((503, "no_server"), STORE),
        ),
        served(
            "try-channels", try_out,
            body=TryoutBody, answer=TryoutAnswer,
            codes=(
                (400, "invalid_request"), (404, "not_found"), (409, "too_many"), (415, "invalid_content_type"),
                (503, "no_server"), STORE,
            ),
        ),
    )  # fmt: skip
