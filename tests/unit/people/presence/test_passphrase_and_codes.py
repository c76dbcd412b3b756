"""Passphrases and one-time codes: right ones, wrong ones, and too many of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from interpose.core.errors import NotProvenError, ServerError
from interpose.people.presence.codes import LASTS_SECONDS, Codes
from interpose.people.presence.passphrase import (
    MOST_ATTEMPTS,
    PAUSE_SECONDS,
    Attempts,
    Passphrase,
    read_passphrase,
    set_passphrase,
)


def refused(act: Callable[..., None], *words: str) -> str:
    with pytest.raises(NotProvenError) as caught:
        act(*words)
    return caught.value.code


def test_a_passphrase_is_kept_as_a_hash_and_checked(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "passphrase"
    set_passphrase(file, "correct horse")
    assert b"correct" not in file.read_bytes()
    assert file.stat().st_mode & 0o777 == 0o600
    now = 0.0
    checked = Passphrase(read_passphrase(file), Attempts(lambda: now))
    checked.prove("correct horse")
    assert refused(checked.prove, "") == "passphrase_needed"
    for _ in range(MOST_ATTEMPTS):
        assert refused(checked.prove, "wrong") == "passphrase_wrong"
    assert refused(checked.prove, "correct horse") == "too_many_attempts"
    now = PAUSE_SECONDS
    checked.prove("correct horse")


def test_what_is_no_passphrase_is_not_used(tmp_path: Path) -> None:
    with pytest.raises(ServerError, match="at least 8"):
        set_passphrase(tmp_path / "p", "short")
    with pytest.raises(ServerError, match="operator init"):
        read_passphrase(tmp_path / "p")
    set_passphrase(tmp_path / "p", "long enough")
    (tmp_path / "p").chmod(0o644)
    with pytest.raises(ServerError, match="chmod 600"):
        read_passphrase(tmp_path / "p")


def test_a_code_is_shown_once_and_counts_once_for_its_question() -> None:
    shown: list[tuple[str, str]] = []
    now = 0.0
    codes = Codes(lambda question, code: shown.append((question, code)), lambda: now)
    assert refused(codes.prove, "q1", "") == "code_needed"
    assert refused(codes.prove, "q1", "") == "code_needed"
    assert refused(codes.prove, "q2", "") == "code_needed"
    assert [question for question, _ in shown] == ["q1", "q2"], "asking again shows no other"
    (_, first), (_, second) = shown
    assert refused(codes.prove, "q1", second) == "code_wrong"
    assert refused(codes.prove, "q1", first) == "code_wrong", "a wrong one burns it"
    codes.prove("q2", second.upper())
    assert refused(codes.prove, "q2", second) == "code_wrong", "it was used"
    assert refused(codes.prove, "q3", "") == "code_needed"
    now = LASTS_SECONDS
    assert refused(codes.prove, "q3", shown[-1][1]) == "code_wrong", "it is over"


def test_codes_can_not_be_guessed_without_end() -> None:
    codes = Codes(lambda _question, _code: None, lambda: 0.0)
    answers = [refused(codes.prove, "q", f"{number:08}") for number in range(MOST_ATTEMPTS + 1)]
    assert answers == ["code_wrong"] * MOST_ATTEMPTS + ["too_many_attempts"]
