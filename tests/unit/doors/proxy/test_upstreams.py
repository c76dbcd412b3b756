"""Answers of a model's server as they come: no more of them is kept than somebody reads."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from interpose.doors.http_client.exchanges import AnswerHead
from interpose.doors.proxy.upstreams import MOST_UNREAD, UpstreamAnswer, UpstreamBrokeError


class Connection:
    """Notes what it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.used = 1

    def __getattr__(self, name: str) -> Any:
        return lambda: self.told.append(name)


def test_a_server_has_to_wait_for_an_agent_that_reads_slowly() -> None:
    async def main() -> None:
        answer: Any = UpstreamAnswer(5)
        answer.connection = connection = Connection()
        answer.begun(AnswerHead(200))
        answer.piece(b"x" * MOST_UNREAD)
        assert connection.told == []
        answer.piece(b"y")
        assert connection.told == ["pause"]
        pieces = answer.pieces()
        assert len(await anext(pieces)) == MOST_UNREAD
        assert connection.told == ["pause", "resume"]
        answer.ended("")
        assert [piece async for piece in pieces] == [b"y"]
        answer.close()
        assert "abort" not in connection.told, "a whole answer was cut off"

    asyncio.run(main())


def test_a_server_that_breaks_off_is_not_taken_for_one_that_has_ended() -> None:
    async def main() -> None:
        answer = UpstreamAnswer(5)
        answer.begun(AnswerHead(200))
        answer.piece(b"x")
        answer.ended("the connection was closed")
        pieces = answer.pieces()
        assert await anext(pieces) == b"x"
        with pytest.raises(UpstreamBrokeError, match="closed"):
            await anext(pieces)

    asyncio.run(main())


def test_a_server_that_stops_in_the_middle_is_given_up() -> None:
    async def main() -> None:
        answer: Any = UpstreamAnswer(0.01)
        answer.connection = connection = Connection()
        answer.begun(AnswerHead(200))
        with pytest.raises(UpstreamBrokeError, match="not a byte"):
            await anext(answer.pieces())
        answer.close()
        assert connection.told == ["abort"]

    asyncio.run(main())
