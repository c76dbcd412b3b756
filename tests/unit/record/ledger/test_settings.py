"""Settings that make no sense are refused with their name, from a file and in a program."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from interpose.record.ledger import LedgerSettings

WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("no time to wait", {"deadline": 0}, "deadline"),
    ("no number", {"deadline": float("nan")}, "deadline"),
    ("for ever", {"deadline": float("inf")}, "deadline"),
    ("a negative age", {"max_age_days": -1}, "max_age_days"),
    ("an age beyond all times", {"max_age_days": 1e30}, "max_age_days"),
    ("no room at all", {"max_bytes": 0}, "max_bytes"),
    ("retention without a pause", {"retain_every": 0}, "retain_every"),
    ("retention that never comes", {"retain_every": float("inf")}, "retain_every"),
    ("no entries between checkpoints", {"checkpoint_every": 0}, "checkpoint_every"),
    ("a log without a byte", {"log": {"max_bytes": 0}}, "log.max_bytes"),
    ("fewer archives than none", {"log": {"archives": -1}}, "log.archives"),
    ("a path that is none", {"log": {"path": "a\0b"}}, "log.path"),
    ("an unknown word", {"levle": "durable"}, "levle"),
    ("an unknown word of the log", {"log": {"file": "x"}}, "file"),
    ("a level that is none", {"level": "sure"}, "level"),
]


@pytest.mark.parametrize(("note", "given", "named"), WRONG, ids=[case[0] for case in WRONG])
def test_what_makes_no_sense_is_refused_by_name(note: str, given: dict[str, Any], named: str) -> None:
    with pytest.raises(msgspec.ValidationError) as refused:
        msgspec.convert(given, LedgerSettings)
    assert named in str(refused.value), note


MADE_HERE = [
    case for case in WRONG if case[0] not in ("an unknown word", "a level that is none") and "log" not in case[1]
]


@pytest.mark.parametrize(("note", "given", "named"), MADE_HERE, ids=[case[0] for case in MADE_HERE])
def test_a_program_that_makes_them_is_told_too(note: str, given: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=rf"^ledger\.{named} must be .+, not .+"):
        LedgerSettings(**given)


def test_without_limits_nothing_is_removed() -> None:
    assert not LedgerSettings().retains
    assert LedgerSettings(max_bytes=1).retains
    assert LedgerSettings(max_age_days=0.5).retains
