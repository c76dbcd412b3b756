"""Lines of the program's own log: whole, plain, without secrets, and not too many."""

from __future__ import annotations

import io
import json
import logging
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest

from interpose.composition.observability.program_log import LONGEST, JsonLines, logging_to
from interpose.core.config.settings import LoggingSettings
from interpose.core.errors import ServerError
from interpose.doors.http_server.listener_state import Answered
from interpose.doors.http_server.messages import Response, Route
from interpose.doors.server.refusal_log import REFUSALS_A_SECOND, Refusals
from tests.support.servers.servers import running

LOG = logging.getLogger("interpose.test")
TOKEN = "ghp_" + "a1B2" * 9


def written(shape: Literal["text", "json"], *, level: Any = "info") -> Iterator[io.StringIO]:
    stream = io.StringIO()
    with logging_to(LoggingSettings(format=shape, level=level), stream):
        yield stream


@pytest.fixture
def text() -> Iterator[io.StringIO]:
    yield from written("text")


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    yield from written("json")


HOSTILE = [
    ("a line of its own", "x\nlevel=error forged", "x\\nlevel=error forged"),
    ("an escape sequence", "\x1b[2Jgone", "\\x1b[2Jgone"),
    ("a line separator", "a\u2028b", "a\\u2028b"),
    ("half a surrogate pair", "a\ud800b", "a\\ud800b"),
]


@pytest.mark.parametrize(("note", "given", "want"), HOSTILE, ids=[note for note, *_ in HOSTILE])
def test_a_client_can_not_write_lines(note: str, given: str, want: str) -> None:
    # Not through the logger: what pytest keeps of it can't hold half a character.
    record = logging.makeLogRecord({"msg": "said %s", "args": (given,), "reason": given})
    (line,) = JsonLines().format(record).splitlines()
    told = json.loads(line)
    assert (told["message"], told["reason"]) == (f"said {want}", want)


def test_the_same_as_text(text: io.StringIO) -> None:
    LOG.info("refused", extra={"reason": 'say "please" \n', "status": 403, "code": "forbidden_host", "empty": ""})
    (line,) = text.getvalue().splitlines()
    assert line.endswith(r'refused  reason="say \"please\" \n" status=403 code=forbidden_host empty=""')
    assert " info " in line


@pytest.mark.parametrize("shape", ["text", "json"])
def test_secrets_are_hidden(shape: Literal["text", "json"]) -> None:
    for stream in written(shape):
        try:
            raise RuntimeError(f"no such token: {TOKEN}")
        except RuntimeError:
            LOG.exception("token %s", TOKEN, extra={"given": f"Authorization: Bearer {TOKEN}"})
        LOG.info("%s", "x" * (LONGEST - 10) + " " + TOKEN)
        told = stream.getvalue()
    assert "RuntimeError" in told
    assert TOKEN not in told
    assert TOKEN[:9] not in told


def test_what_is_below_the_level_is_not_written() -> None:
    for stream in written("json", level="warning"):
        LOG.info("quiet")
        LOG.warning("loud")
        told = [json.loads(line)["message"] for line in stream.getvalue().splitlines()]
    assert told == ["loud"]


def test_everything_is_as_before_afterwards() -> None:
    logger = logging.getLogger("interpose")
    before = (logger.handlers[:], logger.level, logger.propagate)
    for _ in written("json"):
        assert logger.handlers != before[0]
    assert (logger.handlers, logger.level, logger.propagate) == before


def test_a_file_of_our_own_that_may_be_moved_away(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "server.log"
    with logging_to(LoggingSettings(path=str(path), format="json")):
        LOG.info("one")
        path.rename(path.with_suffix(".1"))
        LOG.info("two")
    assert json.loads(path.with_suffix(".1").read_text())["message"] == "one"
    assert json.loads(path.read_text())["message"] == "two"
    assert stat.S_IMODE(path.with_suffix(".1").stat().st_mode) == 0o600


def test_a_file_that_can_not_be_written(tmp_path: Path) -> None:
    with (
        pytest.raises(ServerError, match=r"logging\.path: .* can't be written: Is a directory"),
        logging_to(LoggingSettings(path=str(tmp_path))),
    ):
        pass


def refused(status: int = 403, problem: bytes = b'{"error":"forbidden_host","message":"no"}') -> Answered:
    return Answered("GET", "", status, 1, "id-1", "127.0.0.1", problem)


def test_a_refused_request_says_why(lines: io.StringIO) -> None:
    refusals = Refusals()
    refusals.answered(Answered("GET", "/healthz", 200, 1))
    refusals.answered(refused())
    refusals.answered(refused(500, b"no JSON"))
    first, second = (json.loads(line) for line in lines.getvalue().splitlines())
    assert {name: first[name] for name in ("message", "level", "request_id", "status", "code", "reason", "client")} == {
        "message": "refused", "level": "info", "request_id": "id-1", "status": 403, "code": "forbidden_host",
        "reason": "no", "client": "127.0.0.1",
    }  # fmt: skip
    assert (second["message"], second["level"], second["status"]) == ("failed", "error", 500)


def test_a_flood_of_refusals_is_counted_not_written(lines: io.StringIO) -> None:
    now = [100.0]
    refusals = Refusals(lambda: now[0])
    for _ in range(1000):
        refusals.answered(refused())
    assert len(lines.getvalue().splitlines()) == REFUSALS_A_SECOND
    now[0] += 1.0
    refusals.answered(refused())
    told = [json.loads(line) for line in lines.getvalue().splitlines()]
    assert told[REFUSALS_A_SECOND]["requests"] == 1000 - REFUSALS_A_SECOND
    assert len(told) == REFUSALS_A_SECOND + 2


async def _broken(_request: object) -> Response:
    raise RuntimeError(f"broken with {TOKEN}")


def test_a_server_logs_what_it_refuses_and_what_breaks(lines: io.StringIO) -> None:
    route = Route("GET", "/broken", _broken, "open", "Breaks")
    with running([route], observe=Refusals().answered) as server:
        server.ask("GET", "/nothing", headers={"X-Request-ID": "mine"})
        server.ask("GET", "/broken", headers={"X-Request-ID": "yours"})
        server.ask("GET", "/broken", headers={"Host": "evil.example"})
    told = [json.loads(line) for line in lines.getvalue().splitlines()]
    by_id = {each.get("request_id"): each for each in told}
    assert by_id["mine"]["code"] == "not_found"
    assert by_id["yours"]["code"] == "internal_error"
    assert any("broken with" in each.get("trace", "") for each in told)
    assert any(each.get("code") == "forbidden_host" for each in told)
    assert TOKEN not in lines.getvalue()
